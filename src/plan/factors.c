#include "plan/factors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/quote.h"

void bl_factors_init(bl_factors *factors)
{
    memset(factors, 0, sizeof(*factors));
}

static void factor_clear(bl_factor *factor)
{
    free(factor->name);
    bl_strv_clear(&factor->values);
    factor->name = NULL;
}

void bl_factors_clear(bl_factors *factors)
{
    for (size_t i = 0; i < factors->len; i++)
        factor_clear(&factors->items[i]);
    factors->len = 0;
}

size_t bl_factors_n_cases(const bl_factors *factors)
{
    if (factors->len == 0)
        return 0;
    size_t n = 1;
    for (size_t i = 0; i < factors->len; i++)
        n *= factors->items[i].values.len; /* kept below BL_CASES_MAX by add_factor */
    return n;
}

size_t bl_factors_find(const bl_factors *factors, const char *name)
{
    size_t i = 0;
    while (i < factors->len && strcmp(factors->items[i].name, name) != 0)
        i++;
    return i;
}

/* Takes the factor over where it succeeds, clears it where not. */
static int add_factor(bl_factors *factors, bl_factor *factor, bl_error *err)
{
    int rc = BL_OK;
    size_t had = factors->len > 0 ? bl_factors_n_cases(factors) : 1;
    if (factors->len == BL_FACTORS_MAX) {
        rc = BL_FAIL(err, BL_ERR_USAGE, "more than %d factors", BL_FACTORS_MAX);
    } else if (factor->values.len > BL_CASES_MAX / had) {
        rc = BL_FAIL(err, BL_ERR_USAGE, "factor %s: %zu values make more than %d cases", factor->name,
                     factor->values.len, BL_CASES_MAX);
        bl_error_remedy(err, "sweep fewer values of one factor");
    }
    if (rc != BL_OK)
        factor_clear(factor);
    else
        factors->items[factors->len++] = *factor;
    return rc;
}

int bl_factors_add_batch(bl_factors *factors, const bl_batch_list *list, bl_error *err)
{
    if (bl_factors_find(factors, "batch") < factors->len)
        return BL_FAIL(err, BL_ERR_USAGE, "factor batch is given twice");
    if (list->len == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "the batch list is empty");
    bl_factor factor = {.name = bl_strdup("batch")};
    bool ok = factor.name != NULL;
    bl_str number;
    bl_str_init(&number);
    for (size_t i = 0; i < list->len && ok; i++) {
        bl_str_reset(&number);
        bl_str_printf(&number, "%lld", (long long)list->items[i]);
        ok = !number.failed && bl_strv_push(&factor.values, bl_str_text(&number)) == BL_OK;
    }
    bl_str_clear(&number);
    if (!ok) {
        factor_clear(&factor);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu batch sizes", list->len);
    }
    return add_factor(factors, &factor, err);
}

int bl_factors_add_no_batch(bl_factors *factors, bl_error *err)
{
    bl_factor factor = {.name = bl_strdup("batch")};
    if (factor.name == NULL || bl_strv_push(&factor.values, "") != BL_OK) {
        factor_clear(&factor);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a factor");
    }
    return add_factor(factors, &factor, err);
}

static bool name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool name_more(char c)
{
    return name_start(c) || (c >= '0' && c <= '9') || c == '-';
}

static int check_name(const bl_factors *factors, const char *name, bl_error *err)
{
    bl_quote quoted = bl_quote_n(name, strlen(name));
    bool good = name_start(name[0]);
    for (const char *c = name; good && *c != '\0'; c++)
        good = name_more(*c);
    if (!good) {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "%s is no name of a factor", quoted.text);
        bl_error_remedy(err, "begin with a letter and use letters, digits, _ and -, as in workers=0,1,2");
        return rc;
    }
    if (strcmp(name, "batch") == 0) {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "factor batch has its own option");
        bl_error_remedy(err, "give batch sizes with -b");
        return rc;
    }
    if (bl_factors_find(factors, name) < factors->len) {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "factor %s is given twice", quoted.text);
        bl_error_remedy(err, "list all its values at once, as in %s=1,2", name);
        return rc;
    }
    return BL_OK;
}

static bool strv_has(const bl_strv *v, const char *text)
{
    for (size_t i = 0; i < v->len; i++)
        if (strcmp(v->items[i], text) == 0)
            return true;
    return false;
}

/* Splits at commas that no backslash guards. BL_ERR_NOMEM, or BL_ERR_USAGE beyond BL_CASES_MAX values. */
static int split_values(const char *text, bl_strv *out, bl_error *err)
{
    bl_str value;
    bl_str_init(&value);
    int rc = BL_OK;
    for (const char *c = text; rc == BL_OK; c++) {
        if (c[0] == '\\' && (c[1] == ',' || c[1] == '\\')) {
            bl_str_append_c(&value, *++c);
            continue;
        }
        if (*c != ',' && *c != '\0') {
            bl_str_append_c(&value, *c);
            continue;
        }
        if (out->len > BL_CASES_MAX)
            rc = BL_FAIL(err, BL_ERR_USAGE, "a factor has more than %d values", BL_CASES_MAX);
        else if (value.failed ||
                 (!strv_has(out, bl_str_text(&value)) && bl_strv_push(out, bl_str_text(&value)) != BL_OK))
            rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the values of a factor");
        bl_str_reset(&value);
        if (*c == '\0')
            break;
    }
    bl_str_clear(&value);
    return rc;
}

int bl_factors_add_param(bl_factors *factors, const char *text, bl_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals[1] == '\0') {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "parameter %s lacks %s", bl_quote_n(text, strlen(text)).text,
                         equals == NULL ? "'=' and values" : "values");
        bl_error_remedy(err, "write --param NAME=VALUE,VALUE, as in --param workers=0,1,2");
        return rc;
    }
    bl_factor factor = {.name = bl_strndup(text, (size_t)(equals - text))};
    if (factor.name == NULL)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a factor");
    int rc = check_name(factors, factor.name, err);
    if (rc == BL_OK && strcmp(factor.name, "outdir") == 0)
        rc = BL_FAIL(err, BL_ERR_USAGE, "{outdir} is the folder for a trial's output: no parameter can have that name");
    if (rc == BL_OK)
        rc = split_values(equals + 1, &factor.values, err);
    if (rc != BL_OK) {
        factor_clear(&factor);
        return rc;
    }
    return add_factor(factors, &factor, err);
}

const char *bl_factors_value(const bl_factors *factors, size_t c, size_t f)
{
    if (f >= factors->len || c >= bl_factors_n_cases(factors))
        return NULL;
    for (size_t i = factors->len - 1; i > f; i--)
        c /= factors->items[i].values.len;
    const bl_strv *values = &factors->items[f].values;
    return values->items[c % values->len];
}

void bl_factors_label(const bl_factors *factors, size_t c, bl_str *out)
{
    bool blank = false;
    for (size_t f = 0; f < factors->len; f++) {
        const char *value = bl_factors_value(factors, c, f);
        if (value == NULL || (f == 0 && value[0] == '\0')) /* no batch size was given */
            continue;
        bl_str_printf(out, "%s%s=%s", blank ? " " : "", factors->items[f].name, value);
        blank = true;
    }
}
