/* What the files of this room share. */
#ifndef BL_STORE_INTERNAL_H
#define BL_STORE_INTERNAL_H

#include <sqlite3.h>

#include "store/store.h"

struct bl_store {
    sqlite3 *db;
    char *path;
    int depth; /* of transactions inside one another: only the outermost one is SQLite's */
};

/* The error for SQLite's result code, with what it means for people and what to do. `doing`: "storing a trial". */
int bl_store_error(const bl_store *store, int rc, const char *doing, bl_error *err);
/* NULL with the error set. */
sqlite3_stmt *bl_store_prepare(bl_store *store, const char *sql, const char *doing, bl_error *err);
/* Runs a statement that gives no rows, finalizes it. */
int bl_store_run(bl_store *store, sqlite3_stmt *statement, const char *doing, bl_error *err);
int bl_store_exec(bl_store *store, const char *sql, const char *doing, bl_error *err);
/* What is read until bl_store_finish_write is as it stood at one moment. */
int bl_store_begin_read(bl_store *store, const char *doing, bl_error *err);
/* Takes the write lock at once, so that a later statement cannot fail for another writer. Inside another transaction it
 * becomes part of that; whoever began that must then end it with the failure, if there was one. */
int bl_store_begin_write(bl_store *store, const char *doing, bl_error *err);
/* Commits where code is 0, else rolls back; returns the code that stands. */
int bl_store_finish_write(bl_store *store, int code, const char *doing, bl_error *err);

/* One number, 0 where there is no row. */
int bl_store_pragma(bl_store *store, const char *sql, int64_t *out, bl_error *err);
/* From any older schema to the present one. */
int bl_store_upgrade(bl_store *store, bl_error *err);

/* Inside the transaction of bl_store_begin; nothing where the experiment is no comparison. */
int bl_store_write_comparison(bl_store *store, int64_t id, const bl_comparison *comparison, bl_error *err);
int bl_store_read_comparison(bl_store *store, int64_t id, bl_arena *arena, bl_comparison *out, bl_error *err);
/* The newest comparison that confirms this sweep, and a link that may be there already. */
int bl_store_read_confirmed_by(bl_store *store, int64_t id, bl_experiment_key *out, bl_error *err);
int bl_store_link_confirmation(bl_store *store, int64_t id, int64_t sweep_id, bl_error *err);

/* Inside the transaction of bl_store_add_trial; nothing where the trial measured none. */
int bl_store_write_noise(bl_store *store, int64_t trial_id, const bl_trial_record *trial, bl_error *err);
int bl_store_write_points(bl_store *store, int64_t trial_id, const bl_trial_record *trial, bl_error *err);
int bl_store_write_telemetry(bl_store *store, int64_t trial_id, const bl_trial_record *trial, bl_error *err);
/* Nothing where the trial ran on the lab's own machine. Reading fills the trials, which are sorted by id. */
int bl_store_write_placement(bl_store *store, int64_t trial_id, const bl_trial_record *trial, bl_error *err);
int bl_store_read_placements(bl_store *store, int64_t id, bl_arena *arena, bl_experiment *out, bl_error *err);
int bl_store_read_telemetry(bl_store *store, bl_arena *arena, bl_trial_record *trial, bl_error *err);
/* Fills the trial's noise; few trials have any. */
int bl_store_read_noise(bl_store *store, bl_arena *arena, bl_trial_record *trial, bl_error *err);

/* Likewise the metrics' values over the training. */
int bl_store_read_points(bl_store *store, bl_arena *arena, bl_trial_record *trial, bl_error *err);

/* Missing values become NULL. Invalid UTF-8 becomes '?' and a text longer than SQLite takes is an error there. */
void bl_store_bind_text(sqlite3_stmt *statement, int at, const char *text);
void bl_store_bind_real(sqlite3_stmt *statement, int at, double value);

/* This process, told apart from a later one of the same number. */
typedef struct bl_holder {
    int64_t pid, start; /* start: clock ticks after boot */
    char boot[64];
} bl_holder;
void bl_holder_self(bl_holder *out);
bool bl_holder_alive(const bl_holder *holder);

#endif
