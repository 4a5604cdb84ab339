#include "telemetry/recording.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

struct bl_sampler {
    bl_telemetry *telemetry;
    bl_recording recording;
    double *origins; /* first values of counters; NaN before */
    size_t cap;      /* looks that there is room for */
    size_t looks_max;
    int64_t period_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

/* ---- what is kept ---- */

static bool grow_looks(bl_sampler *s)
{
    bl_recording *r = &s->recording;
    size_t cap = s->cap ? s->cap * 2 : 256;
    int64_t *t_ns = bl_realloc(r->t_ns, cap, sizeof *t_ns);
    if (!t_ns)
        return false;
    r->t_ns = t_ns;
    for (size_t i = 0; i < r->n_series; i++) {
        double *values = bl_realloc(r->series[i].values, cap, sizeof *values);
        if (!values)
            return false;
        r->series[i].values = values;
    }
    s->cap = cap;
    return true;
}

/* Series that have come since the last look: NaN for the looks before. */
static bool grow_series(bl_sampler *s)
{
    bl_recording *r = &s->recording;
    size_t n = bl_telemetry_n_series(s->telemetry);
    if (n == r->n_series)
        return true;
    bl_recorded_series *series = bl_realloc(r->series, n, sizeof *series);
    if (!series)
        return false;
    r->series = series;
    double *origins = bl_realloc(s->origins, n, sizeof *origins);
    if (!origins)
        return false;
    s->origins = origins;
    while (r->n_series < n) {
        bl_recorded_series *one = &r->series[r->n_series];
        *one = (bl_recorded_series){.values = bl_calloc(s->cap, sizeof(double))};
        if (!one->values)
            return false;
        for (size_t i = 0; i < r->n; i++)
            one->values[i] = NAN;
        s->origins[r->n_series++] = NAN;
    }
    return true;
}

/* Half of the looks go; counters lose nothing by it. */
static void thin_out(bl_sampler *s)
{
    bl_recording *r = &s->recording;
    size_t kept = 0;
    for (size_t i = 0; i < r->n; i += 2, kept++) {
        r->t_ns[kept] = r->t_ns[i];
        for (size_t k = 0; k < r->n_series; k++) {
            double second = i + 1 < r->n ? r->series[k].values[i + 1] : NAN;
            double first = r->series[k].values[i];
            r->series[k].values[kept] = isnan(first) ? second : first;
        }
    }
    r->n = kept;
    s->period_ns *= 2;
}

static void take_look(bl_sampler *s)
{
    bl_recording *r = &s->recording;
    int64_t now_ns = bl_clock_ns();
    bl_telemetry_look(s->telemetry, now_ns);
    if (r->n == s->looks_max)
        thin_out(s);
    if ((r->n == s->cap && !grow_looks(s)) || !grow_series(s))
        return;
    r->t_ns[r->n] = now_ns;
    for (size_t i = 0; i < r->n_series; i++) {
        const bl_series *series = bl_telemetry_series(s->telemetry, i);
        double value = series->value;
        if (bl_metric_get(series->metric)->counter) {
            s->origins[i] = isnan(s->origins[i]) ? value : s->origins[i];
            value -= s->origins[i];
        }
        r->series[i].about = *series;
        r->series[i].values[r->n] = value;
    }
    r->n++;
}

/* ---- the thread ---- */

static void *run(void *context)
{
    bl_sampler *s = context;
    int64_t next_ns = bl_clock_ns();
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        pthread_mutex_unlock(&s->lock);
        take_look(s);
        int64_t now_ns = bl_clock_ns();
        next_ns += s->period_ns;
        if (next_ns <= now_ns) /* looks that were missed are not made up for */
            next_ns = now_ns + s->period_ns;
        struct timespec until = {.tv_sec = next_ns / BL_NS_PER_S, .tv_nsec = next_ns % BL_NS_PER_S};
        pthread_mutex_lock(&s->lock);
        while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &until) != ETIMEDOUT)
            ;
    }
    pthread_mutex_unlock(&s->lock);
    take_look(s);
    struct timespec cpu;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
        s->recording.cost_s = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    return NULL;
}

/* Signals are for the thread that started this one. */
static int start_thread(bl_sampler *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&s->thread, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void free_sampler(bl_sampler *s)
{
    bl_recording_clear(&s->recording);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->origins);
    free(s);
}

static bool copy_sources(bl_sampler *s)
{
    bl_recording *r = &s->recording;
    size_t n = bl_telemetry_n_sources(s->telemetry);
    r->sources = bl_calloc(n, sizeof *r->sources);
    for (; r->sources && r->n_sources < n; r->n_sources++)
        r->sources[r->n_sources] = *bl_telemetry_source(s->telemetry, r->n_sources);
    return r->sources != NULL;
}

int bl_sampler_start(bl_telemetry *telemetry, double hz, size_t looks_max, bl_sampler **out, bl_error *err)
{
    bl_sampler *s = bl_calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for telemetry");
    s->telemetry = telemetry;
    s->looks_max = looks_max;
    s->period_ns = (int64_t)((double)BL_NS_PER_S / hz);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!copy_sources(s) || !grow_looks(s) || !grow_series(s)) {
        free_sampler(s);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for telemetry");
    }
    bl_telemetry_begin(telemetry);
    int error = start_thread(s);
    if (error != 0) {
        free_sampler(s);
        return BL_FAIL(err, BL_ERR_ENV, "no thread for telemetry: %s", strerror(error));
    }
    *out = s;
    return BL_OK;
}

void bl_sampler_stop(bl_sampler *s, bl_recording *out)
{
    *out = (bl_recording){0};
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    bl_recording *r = &s->recording;
    for (size_t i = 0; i < r->n_series; i++) {
        r->series[i].n_present = 0;
        for (size_t k = 0; k < r->n; k++)
            r->series[i].n_present += !isnan(r->series[i].values[k]);
    }
    r->pace_hz = (double)BL_NS_PER_S / (double)s->period_ns;
    *out = *r;
    *r = (bl_recording){0};
    free_sampler(s);
}

void bl_recording_clear(bl_recording *r)
{
    for (size_t i = 0; i < r->n_series; i++)
        free(r->series[i].values);
    free(r->series);
    free(r->t_ns);
    free(r->sources);
    *r = (bl_recording){0};
}
