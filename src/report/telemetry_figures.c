#include "report/telemetry_figures.h"

#include <math.h>
#include <string.h>

/* Bits of NVML that hold a device back: power cap, hardware slowdown, heat (twice), power brake. */
#define HELD_BACK 0xECu

typedef struct window {
    const bl_stored_telemetry *t;
    double from_ns, to_ns, samples;
} window;

static bool is_metric(const bl_stored_series *s, const char *metric)
{
    return s->metric && s->values && strcmp(s->metric, metric) == 0;
}

/* A counter's value at a time, between its neighbours; NaN outside what was looked at. */
static double counter_at(const window *w, const bl_stored_series *s, double t_ns)
{
    size_t before = w->t->n, after = w->t->n;
    for (size_t i = 0; i < w->t->n && after == w->t->n; i++) {
        if (isnan(s->values[i]))
            continue;
        if ((double)w->t->t_ns[i] <= t_ns)
            before = i;
        if ((double)w->t->t_ns[i] >= t_ns)
            after = i;
    }
    if (before == w->t->n || after == w->t->n)
        return NAN;
    if (before == after)
        return s->values[before];
    double share = (t_ns - (double)w->t->t_ns[before]) / (double)(w->t->t_ns[after] - w->t->t_ns[before]);
    return s->values[before] + share * (s->values[after] - s->values[before]);
}

static double difference(const window *w, const bl_stored_series *s)
{
    return counter_at(w, s, w->to_ns) - counter_at(w, s, w->from_ns);
}

static double seconds(const window *w)
{
    return (w->to_ns - w->from_ns) / 1e9;
}

static bool inside(const window *w, size_t i)
{
    return (double)w->t->t_ns[i] >= w->from_ns && (double)w->t->t_ns[i] <= w->to_ns;
}

static double mean_of(const window *w, const bl_stored_series *s)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < w->t->n; i++)
        if (inside(w, i) && !isnan(s->values[i])) {
            sum += s->values[i];
            n++;
        }
    return n > 0 ? sum / n : NAN;
}

static double largest_of(const window *w, const bl_stored_series *s)
{
    double largest = NAN;
    for (size_t i = 0; i < w->t->n; i++)
        if (inside(w, i) && !isnan(s->values[i]) && !(largest >= s->values[i]))
            largest = s->values[i];
    return largest;
}

static bool is_device(const bl_stored_series *s)
{
    return strcmp(s->source, "NVML") == 0 || strcmp(s->source, "amdgpu") == 0;
}

/* NaN where a metric of this scope is not there. */
static double device_energy(const window *w, const char *scope, const char *metric)
{
    for (size_t i = 0; i < w->t->n_series; i++) {
        const bl_stored_series *s = &w->t->series[i];
        if (is_device(s) && is_metric(s, metric) && strcmp(s->scope, scope) == 0)
            return difference(w, s);
    }
    return NAN;
}

/* Every device has either a power that is integrated or a counter; the counter is trusted more. */
static double energy_j(const window *w, bl_telemetry_figure *out)
{
    double sum = NAN;
    for (size_t i = 0; i < w->t->n_series; i++) {
        const bl_stored_series *s = &w->t->series[i];
        double one = NAN;
        if (strcmp(s->source, "RAPL") == 0 && is_metric(s, "energy")) {
            one = difference(w, s);
        } else if (is_device(s) && is_metric(s, "energy_integrated") && seconds(w) >= BL_DEVICE_ENERGY_MIN_S) {
            double counted = device_energy(w, s->scope, "energy"), integrated = difference(w, s);
            one = isnan(counted) ? integrated : counted;
            if (fabs(counted - integrated) > 0.2 * counted)
                out->doubtful_power = true;
        } else if (is_device(s) && is_metric(s, "energy") && seconds(w) >= BL_DEVICE_ENERGY_MIN_S &&
                   isnan(device_energy(w, s->scope, "energy_integrated"))) {
            one = difference(w, s);
        }
        if (!isnan(one))
            sum = (isnan(sum) ? 0 : sum) + one;
    }
    return sum;
}

static void look_at_devices(const window *w, bl_telemetry_figure *out)
{
    double busy = 0, memory = 0, held = 0, looks = 0;
    size_t n_busy = 0, n_memory = 0;
    for (size_t i = 0; i < w->t->n_series; i++) {
        const bl_stored_series *s = &w->t->series[i];
        double value;
        if (!s->metric || !is_device(s))
            continue;
        if (is_metric(s, "busy") && !isnan(value = mean_of(w, s))) {
            busy += value;
            n_busy++;
        }
        if (is_metric(s, "memory") && !isnan(value = largest_of(w, s))) {
            memory += value;
            n_memory++;
        }
        for (size_t k = 0; is_metric(s, "throttle_reasons") && k < w->t->n; k++)
            if (inside(w, k) && s->values[k] >= 0 && s->values[k] < 0x1p53) {
                held += ((uint64_t)s->values[k] & HELD_BACK) != 0;
                looks++;
            }
    }
    out->device_busy = n_busy > 0 ? busy / (double)n_busy : NAN;
    out->device_memory_b = n_memory > 0 ? memory : NAN;
    out->throttled = looks > 0 ? held / looks : NAN;
}

static bool find_window(const bl_trial_record *t, const bl_trial_figure *figure, window *w)
{
    *w = (window){.t = t->telemetry, .samples = 0};
    if (!t->telemetry || t->telemetry->n < 2)
        return false;
    if (t->n_steps > 0 && t->steps && figure->warm_from < t->n_steps) {
        w->from_ns = (double)(t->steps[figure->warm_from].end_ns - t->steps[figure->warm_from].time_ns);
        w->to_ns = (double)t->steps[t->n_steps - 1].end_ns;
        for (size_t i = figure->warm_from; i < t->n_steps; i++)
            w->samples += (double)t->steps[i].samples;
    } else {
        w->from_ns = (double)t->telemetry->t_ns[0];
        w->to_ns = (double)t->telemetry->t_ns[t->telemetry->n - 1];
        w->samples = t->n_steps == 0 ? t->run_samples : NAN;
    }
    return w->to_ns > w->from_ns;
}

static const bl_telemetry_figure nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, false};

void bl_telemetry_figure_compute(const bl_trial_record *t, const bl_trial_figure *figure, bl_telemetry_figure *out)
{
    window w;
    *out = nothing;
    if (!find_window(t, figure, &w))
        return;
    double everybody = NAN;
    for (size_t i = 0; i < w.t->n_series; i++) {
        const bl_stored_series *s = &w.t->series[i];
        if (is_metric(s, "cpu_time") && strcmp(s->source, "process tree") == 0)
            out->cpu_cores = difference(&w, s) / seconds(&w);
        if (is_metric(s, "cpu_time") && strcmp(s->source, "machine") == 0)
            everybody = difference(&w, s) / seconds(&w);
        if (is_metric(s, "temperature")) {
            double hottest = largest_of(&w, s);
            out->hottest_c = hottest > out->hottest_c || isnan(out->hottest_c) ? hottest : out->hottest_c;
        }
    }
    /* The kernel counts everybody's time in ticks, the trial's exactly: a little below 0 is none. */
    out->other_cores = everybody - out->cpu_cores;
    out->other_cores = out->other_cores < 0 ? 0 : out->other_cores;
    look_at_devices(&w, out);
    double joules = energy_j(&w, out);
    out->power_w = joules / seconds(&w);
    out->joules_per_sample = w.samples > 0 ? joules / w.samples : NAN;
}

static void add_mean(double value, double *sum, double *n)
{
    if (isnan(value))
        return;
    *sum += value;
    *n += 1;
}

static void add_largest(double value, double *largest)
{
    if (!isnan(value) && !(*largest >= value))
        *largest = value;
}

bool bl_telemetry_figure_of_case(const bl_analysis *a, size_t c, bl_telemetry_figure *out)
{
    enum { CORES, OTHERS, BUSY, POWER, JOULES, THROTTLED, MEANS };
    double sum[MEANS] = {0}, n[MEANS] = {0};
    bool any = false;
    *out = nothing;
    for (size_t i = 0; i < a->experiment->n_trials; i++) {
        const bl_trial_record *t = &a->experiment->trials[i];
        if (t->case_index != c || !t->telemetry || strcmp(t->outcome, "ok") != 0)
            continue;
        bl_telemetry_figure one;
        bl_telemetry_figure_compute(t, &a->trials[i], &one);
        any = true;
        add_mean(one.cpu_cores, &sum[CORES], &n[CORES]);
        add_mean(one.other_cores, &sum[OTHERS], &n[OTHERS]);
        add_mean(one.device_busy, &sum[BUSY], &n[BUSY]);
        add_mean(one.power_w, &sum[POWER], &n[POWER]);
        add_mean(one.joules_per_sample, &sum[JOULES], &n[JOULES]);
        add_mean(one.throttled, &sum[THROTTLED], &n[THROTTLED]);
        add_largest(one.device_memory_b, &out->device_memory_b);
        add_largest(one.hottest_c, &out->hottest_c);
        out->doubtful_power = out->doubtful_power || one.doubtful_power;
    }
    double *const targets[MEANS] = {&out->cpu_cores, &out->other_cores,       &out->device_busy,
                                    &out->power_w,   &out->joules_per_sample, &out->throttled};
    for (int k = 0; k < MEANS; k++)
        *targets[k] = n[k] > 0 ? sum[k] / n[k] : NAN;
    return any;
}
