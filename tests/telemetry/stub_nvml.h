/* What the stub of NVIDIA's library answers; each variant exports its state as `stub`. */
#ifndef BL_TESTS_TELEMETRY_STUB_NVML_H
#define BL_TESTS_TELEMETRY_STUB_NVML_H

#define STUB_DEVICES 3

typedef struct stub_device {
    int lost; /* what every question about it gives; 0: an answer */
    const char *name, *uuid;
    unsigned busy, memory_busy;
    int utilization_result;
    unsigned long long total, used, reserved;
    unsigned power_mw, instant_mw;
    int instant_result, instant_type;
    unsigned long long energy_mj;
    int energy_result;
    unsigned temperature, sm_mhz, memory_mhz;
    unsigned long long reasons;
    int n_processes;
    unsigned pids[4];
    unsigned long long process_memory[4];
} stub_device;

typedef struct stub_state {
    int init_result;
    unsigned n_devices;
    int n_inits, n_shutdowns;
    stub_device devices[STUB_DEVICES];
} stub_state;

#endif
