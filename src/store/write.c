#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"
#include "store/internal.h"

/* The template as a JSON array; malloc'd by jansson, NULL when memory is out. */
static char *command_json(const bl_experiment *e)
{
    json_t *array = json_array();
    for (size_t i = 0; i < e->n_command; i++) {
        json_t *text = json_string(e->command[i]);
        /* An argument that is no UTF-8 cannot stand in JSON: its bytes are kept as an array of numbers. */
        if (!text) {
            text = json_array();
            for (const unsigned char *c = (const unsigned char *)e->command[i]; *c; c++)
                json_array_append_new(text, json_integer(*c));
        }
        json_array_append_new(array, text);
    }
    char *out = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return out;
}

static void bind_holder(sqlite3_stmt *s, int at)
{
    bl_holder self;
    bl_holder_self(&self);
    sqlite3_bind_int64(s, at, self.pid);
    sqlite3_bind_int64(s, at + 1, self.start);
    bl_store_bind_text(s, at + 2, self.boot);
}

static int insert_experiment(bl_store *store, const bl_experiment *e, int64_t *id, bl_error *err)
{
    static const char doing[] = "storing the experiment";
    char *command = command_json(e);
    if (!command)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %s", doing);
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "INSERT INTO experiment (name, workload, state, created_ns, version, command, "
                                       "cwd, git_revision, shell, batch_from_env, samples, blocks, steps, warmup, "
                                       "seed, time_s, setup_s, margin, holder_pid, holder_start, holder_boot, driving) "
                                       "VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
                                       "?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
                                       doing, err);
    if (!s) {
        free(command);
        return BL_ERR_IO;
    }
    bl_store_bind_text(s, 1, e->name);
    bl_store_bind_text(s, 2, e->workload);
    sqlite3_bind_int64(s, 3, bl_clock_wall_ns());
    bl_store_bind_text(s, 4, BATCHLAB_VERSION);
    bl_store_bind_text(s, 5, command);
    bl_store_bind_text(s, 6, e->cwd);
    bl_store_bind_text(s, 7, e->git_revision);
    sqlite3_bind_int(s, 8, e->shell);
    sqlite3_bind_int(s, 9, e->batch_from_env);
    bl_store_bind_text(s, 10, e->samples);
    sqlite3_bind_int64(s, 11, e->blocks);
    sqlite3_bind_int64(s, 12, e->steps);
    sqlite3_bind_int64(s, 13, e->warmup);
    sqlite3_bind_int64(s, 14, e->seed);
    sqlite3_bind_double(s, 15, e->time_s);
    sqlite3_bind_double(s, 16, e->setup_s);
    sqlite3_bind_double(s, 17, e->margin);
    bind_holder(s, 18);
    bl_store_bind_text(s, 21, e->driving ? e->driving : "{}");
    int code = bl_store_run(store, s, doing, err);
    *id = sqlite3_last_insert_rowid(store->db);
    free(command);
    return code;
}

static int insert_factor(bl_store *store, int64_t id, size_t f, const bl_stored_factor *factor, bl_error *err)
{
    static const char doing[] = "storing the factors";
    sqlite3_stmt *s =
        bl_store_prepare(store, "INSERT INTO factor (experiment_id, position, name) VALUES (?1, ?2, ?3)", doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, (int64_t)f);
    bl_store_bind_text(s, 3, factor->name);
    int code = bl_store_run(store, s, doing, err);
    for (size_t v = 0; code == BL_OK && v < factor->n_values; v++) {
        s = bl_store_prepare(
            store, "INSERT INTO factor_value (experiment_id, factor, position, value) VALUES (?1, ?2, ?3, ?4)", doing,
            err);
        if (!s)
            return BL_ERR_IO;
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, (int64_t)f);
        sqlite3_bind_int64(s, 3, (int64_t)v);
        bl_store_bind_text(s, 4, factor->values[v]);
        code = bl_store_run(store, s, doing, err);
    }
    return code;
}

static int insert_cases(bl_store *store, int64_t id, const bl_experiment *e, bl_error *err)
{
    static const char doing[] = "storing the cases";
    size_t n = bl_experiment_n_cases(e);
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < n * e->n_factors; i++) {
        sqlite3_stmt *s = bl_store_prepare(
            store, "INSERT INTO case_value (experiment_id, case_index, factor, value) VALUES (?1, ?2, ?3, ?4)", doing,
            err);
        if (!s)
            return BL_ERR_IO;
        size_t c = i / e->n_factors, f = i % e->n_factors;
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, (int64_t)c);
        sqlite3_bind_int64(s, 3, (int64_t)f);
        bl_store_bind_text(s, 4, bl_experiment_value(e, c, f));
        code = bl_store_run(store, s, doing, err);
    }
    return code;
}

int bl_store_begin(bl_store *store, const bl_experiment *experiment, int64_t *id, bl_error *err)
{
    static const char doing[] = "storing the experiment";
    int code = bl_store_begin_write(store, doing, err);
    if (code != BL_OK)
        return code;
    code = insert_experiment(store, experiment, id, err);
    for (size_t f = 0; code == BL_OK && f < experiment->n_factors; f++)
        code = insert_factor(store, *id, f, &experiment->factors[f], err);
    if (code == BL_OK)
        code = insert_cases(store, *id, experiment, err);
    if (code == BL_OK)
        code = bl_store_write_comparison(store, *id, &experiment->comparison, err);
    return bl_store_finish_write(store, code, doing, err);
}

/* Inside a transaction: is it there, and free? */
static int check_free(bl_store *store, int64_t id, const char *doing, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(
        store, "SELECT holder_pid, holder_start, holder_boot FROM experiment WHERE id = ?1", doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    int code = BL_OK, rc = sqlite3_step(s);
    if (rc == SQLITE_DONE) {
        BL_FAIL(err, BL_ERR_USAGE, "there is no experiment %lld in '%s'", (long long)id, store->path);
        bl_error_remedy(err, "batchlab list --db %s", store->path);
        code = BL_ERR_USAGE;
    } else if (rc != SQLITE_ROW) {
        code = bl_store_error(store, rc, doing, err);
    } else {
        bl_holder holder = {.pid = sqlite3_column_int64(s, 0), .start = sqlite3_column_int64(s, 1)};
        const unsigned char *boot = sqlite3_column_text(s, 2);
        snprintf(holder.boot, sizeof holder.boot, "%s", boot ? (const char *)boot : "");
        bl_holder self;
        bl_holder_self(&self);
        if (bl_holder_alive(&holder) && holder.pid != self.pid) {
            BL_FAIL(err, BL_ERR_BUSY, "experiment %lld is being run by process %lld", (long long)id,
                    (long long)holder.pid);
            bl_error_remedy(err, "wait until it has ended, or stop it with: kill %lld", (long long)holder.pid);
            code = BL_ERR_BUSY;
        }
    }
    sqlite3_finalize(s);
    return code;
}

int bl_store_claim(bl_store *store, int64_t id, int64_t blocks, bl_error *err)
{
    static const char doing[] = "taking over the experiment";
    int code = bl_store_begin_write(store, doing, err);
    if (code != BL_OK)
        return code;
    code = check_free(store, id, doing, err);
    sqlite3_stmt *s = NULL;
    if (code == BL_OK) {
        s = bl_store_prepare(store,
                             "UPDATE experiment SET state = 'running', blocks = max(blocks, ?2), holder_pid = ?3, "
                             "holder_start = ?4, holder_boot = ?5 WHERE id = ?1",
                             doing, err);
        code = s ? BL_OK : BL_ERR_IO;
    }
    if (s) {
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, blocks);
        bind_holder(s, 3);
        code = bl_store_run(store, s, doing, err);
    }
    return bl_store_finish_write(store, code, doing, err);
}

int bl_store_add_environment(bl_store *store, int64_t id, const bl_environment *environment, bl_error *err)
{
    static const char doing[] = "storing the environment";
    int code = bl_store_begin_write(store, doing, err);
    for (size_t i = 0; code == BL_OK && i < environment->len; i++) {
        const bl_environment_item *item = &environment->items[i];
        /* The first item of a sitting takes the next number, the others the same one. */
        sqlite3_stmt *s = bl_store_prepare(
            store,
            "INSERT INTO environment (experiment_id, sitting, position, name, value, source, reason) VALUES (?1, "
            "(SELECT ifnull(max(sitting), -1) + (?2 = 0) FROM environment WHERE experiment_id = ?1), ?2, ?3, ?4, ?5, "
            "?6)",
            doing, err);
        if (!s) {
            code = BL_ERR_IO;
            break;
        }
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, (int64_t)i);
        bl_store_bind_text(s, 3, item->name);
        bl_store_bind_text(s, 4, item->value);
        bl_store_bind_text(s, 5, item->source);
        bl_store_bind_text(s, 6, item->value ? NULL : item->reason ? item->reason : "not available");
        code = bl_store_run(store, s, doing, err);
    }
    return bl_store_finish_write(store, code, doing, err);
}

/* ---- trials ---- */

static const char storing_trial[] = "storing a trial";

static int insert_trial(bl_store *store, int64_t id, const bl_trial_record *t, int64_t *trial_id, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(
        store,
        "INSERT INTO trial (experiment_id, case_index, block, position, predecessor, outcome, reason, started_ns, "
        "wall_s, user_s, system_s, cpu_note, peak_memory_b, memory_note, exit_status, exit_signal, ended_by_budget, "
        "step_source, run_samples, program, program_version, precision, ranks, output_tail, step_note, memory_kind, "
        "phase) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
        "?21, ?22, ?23, ?24, ?25, ?26, ?27)",
        storing_trial, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, (int64_t)t->case_index);
    sqlite3_bind_int64(s, 3, (int64_t)t->block);
    sqlite3_bind_int64(s, 4, (int64_t)t->position);
    if (t->predecessor >= 0)
        sqlite3_bind_int64(s, 5, t->predecessor);
    bl_store_bind_text(s, 6, t->outcome);
    bl_store_bind_text(s, 7, t->reason);
    sqlite3_bind_int64(s, 8, t->started_ns);
    bl_store_bind_real(s, 9, t->wall_s);
    bl_store_bind_real(s, 10, t->user_s);
    bl_store_bind_real(s, 11, t->system_s);
    bl_store_bind_text(s, 12, t->cpu_note);
    bl_store_bind_real(s, 13, t->peak_memory_b);
    bl_store_bind_text(s, 14, t->memory_note);
    sqlite3_bind_int(s, 15, t->exit_status);
    sqlite3_bind_int(s, 16, t->exit_signal);
    sqlite3_bind_int(s, 17, t->ended_by_budget);
    bl_store_bind_text(s, 18, t->step_source);
    bl_store_bind_real(s, 19, t->run_samples);
    bl_store_bind_text(s, 20, t->program);
    bl_store_bind_text(s, 21, t->program_version);
    bl_store_bind_text(s, 22, t->precision);
    if (t->ranks > 0)
        sqlite3_bind_int64(s, 23, t->ranks);
    bl_store_bind_text(s, 24, t->output_tail);
    bl_store_bind_text(s, 25, t->step_note);
    bl_store_bind_text(s, 26, t->memory_kind);
    bl_store_bind_text(s, 27, t->phase);
    int code = bl_store_run(store, s, storing_trial, err);
    *trial_id = sqlite3_last_insert_rowid(store->db);
    return code;
}

static int insert_steps(bl_store *store, int64_t trial_id, const bl_trial_record *t, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "INSERT INTO step (trial_id, position, samples, end_ns, time_ns, wait_ns, "
                                       "loss) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                                       storing_trial, err);
    if (!s)
        return BL_ERR_IO;
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < t->n_steps; i++) {
        const bl_stored_step *step = &t->steps[i];
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        sqlite3_bind_int64(s, 1, trial_id);
        sqlite3_bind_int64(s, 2, (int64_t)i);
        sqlite3_bind_int64(s, 3, step->samples);
        sqlite3_bind_int64(s, 4, step->end_ns);
        if (step->time_ns > 0)
            sqlite3_bind_int64(s, 5, step->time_ns);
        if (step->wait_ns >= 0)
            sqlite3_bind_int64(s, 6, step->wait_ns);
        bl_store_bind_real(s, 7, step->loss);
        int rc = sqlite3_step(s);
        if (rc != SQLITE_DONE)
            code = bl_store_error(store, rc, storing_trial, err);
    }
    sqlite3_finalize(s);
    return code;
}

static int insert_values(bl_store *store, int64_t trial_id, const char *sql, const bl_named_value *values, size_t n,
                         bool with_time, bl_error *err)
{
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        if (!isfinite(values[i].value))
            continue;
        sqlite3_stmt *s = bl_store_prepare(store, sql, storing_trial, err);
        if (!s)
            return BL_ERR_IO;
        sqlite3_bind_int64(s, 1, trial_id);
        bl_store_bind_text(s, 2, values[i].name);
        sqlite3_bind_double(s, 3, values[i].value);
        if (with_time && values[i].t_ns > 0)
            sqlite3_bind_int64(s, 4, values[i].t_ns);
        code = bl_store_run(store, s, storing_trial, err);
    }
    return code;
}

static int insert_evidence(bl_store *store, int64_t trial_id, const bl_trial_record *t, bl_error *err)
{
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < t->n_evidence; i++) {
        sqlite3_stmt *s = bl_store_prepare(
            store, "INSERT INTO evidence (trial_id, position, source, text, decided) VALUES (?1, ?2, ?3, ?4, ?5)",
            storing_trial, err);
        if (!s)
            return BL_ERR_IO;
        sqlite3_bind_int64(s, 1, trial_id);
        sqlite3_bind_int64(s, 2, (int64_t)i);
        bl_store_bind_text(s, 3, t->evidence[i].source);
        bl_store_bind_text(s, 4, t->evidence[i].text);
        sqlite3_bind_int(s, 5, t->evidence[i].decided);
        code = bl_store_run(store, s, storing_trial, err);
    }
    return code;
}

int bl_store_add_trial(bl_store *store, int64_t id, const bl_trial_record *trial, int64_t *trial_id, bl_error *err)
{
    int64_t at = 0;
    int code = bl_store_begin_write(store, storing_trial, err);
    if (code != BL_OK)
        return code;
    code = insert_trial(store, id, trial, &at, err);
    if (code == BL_OK)
        code = insert_steps(store, at, trial, err);
    if (code == BL_OK)
        code = insert_values(store, at, "INSERT OR REPLACE INTO memory (trial_id, kind, bytes) VALUES (?1, ?2, ?3)",
                             trial->memory, trial->n_memory, false, err);
    if (code == BL_OK)
        code = insert_values(store, at,
                             "INSERT OR REPLACE INTO metric (trial_id, name, value, t_ns) VALUES (?1, ?2, ?3, ?4)",
                             trial->metrics, trial->n_metrics, true, err);
    if (code == BL_OK)
        code = insert_evidence(store, at, trial, err);
    if (code == BL_OK)
        code = bl_store_write_noise(store, at, trial, err);
    if (code == BL_OK)
        code = bl_store_write_points(store, at, trial, err);
    if (code == BL_OK)
        code = bl_store_write_telemetry(store, at, trial, err);
    if (code == BL_OK)
        code = bl_store_write_placement(store, at, trial, err);
    code = bl_store_finish_write(store, code, storing_trial, err);
    if (code == BL_OK && trial_id)
        *trial_id = at;
    return code;
}

int bl_store_end(bl_store *store, int64_t id, bl_experiment_state state, bl_error *err)
{
    static const char doing[] = "ending the experiment";
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "UPDATE experiment SET state = ?2, holder_pid = NULL, holder_start = NULL, "
                                       "holder_boot = NULL WHERE id = ?1",
                                       doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    bl_store_bind_text(s, 2, bl_experiment_state_name(state));
    return bl_store_run(store, s, doing, err);
}

int bl_store_delete(bl_store *store, int64_t id, bl_error *err)
{
    static const char doing[] = "deleting the experiment";
    int code = bl_store_begin_write(store, doing, err);
    if (code != BL_OK)
        return code;
    code = check_free(store, id, doing, err);
    sqlite3_stmt *s = NULL;
    if (code == BL_OK) {
        s = bl_store_prepare(store, "DELETE FROM experiment WHERE id = ?1", doing, err);
        code = s ? BL_OK : BL_ERR_IO;
    }
    if (s) {
        sqlite3_bind_int64(s, 1, id);
        code = bl_store_run(store, s, doing, err);
    }
    return bl_store_finish_write(store, code, doing, err);
}
