/* What the commands about stored experiments have in common: their options, the database, the experiment's number. */
#ifndef BL_LAB_STORED_COMMAND_H
#define BL_LAB_STORED_COMMAND_H

#include "base/error.h"
#include "base/options.h"
#include "store/store.h"

typedef struct bl_stored_command {
    bl_options_result options; /* parsed */
    bl_store *store;           /* NULL where only help was asked for */
    int64_t id;                /* of the one operand; 0 where the command takes none */
} bl_stored_command;

/* Parses, opens `*db` (filled by the table's own --db option) and finds the experiment. default_id: "latest" or NULL
 * (then the operand must be given); takes_id false: no operand is taken. Help is printed here: `help` is then set in
 * the options and there is nothing more to do. To be cleared in any case. */
int bl_stored_command_begin(const bl_command *command, int argc, char **argv, const char *const *db, bl_store_mode mode,
                            bool takes_id, const char *default_id, bl_stored_command *out, bl_error *err);
void bl_stored_command_clear(bl_stored_command *command);

#endif
