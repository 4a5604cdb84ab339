/* Whole experiments from one store, or file, into another. */
#include <string.h>

#include "store/internal.h"

static int put_environment(bl_store *store, int64_t id, const bl_environment *environment, bl_error *err)
{
    int code = BL_OK;
    for (size_t from = 0, to; code == BL_OK && from < environment->len; from = to) {
        to = from + 1;
        while (to < environment->len && environment->items[to].sitting == environment->items[from].sitting)
            to++;
        bl_environment sitting = {.items = environment->items + from, .len = to - from};
        code = bl_store_add_environment(store, id, &sitting, err);
    }
    return code;
}

/* What bl_store_begin gives a new experiment of its own, and a copy has already. */
static int put_state(bl_store *store, int64_t id, const bl_experiment *e, bl_error *err)
{
    static const char doing[] = "storing the experiment";
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "UPDATE experiment SET state = ?2, created_ns = ?3, version = ?4, blocks = ?5, "
                                       "holder_pid = NULL, holder_start = NULL, holder_boot = NULL WHERE id = ?1",
                                       doing, err);
    if (!s)
        return BL_ERR_IO;
    bl_experiment_state state = e->state == BL_EXPERIMENT_FINISHED ? e->state : BL_EXPERIMENT_INTERRUPTED;
    sqlite3_bind_int64(s, 1, id);
    bl_store_bind_text(s, 2, bl_experiment_state_name(state));
    sqlite3_bind_int64(s, 3, e->created_ns);
    bl_store_bind_text(s, 4, e->version);
    sqlite3_bind_int64(s, 5, e->blocks);
    return bl_store_run(store, s, doing, err);
}

/* The newest, should there be several; *id is 0 where it is not there. */
static int find(bl_store *store, const bl_experiment_key *key, int64_t *id, bl_error *err)
{
    static const char doing[] = "looking for the experiment";
    *id = 0;
    if (key->created_ns == 0)
        return BL_OK;
    sqlite3_stmt *s =
        bl_store_prepare(store, "SELECT max(id) FROM experiment WHERE created_ns = ?1 AND seed = ?2", doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, key->created_ns);
    sqlite3_bind_int64(s, 2, key->seed);
    int rc = sqlite3_step(s), code = BL_OK;
    *id = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        code = bl_store_error(store, rc, doing, err);
    sqlite3_finalize(s);
    return code;
}

/* Whichever of a sweep and its confirmation comes second finds the other, if it is there. */
static int link(bl_store *store, const bl_experiment *e, int64_t id, bl_error *err)
{
    int64_t sweep = 0, confirmation = 0;
    int code = e->comparison.n_pairs > 0 ? find(store, &e->comparison.confirms_key, &sweep, err) : BL_OK;
    if (code == BL_OK && sweep > 0 && sweep != id)
        code = bl_store_link_confirmation(store, id, sweep, err);
    if (code == BL_OK)
        code = find(store, &e->confirmed_by, &confirmation, err);
    if (code == BL_OK && confirmation > 0 && confirmation != id)
        code = bl_store_link_confirmation(store, confirmation, id, err);
    return code;
}

static int put(bl_store *store, const bl_experiment *e, int64_t *id, bl_error *err)
{
    bl_experiment begun = *e;
    begun.comparison.confirms = 0; /* a number of the database that it comes from */
    int code = bl_store_begin(store, &begun, id, err);
    if (code == BL_OK)
        code = put_environment(store, *id, &e->environment, err);
    for (size_t i = 0; code == BL_OK && i < e->n_trials; i++)
        code = bl_store_add_trial(store, *id, &e->trials[i], NULL, err);
    if (code == BL_OK)
        code = link(store, e, *id, err);
    return code == BL_OK ? put_state(store, *id, e, err) : code;
}

int bl_store_put(bl_store *store, const bl_experiment *e, int64_t *id, bl_error *err)
{
    int code = bl_store_begin_write(store, "storing the experiment", err);
    return code == BL_OK ? bl_store_finish_write(store, put(store, e, id, err), "storing the experiment", err) : code;
}

static bool same_trial(const bl_trial_record *a, const bl_trial_record *b)
{
    return a->started_ns == b->started_ns && a->case_index == b->case_index && a->block == b->block;
}

/* Both hold the trials in the order they ran, so that one must be the beginning of the other. */
static int extend(bl_store *store, const bl_experiment *e, int64_t id, bl_store_merged *what, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment there;
    int code = bl_store_load(store, id, false, &arena, &there, err);
    size_t common = 0;
    while (code == BL_OK && common < there.n_trials && common < e->n_trials &&
           same_trial(&there.trials[common], &e->trials[common]))
        common++;
    if (code == BL_OK && common < there.n_trials && common < e->n_trials) {
        code = BL_FAIL(err, BL_ERR_USAGE,
                       "experiment %lld went on apart in both databases: from its trial %zu on they differ",
                       (long long)id, common + 1);
        bl_error_remedy(err, "delete it from one of them: batchlab delete %lld --db %s", (long long)id, store->path);
    }
    *what = common < e->n_trials ? BL_STORE_EXTENDED : BL_STORE_THERE;
    size_t sittings_there = there.environment.len;
    if (code == BL_OK && *what == BL_STORE_EXTENDED && e->environment.len > sittings_there) {
        bl_environment more = {.items = e->environment.items + sittings_there,
                               .len = e->environment.len - sittings_there};
        code = put_environment(store, id, &more, err);
    }
    for (size_t i = common; code == BL_OK && i < e->n_trials; i++)
        code = bl_store_add_trial(store, id, &e->trials[i], NULL, err);
    if (code == BL_OK && *what == BL_STORE_EXTENDED)
        code = put_state(store, id, e, err);
    if (code == BL_OK)
        code = link(store, e, id, err);
    bl_arena_clear(&arena);
    return code;
}

int bl_store_merge(bl_store *store, const bl_experiment *e, int64_t *id, bl_store_merged *what, bl_error *err)
{
    static const char doing[] = "merging";
    int code = bl_store_begin_write(store, doing, err);
    if (code != BL_OK)
        return code;
    code = find(store, &(bl_experiment_key){e->created_ns, e->seed}, id, err);
    *what = BL_STORE_ADDED;
    if (code == BL_OK)
        code = *id > 0 ? extend(store, e, *id, what, err) : put(store, e, id, err);
    return bl_store_finish_write(store, code, doing, err);
}
