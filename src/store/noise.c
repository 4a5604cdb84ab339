#include "store/internal.h"
#include "store/schema.h"

int bl_store_write_noise(bl_store *store, int64_t trial_id, const bl_trial_record *t, bl_error *err)
{
    static const char doing[] = "storing a gradient's noise";
    if (t->n_noise == 0)
        return BL_OK;
    int code = bl_store_exec(store, bl_store_noise_table, doing, err);
    for (size_t i = 0; code == BL_OK && i < t->n_noise; i++) {
        const bl_stored_noise *noise = &t->noise[i];
        sqlite3_stmt *s =
            bl_store_prepare(store,
                             "INSERT INTO noise (trial_id, position, after_steps, small_n, big_n, "
                             "small_sq, big_sq, scaled, t_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                             doing, err);
        if (!s)
            return BL_ERR_IO;
        sqlite3_bind_int64(s, 1, trial_id);
        sqlite3_bind_int64(s, 2, (int64_t)i);
        sqlite3_bind_int64(s, 3, noise->after_steps);
        sqlite3_bind_double(s, 4, noise->norms.small_n);
        sqlite3_bind_double(s, 5, noise->norms.big_n);
        sqlite3_bind_double(s, 6, noise->norms.small_sq);
        sqlite3_bind_double(s, 7, noise->norms.big_sq);
        sqlite3_bind_int(s, 8, noise->scaled);
        if (noise->t_ns > 0)
            sqlite3_bind_int64(s, 9, noise->t_ns);
        code = bl_store_run(store, s, doing, err);
    }
    return code;
}

static int count_noise(bl_store *store, int64_t trial_id, size_t *n, bl_error *err)
{
    static const char table[] = "SELECT count(*) FROM sqlite_schema WHERE name = 'noise'";
    static const char rows[] = "SELECT count(*) FROM noise WHERE trial_id = ?1";
    int64_t there = 0;
    *n = 0;
    int code = bl_store_pragma(store, table, &there, err);
    if (code != BL_OK || there == 0)
        return code;
    sqlite3_stmt *s = bl_store_prepare(store, rows, "reading", err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, trial_id);
    int rc = sqlite3_step(s);
    *n = rc == SQLITE_ROW ? (size_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return rc == SQLITE_ROW ? BL_OK : bl_store_error(store, rc, "reading", err);
}

int bl_store_read_noise(bl_store *store, bl_arena *arena, bl_trial_record *t, bl_error *err)
{
    size_t n = 0;
    int code = count_noise(store, t->id, &n, err);
    if (code != BL_OK || n == 0)
        return code;
    t->noise = bl_arena_alloc(arena, n, sizeof *t->noise);
    if (!t->noise)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for trial %lld", (long long)t->id);
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "SELECT after_steps, small_n, big_n, small_sq, big_sq, scaled, t_ns FROM noise "
                                       "WHERE trial_id = ?1 ORDER BY position",
                                       "reading", err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, t->id);
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW && t->n_noise < n)
        t->noise[t->n_noise++] = (bl_stored_noise){.after_steps = sqlite3_column_int64(s, 0),
                                                   .norms = {sqlite3_column_double(s, 1), sqlite3_column_double(s, 2),
                                                             sqlite3_column_double(s, 3), sqlite3_column_double(s, 4)},
                                                   .scaled = sqlite3_column_int(s, 5) != 0,
                                                   .t_ns = sqlite3_column_int64(s, 6)};
    sqlite3_finalize(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? BL_OK : bl_store_error(store, rc, "reading", err);
}
