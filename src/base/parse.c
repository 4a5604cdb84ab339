#include "base/parse.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Longer numerals than this have no use, and a bound lets the text be copied to the stack. */
enum { MAX_NUMERAL = 64 };

int bl_parse_i64(const char *text, const char *what, int64_t min, int64_t max, int64_t *out, bl_error *err)
{
    const char *p = text;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (!*p)
        return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is not a whole number", what, text);
    uint64_t magnitude = 0;
    bool overflow = false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9')
            return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is not a whole number", what, text);
        overflow = overflow || __builtin_mul_overflow(magnitude, 10u, &magnitude) ||
                   __builtin_add_overflow(magnitude, (uint64_t)(*p - '0'), &magnitude);
    }
    uint64_t const limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    if (overflow || magnitude > limit)
        return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is out of range", what, text);
    int64_t value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    if (value < min || value > max)
        return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' must lie between %lld and %lld", what, text, (long long)min,
                       (long long)max);
    *out = value;
    return BL_OK;
}

/* The decimal numeral at the front of text, read in the C locale: strtod would take the user's comma.
 * Returns its length, 0 where there is none. */
static size_t read_decimal(const char *text, double *out)
{
    size_t n = 0;
    bool digits = false;
    if (text[n] == '-' || text[n] == '+')
        n++;
    for (; text[n] >= '0' && text[n] <= '9'; n++)
        digits = true;
    if (text[n] == '.')
        for (n++; text[n] >= '0' && text[n] <= '9'; n++)
            digits = true;
    if (!digits)
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t m = n + 1;
        if (text[m] == '-' || text[m] == '+')
            m++;
        if (text[m] >= '0' && text[m] <= '9') {
            while (text[m] >= '0' && text[m] <= '9')
                m++;
            n = m;
        }
    }
    if (n >= MAX_NUMERAL)
        return 0;
    static _Thread_local locale_t c_locale; /* one a thread: no lock, and never freed */
    if (!c_locale)
        c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!c_locale)
        return 0;
    char numeral[MAX_NUMERAL];
    memcpy(numeral, text, n);
    numeral[n] = '\0';
    *out = strtod_l(numeral, NULL, c_locale);
    return n;
}

int bl_parse_f64(const char *text, const char *what, double *out, bl_error *err)
{
    double value;
    size_t n = read_decimal(text, &value);
    if (n == 0 || text[n])
        return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is not a number", what, text);
    if (!isfinite(value))
        return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is out of range", what, text);
    *out = value;
    return BL_OK;
}

typedef struct unit {
    const char *name;
    double factor;
} unit;

static const unit *find_unit(const unit *units, size_t n_units, const char *name)
{
    for (size_t i = 0; i < n_units; i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
}

int bl_parse_duration(const char *text, const char *what, double *out_s, bl_error *err)
{
    static const unit units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    double value;
    size_t n = read_decimal(text, &value);
    const unit *u = n ? find_unit(units, BL_ARRAY_LEN(units), text + n) : NULL;
    if (!u) {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is not a duration", what, text);
        bl_error_remedy(err, "write seconds, or a number with ms, s, m, h or d: 90s, 1.5m, 2h");
        return rc;
    }
    value *= u->factor;
    if (!(value >= 0 && value <= 1e9))
        return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is out of range", what, text);
    *out_s = value;
    return BL_OK;
}

int bl_parse_size(const char *text, const char *what, uint64_t *out_b, bl_error *err)
{
    static const unit units[] = {{"", 1},         {"B", 1},       {"K", 0x1p10},   {"KB", 0x1p10}, {"KiB", 0x1p10},
                                 {"M", 0x1p20},   {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},  {"GB", 0x1p30},
                                 {"GiB", 0x1p30}, {"T", 0x1p40},  {"TB", 0x1p40},  {"TiB", 0x1p40}};
    double value;
    size_t n = read_decimal(text, &value);
    const unit *u = n ? find_unit(units, BL_ARRAY_LEN(units), text + n) : NULL;
    if (!u) {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is not a size", what, text);
        bl_error_remedy(err, "write bytes, or a number with K, M, G or T (powers of 1024): 512M, 8G");
        return rc;
    }
    value *= u->factor;
    if (!(value >= 0 && value < 0x1p63))
        return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is out of range", what, text);
    *out_b = (uint64_t)value;
    return BL_OK;
}
