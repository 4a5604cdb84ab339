/* Telemetry as the lab's commands want it: of this machine, or as the environment says. */
#ifndef BL_LAB_TELEMETRY_SETUP_H
#define BL_LAB_TELEMETRY_SETUP_H

#include <sys/types.h>

#include "telemetry/telemetry.h"

/* root: NULL for the machine's own. BATCHLAB_NVML names NVIDIA's library where the loader does not find it. */
bl_telemetry_spec bl_telemetry_setup(const char *root, pid_t tree_root);

#endif
