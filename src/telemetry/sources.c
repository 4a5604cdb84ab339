/* The table of sources. Each is looked at in this order: the tree first, since others ask who belongs to it. */
#include "telemetry/source.h"

const bl_source_kind *const bl_source_kinds[] = {
    &bl_source_tree, &bl_source_machine, &bl_source_cgroup, &bl_source_pressure,
    &bl_source_cpu,  &bl_source_rapl,    &bl_source_nvml,   &bl_source_amdgpu,
};

const size_t bl_n_source_kinds = BL_ARRAY_LEN(bl_source_kinds);
