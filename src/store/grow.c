/* Cases that are found out while an experiment runs. */
#include "store/internal.h"

int bl_store_add_case(bl_store *store, int64_t id, const char *value, bl_error *err)
{
    static const char doing[] = "storing a case";
    static const char *const sql[] = {
        "INSERT INTO factor_value (experiment_id, factor, position, value) "
        "SELECT ?1, 0, count(*), ?2 FROM factor_value WHERE experiment_id = ?1 AND factor = 0",
        "INSERT INTO case_value (experiment_id, case_index, factor, value) "
        "SELECT ?1, count(*), 0, ?2 FROM case_value WHERE experiment_id = ?1 AND factor = 0"};
    int code = bl_store_begin_write(store, doing, err);
    if (code != BL_OK)
        return code;
    for (int i = 0; code == BL_OK && i < 2; i++) {
        sqlite3_stmt *s = bl_store_prepare(store, sql[i], doing, err);
        if (!s) {
            code = BL_ERR_IO;
            break;
        }
        sqlite3_bind_int64(s, 1, id);
        bl_store_bind_text(s, 2, value);
        code = bl_store_run(store, s, doing, err);
    }
    return bl_store_finish_write(store, code, doing, err);
}
