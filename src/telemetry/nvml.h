/* The functions of NVIDIA's management library, found at run time: nothing of it is needed to build or to start. Every
 * one may be missing, in versions of the driver that do not have it yet, or have it no longer. */
#ifndef BL_TELEMETRY_NVML_H
#define BL_TELEMETRY_NVML_H

#include <stdint.h>

#include "base/error.h"

typedef struct bl_nvml_device_handle *bl_nvml_handle; /* opaque, the library's */

enum {
    BL_NVML_OK = 0,
    BL_NVML_NOT_SUPPORTED = 3,
    BL_NVML_NO_PERMISSION = 4,
    BL_NVML_NOT_FOUND = 6,
    BL_NVML_INSUFFICIENT_SIZE = 7,
    BL_NVML_DRIVER_NOT_LOADED = 9,
    BL_NVML_LOST = 15,
    BL_NVML_MISMATCH = 18
};

typedef struct bl_nvml_utilization {
    unsigned gpu, memory; /* percent */
} bl_nvml_utilization;

typedef struct bl_nvml_memory {
    uint64_t total, free, used; /* bytes */
} bl_nvml_memory;

typedef struct bl_nvml_memory_2 {
    unsigned version; /* the structure's size | 2 << 24 */
    uint64_t total, reserved, free, used;
} bl_nvml_memory_2;

typedef struct bl_nvml_process_1 {
    unsigned pid;
    uint64_t used; /* bytes; all ones: not available */
} bl_nvml_process_1;

typedef struct bl_nvml_process_2 { /* of versions 2 and 3 of the call */
    unsigned pid;
    uint64_t used;
    unsigned gpu_instance, compute_instance;
} bl_nvml_process_2;

typedef struct bl_nvml_field {
    unsigned id, scope;
    int64_t time_us, latency_us;
    int type, result; /* of the value */
    union {
        double real;
        unsigned u32;
        unsigned long ulong;
        unsigned long long u64;
        long long i64;
        int i32;
        unsigned short u16;
    } value;
} bl_nvml_field;

enum { BL_NVML_FIELD_POWER_INSTANT = 186 }; /* mW */

enum { BL_NVML_CLOCK_SM = 1, BL_NVML_CLOCK_MEMORY = 2 };

typedef struct bl_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*driver_version)(char *out, unsigned size);
    int (*count)(unsigned *out);
    int (*handle)(unsigned index, bl_nvml_handle *out);
    int (*name)(bl_nvml_handle device, char *out, unsigned size);
    int (*uuid)(bl_nvml_handle device, char *out, unsigned size);
    int (*utilization)(bl_nvml_handle device, bl_nvml_utilization *out);
    int (*memory_2)(bl_nvml_handle device, bl_nvml_memory_2 *out);
    int (*memory)(bl_nvml_handle device, bl_nvml_memory *out);
    int (*processes_2)(bl_nvml_handle device, unsigned *n, bl_nvml_process_2 *out);
    int (*processes_1)(bl_nvml_handle device, unsigned *n, bl_nvml_process_1 *out);
    int (*energy)(bl_nvml_handle device, unsigned long long *out_mj);
    int (*fields)(bl_nvml_handle device, int n, bl_nvml_field *inout);
    int (*power)(bl_nvml_handle device, unsigned *out_mw);
    int (*temperature)(bl_nvml_handle device, int sensor, unsigned *out_c);
    int (*clock)(bl_nvml_handle device, int which, unsigned *out_mhz);
    int (*throttle_reasons)(bl_nvml_handle device, unsigned long long *out_bits);
} bl_nvml;

/* path: NULL for the library on the loader's path. BL_ERR_ENV with the reason where it cannot be loaded, or lacks what
 * nothing can be done without, or finds no driver. */
int bl_nvml_open(const char *path, bl_nvml *out, bl_error *err);
void bl_nvml_close(bl_nvml *nvml);
/* What a result means, in words; never NULL. */
const char *bl_nvml_why(const bl_nvml *nvml, int result);

#endif
