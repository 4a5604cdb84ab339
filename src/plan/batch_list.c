#include "plan/batch_list.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "plan/quote.h"

#define REMEDY  "write sizes such as 16,32,64 or 1..64 or 8..64:8 or pow2:1..512 or x1.25:8..256"
#define NUMERAL 32 /* longer ones are too large anyway */

/* A piece of the text; it is not terminated. */
typedef struct piece {
    const char *at;
    size_t len;
} piece;

typedef struct growing {
    int64_t *items;
    size_t len, cap;
} growing;

static bl_quote quote(piece p)
{
    return bl_quote_n(p.at, p.len);
}

static int fail_part(bl_error *err, piece part, const char *why)
{
    int rc = BL_FAIL(err, BL_ERR_USAGE, "batch list: %s %s", quote(part).text, why);
    bl_error_remedy(err, REMEDY);
    return rc;
}

static piece trim(piece p)
{
    while (p.len > 0 && (p.at[0] == ' ' || p.at[0] == '\t')) {
        p.at++;
        p.len--;
    }
    while (p.len > 0 && (p.at[p.len - 1] == ' ' || p.at[p.len - 1] == '\t'))
        p.len--;
    return p;
}

static bool all_digits(piece p)
{
    for (size_t i = 0; i < p.len; i++)
        if (p.at[i] < '0' || p.at[i] > '9')
            return false;
    return p.len > 0;
}

static const char *find(piece p, const char *what)
{
    return p.len > 0 ? memmem(p.at, p.len, what, strlen(what)) : NULL;
}

/* One size of `part`; 0, negative, too large and not-a-number each have their own words. */
static int parse_size(piece number, piece part, int64_t *out, bl_error *err)
{
    piece digits = number;
    bool negative = number.len > 1 && number.at[0] == '-';
    if (negative) {
        digits.at++;
        digits.len--;
    }
    if (number.len == 0)
        return fail_part(err, part, "lacks a number");
    if (!all_digits(digits)) {
        if (number.at == part.at && number.len == part.len)
            return fail_part(err, part, "is not a whole number");
        bl_quote whole = quote(part);
        int rc =
            BL_FAIL(err, BL_ERR_USAGE, "batch list: %s in %s is not a whole number", quote(number).text, whole.text);
        bl_error_remedy(err, REMEDY);
        return rc;
    }
    if (negative)
        return fail_part(err, part, "is negative; a batch holds at least 1 sample");
    while (digits.len > 1 && digits.at[0] == '0') {
        digits.at++;
        digits.len--;
    }
    int64_t value = 0;
    for (size_t i = 0; i < digits.len && value <= BL_BATCH_MAX; i++)
        value = value * 10 + (digits.at[i] - '0');
    if (value == 0)
        return fail_part(err, part, "asks for 0; a batch holds at least 1 sample");
    if (value > BL_BATCH_MAX) {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "batch list: %s is too large; sizes up to %d are taken", quote(number).text,
                         BL_BATCH_MAX);
        bl_error_remedy(err, REMEDY);
        return rc;
    }
    *out = value;
    return BL_OK;
}

static int compare_sizes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort_unique(growing *list)
{
    if (list->len == 0)
        return;
    qsort(list->items, list->len, sizeof(*list->items), compare_sizes);
    size_t kept = 1;
    for (size_t i = 1; i < list->len; i++)
        if (list->items[i] != list->items[kept - 1])
            list->items[kept++] = list->items[i];
    list->len = kept;
}

static int fail_too_many(bl_error *err)
{
    int rc = BL_FAIL(err, BL_ERR_USAGE, "batch list: it names more than %d sizes", BL_BATCH_LIST_MAX);
    bl_error_remedy(err, "take a coarser step, such as 8..4096:8 or x1.25:8..4096");
    return rc;
}

static int push(growing *list, int64_t value, bl_error *err)
{
    if (list->len == list->cap) {
        /* Parts may overlap: doubles go before the list is called too long. */
        sort_unique(list);
        if (list->len > BL_BATCH_LIST_MAX)
            return fail_too_many(err);
        if (list->len * 2 >= list->cap) {
            size_t cap = list->cap > 0 ? list->cap * 2 : 64;
            int64_t *items = bl_realloc(list->items, cap, sizeof(*items));
            if (items == NULL)
                return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the batch list");
            list->items = items;
            list->cap = cap;
        }
    }
    list->items[list->len++] = value;
    return BL_OK;
}

/* "A..B" */
static int parse_range(piece text, piece part, int64_t *low, int64_t *high, bl_error *err)
{
    const char *dots = find(text, "..");
    if (dots == NULL)
        return fail_part(err, part, "lacks a range such as 8..256");
    piece first = {text.at, (size_t)(dots - text.at)};
    piece last = {dots + 2, text.len - first.len - 2};
    int rc = parse_size(first, part, low, err);
    if (rc == BL_OK)
        rc = parse_size(last, part, high, err);
    if (rc == BL_OK && *low > *high) {
        rc = BL_FAIL(err, BL_ERR_USAGE, "batch list: the range in %s runs backwards", quote(part).text);
        bl_error_remedy(err, "write %lld..%lld; trials run in shuffled order anyway", (long long)*high,
                        (long long)*low);
    }
    return rc;
}

static int add_steps(growing *list, piece part, bl_error *err)
{
    piece range = part;
    int64_t step = 1;
    const char *colon = memchr(part.at, ':', part.len);
    if (colon != NULL) {
        range.len = (size_t)(colon - part.at);
        piece step_text = {colon + 1, part.len - range.len - 1};
        int rc = parse_size(step_text, part, &step, err);
        if (rc != BL_OK)
            return rc;
    }
    int64_t low = 0;
    int64_t high = 0;
    int rc = parse_range(range, part, &low, &high, err);
    if (rc == BL_OK && (high - low) / step >= BL_BATCH_LIST_MAX)
        rc = fail_too_many(err);
    for (int64_t size = low; rc == BL_OK && size <= high; size += step)
        rc = push(list, size, err);
    return rc;
}

static int add_powers(growing *list, piece range, piece part, bl_error *err)
{
    int64_t low = 0;
    int64_t high = 0;
    int rc = parse_range(range, part, &low, &high, err);
    bool any = false;
    for (int64_t size = 1; rc == BL_OK && size <= high; size *= 2) {
        if (size < low)
            continue;
        any = true;
        rc = push(list, size, err);
    }
    if (rc == BL_OK && !any)
        return fail_part(err, part, "holds no power of two");
    return rc;
}

/* "x1.25:8..256": the factor's text may be long or hold a NUL's worth of nonsense, so it is copied with a limit. */
static int parse_factor(piece text, piece part, double *out, bl_error *err)
{
    char copy[NUMERAL];
    if (text.len == 0 || text.len >= sizeof(copy))
        return fail_part(err, part, "lacks a factor such as x1.25");
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    double factor = 0;
    if (bl_parse_f64(copy, "factor", &factor, NULL) != BL_OK)
        return fail_part(err, part, "has a factor that is not a number");
    if (!(factor >= 1.001 && factor <= 1000))
        return fail_part(err, part, "has a factor outside 1.001 to 1000");
    *out = factor;
    return BL_OK;
}

static int add_geometric(growing *list, piece part, bl_error *err)
{
    const char *colon = memchr(part.at, ':', part.len);
    if (colon == NULL)
        return fail_part(err, part, "lacks a range such as x1.25:8..256");
    piece factor_text = {part.at + 1, (size_t)(colon - part.at) - 1};
    piece range = {colon + 1, part.len - factor_text.len - 2};
    double factor = 0;
    int64_t low = 0;
    int64_t high = 0;
    int rc = parse_factor(factor_text, part, &factor, err);
    if (rc == BL_OK)
        rc = parse_range(range, part, &low, &high, err);
    double exact = (double)low;
    int64_t before = 0;
    while (rc == BL_OK && llround(exact) <= high) {
        int64_t size = llround(exact);
        if (size != before)
            rc = push(list, size, err);
        before = size;
        exact *= factor;
    }
    return rc;
}

static int add_part(growing *list, piece part, bl_error *err)
{
    if (part.len >= 5 && memcmp(part.at, "pow2:", 5) == 0)
        return add_powers(list, (piece){part.at + 5, part.len - 5}, part, err);
    if (part.at[0] == 'x')
        return add_geometric(list, part, err);
    if (find(part, "..") != NULL)
        return add_steps(list, part, err);
    int64_t size = 0;
    int rc = parse_size(part, part, &size, err);
    return rc == BL_OK ? push(list, size, err) : rc;
}

int bl_batch_list_parse(const char *text, bl_batch_list *out, bl_error *err)
{
    *out = (bl_batch_list){0};
    growing list = {0};
    int rc = BL_OK;
    if (trim((piece){text, strlen(text)}).len == 0) {
        rc = BL_FAIL(err, BL_ERR_USAGE, "batch list: it is empty");
        bl_error_remedy(err, REMEDY);
    }
    const char *at = text;
    for (size_t number = 1; rc == BL_OK; number++) {
        size_t len = strcspn(at, ",");
        piece part = trim((piece){at, len});
        if (part.len == 0) {
            rc = BL_FAIL(err, BL_ERR_USAGE, "batch list: part %zu of %s is empty", number,
                         bl_quote_n(text, strlen(text)).text);
            bl_error_remedy(err, "drop the comma too many");
        } else {
            rc = add_part(&list, part, err);
        }
        if (at[len] == '\0')
            break;
        at += len + 1;
    }
    if (rc == BL_OK) {
        sort_unique(&list);
        if (list.len > BL_BATCH_LIST_MAX)
            rc = fail_too_many(err);
    }
    if (rc != BL_OK) {
        free(list.items);
        return rc;
    }
    *out = (bl_batch_list){list.items, list.len};
    return BL_OK;
}

void bl_batch_list_clear(bl_batch_list *list)
{
    free(list->items);
    *list = (bl_batch_list){0};
}
