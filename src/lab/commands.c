#include "lab/commands.h"

#include "base/attributes.h"

const bl_lab_command bl_lab_commands[] = {
    {"sweep", "measure a training command over batch sizes (and other factors)", true, bl_cmd_sweep},
};

const size_t bl_lab_n_commands = BL_ARRAY_LEN(bl_lab_commands);
