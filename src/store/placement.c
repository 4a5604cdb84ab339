/* Where trials ran, where that was not the lab's own machine; and blocks that must run anew elsewhere. */
#include "store/internal.h"
#include "store/schema.h"

int bl_store_write_placement(bl_store *store, int64_t trial_id, const bl_trial_record *trial, bl_error *err)
{
    static const char doing[] = "storing where a trial ran";
    if (!trial->node)
        return BL_OK;
    int code = bl_store_exec(store, bl_store_placement_table, doing, err);
    if (code != BL_OK)
        return code;
    sqlite3_stmt *s =
        bl_store_prepare(store, "INSERT INTO placement (trial_id, node, job_step) VALUES (?1, ?2, ?3)", doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, trial_id);
    bl_store_bind_text(s, 2, trial->node);
    bl_store_bind_text(s, 3, trial->job_step);
    return bl_store_run(store, s, doing, err);
}

static int take_text(sqlite3_stmt *s, int column, bl_arena *arena, const char **out, bl_error *err)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    *out = text ? bl_arena_strdup(arena, text) : NULL;
    return text && !*out ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for where trials ran") : BL_OK;
}

int bl_store_read_placements(bl_store *store, int64_t id, bl_arena *arena, bl_experiment *e, bl_error *err)
{
    static const char reading[] = "reading where trials ran";
    int64_t there = 0;
    int code = bl_store_pragma(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'placement'", &there, err);
    if (code != BL_OK || there == 0)
        return code;
    sqlite3_stmt *s =
        bl_store_prepare(store,
                         "SELECT trial_id, node, job_step FROM placement JOIN trial ON trial.id = trial_id "
                         "WHERE experiment_id = ?1 ORDER BY trial_id",
                         reading, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    int rc = SQLITE_DONE;
    for (size_t i = 0; code == BL_OK && (rc = sqlite3_step(s)) == SQLITE_ROW;) {
        while (i < e->n_trials && e->trials[i].id < sqlite3_column_int64(s, 0)) /* both by ascending id */
            i++;
        if (i == e->n_trials || e->trials[i].id != sqlite3_column_int64(s, 0))
            continue;
        code = take_text(s, 1, arena, &e->trials[i].node, err);
        if (code == BL_OK)
            code = take_text(s, 2, arena, &e->trials[i].job_step, err);
    }
    sqlite3_finalize(s);
    return code == BL_OK && rc != SQLITE_DONE ? bl_store_error(store, rc, reading, err) : code;
}

int bl_store_set_aside(bl_store *store, int64_t id, size_t block, const char *reason, bl_error *err)
{
    static const char doing[] = "setting a block's trials aside";
    sqlite3_stmt *s =
        bl_store_prepare(store,
                         "UPDATE trial SET outcome = 'interrupted', reason = ?3 || ' (it was ' || outcome || ')' "
                         "WHERE experiment_id = ?1 AND block = ?2 AND outcome <> 'interrupted'",
                         doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, (int64_t)block);
    bl_store_bind_text(s, 3, reason);
    return bl_store_run(store, s, doing, err);
}
