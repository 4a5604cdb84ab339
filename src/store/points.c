#include <math.h>

#include "store/internal.h"
#include "store/schema.h"

static const char doing[] = "storing a metric's values", reading[] = "reading a metric's values";

int bl_store_write_points(bl_store *store, int64_t trial_id, const bl_trial_record *t, bl_error *err)
{
    static const char insert[] = "INSERT INTO metric_point (trial_id, position, name, after_steps, value, t_ns) VALUES "
                                 "(?1, ?2, ?3, ?4, ?5, ?6)";
    if (t->n_points == 0)
        return BL_OK;
    int code = bl_store_exec(store, bl_store_point_table, doing, err);
    for (size_t i = 0; code == BL_OK && i < t->n_points; i++) {
        const bl_stored_point *point = &t->points[i];
        sqlite3_stmt *s = bl_store_prepare(store, insert, doing, err);
        if (!s)
            return BL_ERR_IO;
        sqlite3_bind_int64(s, 1, trial_id);
        sqlite3_bind_int64(s, 2, (int64_t)i);
        bl_store_bind_text(s, 3, point->name);
        sqlite3_bind_int64(s, 4, point->after_steps);
        bl_store_bind_real(s, 5, point->value);
        if (point->t_ns > 0)
            sqlite3_bind_int64(s, 6, point->t_ns);
        code = bl_store_run(store, s, doing, err);
    }
    return code;
}

static int count_points(bl_store *store, int64_t trial_id, size_t *n, bl_error *err)
{
    int64_t there = 0;
    *n = 0;
    int code = bl_store_pragma(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'metric_point'", &there, err);
    if (code != BL_OK || there == 0)
        return code;
    sqlite3_stmt *s = bl_store_prepare(store, "SELECT count(*) FROM metric_point WHERE trial_id = ?1", reading, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, trial_id);
    int rc = sqlite3_step(s);
    *n = rc == SQLITE_ROW ? (size_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return rc == SQLITE_ROW ? BL_OK : bl_store_error(store, rc, reading, err);
}

int bl_store_read_points(bl_store *store, bl_arena *arena, bl_trial_record *t, bl_error *err)
{
    size_t n = 0;
    int code = count_points(store, t->id, &n, err);
    if (code != BL_OK || n == 0)
        return code;
    t->points = bl_arena_alloc(arena, n, sizeof *t->points);
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "SELECT name, after_steps, value, t_ns FROM metric_point WHERE trial_id = ?1 "
                                       "ORDER BY position",
                                       reading, err);
    if (!s)
        return BL_ERR_IO;
    int rc = SQLITE_DONE;
    bool room = t->points != NULL;
    sqlite3_bind_int64(s, 1, t->id);
    while (room && t->n_points < n && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        bl_stored_point *point = &t->points[t->n_points++];
        bool known = sqlite3_column_type(s, 2) != SQLITE_NULL;
        *point = (bl_stored_point){.name = bl_arena_strdup(arena, (const char *)sqlite3_column_text(s, 0)),
                                   .after_steps = sqlite3_column_int64(s, 1),
                                   .value = known ? sqlite3_column_double(s, 2) : NAN,
                                   .t_ns = sqlite3_column_int64(s, 3)};
        room = point->name != NULL;
    }
    sqlite3_finalize(s);
    if (!room)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for trial %lld", (long long)t->id);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? BL_OK : bl_store_error(store, rc, reading, err);
}
