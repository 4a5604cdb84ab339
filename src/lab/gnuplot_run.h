/* What gnuplot makes of a script. */
#ifndef BL_LAB_GNUPLOT_RUN_H
#define BL_LAB_GNUPLOT_RUN_H

#include "base/error.h"
#include "base/str.h"

/* Runs gnuplot with the script on its standard input; `out` gets its standard output. BL_ERR_ENV where there is no
 * gnuplot, or it fails. */
int bl_gnuplot_run(const bl_str *script, bl_str *out, bl_error *err);

#endif
