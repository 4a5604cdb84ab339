#include "lab/telemetry_setup.h"

#include <stdlib.h>

bl_telemetry_spec bl_telemetry_setup(const char *root, pid_t tree_root)
{
    const char *nvml = getenv("BATCHLAB_NVML");
    return (bl_telemetry_spec){.root = root ? root : "",
                               .nvml = nvml && nvml[0] ? nvml : NULL,
                               .visible_devices = getenv("CUDA_VISIBLE_DEVICES"),
                               .device_order = getenv("CUDA_DEVICE_ORDER"),
                               .tree_root = tree_root};
}
