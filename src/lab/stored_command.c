#include "lab/stored_command.h"

#include <stdio.h>

#include "lab/show.h"

int bl_stored_command_begin(const bl_command *command, int argc, char **argv, const char *const *db, bl_store_mode mode,
                            bool takes_id, const char *default_id, bl_stored_command *out, bl_error *err)
{
    *out = (bl_stored_command){0};
    int code = bl_options_parse(command, argc, argv, &out->options, err);
    if (code != BL_OK)
        return code;
    if (out->options.help) {
        bl_options_print_help(command, stdout);
        return BL_OK;
    }
    const bl_strv *operands = &out->options.operands;
    if (operands->len > (takes_id ? 1u : 0u) || out->options.n_rest > 0) {
        const char *extra = operands->len > 0 ? operands->items[operands->len - 1] : out->options.rest[0];
        BL_FAIL(err, BL_ERR_USAGE, "'%s' is one argument too many", extra);
        bl_error_remedy(err, "batchlab %s --help", command->name);
        return BL_ERR_USAGE;
    }
    const char *id = operands->len > 0 ? operands->items[0] : default_id;
    if (takes_id && !id) {
        BL_FAIL(err, BL_ERR_USAGE, "which experiment?");
        bl_error_remedy(err, "batchlab %s ID; batchlab list gives the numbers", command->name);
        return BL_ERR_USAGE;
    }
    code = bl_store_open(*db, mode, &out->store, err);
    if (code == BL_OK && takes_id)
        code = bl_show_parse_id(out->store, id, &out->id, err);
    return code;
}

void bl_stored_command_clear(bl_stored_command *command)
{
    bl_store_close(command->store);
    command->store = NULL;
    bl_options_result_clear(&command->options);
}
