/* Factors and cases. A case is one value for each factor; the cases of an experiment are the product of all
 * factors, the first factor (batch) varying slowest. */
#ifndef BL_PLAN_FACTORS_H
#define BL_PLAN_FACTORS_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "plan/batch_list.h"

#define BL_CASES_MAX   4096
#define BL_FACTORS_MAX 16

typedef struct bl_factor {
    char *name;     /* letter or _, then letters, digits, _ and - */
    bl_strv values; /* texts, distinct, in the order given */
} bl_factor;

typedef struct bl_factors {
    bl_factor items[BL_FACTORS_MAX];
    size_t len;
    const char *outdir; /* {outdir} in templates: a trial's folder, no factor; borrowed, NULL while none is made */
} bl_factors;

void bl_factors_init(bl_factors *factors);
void bl_factors_clear(bl_factors *factors);
/* Adds the factor "batch". */
int bl_factors_add_batch(bl_factors *factors, const bl_batch_list *list, bl_error *err);
/* The factor "batch" with one empty value, where the batch size is not the lab's matter. */
int bl_factors_add_no_batch(bl_factors *factors, bl_error *err);
/* Adds a factor from "workers=0,1,2". A comma inside a value is written as "\,", a backslash as "\\". An empty
 * value ("a=,x") is allowed where it stands beside another; "a=" alone is not. */
int bl_factors_add_param(bl_factors *factors, const char *text, bl_error *err);

/* 0 where there is no factor. Never above BL_CASES_MAX: adding refuses what would exceed it. */
size_t bl_factors_n_cases(const bl_factors *factors);
/* The value of factor f in case c; borrowed. NULL out of range. */
const char *bl_factors_value(const bl_factors *factors, size_t c, size_t f);
/* Index of the factor, or factors->len. */
size_t bl_factors_find(const bl_factors *factors, const char *name);
/* "batch=128 workers=2" appended to out; a batch without value is left out. */
void bl_factors_label(const bl_factors *factors, size_t c, bl_str *out);

#endif
