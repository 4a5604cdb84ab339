/* A stand-in for libnvidia-ml.so.1. Variants: the present driver (by default), STUB_OLD (names without version
 * numbers, no energy, no power of the instant), STUB_BARE (nothing but devices). */
#include "stub_nvml.h"

#include <string.h>

stub_state stub = {
    .n_devices = 2,
    .devices = {{.name = "Stub A",
                 .uuid = "GPU-aaaa0000-1111",
                 .busy = 50,
                 .memory_busy = 25,
                 .total = 8ULL << 30,
                 .used = 1ULL << 30,
                 .reserved = 1ULL << 28,
                 .power_mw = 100000,
                 .instant_mw = 120000,
                 .instant_type = 1,
                 .energy_mj = 5000000,
                 .temperature = 60,
                 .sm_mhz = 1500,
                 .memory_mhz = 800,
                 .reasons = 0x4},
                {.name = "Stub A",
                 .uuid = "GPU-bbbb0000-2222",
                 .total = 8ULL << 30,
                 .instant_type = 1,
                 .temperature = 40,
                 .sm_mhz = 300,
                 .memory_mhz = 400,
                 .reasons = 0x1},
                {.name = "Stub B", .uuid = "GPU-bbbb0000-3333", .instant_type = 1}},
};

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, INSUFFICIENT = 7 };

#ifdef STUB_OLD
#define NAME(old, new) old
#else
#define NAME(old, new) new
#endif

int NAME(nvmlInit, nvmlInit_v2)(void);
int NAME(nvmlDeviceGetCount, nvmlDeviceGetCount_v2)(unsigned *out);
int NAME(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2)(unsigned index, void **out);

int NAME(nvmlInit, nvmlInit_v2)(void)
{
    stub.n_inits += stub.init_result == OK;
    return stub.init_result;
}

int NAME(nvmlDeviceGetCount, nvmlDeviceGetCount_v2)(unsigned *out)
{
    *out = stub.n_devices;
    return OK;
}

int NAME(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2)(unsigned index, void **out)
{
    *out = &stub.devices[index];
    return index < stub.n_devices ? stub.devices[index].lost : INVALID;
}

#ifndef STUB_BARE

int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlDeviceGetName(void *device, char *out, unsigned size);
int nvmlDeviceGetUUID(void *device, char *out, unsigned size);
int nvmlDeviceGetUtilizationRates(void *device, unsigned *out);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *out);
int nvmlDeviceGetPowerUsage(void *device, unsigned *out);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *out);

static int copy(const char *text, char *out, unsigned size)
{
    if (strlen(text) >= size)
        return INSUFFICIENT;
    memcpy(out, text, strlen(text) + 1);
    return OK;
}

int nvmlShutdown(void)
{
    stub.n_shutdowns++;
    return OK;
}

const char *nvmlErrorString(int result)
{
    return result == 999 ? "Unknown Error" : "some error of the driver's";
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    return copy("550.54.15", out, size);
}

int nvmlDeviceGetName(void *device, char *out, unsigned size)
{
    return copy(((stub_device *)device)->name, out, size);
}

int nvmlDeviceGetUUID(void *device, char *out, unsigned size)
{
    return copy(((stub_device *)device)->uuid, out, size);
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *out)
{
    const stub_device *d = device;
    out[0] = d->busy;
    out[1] = d->memory_busy;
    return d->lost ? d->lost : d->utilization_result;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *out)
{
    const stub_device *d = device;
    out[0] = d->total;
    out[1] = d->total - d->used - d->reserved;
    out[2] = d->used + d->reserved;
    return d->lost;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *out)
{
    const stub_device *d = device;
    *out = d->power_mw;
    return d->lost ? d->lost : d->power_mw ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out)
{
    const stub_device *d = device;
    *out = d->temperature;
    return sensor == 0 ? d->lost : INVALID;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *out)
{
    const stub_device *d = device;
    *out = which == 1 ? d->sm_mhz : d->memory_mhz;
    return which == 1 || which == 2 ? d->lost : INVALID;
}

#ifdef STUB_OLD

typedef struct process_1 {
    unsigned pid;
    unsigned long long used;
} process_1;

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *n, process_1 *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *out);

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *n, process_1 *out)
{
    const stub_device *d = device;
    for (int i = 0; i < d->n_processes; i++)
        out[i] = (process_1){d->pids[i], d->process_memory[i]};
    *n = (unsigned)d->n_processes;
    return d->lost;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *out)
{
    *out = ((stub_device *)device)->reasons;
    return ((stub_device *)device)->lost;
}

#else

typedef struct memory_2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
} memory_2;

typedef struct process_3 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} process_3;

typedef struct field {
    unsigned id, scope;
    long long time_us, latency_us;
    int type, result;
    union {
        unsigned u32;
        unsigned long long u64;
    } value;
} field;

int nvmlDeviceGetMemoryInfo_v2(void *device, memory_2 *out);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, process_3 *out);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *out);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *out);
int nvmlDeviceGetFieldValues(void *device, int n, field *fields);

/* As the driver does, refuses a structure of another version. */
int nvmlDeviceGetMemoryInfo_v2(void *device, memory_2 *out)
{
    const stub_device *d = device;
    if (out->version != (sizeof(memory_2) | 2U << 24))
        return 25;
    *out = (memory_2){out->version, d->total, d->reserved, d->total - d->used - d->reserved, d->used};
    return d->lost ? d->lost : d->total ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, process_3 *out)
{
    const stub_device *d = device;
    if ((int)*n < d->n_processes)
        return INSUFFICIENT;
    for (int i = 0; i < d->n_processes; i++)
        out[i] = (process_3){d->pids[i], d->process_memory[i], ~0U, ~0U};
    *n = (unsigned)d->n_processes;
    return d->lost;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *out)
{
    *out = ((stub_device *)device)->reasons;
    return ((stub_device *)device)->lost;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *out)
{
    const stub_device *d = device;
    *out = d->energy_mj;
    return d->lost ? d->lost : d->energy_mj ? d->energy_result : NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(void *device, int n, field *fields)
{
    const stub_device *d = device;
    for (int i = 0; i < n; i++) {
        fields[i].result = fields[i].id != 186 || !d->instant_mw ? NOT_SUPPORTED : d->instant_result;
        fields[i].type = d->instant_type;
        fields[i].value.u64 = d->instant_mw;
    }
    return d->lost;
}

#endif
#endif
