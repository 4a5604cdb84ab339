/* The sources that read /proc and /sys, on copies of what machines show. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "telemetry/recording.h"
#include "telemetry/source.h"

static void every_source_and_metric_is_whole(void **state)
{
    for (size_t i = 0; i < bl_n_source_kinds; i++) {
        const bl_source_kind *kind = bl_source_kinds[i];
        assert_int_equal(kind->version, BL_SOURCE_VERSION);
        assert_true(kind->name && kind->open && kind->look && kind->period_ns >= 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(kind->name, bl_source_kinds[k]->name);
    }
    for (int i = 0; i < BL_METRICS; i++)
        assert_true(bl_metric_get((bl_metric)i)->name && bl_metric_get((bl_metric)i)->unit);
}

static void where_nothing_is_everything_says_why(void **state)
{
    fixture *f = *state;
    fixture_open(f, NULL);
    for (size_t i = 0; i < bl_telemetry_n_sources(f->telemetry); i++) {
        const bl_source_state *source = bl_telemetry_source(f->telemetry, i);
        if (source->available || !source->reason[0])
            fail_msg("%s: '%s'", source->name, source->reason);
    }
    assert_int_equal(bl_telemetry_n_series(f->telemetry), 0);
    fixture_look(f, 1);
}

/* ---- RAPL ---- */

#define CAP "/sys/class/powercap/"

static void write_domain(const fixture *f, const char *entry, const char *name, const char *uj, const char *range)
{
    char path[256];
    snprintf(path, sizeof path, CAP "%s/name", entry);
    fixture_write(f, path, name);
    snprintf(path, sizeof path, CAP "%s/energy_uj", entry);
    fixture_write(f, path, uj);
    snprintf(path, sizeof path, CAP "%s/max_energy_range_uj", entry);
    if (range)
        fixture_write(f, path, range);
}

static void set_energy(const fixture *f, const char *uj)
{
    fixture_write(f, CAP "intel-rapl:0/energy_uj", uj);
}

static double energy(const fixture *f)
{
    return fixture_value(f, "RAPL", BL_METRIC_ENERGY, "package-0");
}

static void energy_counters_wrap(void **state)
{
    fixture *f = *state;
    write_domain(f, "intel-rapl:0", "package-0\n", "65500000000\n", "65532610987\n");
    fixture_open(f, NULL);
    fixture_look(f, 0);
    assert_true(energy(f) == 0);
    set_energy(f, "65532000000\n");
    fixture_look(f, 1);
    assert_true(fabs(energy(f) - 32) < 1e-6);
    set_energy(f, "89389013\n"); /* 90 J more: once around */
    fixture_look(f, 1);
    assert_true(fabs(energy(f) - 122) < 1e-6);
    set_energy(f, "189389013\n");
    fixture_look(f, 10);
    assert_true(fabs(energy(f) - 222) < 1e-6);
    set_energy(f, "65532610988\n"); /* beyond its range */
    fixture_look(f, 1);
    fixture_missing(f, "RAPL", BL_METRIC_ENERGY, "package-0", "beyond");
    set_energy(f, "199389013\n");
    fixture_look(f, 1);
    assert_true(fabs(energy(f) - 232) < 1e-6); /* one bad look loses nothing */
    fixture_look(f, 40);                       /* at 2 kW it may have wrapped, however often */
    fixture_missing(f, "RAPL", BL_METRIC_ENERGY, "package-0", "not read for 40 s");
    fixture_look(f, 1);
    assert_true(isnan(energy(f)));
    bl_telemetry_begin(f->telemetry); /* the next trial begins anew */
    fixture_look(f, 1);
    set_energy(f, "5\n"); /* a counter that was reset looks as if it had wrapped */
    fixture_look(f, 1);
    fixture_missing(f, "RAPL", BL_METRIC_ENERGY, "package-0", "reset");
}

static void only_packages_and_their_memory_are_summed(void **state)
{
    fixture *f = *state;
    write_domain(f, "intel-rapl:0", "package-0\n", "1\n", "65532610987\n");
    write_domain(f, "intel-rapl:0:0", "core\n", "1\n", "65532610987\n");
    write_domain(f, "intel-rapl:0:1", "dram\n", "1\n", "65532610987\n");
    write_domain(f, "intel-rapl:1", "package-1\n", "1\n", "65532610987\n");
    write_domain(f, "intel-rapl:1:1", "dram\n", "1\n", "65532610987\n");
    write_domain(f, "intel-rapl:2", "psys\n", "1\n", "65532610987\n");
    write_domain(f, "intel-rapl-mmio:0", "package-0\n", "1\n", "65532610987\n"); /* the first package once more */
    fixture_open(f, NULL);
    assert_string_equal(fixture_source(f, "RAPL")->found, "4 domains");
    assert_non_null(fixture_series(f, "RAPL", BL_METRIC_ENERGY, "dram of package-0"));
    assert_non_null(fixture_series(f, "RAPL", BL_METRIC_ENERGY, "dram of package-1"));
    assert_non_null(fixture_series(f, "RAPL", BL_METRIC_ENERGY, "package-1"));
}

static void no_energy_without_a_range_or_a_right(void **state)
{
    fixture *f = *state;
    write_domain(f, "intel-rapl:0", "package-0\n", "1\n", NULL);
    fixture_open(f, NULL);
    fixture_absent(f, "RAPL", "range cannot be read");
    write_domain(f, "intel-rapl:0", "package-0\n", "1\n", "0\n");
    fixture_open(f, NULL);
    fixture_absent(f, "RAPL", "range cannot be read");
    write_domain(f, "intel-rapl:0", "package-0\n", "lots\n", "65532610987\n");
    fixture_open(f, NULL);
    fixture_absent(f, "RAPL", "cannot be read");
    write_domain(f, "intel-rapl:0", "package-0\n", "1\n", "65532610987\n");
    char *path = test_path(f->root, CAP "intel-rapl:0/energy_uj");
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(f->root, 0755), 0);
    pid_t child = fork(); /* root may read everything */
    if (child == 0) {
        if (geteuid() == 0 && seteuid(65534) != 0)
            _exit(77);
        bl_telemetry *t = NULL;
        bl_telemetry_spec spec = {.root = f->root, .nvml = "/no/such/library"};
        bool found = false;
        bl_telemetry_new(&spec, &t, NULL);
        for (size_t i = 0; t && i < bl_telemetry_n_sources(t); i++) {
            const bl_source_state *s = bl_telemetry_source(t, i);
            found = found || (strcmp(s->name, "RAPL") == 0 && !s->available && strstr(s->reason, "only root") &&
                              strstr(s->remedy, "chmod"));
        }
        bl_telemetry_free(t);
        _exit(found ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    free(path);
}

/* ---- processors ---- */

static void clocks_and_temperatures(void **state)
{
    fixture *f = *state;
    fixture_write(f, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
    fixture_write(f, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
    fixture_write(f, "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "9000000\n");
    fixture_write(f, "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
    fixture_write(f, "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
    fixture_write(f, "/sys/class/hwmon/hwmon0/name", "nvme\n"); /* a hot disk is not a hot processor */
    fixture_write(f, "/sys/class/hwmon/hwmon0/temp1_input", "99000\n");
    fixture_write(f, "/sys/class/hwmon/hwmon1/name", "coretemp\n");
    fixture_write(f, "/sys/class/hwmon/hwmon1/temp1_input", "51000\n");
    fixture_write(f, "/sys/class/hwmon/hwmon1/temp2_input", "57500\n");
    fixture_write(f, "/sys/class/hwmon/hwmon1/temp2_max", "100000\n");
    fixture_write(f, "/sys/class/hwmon/hwmon1/temp3_input", "-128000\n"); /* no sensor */
    fixture_write(f, "/sys/class/hwmon/hwmon1/temp4_input", "255000\n");
    fixture_open(f, NULL);
    fixture_look(f, 0);
    assert_true(fixture_value(f, "processors", BL_METRIC_FREQUENCY, "processors") == 2.5e9);
    assert_true(fixture_value(f, "processors", BL_METRIC_TEMPERATURE, "processors") == 57.5);
    assert_true(fixture_value(f, "processors", BL_METRIC_THROTTLE_EVENTS, "processors") == 7);
    fixture_look(f, 0.1); /* not due yet: missing, not repeated */
    assert_true(isnan(fixture_value(f, "processors", BL_METRIC_TEMPERATURE, "processors")));
    fixture_write(f, "/sys/class/hwmon/hwmon1/temp1_input", "255000\n");
    fixture_write(f, "/sys/class/hwmon/hwmon1/temp2_input", "255000\n");
    fixture_look(f, 1);
    fixture_missing(f, "processors", BL_METRIC_TEMPERATURE, "processors", "no sense");
}

static void zones_and_cpuinfo_where_drivers_are_missing(void **state)
{
    fixture *f = *state;
    fixture_write(f, "/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2400.123\n\nprocessor\t: 1\ncpu MHz\t\t: 2600.9\n");
    fixture_write(f, "/sys/class/thermal/thermal_zone0/type", "acpitz\n"); /* of the board */
    fixture_write(f, "/sys/class/thermal/thermal_zone0/temp", "20000\n");
    fixture_write(f, "/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
    fixture_write(f, "/sys/class/thermal/thermal_zone1/temp", "44000\n");
    fixture_open(f, NULL);
    fixture_look(f, 0);
    assert_true(fixture_value(f, "processors", BL_METRIC_FREQUENCY, "processors") == 2.5e9);
    assert_non_null(strstr(fixture_series(f, "processors", BL_METRIC_FREQUENCY, "")->reason, "virtual"));
    assert_true(fixture_value(f, "processors", BL_METRIC_TEMPERATURE, "processors") == 44);
}

/* ---- the kernel's accounts ---- */

static void pressure_and_machine(void **state)
{
    fixture *f = *state;
    fixture_write(f, "/proc/stat", "cpu  100 50 25 9999 999 5 20 300 7 0\ncpu0 1 2 3 4\n");
    fixture_write(f, "/proc/meminfo", "MemTotal: 4096 kB\nMemFree:   1 kB\nMemAvailable:   2048 kB\n");
    fixture_write(f, "/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n");
    fixture_write(f, "/proc/pressure/memory", "full avg10=0.00 total=7\nsome avg10=0.00 total=250000\n");
    fixture_open(f, NULL);
    fixture_look(f, 0);
    double ticks = (double)sysconf(_SC_CLK_TCK);
    assert_true(fixture_value(f, "machine", BL_METRIC_CPU_TIME, "machine") == 200 / ticks);
    assert_true(fixture_value(f, "machine", BL_METRIC_STOLEN_TIME, "machine") == 300 / ticks);
    assert_true(fixture_value(f, "machine", BL_METRIC_MEMORY_AVAILABLE, "machine") == 2048 * 1024);
    assert_true(fixture_value(f, "pressure", BL_METRIC_CPU_STALL, "machine") == 1.5);
    assert_true(fixture_value(f, "pressure", BL_METRIC_MEMORY_STALL, "machine") == 0.25);
    assert_null(fixture_series(f, "pressure", BL_METRIC_IO_STALL, "machine")); /* this kernel does not tell */
    fixture_write(f, "/proc/stat", "cpu  nonsense\n");
    fixture_look(f, 1);
    fixture_missing(f, "machine", BL_METRIC_CPU_TIME, "machine", "could not be read");
}

static void make_process(const fixture *f, int pid, int parent, const char *group)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (x) S %d 1 1 0 -1 0 0 0 0 0 10 5 0 0", pid, parent);
    fixture_write(f, path, text);
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    fixture_write(f, path, "1000 100 50 1 0 30 0");
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    fixture_write(f, path, group);
}

static const char *cgroup_note(const fixture *f)
{
    return fixture_series(f, "cgroup", BL_METRIC_MEMORY, "control group")->reason;
}

static void the_trials_own_group(void **state)
{
    fixture *f = *state;
    bl_telemetry_spec spec = {.root = f->root, .nvml = "/no/such/library", .tree_root = 10};
    make_process(f, 10, 1, "0::/lab\n");
    make_process(f, 11, 10, "0::/lab/trial 1\n");
    fixture_write(f, "/proc/self/cgroup", "0::/lab\n");
    fixture_write(f, "/sys/fs/cgroup/lab/memory.current", "9000000\n");
    fixture_write(f, "/sys/fs/cgroup/lab/cpu.stat", "usage_usec 99000000\n");
    fixture_write(f, "/sys/fs/cgroup/lab/trial 1/memory.current", "4096\n");
    fixture_write(f, "/sys/fs/cgroup/lab/trial 1/cpu.stat", "usage_usec 1500000\nthrottled_usec 250000\n");
    fixture_open(f, &spec);
    fixture_look(f, 0);
    assert_true(fixture_value(f, "process tree", BL_METRIC_PROCESSES, "tree") == 1);
    assert_true(fixture_value(f, "process tree", BL_METRIC_MEMORY, "tree") == 100.0 * (double)sysconf(_SC_PAGESIZE));
    assert_true(fixture_value(f, "process tree", BL_METRIC_CPU_TIME, "tree") == 15 / (double)sysconf(_SC_CLK_TCK));
    assert_true(fixture_value(f, "cgroup", BL_METRIC_MEMORY, "") == 4096);
    assert_true(fixture_value(f, "cgroup", BL_METRIC_CPU_TIME, "") == 1.5);
    assert_true(fixture_value(f, "cgroup", BL_METRIC_THROTTLED_TIME, "") == 0.25);
    assert_string_equal(cgroup_note(f), "");
    /* A trial that shares the lab's group: what is read is not its own. */
    fixture_write(f, "/proc/11/cgroup", "0::/lab\n");
    bl_telemetry_begin(f->telemetry);
    fixture_look(f, 1);
    assert_true(fixture_value(f, "cgroup", BL_METRIC_MEMORY, "") == 9000000);
    assert_non_null(strstr(cgroup_note(f), "others count too"));
}

static void groups_of_version_1_and_in_containers(void **state)
{
    fixture *f = *state;
    fixture_write(f, "/proc/self/cgroup", "5:memory:/job\n3:cpu,cpuacct:/job\n0::/\n");
    fixture_write(f, "/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "777\n");
    fixture_write(f, "/sys/fs/cgroup/cpu,cpuacct/job/cpuacct.usage", "2500000000\n");
    fixture_open(f, NULL);
    fixture_look(f, 0);
    assert_true(fixture_value(f, "cgroup", BL_METRIC_MEMORY, "") == 777);
    assert_true(fixture_value(f, "cgroup", BL_METRIC_CPU_TIME, "") == 2.5);
    fixture_missing(f, "cgroup", BL_METRIC_THROTTLED_TIME, "", "version 1");
    fixture_write(f, "/proc/self/cgroup",
                  "0::/docker/0123456789\n"); /* the path outside; the group itself is mounted */
    fixture_write(f, "/sys/fs/cgroup/memory.current", "888\n");
    fixture_open(f, NULL);
    fixture_look(f, 0);
    assert_true(fixture_value(f, "cgroup", BL_METRIC_MEMORY, "") == 888);
    fixture_missing(f, "cgroup", BL_METRIC_CPU_TIME, "", "no accounting");
    fixture_write(f, "/sys/fs/cgroup/cpu.stat", "usage_usec 5\n"); /* and no quota */
    fixture_open(f, NULL);
    fixture_look(f, 0);
    fixture_missing(f, "cgroup", BL_METRIC_THROTTLED_TIME, "", "no quota");
}

/* ---- AMD ---- */

#define CARD "/sys/class/drm/card1/device/"

static void amds_devices(void **state)
{
    fixture *f = *state;
    fixture_write(f, "/sys/class/drm/card0/device/vendor", "0x8086\n");
    fixture_write(f, CARD "vendor", "0x1002\n");
    fixture_write(f, "/sys/class/drm/card1-DP-1/device/vendor", "0x1002\n"); /* a plug of it */
    fixture_write(f, CARD "unique_id", "dead10cc\n");
    fixture_write(f, CARD "gpu_busy_percent", "75\n");
    fixture_write(f, CARD "mem_info_vram_used", "1000\n");
    fixture_write(f, CARD "mem_info_vram_total", "17163091968\n");
    fixture_write(f, CARD "hwmon/hwmon7/power1_average", "250000000\n");
    fixture_write(f, CARD "hwmon/hwmon7/temp1_input", "71000\n");
    fixture_write(f, CARD "hwmon/hwmon7/freq1_input", "1700000000\n");
    fixture_write(f, CARD "power/runtime_status", "active\n");
    fixture_open(f, NULL);
    assert_string_equal(fixture_source(f, "amdgpu")->found, "1 device");
    fixture_look(f, 0);
    const char *scope = "card1 dead10cc";
    assert_true(fixture_value(f, "amdgpu", BL_METRIC_BUSY, scope) == 0.75);
    assert_true(fixture_value(f, "amdgpu", BL_METRIC_MEMORY, scope) == 1000);
    assert_true(fixture_value(f, "amdgpu", BL_METRIC_POWER_AVERAGE, scope) == 250);
    assert_true(fixture_value(f, "amdgpu", BL_METRIC_TEMPERATURE, scope) == 71);
    assert_true(fixture_value(f, "amdgpu", BL_METRIC_DEVICE_CLOCK, scope) == 1.7e9);
    assert_null(fixture_series(f, "amdgpu", BL_METRIC_POWER, scope));
    fixture_write(f, CARD "hwmon/hwmon7/power1_average", "150000000\n");
    fixture_write(f, CARD "gpu_busy_percent", "101\n");
    fixture_look(f, 2);
    assert_true(fabs(fixture_value(f, "amdgpu", BL_METRIC_ENERGY_INTEGRATED, scope) - 400) < 1e-6);
    fixture_missing(f, "amdgpu", BL_METRIC_BUSY, scope, "no sense");
    fixture_write(f, CARD "power/runtime_status", "suspended\n");
    fixture_look(f, 1);
    fixture_missing(f, "amdgpu", BL_METRIC_TEMPERATURE, scope, "sleeps");
    fixture_write(f, CARD "power/runtime_status", "active\n");
    fixture_remove(f, CARD "hwmon/hwmon7/temp1_input");
    fixture_look(f, 1);
    fixture_missing(f, "amdgpu", BL_METRIC_TEMPERATURE, scope, "temp1_input");
}

/* ---- recordings ---- */

static void a_recording_has_its_course_whatever_its_length(void **state)
{
    fixture *f = *state;
    write_domain(f, "intel-rapl:0", "package-0\n", "1000000\n", "65532610987\n");
    fixture_write(f, "/proc/pressure/cpu", "some avg10=0.00 total=5000000\n");
    fixture_open(f, NULL);
    bl_recording r;
    bl_sampler *sampler = NULL;
    useconds_t pause_us = 50000;
    do { /* until it has looked often enough to have been thinned out */
        assert_int_equal(bl_sampler_start(f->telemetry, 1000, 16, &sampler, NULL), BL_OK);
        usleep(pause_us);
        pause_us *= 2;
        bl_sampler_stop(sampler, &r);
        assert_true(r.n >= 2 && r.n <= 16);
        if (r.pace_hz == 1000)
            bl_recording_clear(&r);
    } while (r.n == 0 && pause_us < 20000000);
    assert_true(r.pace_hz > 0 && r.pace_hz <= 500);
    assert_int_equal(r.n_series, 2);
    assert_int_equal(r.n_sources, bl_n_source_kinds);
    for (size_t i = 1; i < r.n; i++)
        assert_true(r.t_ns[i] > r.t_ns[i - 1]);
    for (size_t i = 0; i < r.n_series; i++) {
        bool rapl = strcmp(r.series[i].about.source, "RAPL") == 0;
        assert_true(r.series[i].values[0] == 0); /* counters begin with 0 */
        assert_int_equal(r.series[i].n_present == r.n, rapl);
        assert_true(r.series[i].n_present > 0);
    }
    bl_recording_clear(&r);
    bl_sampler_stop(NULL, &r);
    assert_int_equal(r.n, 0);
    bl_recording_clear(&r);
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_source_and_metric_is_whole),
        WITH_FIXTURE(where_nothing_is_everything_says_why),
        WITH_FIXTURE(energy_counters_wrap),
        WITH_FIXTURE(only_packages_and_their_memory_are_summed),
        WITH_FIXTURE(no_energy_without_a_range_or_a_right),
        WITH_FIXTURE(clocks_and_temperatures),
        WITH_FIXTURE(zones_and_cpuinfo_where_drivers_are_missing),
        WITH_FIXTURE(pressure_and_machine),
        WITH_FIXTURE(the_trials_own_group),
        WITH_FIXTURE(groups_of_version_1_and_in_containers),
        WITH_FIXTURE(amds_devices),
        WITH_FIXTURE(a_recording_has_its_course_whatever_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
