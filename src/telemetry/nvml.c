#include "telemetry/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/attributes.h"

/* Where a function of the table is found: the newest name first. Names, codes and layouts are those of nvml.h. */
static const struct {
    size_t offset;
    const char *names[3];
} symbols[] = {
    {offsetof(bl_nvml, init), {"nvmlInit_v2", "nvmlInit"}},
    {offsetof(bl_nvml, shutdown), {"nvmlShutdown"}},
    {offsetof(bl_nvml, error_string), {"nvmlErrorString"}},
    {offsetof(bl_nvml, driver_version), {"nvmlSystemGetDriverVersion"}},
    {offsetof(bl_nvml, count), {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}},
    {offsetof(bl_nvml, handle), {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}},
    {offsetof(bl_nvml, name), {"nvmlDeviceGetName"}},
    {offsetof(bl_nvml, uuid), {"nvmlDeviceGetUUID"}},
    {offsetof(bl_nvml, utilization), {"nvmlDeviceGetUtilizationRates"}},
    {offsetof(bl_nvml, memory_2), {"nvmlDeviceGetMemoryInfo_v2"}},
    {offsetof(bl_nvml, memory), {"nvmlDeviceGetMemoryInfo"}},
    {offsetof(bl_nvml, processes_2),
     {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}},
    {offsetof(bl_nvml, processes_1), {"nvmlDeviceGetComputeRunningProcesses"}},
    {offsetof(bl_nvml, energy), {"nvmlDeviceGetTotalEnergyConsumption"}},
    {offsetof(bl_nvml, fields), {"nvmlDeviceGetFieldValues"}},
    {offsetof(bl_nvml, power), {"nvmlDeviceGetPowerUsage"}},
    {offsetof(bl_nvml, temperature), {"nvmlDeviceGetTemperature"}},
    {offsetof(bl_nvml, clock), {"nvmlDeviceGetClockInfo"}},
    {offsetof(bl_nvml, throttle_reasons),
     {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
};

_Static_assert(sizeof(bl_nvml_memory_2) == 40 && sizeof(bl_nvml_process_1) == 16 && sizeof(bl_nvml_process_2) == 24,
               "the driver's layouts");

static void find_symbols(bl_nvml *nvml)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(symbols); i++) {
        void *found = NULL;
        for (size_t k = 0; !found && k < BL_ARRAY_LEN(symbols[i].names) && symbols[i].names[k]; k++)
            found = dlsym(nvml->library, symbols[i].names[k]);
        memcpy((char *)nvml + symbols[i].offset, &found, sizeof found);
    }
}

int bl_nvml_open(const char *path, bl_nvml *out, bl_error *err)
{
    *out = (bl_nvml){0};
    out->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!out->library) {
        if (path)
            BL_FAIL(err, BL_ERR_ENV, "%s", dlerror());
        else
            BL_FAIL(err, BL_ERR_ENV, "there is no libnvidia-ml.so.1");
        bl_error_remedy(err, "install NVIDIA's driver; in a container: --gpus all, with the 'utility' capability");
        return BL_ERR_ENV;
    }
    find_symbols(out);
    if (!out->init || !out->count || !out->handle) {
        bl_nvml_close(out);
        return BL_FAIL(err, BL_ERR_ENV, "NVIDIA's library has no devices to ask for: it is none, or damaged");
    }
    int result = out->init();
    if (result == BL_NVML_OK)
        return BL_OK;
    BL_FAIL(err, BL_ERR_ENV, "NVIDIA's library does not start: %s", bl_nvml_why(out, result));
    if (result == BL_NVML_MISMATCH)
        bl_error_remedy(err, "the driver was renewed while it ran: restart the machine, or load its module anew");
    else if (result == BL_NVML_DRIVER_NOT_LOADED)
        bl_error_remedy(err, "modprobe nvidia; in a container: --gpus all");
    out->shutdown = NULL; /* what did not start is not stopped */
    bl_nvml_close(out);
    return BL_ERR_ENV;
}

void bl_nvml_close(bl_nvml *nvml)
{
    if (nvml->shutdown)
        nvml->shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    *nvml = (bl_nvml){0};
}

const char *bl_nvml_why(const bl_nvml *nvml, int result)
{
    static const struct {
        int result;
        const char *text;
    } known[] = {
        {BL_NVML_NOT_SUPPORTED, "not supported on this device"},
        {BL_NVML_NO_PERMISSION, "not allowed for this user"},
        {BL_NVML_NOT_FOUND, "not found"},
        {BL_NVML_DRIVER_NOT_LOADED, "the driver is not loaded"},
        {BL_NVML_LOST, "the device is lost"},
        {BL_NVML_MISMATCH, "the driver and its library are of different versions"},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(known); i++)
        if (known[i].result == result)
            return known[i].text;
    const char *text = nvml->error_string ? nvml->error_string(result) : NULL;
    return text ? text : "an unknown error";
}
