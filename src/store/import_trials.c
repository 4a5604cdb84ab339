/* batchlab's own CSV: a line a trial, and a line a step in another file (report/csv.c). */
#include <math.h>
#include <string.h>

#include "store/csv_reader.h"
#include "store/import_parts.h"

/* The columns of trials before and after the factors'. */
enum { BEFORE = 3 };

typedef struct table {
    bl_csv csv;
    size_t n_factors;
    size_t reason, started, per_sample, wall, user, system, memory, source, steps, status, signal, budget;
} table;

static int find_columns(const bl_import_file *file, table *t, bl_error *err)
{
    const bl_csv *csv = &t->csv;
    size_t outcome = bl_csv_find(csv, "outcome");
    const struct {
        const char *name;
        size_t *at;
    } wanted[] = {{"reason", &t->reason},        {"started", &t->started},      {"seconds_per_sample", &t->per_sample},
                  {"wall_s", &t->wall},          {"user_s", &t->user},          {"system_s", &t->system},
                  {"peak_memory_b", &t->memory}, {"figure_source", &t->source}, {"steps", &t->steps},
                  {"exit_status", &t->status},   {"exit_signal", &t->signal},   {"ended_by_budget", &t->budget}};
    for (size_t i = 0; i < BL_ARRAY_LEN(wanted); i++)
        if ((*wanted[i].at = bl_csv_find(csv, wanted[i].name)) == csv->n_columns)
            return BL_FAIL(err, BL_ERR_FORMAT, "%s: the column %s is missing", file->name, wanted[i].name);
    if (outcome == csv->n_columns || outcome <= BEFORE || strcmp(csv->names[0], "trial") != 0)
        return BL_FAIL(err, BL_ERR_FORMAT, "%s: no factor stands before the outcome", file->name);
    t->n_factors = outcome - BEFORE;
    return BL_OK;
}

/* The exporter puts an apostrophe before what a spreadsheet would take for a formula. */
static const char *plain(const char *text)
{
    return text[0] == '\'' && text[1] && strchr("=+-@\t\r", text[1]) ? text + 1 : text;
}

static int make_factors(const bl_import_file *file, const table *t, bl_arena *arena, bl_experiment *e, bl_error *err)
{
    e->n_factors = t->n_factors;
    e->factors = bl_arena_alloc(arena, t->n_factors, sizeof *e->factors);
    if (!e->factors)
        return bl_import_no_memory(file, err);
    for (size_t f = 0; f < t->n_factors; f++) {
        e->factors[f].name = plain(t->csv.names[BEFORE + f]);
        e->factors[f].values = bl_arena_alloc(arena, t->csv.n_rows, sizeof *e->factors[f].values);
        if (!e->factors[f].values)
            return bl_import_no_memory(file, err);
    }
    return BL_OK;
}

static int by_number(const char *a, const char *b)
{
    size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
    return n != m ? (n > m) - (n < m) : strcmp(a, b);
}

/* Values come in the order that the trials were shuffled into; they are sorted, numbers by their size. */
static void collect_values(const table *t, bl_experiment *e)
{
    for (size_t f = 0; f < e->n_factors; f++) {
        bl_stored_factor *factor = &e->factors[f];
        for (size_t row = 0; row < t->csv.n_rows && factor->n_values <= BL_IMPORT_CASES_MAX; row++)
            bl_import_add_value(factor, plain(bl_csv_at(&t->csv, row, BEFORE + f)));
        for (size_t i = 1; i < factor->n_values; i++)
            for (size_t k = i; k > 0 && by_number(factor->values[k - 1], factor->values[k]) > 0; k--) {
                const char *swap = factor->values[k];
                factor->values[k] = factor->values[k - 1];
                factor->values[k - 1] = swap;
            }
    }
}

/* How it was timed: by its figure's source, or where it has none by whether it told steps. */
static int read_source(const table *t, size_t row, bl_trial_record *out, bl_error *err)
{
    const char *source = bl_csv_at(&t->csv, row, t->source);
    double per_sample;
    int64_t n_steps;
    int code = bl_csv_real(&t->csv, row, t->per_sample, &per_sample, err);
    if (code == BL_OK)
        code = bl_csv_int(&t->csv, row, t->steps, 0, INT64_MAX, 0, &n_steps, err);
    if (code != BL_OK)
        return code;
    if (strcmp(source, "progress") == 0)
        out->step_source = "progress";
    else if (strcmp(source, "steps") == 0 || n_steps > 0)
        out->step_source = "markers";
    if (strcmp(source, "wall") == 0 && per_sample > 0)
        out->run_samples = out->wall_s / per_sample;
    return BL_OK;
}

static int read_trial(const bl_import_file *file, const table *t, size_t row, const bl_experiment *e,
                      bl_trial_record *out, bl_error *err)
{
    const bl_csv *csv = &t->csv;
    const char *values[16];
    int64_t block = 1, position = 1, status = 0, signal = 0;
    *out = bl_import_trial();
    for (size_t f = 0; f < e->n_factors; f++)
        values[f] = plain(bl_csv_at(csv, row, BEFORE + f));
    out->case_index = bl_import_find_case(e, values);
    const char *reason = plain(bl_csv_at(csv, row, t->reason));
    out->outcome = bl_csv_at(csv, row, BEFORE + e->n_factors);
    out->reason = reason[0] ? reason : NULL;
    out->ended_by_budget = strcmp(bl_csv_at(csv, row, t->budget), "1") == 0;
    int code = bl_csv_int(csv, row, 0, 1, INT64_MAX, 0, &out->id, err);
    if (code == BL_OK)
        code = bl_csv_int(csv, row, 1, 1, BL_IMPORT_BLOCKS_MAX, 1, &block, err);
    if (code == BL_OK)
        code = bl_csv_int(csv, row, 2, 1, BL_IMPORT_CASES_MAX, 1, &position, err);
    if (code == BL_OK)
        code = bl_csv_int(csv, row, t->status, -1, 255, -1, &status, err);
    if (code == BL_OK)
        code = bl_csv_int(csv, row, t->signal, 0, 255, 0, &signal, err);
    const struct {
        size_t column;
        double *to;
    } reals[] = {{t->wall, &out->wall_s},
                 {t->user, &out->user_s},
                 {t->system, &out->system_s},
                 {t->memory, &out->peak_memory_b}};
    for (size_t i = 0; code == BL_OK && i < BL_ARRAY_LEN(reals); i++)
        code = bl_csv_real(csv, row, reals[i].column, reals[i].to, err);
    if (code == BL_OK && !bl_import_parse_utc(bl_csv_at(csv, row, t->started), &out->started_ns))
        code = BL_FAIL(err, BL_ERR_FORMAT, "%s:%zu: '%.40s' is no time", file->name, csv->lines[row],
                       bl_csv_at(csv, row, t->started));
    out->block = (size_t)block - 1;
    out->position = (size_t)position - 1;
    out->exit_status = (int)status;
    out->exit_signal = (int)signal;
    return code == BL_OK ? read_source(t, row, out, err) : code;
}

/* ---- steps ---- */

static bl_trial_record *find_trial(bl_experiment *e, int64_t id, size_t *hint)
{
    for (size_t k = 0; k < e->n_trials; k++) {
        size_t i = (*hint + k) % e->n_trials; /* lines of one trial stand together */
        if (e->trials[i].id == id) {
            *hint = i;
            return &e->trials[i];
        }
    }
    return NULL;
}

static int read_step(const bl_csv *csv, size_t row, const size_t *columns, bl_stored_step *out, bl_error *err)
{
    *out = (bl_stored_step){0};
    int code = bl_csv_int(csv, row, columns[0], 1, INT64_MAX, 0, &out->samples, err);
    if (code == BL_OK)
        code = bl_csv_int(csv, row, columns[1], INT64_MIN, INT64_MAX, 0, &out->end_ns, err);
    if (code == BL_OK)
        code = bl_csv_int(csv, row, columns[2], 1, INT64_MAX, 0, &out->time_ns, err);
    if (code == BL_OK)
        code = bl_csv_int(csv, row, columns[3], 0, INT64_MAX, -1, &out->wait_ns, err);
    return code == BL_OK ? bl_csv_real(csv, row, columns[4], &out->loss, err) : code;
}

/* Two passes: first each trial's steps are counted, then read. */
static int read_steps(const bl_import_file *file, bl_arena *arena, bl_experiment *e, bl_error *err)
{
    static const char *const names[] = {"samples", "end_ns", "time_ns", "wait_ns", "loss"};
    size_t columns[BL_ARRAY_LEN(names)], hint = 0;
    bl_csv csv;
    int code = bl_csv_parse(file->name, file->text, arena, &csv, err);
    for (size_t i = 0; code == BL_OK && i < BL_ARRAY_LEN(names); i++)
        if ((columns[i] = bl_csv_find(&csv, names[i])) == csv.n_columns || strcmp(csv.names[0], "trial") != 0)
            code = BL_FAIL(err, BL_ERR_FORMAT, "%s: the column %s is missing, or trial is not the first", file->name,
                           names[i]);
    bl_trial_record **owner = code == BL_OK ? bl_arena_alloc(arena, csv.n_rows, sizeof *owner) : NULL;
    if (code == BL_OK && !owner)
        code = bl_import_no_memory(file, err);
    for (size_t row = 0; code == BL_OK && row < csv.n_rows; row++) {
        int64_t id;
        code = bl_csv_int(&csv, row, 0, 1, INT64_MAX, 0, &id, err);
        owner[row] = code == BL_OK ? find_trial(e, id, &hint) : NULL;
        if (code == BL_OK && !owner[row])
            code = BL_FAIL(err, BL_ERR_FORMAT, "%s:%zu: there is no trial %lld", file->name, csv.lines[row],
                           (long long)id);
        else if (code == BL_OK)
            owner[row]->n_steps++;
    }
    for (size_t i = 0; code == BL_OK && i < e->n_trials; i++) {
        e->trials[i].steps = bl_arena_alloc(arena, e->trials[i].n_steps + 1, sizeof *e->trials[i].steps);
        e->trials[i].n_steps = 0;
        if (!e->trials[i].steps)
            code = bl_import_no_memory(file, err);
    }
    for (size_t row = 0; code == BL_OK && row < csv.n_rows; row++)
        code = read_step(&csv, row, columns, &owner[row]->steps[owner[row]->n_steps++], err);
    return code;
}

/* As many as the table of trials says. */
static int check_steps(const bl_import_file *file, const table *t, const bl_experiment *e, bl_error *err)
{
    for (size_t i = 0; i < e->n_trials; i++) {
        int64_t n = 0;
        int code = bl_csv_int(&t->csv, i, t->steps, 0, INT64_MAX, 0, &n, err);
        if (code != BL_OK)
            return code;
        if ((int64_t)e->trials[i].n_steps == n)
            continue;
        BL_FAIL(err, BL_ERR_USAGE, "%s: trial %lld has %lld steps, %zu are given", file->name,
                (long long)e->trials[i].id, (long long)n, e->trials[i].n_steps);
        bl_error_remedy(err, "give them by --steps FILE, as batchlab export --steps writes them");
        return BL_ERR_USAGE;
    }
    return BL_OK;
}

int bl_import_trials(const bl_import_file *file, const bl_import_file *steps, const bl_import_options *options,
                     bl_arena *arena, bl_experiment *out, bl_error *err)
{
    table t = {0};
    *out = (bl_experiment){0};
    int code = bl_csv_parse(file->name, file->text, arena, &t.csv, err);
    if (code == BL_OK)
        code = find_columns(file, &t, err);
    if (code == BL_OK)
        code = bl_import_begin(file, options, "batchlab's CSV", "settings and machine are not known", arena, out, err);
    if (code == BL_OK)
        code = make_factors(file, &t, arena, out, err);
    if (code != BL_OK)
        return code;
    collect_values(&t, out);
    code = bl_import_check(file, out, err);
    out->trials = bl_arena_alloc(arena, t.csv.n_rows, sizeof *out->trials);
    if (code == BL_OK && !out->trials)
        code = bl_import_no_memory(file, err);
    out->blocks = 1;
    for (size_t row = 0; code == BL_OK && row < t.csv.n_rows; row++) {
        bl_trial_record *trial = &out->trials[out->n_trials++];
        code = read_trial(file, &t, row, out, trial, err);
        out->blocks = (int64_t)trial->block + 1 > out->blocks ? (int64_t)trial->block + 1 : out->blocks;
    }
    if (code == BL_OK && out->n_trials > 0)
        out->created_ns = out->trials[0].started_ns;
    if (code == BL_OK && steps)
        code = read_steps(steps, arena, out, err);
    if (code == BL_OK)
        code = check_steps(file, &t, out, err);
    return code == BL_OK ? bl_import_check(file, out, err) : code;
}
