#include <jansson.h>
#include <math.h>
#include <string.h>

#include "store/internal.h"

static const char reading[] = "reading";

/* Everything one load needs to hand on. */
typedef struct reader {
    bl_store *store;
    bl_arena *arena;
    bl_error *err;
    int code;
} reader;

static void fail_memory(reader *r)
{
    if (r->code == BL_OK)
        r->code = BL_FAIL(r->err, BL_ERR_NOMEM, "no memory for what database '%s' holds", r->store->path);
}

static void *take(reader *r, size_t count, size_t size)
{
    void *block = bl_arena_alloc(r->arena, count, size);
    if (!block)
        fail_memory(r);
    return block;
}

/* NULL for NULL. */
static const char *take_text(reader *r, sqlite3_stmt *s, int column)
{
    const unsigned char *text = sqlite3_column_text(s, column);
    if (!text)
        return NULL;
    char *copy = bl_arena_strdup(r->arena, (const char *)text);
    if (!copy)
        fail_memory(r);
    return copy;
}

static double take_real(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static int64_t take_int(sqlite3_stmt *s, int column, int64_t missing)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? missing : sqlite3_column_int64(s, column);
}

/* A statement about one experiment or trial; NULL on an earlier or present failure. */
static sqlite3_stmt *query(reader *r, const char *sql, int64_t id)
{
    if (r->code != BL_OK)
        return NULL;
    sqlite3_stmt *s = bl_store_prepare(r->store, sql, reading, r->err);
    if (!s)
        r->code = r->err ? (int)r->err->code : BL_ERR_IO;
    else
        sqlite3_bind_int64(s, 1, id);
    return s;
}

/* The next row, if any; ends the statement after the last. */
static bool next(reader *r, sqlite3_stmt *s)
{
    if (!s)
        return false;
    int rc = r->code == BL_OK ? sqlite3_step(s) : SQLITE_DONE;
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        r->code = bl_store_error(r->store, rc, reading, r->err);
    sqlite3_finalize(s);
    return false;
}

static size_t count(reader *r, const char *sql, int64_t id)
{
    size_t n = 0;
    for (sqlite3_stmt *s = query(r, sql, id); next(r, s);)
        n = (size_t)sqlite3_column_int64(s, 0);
    return n;
}

static void read_state(sqlite3_stmt *s, int column, bl_experiment_state *state, bool *held)
{
    const char *name = (const char *)sqlite3_column_text(s, column);
    *state = BL_EXPERIMENT_RUNNING;
    for (int i = 0; name && i <= BL_EXPERIMENT_INTERRUPTED; i++)
        if (strcmp(name, bl_experiment_state_name((bl_experiment_state)i)) == 0)
            *state = (bl_experiment_state)i;
    bl_holder holder = {.pid = sqlite3_column_int64(s, column + 1), .start = sqlite3_column_int64(s, column + 2)};
    const char *boot = (const char *)sqlite3_column_text(s, column + 3);
    snprintf(holder.boot, sizeof holder.boot, "%s", boot ? boot : "");
    *held = *state == BL_EXPERIMENT_RUNNING && bl_holder_alive(&holder);
}

/* A string, or an array of bytes where the argument is no UTF-8. */
static char *read_argument(reader *r, const json_t *value)
{
    if (json_is_string(value))
        return bl_arena_strdup(r->arena, json_string_value(value));
    size_t n = json_array_size(value);
    char *text = bl_arena_alloc(r->arena, n + 1, 1);
    for (size_t i = 0; text && i < n; i++)
        text[i] = (char)json_integer_value(json_array_get(value, i));
    return text;
}

static void read_command(reader *r, const char *text, bl_experiment *e)
{
    json_t *array = text ? json_loads(text, 0, NULL) : NULL;
    e->n_command = json_array_size(array);
    e->command = take(r, e->n_command + 1, sizeof *e->command);
    for (size_t i = 0; r->code == BL_OK && i < e->n_command; i++)
        if (!(e->command[i] = read_argument(r, json_array_get(array, i))))
            fail_memory(r);
    json_decref(array);
}

static void read_settings(reader *r, int64_t id, bl_experiment *e)
{
    bool found = false;
    sqlite3_stmt *s = query(r,
                            "SELECT id, name, workload, created_ns, version, command, cwd, git_revision, shell, "
                            "batch_from_env, samples, blocks, steps, warmup, seed, time_s, setup_s, margin, state, "
                            "holder_pid, holder_start, holder_boot, driving FROM experiment WHERE id = ?1",
                            id);
    while (next(r, s)) {
        found = true;
        e->id = sqlite3_column_int64(s, 0);
        e->name = take_text(r, s, 1);
        e->workload = take_text(r, s, 2);
        e->created_ns = sqlite3_column_int64(s, 3);
        e->version = take_text(r, s, 4);
        read_command(r, (const char *)sqlite3_column_text(s, 5), e);
        e->cwd = take_text(r, s, 6);
        e->git_revision = take_text(r, s, 7);
        e->shell = sqlite3_column_int(s, 8) != 0;
        e->batch_from_env = sqlite3_column_int(s, 9) != 0;
        e->samples = take_text(r, s, 10);
        e->blocks = sqlite3_column_int64(s, 11);
        e->steps = sqlite3_column_int64(s, 12);
        e->warmup = sqlite3_column_int64(s, 13);
        e->seed = sqlite3_column_int64(s, 14);
        e->time_s = sqlite3_column_double(s, 15);
        e->setup_s = sqlite3_column_double(s, 16);
        e->margin = sqlite3_column_double(s, 17);
        read_state(s, 18, &e->state, &e->held);
        e->driving = take_text(r, s, 22);
    }
    if (r->code == BL_OK && !found) {
        r->code = BL_FAIL(r->err, BL_ERR_USAGE, "there is no experiment %lld in '%s'", (long long)id, r->store->path);
        bl_error_remedy(r->err, "batchlab list --db %s", r->store->path);
    }
}

static void read_factor_values(reader *r, int64_t id, size_t f, bl_stored_factor *factor)
{
    sqlite3_stmt *s = query(r,
                            "SELECT value, count(*) OVER () FROM factor_value WHERE experiment_id = ?1 AND factor = "
                            "?2 ORDER BY position",
                            id);
    if (s)
        sqlite3_bind_int64(s, 2, (int64_t)f);
    while (next(r, s)) {
        if (!factor->values)
            factor->values = take(r, (size_t)sqlite3_column_int64(s, 1), sizeof *factor->values);
        if (r->code == BL_OK)
            factor->values[factor->n_values++] = take_text(r, s, 0);
    }
}

static void read_factors(reader *r, int64_t id, bl_experiment *e)
{
    size_t n = count(r, "SELECT count(*) FROM factor WHERE experiment_id = ?1", id);
    e->factors = take(r, n, sizeof *e->factors);
    for (sqlite3_stmt *s = query(r, "SELECT name FROM factor WHERE experiment_id = ?1 ORDER BY position", id);
         next(r, s);)
        e->factors[e->n_factors++].name = take_text(r, s, 0);
    for (size_t f = 0; f < e->n_factors; f++)
        read_factor_values(r, id, f, &e->factors[f]);
}

static void read_environment(reader *r, int64_t id, bl_environment *environment)
{
    size_t n = count(r, "SELECT count(*) FROM environment WHERE experiment_id = ?1", id);
    environment->items = take(r, n, sizeof *environment->items);
    sqlite3_stmt *s = query(r,
                            "SELECT name, value, source, reason, sitting FROM environment WHERE experiment_id = ?1 "
                            "ORDER BY sitting, position",
                            id);
    while (next(r, s)) {
        bl_environment_item *item = &environment->items[environment->len++];
        item->name = take_text(r, s, 0);
        item->value = take_text(r, s, 1);
        item->source = take_text(r, s, 2);
        item->reason = take_text(r, s, 3);
        item->sitting = sqlite3_column_int64(s, 4);
    }
}

static void read_steps(reader *r, bl_trial_record *t)
{
    if (t->n_steps == 0)
        return;
    t->steps = take(r, t->n_steps, sizeof *t->steps);
    size_t i = 0;
    sqlite3_stmt *s = query(r,
                            "SELECT samples, end_ns, time_ns, wait_ns, loss FROM step WHERE trial_id = ?1 ORDER BY "
                            "position",
                            t->id);
    while (next(r, s)) {
        if (i == t->n_steps)
            continue;
        t->steps[i++] = (bl_stored_step){.samples = sqlite3_column_int64(s, 0),
                                         .end_ns = sqlite3_column_int64(s, 1),
                                         .time_ns = take_int(s, 2, 0),
                                         .wait_ns = take_int(s, 3, -1),
                                         .loss = take_real(s, 4)};
    }
}

static void read_values(reader *r, const char *count_sql, const char *sql, int64_t trial_id, bl_named_value **out,
                        size_t *n)
{
    size_t total = count(r, count_sql, trial_id);
    *n = 0;
    if (total == 0)
        return;
    *out = take(r, total, sizeof **out);
    for (sqlite3_stmt *s = query(r, sql, trial_id); next(r, s);) {
        if (*n == total)
            continue;
        bl_named_value *value = &(*out)[(*n)++];
        value->name = take_text(r, s, 0);
        value->value = sqlite3_column_double(s, 1);
        value->t_ns = take_int(s, 2, 0);
    }
}

static void read_trial_row(reader *r, sqlite3_stmt *s, bl_trial_record *t)
{
    t->id = sqlite3_column_int64(s, 0);
    t->case_index = (size_t)sqlite3_column_int64(s, 1);
    t->block = (size_t)sqlite3_column_int64(s, 2);
    t->position = (size_t)sqlite3_column_int64(s, 3);
    t->predecessor = take_int(s, 4, -1);
    t->outcome = take_text(r, s, 5);
    t->reason = take_text(r, s, 6);
    t->started_ns = sqlite3_column_int64(s, 7);
    t->wall_s = take_real(s, 8);
    t->user_s = take_real(s, 9);
    t->system_s = take_real(s, 10);
    t->cpu_note = take_text(r, s, 11);
    t->peak_memory_b = take_real(s, 12);
    t->memory_note = take_text(r, s, 13);
    t->exit_status = sqlite3_column_int(s, 14);
    t->exit_signal = sqlite3_column_int(s, 15);
    t->ended_by_budget = sqlite3_column_int(s, 16) != 0;
    t->step_source = take_text(r, s, 17);
    t->run_samples = take_real(s, 18);
    t->program = take_text(r, s, 19);
    t->program_version = take_text(r, s, 20);
    t->precision = take_text(r, s, 21);
    t->ranks = take_int(s, 22, 0);
    t->output_tail = take_text(r, s, 23);
    t->step_note = take_text(r, s, 24);
    t->memory_kind = take_text(r, s, 25);
    t->phase = take_text(r, s, 26);
    t->n_steps = (size_t)sqlite3_column_int64(s, 27);
}

static void read_evidence(reader *r, bl_trial_record *t)
{
    size_t n = count(r, "SELECT count(*) FROM evidence WHERE trial_id = ?1", t->id);
    if (n == 0)
        return;
    t->evidence = take(r, n, sizeof *t->evidence);
    for (sqlite3_stmt *s =
             query(r, "SELECT source, text, decided FROM evidence WHERE trial_id = ?1 ORDER BY position", t->id);
         next(r, s);) {
        if (t->n_evidence == n)
            continue;
        bl_stored_evidence *item = &t->evidence[t->n_evidence++];
        item->source = take_text(r, s, 0);
        item->text = take_text(r, s, 1);
        item->decided = sqlite3_column_int(s, 2) != 0;
    }
}

static void read_trials(reader *r, int64_t id, bool with_steps, bl_experiment *e)
{
    size_t n = count(r, "SELECT count(*) FROM trial WHERE experiment_id = ?1", id);
    e->trials = take(r, n, sizeof *e->trials);
    sqlite3_stmt *s =
        query(r,
              "SELECT id, case_index, block, position, predecessor, outcome, reason, started_ns, "
              "wall_s, user_s, system_s, cpu_note, peak_memory_b, memory_note, exit_status, "
              "exit_signal, ended_by_budget, step_source, run_samples, program, program_version, "
              "precision, ranks, output_tail, step_note, memory_kind, phase, "
              "(SELECT count(*) FROM step WHERE trial_id = trial.id) FROM trial WHERE experiment_id = ?1 ORDER BY id",
              id);
    while (next(r, s))
        if (e->n_trials < n)
            read_trial_row(r, s, &e->trials[e->n_trials++]);
    for (size_t i = 0; r->code == BL_OK && i < e->n_trials; i++) {
        bl_trial_record *t = &e->trials[i];
        if (with_steps)
            read_steps(r, t);
        read_values(r, "SELECT count(*) FROM memory WHERE trial_id = ?1",
                    "SELECT kind, bytes, NULL FROM memory WHERE trial_id = ?1 ORDER BY kind", t->id, &t->memory,
                    &t->n_memory);
        read_values(r, "SELECT count(*) FROM metric WHERE trial_id = ?1",
                    "SELECT name, value, t_ns FROM metric WHERE trial_id = ?1 ORDER BY name", t->id, &t->metrics,
                    &t->n_metrics);
        read_evidence(r, t);
        if (r->code == BL_OK)
            r->code = bl_store_read_noise(r->store, r->arena, t, r->err);
        if (r->code == BL_OK)
            r->code = bl_store_read_points(r->store, r->arena, t, r->err);
        if (r->code == BL_OK && with_steps)
            r->code = bl_store_read_telemetry(r->store, r->arena, t, r->err);
    }
}

int bl_store_load(bl_store *store, int64_t id, bool with_steps, bl_arena *arena, bl_experiment *out, bl_error *err)
{
    *out = (bl_experiment){0};
    /* One transaction: all of it as it stood at one moment, though a sweep may go on writing. */
    int code = bl_store_begin_read(store, reading, err);
    if (code != BL_OK)
        return code;
    reader r = {.store = store, .arena = arena, .err = err};
    read_settings(&r, id, out);
    read_factors(&r, id, out);
    read_environment(&r, id, &out->environment);
    read_trials(&r, id, with_steps, out);
    if (r.code == BL_OK)
        r.code = bl_store_read_placements(store, id, arena, out, err);
    if (r.code == BL_OK)
        r.code = bl_store_read_comparison(store, id, arena, &out->comparison, err);
    if (r.code == BL_OK)
        r.code = bl_store_read_confirmed_by(store, id, &out->confirmed_by, err);
    return bl_store_finish_write(store, r.code, reading, err);
}

int bl_store_list(bl_store *store, bl_arena *arena, bl_experiment_summary **out, size_t *n, bl_error *err)
{
    reader r = {.store = store, .arena = arena, .err = err};
    size_t total = count(&r, "SELECT count(*) FROM experiment WHERE id > ?1", -1);
    *out = take(&r, total, sizeof **out);
    *n = 0;
    sqlite3_stmt *s =
        query(&r,
              "SELECT id, name, workload, created_ns, blocks, "
              "(SELECT count(DISTINCT case_index) FROM case_value WHERE experiment_id = experiment.id), "
              "(SELECT count(*) FROM trial WHERE experiment_id = experiment.id AND outcome <> 'interrupted'), "
              "(SELECT count(*) FROM trial WHERE experiment_id = experiment.id AND outcome = 'ok'), "
              "state, holder_pid, holder_start, holder_boot FROM experiment WHERE id > ?1 ORDER BY id",
              -1);
    while (next(&r, s)) {
        if (*n == total)
            continue;
        bl_experiment_summary *e = &(*out)[(*n)++];
        e->id = sqlite3_column_int64(s, 0);
        e->name = take_text(&r, s, 1);
        e->workload = take_text(&r, s, 2);
        e->created_ns = sqlite3_column_int64(s, 3);
        e->blocks = sqlite3_column_int64(s, 4);
        e->n_cases = sqlite3_column_int64(s, 5);
        e->n_done = sqlite3_column_int64(s, 6);
        e->n_ok = sqlite3_column_int64(s, 7);
        read_state(s, 8, &e->state, &e->held);
    }
    return r.code;
}

int bl_store_latest(bl_store *store, bool unfinished, int64_t *id, bl_error *err)
{
    reader r = {.store = store, .err = err};
    *id = 0;
    sqlite3_stmt *s = query(&r, "SELECT max(id) FROM experiment WHERE ?1 = 0 OR state <> 'finished'", unfinished);
    while (next(&r, s))
        *id = sqlite3_column_int64(s, 0);
    if (r.code == BL_OK && *id == 0)
        r.code = BL_FAIL(err, BL_ERR_USAGE, "'%s' holds no %sexperiment", store->path, unfinished ? "unfinished " : "");
    if (r.code == BL_ERR_USAGE && unfinished)
        bl_error_remedy(err, "name one to lengthen it: batchlab sweep --resume ID --blocks N (batchlab list)");
    return r.code;
}
