/* CSV logs of training programs: a file is a trial, a line is a step. What a line tells is found by the columns' names,
 * as Lightning's CSVLogger with its ThroughputMonitor, Ultralytics' results.csv and batchlab-train --log write them. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "store/csv_reader.h"
#include "store/import_parts.h"

static const char *const rate_names[] = {
    "samples_per_s", "samples_per_sec", "samples_per_second", "samples/s", "samples/sec",
    "images_per_s",  "images_per_sec",  "images_per_second",  "images/s",  "imgs_per_sec",
    "imgs/s",        "img/s",           "throughput"};
static const char *const batch_rate_names[] = {"batches_per_s", "batches_per_sec", "steps_per_s", "steps_per_sec",
                                               "it_per_s",      "it_per_sec",      "it/s",        "iter/s"};
static const char *const step_time_names[] = {"step_time", "time_per_step", "step_s", "batch_time", "s/it", "sec/it"};
static const char *const clock_names[] = {"time", "seconds", "elapsed", "elapsed_s", "wall_time", "total_time"};
static const char *const step_names[] = {"step", "steps", "global_step", "iteration", "iter"};
static const char *const total_names[] = {"samples", "total_samples"};
static const char *const batch_names[] = {"batch_size", "batch", "bs"};
static const char *const loss_names[] = {"train_loss", "train/loss", "loss", "train_loss_step"};

/* The column that is named so, whatever stands before the name and a slash ("device/samples_per_sec"). */
static size_t find(const bl_csv *csv, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t column = 0; column < csv->n_columns; column++) {
            const char *name = csv->names[column];
            size_t length = strlen(name), tail = strlen(names[i]);
            if (length >= tail && strcasecmp(name + length - tail, names[i]) == 0 &&
                (length == tail || name[length - tail - 1] == '/'))
                return column;
        }
    return csv->n_columns;
}

#define FIND(csv, names) find(csv, names, BL_ARRAY_LEN(names))

typedef enum measure { RATE, BATCH_RATE, STEP_TIME, CLOCK } measure;

typedef struct log_reader {
    const bl_import_file *file;
    const bl_import_options *options;
    bl_error *err;
    bl_csv csv;
    measure measure;
    size_t column, step, total, batch_column, loss;
    int64_t batch;
    double before_step, before_total, before_clock; /* of the line before that told one */
} log_reader;

static int find_columns(log_reader *r)
{
    const bl_csv *csv = &r->csv;
    const size_t found[] = {FIND(csv, rate_names), FIND(csv, batch_rate_names), FIND(csv, step_time_names),
                            FIND(csv, clock_names)};
    r->step = FIND(csv, step_names);
    r->total = FIND(csv, total_names);
    r->batch_column = FIND(csv, batch_names);
    r->loss = FIND(csv, loss_names);
    r->batch = r->file->batch;
    for (size_t i = 0; i < BL_ARRAY_LEN(found); i++)
        if (found[i] < csv->n_columns) {
            r->measure = (measure)i;
            r->column = found[i];
            return BL_OK;
        }
    BL_FAIL(r->err, BL_ERR_FORMAT, "%s: no column tells a throughput or a time", r->file->name);
    bl_error_remedy(r->err, "it wants one named samples_per_sec, batches_per_sec, step_time or time, or the like");
    return BL_ERR_FORMAT;
}

static int find_batch(log_reader *r)
{
    for (size_t row = 0; row < r->csv.n_rows && r->batch_column < r->csv.n_columns; row++) {
        int64_t batch;
        int code = bl_csv_int(&r->csv, row, r->batch_column, 1, INT32_MAX, 0, &batch, r->err);
        if (code != BL_OK)
            return code;
        if (batch > 0 && r->batch > 0 && batch != r->batch)
            return BL_FAIL(r->err, BL_ERR_FORMAT, "%s:%zu: batch size %lld, and %lld before", r->file->name,
                           r->csv.lines[row], (long long)batch, (long long)r->batch);
        r->batch = batch > 0 ? batch : r->batch;
    }
    if (r->batch > 0)
        return BL_OK;
    BL_FAIL(r->err, BL_ERR_USAGE, "%s: it does not tell the batch size", r->file->name);
    bl_error_remedy(r->err, "put it before the name: batchlab import 32=%.100s", r->file->name);
    return BL_ERR_USAGE;
}

/* What a counter grew by since the last line that had it; NaN where this line has none. */
static int growth(log_reader *r, size_t row, size_t column, double *before, double *out)
{
    double now;
    int code = bl_csv_real(&r->csv, row, column, &now, r->err);
    *out = now - *before;
    if (code == BL_OK && isfinite(now))
        *before = now;
    return code;
}

/* Samples of a line: as told by --row-samples, by a counter of samples, or of steps, or else one batch. */
static int read_samples(log_reader *r, size_t row, bool one_batch, double *samples)
{
    double total, steps;
    int code = growth(r, row, r->total, &r->before_total, &total);
    if (code == BL_OK)
        code = growth(r, row, r->step, &r->before_step, &steps);
    *samples = isfinite(r->options->row_samples) ? r->options->row_samples
               : total > 0                       ? total
               : steps > 0                       ? steps * (double)r->batch
               : one_batch                       ? (double)r->batch
                                                 : NAN;
    return code;
}

/* time_ns stays 0 where the line tells none. */
static int read_line(log_reader *r, size_t row, bl_stored_step *out)
{
    double value, samples = NAN, seconds = NAN;
    *out = (bl_stored_step){.wait_ns = -1, .loss = NAN};
    int code = bl_csv_real(&r->csv, row, r->column, &value, r->err);
    if (code != BL_OK || isnan(value))
        return code;
    code = read_samples(r, row, r->measure != CLOCK, &samples);
    if (code != BL_OK)
        return code;
    switch (r->measure) {
    case RATE:
        seconds = samples / value;
        break;
    case BATCH_RATE:
        seconds = samples / (value * (double)r->batch);
        break;
    case STEP_TIME:
        seconds = value * samples / (double)r->batch;
        break;
    case CLOCK:
        code = growth(r, row, r->column, &r->before_clock, &seconds);
        break;
    }
    if (code == BL_OK && isnan(samples)) {
        BL_FAIL(r->err, BL_ERR_USAGE, "%s:%zu: it tells a time, but not of how many samples", r->file->name,
                r->csv.lines[row]);
        bl_error_remedy(r->err, "tell the samples of a line (of an epoch, mostly): --row-samples N");
        return BL_ERR_USAGE;
    }
    if (code == BL_OK && row == 0 && r->measure == CLOCK && seconds == 0)
        return BL_OK; /* the start of the clock */
    if (code == BL_OK && (!(seconds > 0) || seconds > 1e8 || !(samples >= 1) || samples > 1e15))
        return BL_FAIL(r->err, BL_ERR_FORMAT, "%s:%zu: %.60s gives no time above 0 for at least one sample",
                       r->file->name, r->csv.lines[row], r->csv.names[r->column]);
    out->samples = (int64_t)llround(samples);
    out->time_ns = (int64_t)llround(1e9 * seconds);
    out->time_ns += out->time_ns == 0;
    return code == BL_OK ? bl_csv_real(&r->csv, row, r->loss, &out->loss, r->err) : code;
}

static int read_log(log_reader *r, bl_arena *arena, bl_trial_record *t)
{
    int code = bl_csv_parse(r->file->name, r->file->text, arena, &r->csv, r->err);
    if (code == BL_OK)
        code = find_columns(r);
    if (code == BL_OK)
        code = find_batch(r);
    *t = bl_import_trial();
    t->steps = code == BL_OK ? bl_arena_alloc(arena, r->csv.n_rows + 1, sizeof *t->steps) : NULL;
    if (code == BL_OK && !t->steps)
        code = bl_import_no_memory(r->file, r->err);
    int64_t end_ns = 0;
    for (size_t row = 0; code == BL_OK && row < r->csv.n_rows; row++) {
        bl_stored_step *step = &t->steps[t->n_steps];
        code = read_line(r, row, step);
        if (code != BL_OK || step->time_ns == 0)
            continue;
        step->end_ns = end_ns += step->time_ns;
        t->n_steps++;
    }
    if (code != BL_OK)
        return code;
    if (t->n_steps == 0)
        return BL_FAIL(r->err, BL_ERR_FORMAT, "%s: no line tells a time", r->file->name);
    t->wall_s = (double)end_ns / 1e9;
    t->cpu_note = t->memory_note = "not told by the log";
    t->step_source = "progress";
    t->step_note = bl_arena_printf(arena, "lines of a log, by its column %.80s", r->csv.names[r->column]);
    return t->step_note ? BL_OK : bl_import_no_memory(r->file, r->err);
}

/* Each trial to its case and block. */
static int place(const bl_import_file *files, size_t n, const int64_t *batches, bl_arena *arena, bl_experiment *e,
                 bl_error *err)
{
    bl_stored_factor *factor = bl_arena_alloc(arena, 1, sizeof *factor);
    size_t *used = bl_arena_alloc(arena, n, sizeof *used);
    if (!factor || !used || !(factor->values = bl_arena_alloc(arena, n, sizeof *factor->values)))
        return bl_import_no_memory(&files[0], err);
    factor->name = "batch";
    e->factors = factor;
    e->n_factors = 1;
    for (size_t i = 0; i < n; i++) {
        const char *value = bl_arena_printf(arena, "%lld", (long long)batches[i]);
        if (!value)
            return bl_import_no_memory(&files[0], err);
        bl_import_add_value(factor, value);
        bl_trial_record *t = &e->trials[i];
        t->case_index = bl_import_find_case(e, &value);
        t->position = t->case_index;
        t->block = used[t->case_index]++;
        t->started_ns = e->created_ns;
        e->blocks = (int64_t)t->block + 1 > e->blocks ? (int64_t)t->block + 1 : e->blocks;
    }
    return BL_OK;
}

int bl_import_logs(const bl_import_file *files, size_t n, const bl_import_options *options, bl_arena *arena,
                   bl_experiment *out, bl_error *err)
{
    *out = (bl_experiment){0};
    int code =
        bl_import_begin(&files[0], options, "CSV logs",
                        "a file is a trial, a line is a step; the Nth file of each batch size is taken as block N, "
                        "whatever order they ran in; times of day are not known",
                        arena, out, err);
    out->trials = bl_arena_alloc(arena, n, sizeof *out->trials);
    int64_t *batches = bl_arena_alloc(arena, n, sizeof *batches);
    if (code == BL_OK && (!out->trials || !batches))
        code = bl_import_no_memory(&files[0], err);
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        log_reader r = {.file = &files[i], .options = options, .err = err};
        code = read_log(&r, arena, &out->trials[i]);
        batches[i] = r.batch;
        out->n_trials = i + 1;
    }
    if (code == BL_OK)
        code = place(files, n, batches, arena, out, err);
    return code == BL_OK ? bl_import_check(&files[0], out, err) : code;
}
