#include "base/log.h"
#include "lab/commands.h"
#include "lab/sweep_options.h"

int bl_cmd_sweep(bl_lab *lab, int argc, char **argv)
{
    (void)lab;
    bl_error err = {0};
    bl_sweep_options options;
    int rc = bl_sweep_options_parse(argc, argv, &options, &err);
    if (rc == BL_OK && options.help)
        bl_sweep_options_print_help(stdout);
    else if (rc == BL_OK)
        rc = BL_FAIL(&err, BL_ERR_ENV, "trials cannot be run by this build");
    bl_sweep_options_clear(&options);
    return rc == BL_OK ? 0 : bl_log_error(&err);
}
