/* What the user typed after `batchlab compare` or `batchlab selftest`, checked as far as the words alone allow. */
#ifndef BL_LAB_COMPARE_OPTIONS_H
#define BL_LAB_COMPARE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "lab/sweep_options.h"
#include "lab/sweep_spec.h"
#include "stats/verdict.h"

/* Verdicts upon which the exit status is 1. */
enum {
    BL_FAIL_IF_SLOWER = 1,
    BL_FAIL_IF_FASTER = 2,
    BL_FAIL_IF_INCONCLUSIVE = 4,
};

#define BL_SELFTEST_BLOCKS 20

typedef struct bl_compare_options {
    bl_sweep_options sweep;
    const char *a, *b;    /* two commands; NULL */
    const char *baseline; /* NULL: each against each */
    double confidence;    /* 0.95 where not given */
    bool confidence_given;
    double budget_s;    /* below 0 where not given */
    unsigned fail_if;   /* the bits above */
    const char *stored; /* an experiment to judge as it is stored, or NULL */
    int64_t confirm;    /* a sweep whose best case is to be confirmed; 0 */
    bool help;

    const char *confidence_text, *fail_if_text; /* as typed */
} bl_compare_options;

/* `options` is initialised here and must be cleared also after an error. */
int bl_compare_options_parse(int argc, char **argv, bl_compare_options *options, bl_error *err);
int bl_selftest_options_parse(int argc, char **argv, bl_compare_options *options, bl_error *err);
void bl_compare_options_clear(bl_compare_options *options);
void bl_compare_options_print_help(FILE *out);
void bl_selftest_options_print_help(FILE *out);

/* What is to run: as bl_sweep_spec_from_options, also for two commands, and with two labels where labels is set. */
int bl_compare_spec(const bl_compare_options *options, const char *program, bool labels, bl_sweep_spec *spec,
                    bl_error *err);

#endif
