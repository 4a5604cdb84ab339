/* Charts of what the machine did and of how far trainings got, against numbers known by hand, and golden pictures. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/panels.h"
#include "report/svg.h"

enum { LOOKS = 31 };

static sample s;
static bl_str out;
static bl_chart charts[BL_CHARTS_MAX];
static size_t n_charts;
static const bl_analysis *const only[] = {&s.analysis};

static int64_t t_ns[LOOKS];
static double tree[LOOKS], memory[LOOKS], rapl[LOOKS], busy[LOOKS], heat[LOOKS], reasons[LOOKS], clock_hz[LOOKS];
static bl_stored_series series[7];
static bl_stored_telemetry telemetry;
static bl_stored_noise noises[SAMPLE_TRIALS_MAX][2];

/* Ten looks a second: half a processor, 25 W, a device that is looked at every other time. */
static void look(void)
{
    for (int i = 0; i < LOOKS; i++) {
        t_ns[i] = i * 100000000LL;
        tree[i] = 0.05 * i;
        memory[i] = (double)(1 + i % 5) * (1 << 30);
        rapl[i] = 2.5 * i;
        busy[i] = i % 2 ? NAN : 0.75;
        heat[i] = 50 + 0.5 * i;
        reasons[i] = i > 20 ? 0x40 : 0;
        clock_hz[i] = i < 10 ? 3e9 : 2.5e9;
    }
    series[0] = (bl_stored_series){"cpu_time", "s", "process tree", "tree", NULL, true, tree};
    series[1] = (bl_stored_series){"memory", "B", "process tree", "tree", NULL, false, memory};
    series[2] = (bl_stored_series){"energy", "J", "RAPL", "package-0", NULL, true, rapl};
    series[3] = (bl_stored_series){"busy", "1", "NVML", "GPU <1>", NULL, false, busy};
    series[4] = (bl_stored_series){"temperature", "C", "NVML", "GPU <1>", NULL, false, heat};
    series[5] = (bl_stored_series){"throttle_reasons", "bits", "NVML", "GPU <1>", NULL, false, reasons};
    series[6] = (bl_stored_series){"frequency", "Hz", "processors", "processors", NULL, false, clock_hz};
    telemetry = (bl_stored_telemetry){.t_ns = t_ns, .n = LOOKS, .series = series, .n_series = 7, .gate_s = NAN};
}

/* Losses of 1, and of 0 from step 2, 4, 6 on at the three sizes: the mean of five is below a half three steps on. */
static int set_up(void **state)
{
    static bl_environment_item item = {.name = "cpus online", .value = "2", .source = "sysconf"};
    sample_fill(&s, 6);
    look();
    s.experiment.environment = (bl_environment){&item, 1};
    for (size_t i = 0; i < s.experiment.n_trials; i++) {
        bl_trial_record *t = &s.trials[i];
        t->telemetry = &telemetry;
        for (size_t k = 0; k < t->n_steps; k++)
            t->steps[k].loss = k < 2 + 2 * t->case_index;
        for (int k = 0; k < 2; k++)
            noises[i][k] = (bl_stored_noise){.after_steps = 5 * (k + 1),
                                             .norms = {.small_n = 1,
                                                       .big_n = 11,
                                                       .small_sq = 17 + (double)i / 9,
                                                       .big_sq = 1 + 16.0 / 11 + (double)i / 99}};
        t->noise = noises[i];
        t->n_noise = 2;
    }
    s.experiment.driving = "{\"until_loss\": 0.5}";
    sample_analyse(&s);
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n_charts, NULL), BL_OK);
    bl_str_init(&out);
    return 0;
}

static int tear_down(void **state)
{
    sample_clear(&s);
    bl_str_clear(&out);
    return 0;
}

static const bl_chart *find(const char *id)
{
    for (size_t i = 0; i < n_charts; i++)
        if (strcmp(charts[i].id, id) == 0)
            return &charts[i];
    return NULL;
}

static const bl_chart *chart_of(const char *id)
{
    const bl_chart *chart = find(id);
    if (!chart)
        fail_msg("no chart %s", id);
    return chart;
}

static bool near(double x, double y)
{
    return fabs(x - y) < 1e-6 * (1 + fabs(y));
}

static void charts_hold_the_figures(void **state)
{
    const bl_chart *utilisation = chart_of("utilisation");
    assert_int_equal(utilisation->n_series, 2);
    assert_string_equal(utilisation->series[0].name, "processors");
    for (size_t i = 0; i < 3; i++) {
        assert_true(near(utilisation->series[0].y[i], 25)); /* half of two */
        assert_true(near(utilisation->series[1].y[i], 75));
        assert_true(near(utilisation->series[0].low[i], 25) && near(utilisation->series[0].high[i], 25));
    }
    /* 25 W over the time of a sample. */
    const bl_chart *energy = chart_of("energy");
    for (size_t c = 0; c < 3; c++)
        assert_true(near(energy->series[0].y[c], 25 * s.analysis.cases[c].seconds.estimate));
    const bl_chart *temperature = chart_of("temperature");
    assert_int_equal(temperature->series[0].n, 18);
    assert_true(temperature->series[0].y[0] > 60 && temperature->series[0].special[0]);
    assert_true(near(temperature->series[0].x[1], 1 / 60.0));
}

static void a_target_is_reached_where_it_is(void **state)
{
    const bl_chart *steps = chart_of("steps_to_target"), *time = chart_of("time_to_target");
    assert_int_equal(steps->series[0].n, 18);
    for (size_t i = 0; i < 18; i++) {
        const bl_trial_record *t = &s.trials[i];
        double wanted = 5 + 2 * (double)t->case_index, seconds = 0;
        for (size_t k = 0; k < (size_t)wanted; k++)
            seconds += (double)t->steps[k].time_ns / 1e9;
        assert_true(steps->series[0].y[i] == wanted && steps->series[0].special[i]);
        assert_true(near(time->series[0].y[i], seconds));
    }
    assert_non_null(strstr(steps->caption, "18 of the 18 trials that told losses reached a mean loss of 0.5"));
    assert_int_equal(steps->n_series, 2); /* and the curve */
    /* What the reader asks for comes before what the sweep was told. */
    bl_target never = {.name = "loss", .value = -1, .falls = true};
    s.analysis.target = &never;
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n_charts, NULL), BL_OK);
    assert_null(find("steps_to_target"));
    s.analysis.target = NULL;
    s.experiment.driving = NULL;
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n_charts, NULL), BL_OK);
    assert_null(find("time_to_target"));
}

static void a_metric_is_a_target(void **state)
{
    static bl_stored_point points[] = {{.name = "top1", .after_steps = 2, .value = 0.25},
                                       {.name = "other", .after_steps = 4, .value = 9},
                                       {.name = "top1", .after_steps = 6, .value = 0.5}};
    for (size_t i = 0; i < 18; i++) {
        s.trials[i].points = points;
        s.trials[i].n_points = 3;
    }
    s.experiment.driving = "{\"until\": \"top1=0.4375\"}";
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n_charts, NULL), BL_OK);
    const bl_chart *steps = chart_of("steps_to_target"), *time = chart_of("time_to_target");
    assert_int_equal(steps->series[0].n, 18);
    for (size_t i = 0; i < 18; i++) {
        const bl_stored_step *all = s.trials[i].steps;
        double five =
            (double)(all[0].time_ns + all[1].time_ns + all[2].time_ns + all[3].time_ns + all[4].time_ns) / 1e9;
        assert_true(steps->series[0].y[i] == 5 && near(time->series[0].y[i], five));
    }
    assert_non_null(strstr(steps->caption, "18 of the 18 trials that told top1 reached 0.4375"));
    s.experiment.driving = "{\"until\": \"map=0.4\"}";
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n_charts, NULL), BL_OK);
    assert_true(!find("steps_to_target") || find("steps_to_target")->series[0].n == 0);
    s.experiment.driving = NULL;
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n_charts, NULL), BL_OK);
}

static void noise_has_its_interval(void **state)
{
    const bl_chart *noise = chart_of("noise_scale");
    assert_int_equal(noise->n_series, 3);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < noise->series[k].n; i++) {
            assert_true(noise->series[k].x[i] == 5 * (double)(i + 1));
            assert_true(noise->series[k].low[i] <= noise->series[k].y[i] &&
                        noise->series[k].y[i] <= noise->series[k].high[i]);
            assert_true(noise->series[k].y[i] > 10 && noise->series[k].y[i] < 25);
        }
}

static void panels_hold_one_trial(void **state)
{
    const bl_chart *cpu = chart_of("trial_cpu"), *clock = chart_of("trial_clock"), *power = chart_of("trial_power");
    for (size_t i = 0; i < cpu->series[0].n; i++)
        assert_true(near(cpu->series[0].y[i], 0.5) && near(power->series[0].y[i], 25));
    assert_int_equal(cpu->series[0].n, LOOKS - 1); /* the first look has no time before it */
    assert_int_equal(chart_of("trial_busy")->series[0].n, (LOOKS + 1) / 2);
    assert_true(near(clock->series[0].y[0], 3) && near(clock->series[0].y[LOOKS - 1], 2.5));
    assert_true(cpu->shade_to > 1 && cpu->shade_to < 2.5);
    assert_non_null(strstr(cpu->x_label, "trial 1"));
}

static void looks_are_thinned(void **state)
{
    bl_panel_line lines[BL_PANEL_LINES_MAX];
    double x[8], y[8];
    size_t n = bl_panel_times(&telemetry, 8, x);
    assert_int_equal(n, 8); /* stretches of four looks, the last of three */
    assert_true(near(x[0], 0.15) && near(x[6], 2.55) && near(x[7], 2.9));
    assert_int_equal(bl_panel_lines(&telemetry, &bl_panels[1], lines), 1);
    bl_panel_values(&telemetry, &lines[0], 8, y);
    assert_true(near(y[0], 4) && near(y[1], 5)); /* the greatest of 1 2 3 4, of 5 1 2 3 */
    assert_int_equal(bl_panel_lines(&telemetry, &bl_panels[0], lines), 1);
    bl_panel_values(&telemetry, &lines[0], 8, y);
    for (size_t i = 0; i < n; i++)
        assert_true(near(y[i], 0.5));
    tree[5] = tree[6] = NAN; /* over what is missing, on to the next */
    tree[7] = 1.05;
    bl_panel_values(&telemetry, &lines[0], 8, y);
    assert_true(near(y[1], (1.05 - 0.15) / 0.4));
    for (int i = 4; i < 8; i++)
        tree[i] = NAN;
    bl_panel_values(&telemetry, &lines[0], 8, y);
    assert_true(isnan(y[1]) && near(y[2], (0.55 - 0.15) / 0.8));
}

static void of_many_trials_some_are_kept(void **state)
{
    enum { MANY = 2000 };
    bl_trial_record *trials = calloc(MANY, sizeof *trials);
    bl_experiment e = {.trials = trials, .n_trials = MANY};
    for (size_t i = 0; i < MANY; i++)
        trials[i].telemetry = &telemetry;
    bl_panel_plan plan = bl_panel_plan_make(&e);
    size_t kept = (MANY + plan.stride - 1) / plan.stride;
    assert_true(plan.n_trials == MANY && plan.points == 40 && kept * 7 * plan.points <= BL_PANEL_NUMBERS);
    assert_true((MANY + plan.stride - 2) / (plan.stride - 1) * 7 * plan.points > BL_PANEL_NUMBERS);
    e.n_trials = 10;
    plan = bl_panel_plan_make(&e);
    assert_true(plan.stride == 1 && plan.points == BL_PANEL_POINTS_MAX);
    free(trials);
}

static void pictures_are_as_they_were(void **state)
{
    static const char *const ids[] = {"utilisation",  "energy",          "temperature",
                                      "noise_scale",  "steps_to_target", "time_to_target",
                                      "trial_memory", "trial_busy",      "trial_temperature"};
    for (size_t i = 0; i < BL_ARRAY_LEN(ids); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.svg", ids[i]);
        bl_str_reset(&out);
        bl_svg_chart(chart_of(ids[i]), true, &out);
        sample_expect_golden(name, &out);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(charts_hold_the_figures),   TEST(a_target_is_reached_where_it_is),
        TEST(noise_has_its_interval),    TEST(panels_hold_one_trial),
        TEST(looks_are_thinned),         TEST(of_many_trials_some_are_kept),
        TEST(pictures_are_as_they_were), TEST(a_metric_is_a_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
