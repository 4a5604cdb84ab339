/* The texts of /proc and /sys that telemetry reads. Whatever they are, what is found makes sense. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "telemetry/procfs_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* of just this length, for the sanitizer */
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    int64_t value, other;
    double hz;
    pid_t parent;
    const char *at = text;
    if (bl_text_take_i64(&at, &value))
        FUZZ_CHECK(at > text && at <= text + size);
    else
        FUZZ_CHECK(at == text);
    bl_text_field(text, "usage_usec", &value);
    if (bl_text_pressure_us(text, "some", &value))
        FUZZ_CHECK(value >= 0);
    if (bl_text_cpu_ticks(text, &value, &other))
        FUZZ_CHECK(value >= 0 && other >= 0);
    if (bl_text_process_stat(text, &parent, &value))
        FUZZ_CHECK(parent >= 0 && value >= -1);
    if (bl_text_resident_pages(text, &value, &other))
        FUZZ_CHECK(value >= 0 && other >= 0 && other <= value);
    if (bl_text_cpuinfo_hz(text, &hz))
        FUZZ_CHECK(isfinite(hz) && hz > 0);
    char path[32];
    static const char *const controllers[] = {NULL, "memory", "cpuacct"};
    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++)
        if (bl_text_cgroup(text, controllers[i], path, sizeof path))
            FUZZ_CHECK(path[0] && strlen(path) < sizeof path && !strchr(path, '\n'));
    free(text);
    return 0;
}
