/* What the user typed after `batchlab sweep`, checked as far as the words alone allow. */
#ifndef BL_LAB_SWEEP_OPTIONS_H
#define BL_LAB_SWEEP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "base/str.h"
#include "lab/driving.h"

#define BL_SWEEP_BLOCKS       5
#define BL_SWEEP_STEPS        50
#define BL_SWEEP_TIME_S       60.0
#define BL_SWEEP_SETUP_S      600.0
#define BL_SWEEP_WARMUP       3
#define BL_SWEEP_MARGIN       0.01
#define BL_SWEEP_DB           "batchlab.db"
#define BL_SWEEP_TELEMETRY_HZ 10.0
#define BL_SWEEP_NOT_GIVEN    (-1)

/* Numbers are BL_SWEEP_NOT_GIVEN and texts NULL where the user did not give them. */
typedef struct bl_sweep_options {
    const char *batches;
    bl_strv params;
    int64_t blocks;
    int64_t steps;
    double time_s;
    double setup_s;
    int64_t warmup;
    int64_t seed;
    const char *samples;
    const char *model;
    const char *data;
    const char *launcher; /* words that stand before the command, or NULL */
    bool shell;
    bool batch_from_env;
    bl_driving_options driving;
    const char *margin_text;
    double margin; /* from margin_text */
    const char *name;
    const char *db;
    bool resume;
    int64_t resume_id; /* 0 = the latest unfinished one */
    bool confirm;      /* compare the best with those near it, on fresh blocks */
    const char *keep_logs;
    const char *keep_outdir;
    const char *telemetry;  /* --telemetry, or NULL */
    double telemetry_hz;    /* 0: off */
    double max_temperature; /* NaN: not given */
    const char *live;       /* a web page that follows the sweep, or NULL */
    bool json;
    bool quiet;
    bool verbose;
    bool debug;

    const char *labels; /* "label=A,B": a factor that never reaches the program; no option of sweep */

    char **command; /* what stands after "--", borrowed from argv */
    int n_command;
    bool help;
} bl_sweep_options;

/* The pieces, for commands that measure as sweep does. */
#define BL_SWEEP_MAX_OPTIONS 64
void bl_sweep_options_init(bl_sweep_options *options);
/* The table of options, up to BL_SWEEP_MAX_OPTIONS rows; targets lie in *o. Returns its length. */
int bl_sweep_options_table(bl_sweep_options *o, bl_option *table);
/* The same but for the rows named in `without`, NULL-terminated. */
int bl_sweep_options_table_without(bl_sweep_options *o, const char *const *without, bl_option *table);
/* A resumed experiment keeps its own settings: one that is given again would be ignored, so it is refused. */
int bl_sweep_options_check_resume(const bl_sweep_options *o, bl_error *err);
int bl_sweep_options_check_times(bl_sweep_options *o, bl_error *err);

/* `options` is initialised here and must be cleared also after an error. */
int bl_sweep_options_parse(int argc, char **argv, bl_sweep_options *options, bl_error *err);
void bl_sweep_options_clear(bl_sweep_options *options);
void bl_sweep_options_print_help(FILE *out);

/* "1%", "0.5%" or "0.01" -> 0.01, 0.005, 0.01; a margin lies above 0 and below 100 %. */
int bl_sweep_parse_margin(const char *text, double *out, bl_error *err);

#endif
