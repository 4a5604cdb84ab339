/* Brings a database of an older schema up to the present one. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "store/internal.h"
#include "store/schema.h"

static const char doing[] = "bringing it up to date";

/* An older batchlab that is at work would find its columns gone. */
static int check_unused(bl_store *store, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(store,
                                       "SELECT holder_pid, holder_start, holder_boot FROM experiment "
                                       "WHERE state = 'running' AND holder_pid IS NOT NULL",
                                       doing, err);
    if (!s)
        return BL_ERR_IO;
    int code = BL_OK, rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW && code == BL_OK) {
        bl_holder holder = {.pid = sqlite3_column_int64(s, 0), .start = sqlite3_column_int64(s, 1)};
        const unsigned char *boot = sqlite3_column_text(s, 2);
        snprintf(holder.boot, sizeof holder.boot, "%s", boot ? (const char *)boot : "");
        if (bl_holder_alive(&holder)) {
            code = BL_FAIL(err, BL_ERR_BUSY, "database '%s' has an older schema, and process %lld works with it",
                           store->path, (long long)holder.pid);
            bl_error_remedy(err, "wait until that has ended");
        }
    }
    if (code == BL_OK && rc != SQLITE_DONE)
        code = bl_store_error(store, rc, doing, err);
    sqlite3_finalize(s);
    return code;
}

/* Checks cannot be altered, so the table of trials is made anew, from the present schema's own words, and filled. */
static int from_1_to_2(bl_store *store, bl_error *err)
{
    static const char table[] = "CREATE TABLE trial (", after_table[] = ") STRICT;\n",
                      next_table[] = "CREATE TABLE step (";
    const char *begin = strstr(bl_store_schema, table);
    const char *columns_end = strstr(begin, after_table);
    const char *end = strstr(begin, next_table);
    bl_str sql;
    bl_str_init(&sql);
    bl_str_append(&sql, "ALTER TABLE experiment ADD COLUMN driving TEXT NOT NULL DEFAULT '{}' "
                        "CHECK (json_valid(driving)); CREATE TABLE trial_new (");
    begin += strlen(table);
    bl_str_append_n(&sql, begin, (size_t)(columns_end - begin));
    columns_end += strlen(after_table);
    bl_str_append(&sql, ") STRICT;"
                        "INSERT INTO trial_new (id, experiment_id, case_index, block, position, predecessor, outcome, "
                        "reason, started_ns, wall_s, user_s, system_s, cpu_note, peak_memory_b, memory_note, "
                        "exit_status, exit_signal, ended_by_budget, step_source, run_samples, program, "
                        "program_version, precision, ranks, output_tail) SELECT id, experiment_id, case_index, block, "
                        "position, predecessor, outcome, reason, started_ns, wall_s, user_s, system_s, cpu_note, "
                        "peak_memory_b, memory_note, exit_status, exit_signal, ended_by_budget, CASE by_markers WHEN "
                        "1 THEN 'markers' ELSE 'none' END, run_samples, program, program_version, precision, ranks, "
                        "output_tail FROM trial;"
                        "DROP TABLE trial; ALTER TABLE trial_new RENAME TO trial;");
    bl_str_append_n(&sql, columns_end, (size_t)(end - columns_end)); /* the indexes, and the table of evidence */
    bl_str_append(&sql, "PRAGMA user_version = 2;");
    int code = sql.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for %s", doing)
                          : bl_store_exec(store, bl_str_text(&sql), doing, err);
    bl_str_clear(&sql);
    return code;
}

int bl_store_upgrade(bl_store *store, bl_error *err)
{
    /* With them on, the dropped table would take the steps along. They cannot be switched inside a transaction. */
    int code = bl_store_exec(store, "PRAGMA foreign_keys = OFF", doing, err);
    if (code == BL_OK)
        code = bl_store_begin_write(store, doing, err);
    if (code != BL_OK)
        return code;
    code = check_unused(store, err);
    int64_t version = 0; /* another process may have been faster */
    if (code == BL_OK)
        code = bl_store_pragma(store, "PRAGMA user_version", &version, err);
    if (code == BL_OK && version == 1)
        code = from_1_to_2(store, err);
    code = bl_store_finish_write(store, code, doing, err);
    if (code == BL_OK)
        code = bl_store_exec(store, "PRAGMA foreign_keys = ON", doing, err);
    return code;
}
