#include "lab/checks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attributes.h"
#include "telemetry/procfs_text.h"
#include "telemetry/sysfile.h"

#define LOAD_MAX 0.5 /* of others, where this process does next to nothing */

const char *bl_check_state_name(bl_check_state state)
{
    static const char *const names[] = {"good", "doubtful", "unknown"};
    return (size_t)state < BL_ARRAY_LEN(names) ? names[state] : "unknown";
}

static bl_check *add(bl_checks *c, const char *name, bl_check_state state, const char *why, const char *remedy)
{
    static bl_check spare; /* never reached: there are fewer checks than room for them */
    bl_check *check = c->n < BL_CHECKS_MAX ? &c->items[c->n++] : &spare;
    *check = (bl_check){.name = name, .state = state, .why = why, .remedy = remedy};
    return check;
}

static bool read_line(const char *root, const char *file, char *out, size_t size)
{
    char path[BL_SYSFILE_PATH_MAX];
    return bl_sysfile_path(path, sizeof path, root, "%s", file) && bl_sysfile_line(path, out, size);
}

static const char not_shown[] = "this kernel or virtual machine does not show it";

static void unknown(bl_checks *c, const char *name)
{
    add(c, name, BL_CHECK_UNKNOWN, not_shown, NULL);
}

/* ---- clocks ---- */

static void check_governor(const char *root, bl_checks *c)
{
    char text[160];
    if (!read_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text)) {
        unknown(c, "governor");
        return;
    }
    bool good = strcmp(text, "performance") == 0;
    bl_check *check = add(c, "governor", good ? BL_CHECK_GOOD : BL_CHECK_DOUBTFUL,
                          "other governors change the clock with the load, and so from step to step",
                          good ? NULL : "cpupower frequency-set -g performance");
    snprintf(check->value, sizeof check->value, "%s", text);
}

static void check_turbo(const char *root, bl_checks *c)
{
    char text[16];
    bool on;
    if (read_line(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", text, sizeof text)) {
        on = strcmp(text, "0") == 0;
    } else if (read_line(root, "/sys/devices/system/cpu/cpufreq/boost", text, sizeof text)) {
        on = strcmp(text, "1") == 0;
    } else {
        unknown(c, "turbo");
        return;
    }
    bl_check *check = add(c, "turbo", on ? BL_CHECK_DOUBTFUL : BL_CHECK_GOOD,
                          "above the nominal clock the speed depends on temperature and on what other cores do",
                          on ? "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
                               "/sys/devices/system/cpu/cpufreq/boost"
                             : NULL);
    snprintf(check->value, sizeof check->value, "%s", on ? "on" : "off");
}

static void check_smt(const char *root, bl_checks *c)
{
    char text[16];
    if (!read_line(root, "/sys/devices/system/cpu/smt/active", text, sizeof text)) {
        unknown(c, "hardware threads");
        return;
    }
    bool on = strcmp(text, "1") == 0;
    bl_check *check =
        add(c, "hardware threads", on ? BL_CHECK_DOUBTFUL : BL_CHECK_GOOD,
            "two threads on one core slow each other down, depending on where the kernel puts them",
            on ? "give the trial one thread a core, or: echo off > /sys/devices/system/cpu/smt/control" : NULL);
    snprintf(check->value, sizeof check->value, "%s", on ? "several a core" : "one a core");
}

/* ---- others ---- */

static void check_load(const char *root, bl_checks *c)
{
    char text[160];
    if (!read_line(root, "/proc/loadavg", text, sizeof text)) {
        unknown(c, "load");
        return;
    }
    double load = strtod(text, NULL);
    bool high = !(load <= LOAD_MAX);
    bl_check *check =
        add(c, "load", high ? BL_CHECK_DOUBTFUL : BL_CHECK_GOOD, "what else computes takes time from the trials",
            high ? "look who it is with top, and wait until it has ended" : NULL);
    snprintf(check->value, sizeof check->value, "%.2f processes on average in the last minute", load);
}

static void check_virtual(const char *root, bl_checks *c)
{
    char path[BL_SYSFILE_PATH_MAX], text[8192];
    if (!bl_sysfile_path(path, sizeof path, root, "/proc/cpuinfo") || bl_sysfile_read(path, text, sizeof text) <= 0 ||
        !strstr(text, "flags")) {
        unknown(c, "virtual machine");
        return;
    }
    bool yes = strstr(text, " hypervisor") != NULL;
    bl_check *check =
        add(c, "virtual machine", yes ? BL_CHECK_DOUBTFUL : BL_CHECK_GOOD,
            "other machines share the hardware: the telemetry's stolen time tells when they took it", NULL);
    snprintf(check->value, sizeof check->value, "%s", yes ? "yes" : "no");
}

/* ---- memory ---- */

static void check_huge_pages(const char *root, bl_checks *c)
{
    char text[160];
    if (!read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text)) {
        unknown(c, "huge pages");
        return;
    }
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (close)
        *close = '\0';
    const char *chosen = close ? open + 1 : text;
    bool always = strcmp(chosen, "always") == 0;
    bl_check *check =
        add(c, "huge pages", always ? BL_CHECK_DOUBTFUL : BL_CHECK_GOOD,
            "with 'always' speed and memory depend on how fragmented memory is when a trial starts",
            always ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or note it with results" : NULL);
    snprintf(check->value, sizeof check->value, "%s", chosen);
}

static void check_swap(const char *root, bl_checks *c)
{
    char path[BL_SYSFILE_PATH_MAX], text[8192];
    int64_t kib;
    if (!bl_sysfile_path(path, sizeof path, root, "/proc/meminfo") || bl_sysfile_read(path, text, sizeof text) <= 0 ||
        !bl_text_field(text, "SwapTotal", &kib)) {
        unknown(c, "swap");
        return;
    }
    bl_check *check = add(c, "swap", kib > 0 ? BL_CHECK_DOUBTFUL : BL_CHECK_GOOD,
                          "a batch that does not fit becomes slow instead of failing",
                          kib > 0 ? "--memory-limit, or swapoff -a" : NULL);
    snprintf(check->value, sizeof check->value, "%.1f GiB", (double)kib / (1 << 20));
}

/* A group of one's own counts and limits memory exactly. Only looks: nothing is made. */
static void check_delegation(const char *root, bl_checks *c)
{
    static const char why[] = "a control group of its own counts and limits a trial's memory exactly",
                      remedy[] = "systemd-run --user --scope -p Delegate=yes batchlab ...";
    char path[BL_SYSFILE_PATH_MAX], folder[BL_SYSFILE_PATH_MAX], group[512], text[4096];
    const char *found = "no group of version 2";
    bool good = false;
    if (bl_sysfile_path(path, sizeof path, root, "/proc/self/cgroup") && bl_sysfile_read(path, text, sizeof text) > 0 &&
        bl_text_cgroup(text, NULL, group, sizeof group) &&
        bl_sysfile_path(folder, sizeof folder, root, "/sys/fs/cgroup%s", strcmp(group, "/") == 0 ? "" : group) &&
        bl_sysfile_path(path, sizeof path, folder, "/cgroup.controllers") && bl_sysfile_line(path, text, sizeof text)) {
        bool memory = strstr(text, "memory") != NULL;
        good = memory && access(folder, W_OK) == 0;
        found = good ? "delegated" : memory ? "not delegated to this user" : "memory is not managed by version 2";
    }
    bl_check *check = add(c, "control groups", good ? BL_CHECK_GOOD : BL_CHECK_DOUBTFUL, why, good ? NULL : remedy);
    snprintf(check->value, sizeof check->value, "%s", found);
}

/* ---- limits and tools ---- */

static void check_limit(bl_checks *c, const char *name, int which, double at_least, const char *unit, double scale,
                        const char *why, const char *remedy)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)which, &limit) != 0) {
        unknown(c, name);
        return;
    }
    bool endless = limit.rlim_cur == RLIM_INFINITY;
    bool good = endless || (double)limit.rlim_cur >= at_least;
    bl_check *check = add(c, name, good ? BL_CHECK_GOOD : BL_CHECK_DOUBTFUL, why, good ? NULL : remedy);
    if (endless)
        snprintf(check->value, sizeof check->value, "no limit");
    else
        snprintf(check->value, sizeof check->value, "%.0f%s", (double)limit.rlim_cur / scale, unit);
}

static void check_perf(const char *root, bl_checks *c)
{
    char text[16];
    if (!read_line(root, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text)) {
        unknown(c, "perf");
        return;
    }
    bool good = strtol(text, NULL, 10) <= 2 || geteuid() == 0;
    bl_check *check = add(c, "perf", good ? BL_CHECK_GOOD : BL_CHECK_DOUBTFUL,
                          "above 2, profilers may not count what a user's program does",
                          good ? NULL : "sysctl kernel.perf_event_paranoid=2");
    snprintf(check->value, sizeof check->value, "kernel.perf_event_paranoid = %s", text);
}

static bool on_path(const char *program)
{
    const char *path = getenv("PATH");
    char file[4096];
    for (const char *at = path ? path : ""; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, at, program);
        if (n > 0 && n < sizeof file / 2 && access(file, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static void check_compilers(bl_checks *c)
{
    static const char *const names[] = {"cc", "gcc", "clang", "nvcc", "hipcc"};
    char found[64] = "";
    size_t n = 0;
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++)
        if (on_path(names[i]))
            n += (size_t)snprintf(found + n, sizeof found - n, "%s%s", n ? ", " : "", names[i]);
    bl_check *check = add(c, "compilers", n ? BL_CHECK_GOOD : BL_CHECK_DOUBTFUL,
                          "torch.compile and the like build code while they warm up, and fall back without one",
                          n ? NULL : "install gcc or clang, where the program compiles its model");
    snprintf(check->value, sizeof check->value, "%s", n ? found : "none on PATH");
}

void bl_checks_run(const char *root, bl_checks *out)
{
    *out = (bl_checks){0};
    check_governor(root, out);
    check_turbo(root, out);
    check_smt(root, out);
    check_load(root, out);
    check_virtual(root, out);
    check_huge_pages(root, out);
    check_swap(root, out);
    check_delegation(root, out);
    check_limit(out, "open files", RLIMIT_NOFILE, 1024, "", 1, "loaders with many workers need many",
                "ulimit -n 65536");
    check_limit(out, "locked memory", RLIMIT_MEMLOCK, 64 << 20, " KiB", 1024, "pinned buffers and InfiniBand need it",
                "ulimit -l unlimited, or a line in /etc/security/limits.conf");
    check_perf(root, out);
    check_compilers(out);
}
