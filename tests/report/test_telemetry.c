/* Figures of telemetry, against sums done by hand. */
#include "../base/testing.h"

#include <math.h>
#include <string.h>

#include "report/telemetry_figures.h"

#define S     1000000000LL
#define LOOKS 11

static int64_t t_ns[LOOKS];
static double tree[LOOKS], machine[LOOKS], rapl[LOOKS], counted[LOOKS], integrated[LOOKS], busy[LOOKS], reasons[LOOKS],
    heat[LOOKS];

/* One look a second, from 0 to 10 s. */
static bl_stored_telemetry make(bl_stored_series *series)
{
    for (int i = 0; i < LOOKS; i++) {
        t_ns[i] = i * S;
        tree[i] = 1.5 * i;
        machine[i] = 2.0 * i;
        rapl[i] = i < 2 ? 0 : 20.0 * (i - 2); /* nothing while it warms up */
        counted[i] = 100.0 * i;
        integrated[i] = 110.0 * i;
        busy[i] = i % 2 ? 0.5 : NAN; /* looked at every other time */
        reasons[i] = i < 6 ? 0 : 0x40;
        heat[i] = 50 + i;
    }
    series[0] = (bl_stored_series){"cpu_time", "s", "process tree", "tree", NULL, true, tree};
    series[1] = (bl_stored_series){"cpu_time", "s", "machine", "machine", NULL, true, machine};
    series[2] = (bl_stored_series){"energy", "J", "RAPL", "package-0", NULL, true, rapl};
    series[3] = (bl_stored_series){"energy", "J", "NVML", "GPU-1", NULL, true, counted};
    series[4] = (bl_stored_series){"energy_integrated", "J", "NVML", "GPU-1", NULL, true, integrated};
    series[5] = (bl_stored_series){"busy", "1", "NVML", "GPU-1", NULL, false, busy};
    series[6] = (bl_stored_series){"throttle_reasons", "bits", "NVML", "GPU-1", NULL, false, reasons};
    series[7] = (bl_stored_series){"temperature", "C", "NVML", "GPU-1", NULL, false, heat};
    series[8] = (bl_stored_series){NULL, NULL, "amdgpu", NULL, "not here", false, NULL};
    return (bl_stored_telemetry){
        .t_ns = t_ns, .n = LOOKS, .series = series, .n_series = 9, .pace_hz = 1, .gate_s = NAN};
}

static bool near(double x, double y)
{
    return fabs(x - y) < 1e-9 * (1 + fabs(y));
}

static void only_the_warm_steps_count(void **state)
{
    bl_stored_series series[9];
    bl_stored_telemetry telemetry = make(series);
    /* Steps of 2 s and 10 samples; warm from the second, which begins at 2.5 s, up to 8.5 s. */
    bl_stored_step steps[4];
    for (int i = 0; i < 4; i++)
        steps[i] = (bl_stored_step){.samples = 10, .end_ns = (5 + 4 * i) * S / 2, .time_ns = 2 * S};
    bl_trial_record t = {.outcome = "ok", .steps = steps, .n_steps = 4, .run_samples = NAN, .telemetry = &telemetry};
    bl_trial_figure figure = {.warm_from = 1};
    bl_telemetry_figure f;
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(near(f.cpu_cores, 1.5) && near(f.other_cores, 0.5));
    assert_true(near(f.device_busy, 0.5) && near(f.hottest_c, 58));
    assert_true(near(f.throttled, 3 / 6.0)); /* looks at 3 to 8 s, of which 6, 7, 8 are held back */
    /* RAPL 6 s at 20 W; the device's counter, not its integrated power: 6 s at 100 W. */
    assert_true(near(f.power_w, 120) && near(f.joules_per_sample, 720 / 30.0));
    assert_false(f.doubtful_power);
    for (int i = 0; i < LOOKS; i++)
        integrated[i] *= 1.2;
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(f.doubtful_power && near(f.power_w, 120));
    series[3].values = NULL; /* no counter: the integrated one serves */
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(near(f.power_w, 20 + 132) && !f.doubtful_power);
    figure.warm_from = 3; /* 2 s: too short for a device's power */
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(near(f.power_w, 20));
}

static void a_run_timed_whole_and_what_is_missing(void **state)
{
    bl_stored_series series[9];
    bl_stored_telemetry telemetry = make(series);
    bl_trial_record t = {.outcome = "ok", .run_samples = 40, .telemetry = &telemetry};
    bl_trial_figure figure = {0};
    bl_telemetry_figure f;
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(near(f.cpu_cores, 1.5) && near(f.joules_per_sample, (160 + 1000) / 40.0));
    t.run_samples = NAN;
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(isnan(f.joules_per_sample) && near(f.power_w, 116));
    rapl[10] = NAN; /* lost before the end: half an energy is none */
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(near(f.power_w, 100));
    telemetry.n_series = 0;
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(isnan(f.cpu_cores) && isnan(f.device_busy) && isnan(f.power_w) && isnan(f.hottest_c));
    t.telemetry = NULL;
    bl_telemetry_figure_compute(&t, &figure, &f);
    assert_true(isnan(f.cpu_cores));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_warm_steps_count),
        cmocka_unit_test(a_run_timed_whole_and_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
