/* What was looked at in the course of a trial: a block of bytes a series, little-endian whatever the machine. */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/internal.h"
#include "store/schema.h"

static const char doing[] = "storing telemetry", reading[] = "reading telemetry";

static uint64_t *encode(const void *values, size_t n)
{
    uint64_t *out = bl_calloc(n + 1, sizeof *out);
    for (size_t i = 0; out && i < n; i++) {
        memcpy(&out[i], (const char *)values + i * sizeof *out, sizeof *out);
        out[i] = htole64(out[i]);
    }
    return out;
}

static int bind_block(sqlite3_stmt *s, int at, const void *values, size_t n)
{
    uint64_t *block = encode(values, n);
    if (!block)
        return BL_ERR_NOMEM;
    sqlite3_bind_blob64(s, at, block, n * sizeof *block, free);
    return BL_OK;
}

static int write_series(bl_store *store, int64_t trial_id, const bl_stored_telemetry *t, size_t i, bl_error *err)
{
    const bl_stored_series *series = &t->series[i];
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "INSERT INTO telemetry_series (trial_id, position, source, metric, unit, scope, "
                                       "counter, reason, samples) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                                       doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, trial_id);
    sqlite3_bind_int64(s, 2, (int64_t)i);
    bl_store_bind_text(s, 3, series->source);
    bl_store_bind_text(s, 4, series->metric);
    bl_store_bind_text(s, 5, series->unit);
    bl_store_bind_text(s, 6, series->scope);
    sqlite3_bind_int(s, 7, series->counter);
    bl_store_bind_text(s, 8, series->reason);
    if (series->values && bind_block(s, 9, series->values, t->n) != BL_OK) {
        sqlite3_finalize(s);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %s", doing);
    }
    return bl_store_run(store, s, doing, err);
}

int bl_store_write_telemetry(bl_store *store, int64_t trial_id, const bl_trial_record *trial, bl_error *err)
{
    const bl_stored_telemetry *t = trial->telemetry;
    if (!t)
        return BL_OK;
    int code = bl_store_exec(store, bl_store_telemetry_tables, doing, err);
    if (code != BL_OK)
        return code;
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "INSERT INTO telemetry (trial_id, looks_ns, pace_hz, cost_s, gate_s, gate_note) "
                                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                       doing, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, trial_id);
    if (bind_block(s, 2, t->t_ns, t->n) != BL_OK) {
        sqlite3_finalize(s);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %s", doing);
    }
    bl_store_bind_real(s, 3, t->pace_hz);
    bl_store_bind_real(s, 4, t->cost_s);
    bl_store_bind_real(s, 5, t->gate_s);
    bl_store_bind_text(s, 6, t->gate_note);
    code = bl_store_run(store, s, doing, err);
    for (size_t i = 0; code == BL_OK && i < t->n_series; i++)
        code = write_series(store, trial_id, t, i, err);
    return code;
}

/* ---- reading ---- */

/* The arena's; NULL where it is none of n values. */
static void *take_block(sqlite3_stmt *s, int column, size_t *n, bl_arena *arena)
{
    const void *bytes = sqlite3_column_blob(s, column);
    size_t size = (size_t)sqlite3_column_bytes(s, column);
    *n = size / sizeof(uint64_t);
    uint64_t *out = bytes && size % sizeof *out == 0 ? bl_arena_alloc(arena, *n + 1, sizeof *out) : NULL;
    for (size_t i = 0; out && i < *n; i++) {
        memcpy(&out[i], (const char *)bytes + i * sizeof *out, sizeof *out);
        out[i] = le64toh(out[i]);
    }
    return out;
}

static const char *take_text(sqlite3_stmt *s, int column, bl_arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? bl_arena_strdup(arena, text) : NULL;
}

static double take_real(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static int read_series(bl_store *store, int64_t trial_id, bl_arena *arena, bl_stored_telemetry *t, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "SELECT source, metric, unit, scope, counter, reason, samples, count(*) OVER () "
                                       "FROM telemetry_series WHERE trial_id = ?1 ORDER BY position",
                                       reading, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, trial_id);
    int rc;
    size_t room = 0;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (!t->series) {
            room = (size_t)sqlite3_column_int64(s, 7);
            t->series = bl_arena_alloc(arena, room, sizeof *t->series);
        }
        if (!t->series || t->n_series == room)
            break;
        size_t n = 0;
        bl_stored_series *series = &t->series[t->n_series++];
        *series = (bl_stored_series){.source = take_text(s, 0, arena),
                                     .metric = take_text(s, 1, arena),
                                     .unit = take_text(s, 2, arena),
                                     .scope = take_text(s, 3, arena),
                                     .counter = sqlite3_column_int(s, 4) != 0,
                                     .reason = take_text(s, 5, arena),
                                     .values = take_block(s, 6, &n, arena)};
        if (n != t->n)
            series->values = NULL;
    }
    sqlite3_finalize(s);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        return bl_store_error(store, rc, reading, err);
    return rc == SQLITE_ROW ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for telemetry") : BL_OK;
}

int bl_store_read_telemetry(bl_store *store, bl_arena *arena, bl_trial_record *trial, bl_error *err)
{
    int64_t there = 0;
    int code =
        bl_store_pragma(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'telemetry_series'", &there, err);
    if (code != BL_OK || there == 0)
        return code;
    sqlite3_stmt *s = bl_store_prepare(
        store, "SELECT looks_ns, pace_hz, cost_s, gate_s, gate_note FROM telemetry WHERE trial_id = ?1", reading, err);
    if (!s)
        return BL_ERR_IO;
    sqlite3_bind_int64(s, 1, trial->id);
    int rc = sqlite3_step(s);
    bl_stored_telemetry *t = NULL;
    if (rc == SQLITE_ROW && (t = bl_arena_alloc(arena, 1, sizeof *t))) {
        t->t_ns = take_block(s, 0, &t->n, arena);
        t->n = t->t_ns ? t->n : 0;
        t->pace_hz = take_real(s, 1);
        t->cost_s = take_real(s, 2);
        t->gate_s = take_real(s, 3);
        t->gate_note = take_text(s, 4, arena);
    }
    sqlite3_finalize(s);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        return bl_store_error(store, rc, reading, err);
    if (rc == SQLITE_ROW && !t)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for telemetry");
    trial->telemetry = t;
    return t ? read_series(store, trial->id, arena, t, err) : BL_OK;
}
