#include <math.h>

#include "store/internal.h"
#include "store/schema.h"

static int write_confirms(bl_store *store, int64_t id, int64_t sweep_id, const char *doing, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(
        store, "INSERT OR IGNORE INTO confirmation (experiment_id, sweep_id) VALUES (?1, ?2)", doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, sweep_id);
    return bl_store_run(store, s, doing, err);
}

int bl_store_write_comparison(bl_store *store, int64_t id, const bl_comparison *comparison, bl_error *err)
{
    static const char doing[] = "storing what is compared";
    if (comparison->n_pairs == 0)
        return BL_OK;
    int code = bl_store_exec(store, bl_store_comparison_tables, doing, err);
    if (code != BL_OK)
        return code;
    sqlite3_stmt *s = bl_store_prepare(
        store, "INSERT INTO comparison (experiment_id, confidence, budget_s) VALUES (?1, ?2, ?3)", doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_double(s, 2, comparison->confidence);
    bl_store_bind_real(s, 3, comparison->budget_s);
    code = bl_store_run(store, s, doing, err);
    for (size_t i = 0; code == BL_OK && i < comparison->n_pairs; i++) {
        s = bl_store_prepare(
            store, "INSERT INTO comparison_pair (experiment_id, position, case_a, case_b) VALUES (?1, ?2, ?3, ?4)",
            doing, err);
        if (!s)
            return BL_ERR_IO;
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, (int64_t)i);
        sqlite3_bind_int64(s, 3, (int64_t)comparison->pairs[i].a);
        sqlite3_bind_int64(s, 4, (int64_t)comparison->pairs[i].b);
        code = bl_store_run(store, s, doing, err);
    }
    return code == BL_OK && comparison->confirms > 0 ? write_confirms(store, id, comparison->confirms, doing, err)
                                                     : code;
}

/* One number; `found` says whether there was a row. */
static int ask(bl_store *store, const char *sql, int64_t id, double *out, bool *found, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(store, sql, "reading", err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    int rc = sqlite3_step(s);
    *found = rc == SQLITE_ROW;
    *out = *found && sqlite3_column_type(s, 0) != SQLITE_NULL ? sqlite3_column_double(s, 0) : NAN;
    sqlite3_finalize(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? BL_OK : bl_store_error(store, rc, "reading", err);
}

static int read_pairs(bl_store *store, int64_t id, bl_arena *arena, size_t n, bl_comparison *out, bl_error *err)
{
    out->pairs = bl_arena_alloc(arena, n, sizeof *out->pairs);
    if (!out->pairs)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for what experiment %lld compares", (long long)id);
    sqlite3_stmt *s = bl_store_prepare(
        store, "SELECT case_a, case_b FROM comparison_pair WHERE experiment_id = ?1 ORDER BY position", "reading", err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW && out->n_pairs < n)
        out->pairs[out->n_pairs++] =
            (bl_stored_pair){(size_t)sqlite3_column_int64(s, 0), (size_t)sqlite3_column_int64(s, 1)};
    sqlite3_finalize(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? BL_OK : bl_store_error(store, rc, "reading", err);
}

/* Newer than the comparisons of some databases. */
static int has_confirmations(bl_store *store, bool *out, bl_error *err)
{
    double n = 0;
    bool found;
    int code =
        ask(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'confirmation' AND ?1 > 0", 1, &n, &found, err);
    *out = n > 0;
    return code;
}

/* What the statement gives for id, 0 where there is nothing. */
static int ask_confirmation(bl_store *store, const char *sql, int64_t id, int64_t *out, bl_error *err)
{
    bool found = false;
    double value = NAN;
    *out = 0;
    int code = has_confirmations(store, &found, err);
    if (code == BL_OK && found)
        code = ask(store, sql, id, &value, &found, err);
    if (value > 0)
        *out = (int64_t)value;
    return code;
}

int bl_store_confirmation(bl_store *store, int64_t sweep_id, int64_t *id, bl_error *err)
{
    return ask_confirmation(store, "SELECT max(experiment_id) FROM confirmation WHERE sweep_id = ?1", sweep_id, id,
                            err);
}

/* The key of the experiment with this number; 0: none. */
static int read_key(bl_store *store, int64_t id, bl_experiment_key *out, bl_error *err)
{
    *out = (bl_experiment_key){0};
    if (id == 0)
        return BL_OK;
    sqlite3_stmt *s = bl_store_prepare(store, "SELECT created_ns, seed FROM experiment WHERE id = ?1", "reading", err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *out = (bl_experiment_key){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    sqlite3_finalize(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? BL_OK : bl_store_error(store, rc, "reading", err);
}

int bl_store_read_confirmed_by(bl_store *store, int64_t id, bl_experiment_key *out, bl_error *err)
{
    int64_t by = 0;
    int code = bl_store_confirmation(store, id, &by, err);
    return code == BL_OK ? read_key(store, by, out, err) : code;
}

int bl_store_link_confirmation(bl_store *store, int64_t id, int64_t sweep_id, bl_error *err)
{
    static const char doing[] = "linking a confirmation to its sweep";
    int code = bl_store_exec(store, bl_store_comparison_tables, doing, err);
    return code == BL_OK ? write_confirms(store, id, sweep_id, doing, err) : code;
}

int bl_store_read_comparison(bl_store *store, int64_t id, bl_arena *arena, bl_comparison *out, bl_error *err)
{
    *out = (bl_comparison){.confidence = NAN, .budget_s = NAN};
    double value = 0, n = 0;
    bool found = false;
    int code =
        ask(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'comparison' AND ?1 > 0", id, &value, &found, err);
    if (code != BL_OK || value == 0)
        return code;
    code = ask(store, "SELECT confidence FROM comparison WHERE experiment_id = ?1", id, &out->confidence, &found, err);
    if (code != BL_OK || !found)
        return code;
    code = ask(store, "SELECT budget_s FROM comparison WHERE experiment_id = ?1", id, &out->budget_s, &found, err);
    if (code == BL_OK)
        code = ask_confirmation(store, "SELECT sweep_id FROM confirmation WHERE experiment_id = ?1", id, &out->confirms,
                                err);
    if (code == BL_OK)
        code = read_key(store, out->confirms, &out->confirms_key, err);
    if (code == BL_OK)
        code = ask(store, "SELECT count(*) FROM comparison_pair WHERE experiment_id = ?1", id, &n, &found, err);
    return code == BL_OK && n > 0 ? read_pairs(store, id, arena, (size_t)n, out, err) : code;
}
