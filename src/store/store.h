/* The experiment store: one SQLite file (docs/database-schema.md). Every function that fails leaves the file as it
 * was. Errors: BL_ERR_ENV (not there, read-only, newer, somebody else's), BL_ERR_BUSY (locked, or the experiment is
 * run by a living process), BL_ERR_IO (disk full, damaged), BL_ERR_USAGE (no such experiment), BL_ERR_NOMEM. */
#ifndef BL_STORE_STORE_H
#define BL_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/experiment.h"

#define BL_STORE_SCHEMA_VERSION 2

typedef struct bl_store bl_store;

typedef enum bl_store_mode {
    BL_STORE_READ,  /* the file must be there */
    BL_STORE_WRITE, /* the file must be there */
    BL_STORE_CREATE /* made where it is missing */
} bl_store_mode;

/* A database of an older schema is brought up to the present one, as a whole or not at all; one that cannot be written
 * is refused then. */
int bl_store_open(const char *path, bl_store_mode mode, bl_store **out, bl_error *err);
void bl_store_close(bl_store *store); /* NULL is fine */

/* A store without a file, which can travel: empty, from its bytes, and to them (the caller frees them). Bytes that are
 * no database of this very schema are BL_ERR_FORMAT, BL_ERR_ENV or BL_ERR_IO. */
int bl_store_new(bl_store **out, bl_error *err);
int bl_store_from_bytes(const void *bytes, size_t n, bl_store **out, bl_error *err);
int bl_store_to_bytes(bl_store *store, void **out, size_t *n, bl_error *err);

/* A new experiment, running, held by this process. Its id and those of nothing else are filled into *id. The
 * members id, state, created_ns and the trials of `experiment` are not read. */
int bl_store_begin(bl_store *store, const bl_experiment *experiment, int64_t *id, bl_error *err);
/* Takes over an experiment to go on with it; BL_ERR_BUSY while a living process holds it. blocks: the new number
 * where above 0 and above the present one. */
int bl_store_claim(bl_store *store, int64_t id, int64_t blocks, bl_error *err);
/* What the machine is in this sitting (a resumed experiment has several): appended. */
int bl_store_add_environment(bl_store *store, int64_t id, const bl_environment *environment, bl_error *err);
/* One more case of an experiment whose only factor is the batch size: the next index. */
int bl_store_add_case(bl_store *store, int64_t id, const char *value, bl_error *err);
/* Stores one trial with its steps, as a whole or not at all. *trial_id may be NULL. */
int bl_store_add_trial(bl_store *store, int64_t id, const bl_trial_record *trial, int64_t *trial_id, bl_error *err);
/* A block's trials count no more and run anew: they become interrupted ones, with the reason and what they were. */
int bl_store_set_aside(bl_store *store, int64_t id, size_t block, const char *reason, bl_error *err);
/* state: BL_EXPERIMENT_FINISHED or _INTERRUPTED. The holder is forgotten. */
int bl_store_end(bl_store *store, int64_t id, bl_experiment_state state, bl_error *err);

/* Stores a whole experiment as it stands: its trials, its time, the version that measured it. One that was running is
 * interrupted in the copy. */
int bl_store_put(bl_store *store, const bl_experiment *experiment, int64_t *id, bl_error *err);
typedef enum bl_store_merged {
    BL_STORE_ADDED,    /* as a new experiment */
    BL_STORE_EXTENDED, /* it was there, with fewer of its trials */
    BL_STORE_THERE     /* with all of them */
} bl_store_merged;
/* The same, but for an experiment that is there already (begun at the same nanosecond with the same seed): of it only
 * the trials are stored that are missing. BL_ERR_USAGE where both have trials that the other has not. */
int bl_store_merge(bl_store *store, const bl_experiment *experiment, int64_t *id, bl_store_merged *what, bl_error *err);

/* Summaries by ascending id; all memory is the arena's. */
int bl_store_list(bl_store *store, bl_arena *arena, bl_experiment_summary **out, size_t *n, bl_error *err);
/* The whole experiment: settings, environment, trials; with_steps: their raw steps too. */
int bl_store_load(bl_store *store, int64_t id, bool with_steps, bl_arena *arena, bl_experiment *out, bl_error *err);
/* The newest experiment, or the newest that is not finished. BL_ERR_USAGE where there is none. */
int bl_store_latest(bl_store *store, bool unfinished, int64_t *id, bl_error *err);
/* The newest comparison that confirms this sweep; 0 where there is none. */
int bl_store_confirmation(bl_store *store, int64_t sweep_id, int64_t *id, bl_error *err);
/* With all that belongs to it. BL_ERR_BUSY while a living process holds it. */
int bl_store_delete(bl_store *store, int64_t id, bl_error *err);

#endif
