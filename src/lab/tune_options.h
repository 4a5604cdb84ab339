/* The words of tune. */
#ifndef BL_LAB_TUNE_OPTIONS_H
#define BL_LAB_TUNE_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#include "plan/rates.h"
#include "plan/target.h"

typedef struct bl_tune_options {
    const char *id, *pilots; /* experiments: a number or "latest"; pilots NULL: the same */
    const char *db;
    bl_target target; /* none with noise_only */
    bool noise_only;
    bl_rate_rule rule;
    double price_hour, price_kwh, efficiency;
    uint64_t memory_b; /* 0: no limit */
    bool json;
    bool help;
} bl_tune_options;

int bl_tune_options_parse(int argc, char **argv, bl_tune_options *options, bl_error *err);
void bl_tune_options_print_help(FILE *out);

#endif
