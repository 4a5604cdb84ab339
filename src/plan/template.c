#include "plan/template.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "plan/quote.h"

#define NAME_MAX_LEN 64
/* Where a placeholder's factor is asked for. */
#define OUTDIR BL_FACTORS_MAX

/* What a walk over a template meets: called for each piece in order. */
typedef struct visitor {
    void (*literal)(void *context, const char *text, size_t n);
    void (*placeholder)(void *context, size_t factor);
    void *context;
} visitor;

static int fail_unknown(const bl_factors *factors, bl_quote name, bl_error *err)
{
    int rc = BL_FAIL(err, BL_ERR_USAGE, "command: no factor is called %s", name.text);
    bl_str known;
    bl_str_init(&known);
    for (size_t i = 0; i < factors->len; i++)
        bl_str_printf(&known, "%s{%s}", i > 0 ? ", " : "", factors->items[i].name);
    if (factors->len > 0 && !known.failed)
        bl_error_remedy(err, "use %s, add one with --param NAME=VALUES, or write {{ for a brace", bl_str_text(&known));
    else
        bl_error_remedy(err, "add it with --param NAME=VALUES, or write {{ for a brace");
    bl_str_clear(&known);
    return rc;
}

static int fail_brace(const char *text, bl_error *err)
{
    int rc =
        BL_FAIL(err, BL_ERR_USAGE, "command: a '{' in %s opens no placeholder", bl_quote_n(text, strlen(text)).text);
    bl_error_remedy(err, "write {{ and }} for braces that belong to the command");
    return rc;
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* text[0] is '{' and text[1] is not: finds the factor; *len = bytes up to and with the '}'. */
static int read_placeholder(const char *text, const bl_factors *factors, size_t *factor, size_t *len, bl_error *err)
{
    size_t n = 0;
    while (name_char(text[1 + n]))
        n++;
    if (n == 0 || text[1 + n] != '}')
        return fail_brace(text, err);
    char name[NAME_MAX_LEN + 1];
    if (n <= NAME_MAX_LEN) {
        memcpy(name, text + 1, n);
        name[n] = '\0';
        *factor = strcmp(name, "outdir") == 0 ? OUTDIR : bl_factors_find(factors, name);
    }
    if (n > NAME_MAX_LEN || *factor == factors->len)
        return fail_unknown(factors, bl_quote_n(text + 1, n), err);
    *len = n + 2;
    return BL_OK;
}

static int walk(const char *text, const bl_factors *factors, const visitor *v, bl_error *err)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "{}");
        if (plain > 0)
            v->literal(v->context, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        if (text[1] == text[0]) { /* doubled */
            v->literal(v->context, text, 1);
            text += 2;
        } else if (*text == '}') {
            v->literal(v->context, text, 1);
            text++;
        } else {
            size_t factor = 0;
            size_t len = 0;
            int rc = read_placeholder(text, factors, &factor, &len, err);
            if (rc != BL_OK)
                return rc;
            v->placeholder(v->context, factor);
            text += len;
        }
    }
    return BL_OK;
}

typedef struct expansion {
    const bl_factors *factors;
    size_t c;
    bool shell; /* quote the values */
    bl_str *out;
} expansion;

static void expand_literal(void *context, const char *text, size_t n)
{
    bl_str_append_n(((expansion *)context)->out, text, n);
}

static bool shell_plain(const char *value)
{
    for (const char *c = value; *c != '\0'; c++)
        if (!name_char(*c) && strchr("@%+=:,./", *c) == NULL)
            return false;
    return *value != '\0';
}

static void append_quoted(bl_str *out, const char *value)
{
    bl_str_append_c(out, '\'');
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\'')
            bl_str_append(out, "'\\''");
        else
            bl_str_append_c(out, *c);
    }
    bl_str_append_c(out, '\'');
}

static void expand_placeholder(void *context, size_t factor)
{
    expansion *e = context;
    const char *value = factor == OUTDIR ? e->factors->outdir : bl_factors_value(e->factors, e->c, factor);
    if (value == NULL)
        return;
    if (e->shell && !shell_plain(value))
        append_quoted(e->out, value);
    else
        bl_str_append(e->out, value);
}

static int expand(const char *text, const bl_factors *factors, size_t c, bool shell, bl_str *out, bl_error *err)
{
    if (factors->len > 0 && c >= bl_factors_n_cases(factors))
        return BL_FAIL(err, BL_ERR_INTERNAL, "case %zu of %zu", c, bl_factors_n_cases(factors));
    expansion e = {factors, c, shell, out};
    const visitor v = {expand_literal, expand_placeholder, &e};
    int rc = walk(text, factors, &v, err);
    if (rc == BL_OK && out->failed)
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to fill in the command");
    return rc;
}

int bl_template_expand(const char *text, const bl_factors *factors, size_t c, bl_str *out, bl_error *err)
{
    return expand(text, factors, c, false, out, err);
}

static void skip_literal(void *context, const char *text, size_t n)
{
    (void)context;
    (void)text;
    (void)n;
}

static void note_placeholder(void *context, size_t factor)
{
    ((bool *)context)[factor] = true;
}

int bl_template_check(char *const *argv, size_t argc, const char *before, const bl_factors *factors,
                      bool batch_from_env, bl_error *err)
{
    if (argc == 0 || argv[0][0] == '\0') {
        int rc = BL_FAIL(err, BL_ERR_USAGE, "command: there is none");
        bl_error_remedy(err, "put it after --, as in -- python3 train.py --batch-size {batch}");
        return rc;
    }
    bool used[BL_FACTORS_MAX + 1] = {false};
    const visitor v = {skip_literal, note_placeholder, used};
    for (size_t i = 0; i < argc; i++) {
        int rc = walk(argv[i], factors, &v, err);
        if (rc != BL_OK)
            return rc;
    }
    if (before)
        walk(before, factors, &v, NULL); /* whoever runs it checks it */
    for (size_t f = 0; f < factors->len; f++) {
        const char *name = factors->items[f].name;
        bool batch = strcmp(name, "batch") == 0;
        if (used[f] || (batch && batch_from_env))
            continue;
        int rc = BL_FAIL(err, BL_ERR_USAGE, "command: it does not use {%s}, so every trial would run the same", name);
        if (batch)
            bl_error_remedy(err, "put {batch} where the program takes its batch size, as in --batch-size {batch}");
        else
            bl_error_remedy(err, "put {%s} into the command, or drop the parameter", name);
        return rc;
    }
    return BL_OK;
}

bool bl_template_uses_outdir(const char *text)
{
    static const char name[] = "{outdir}";
    for (const char *at = strchr(text, '{'); at; at = strchr(at, '{')) {
        if (strncmp(at, name, sizeof name - 1) == 0)
            return true;
        at += at[1] == '{' ? 2 : 1;
    }
    return false;
}

int bl_template_argv(char *const *argv, size_t argc, const bl_factors *factors, size_t c, bl_strv *out, bl_error *err)
{
    bl_strv_init(out);
    bl_str one;
    bl_str_init(&one);
    int rc = BL_OK;
    for (size_t i = 0; i < argc && rc == BL_OK; i++) {
        bl_str_reset(&one);
        rc = expand(argv[i], factors, c, false, &one, err);
        if (rc == BL_OK && bl_strv_push(out, bl_str_text(&one)) != BL_OK)
            rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to fill in the command");
    }
    bl_str_clear(&one);
    if (rc != BL_OK)
        bl_strv_clear(out);
    return rc;
}

int bl_template_shell_argv(char *const *argv, size_t argc, const bl_factors *factors, size_t c, bl_strv *out,
                           bl_error *err)
{
    bl_strv_init(out);
    bl_str text;
    bl_str_init(&text);
    int rc = BL_OK;
    for (size_t i = 0; i < argc && rc == BL_OK; i++) {
        if (i > 0)
            bl_str_append_c(&text, ' ');
        rc = expand(argv[i], factors, c, true, &text, err);
    }
    if (rc == BL_OK && (bl_strv_push(out, "/bin/sh") != BL_OK || bl_strv_push(out, "-c") != BL_OK ||
                        bl_strv_push(out, bl_str_text(&text)) != BL_OK))
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to fill in the command");
    bl_str_clear(&text);
    if (rc != BL_OK)
        bl_strv_clear(out);
    return rc;
}

/* Product of the numbers between '*'s; changes text. */
static int multiply(char *text, double *out, bl_error *err)
{
    double product = 1;
    for (char *rest = text; rest != NULL;) {
        char *number = strsep(&rest, "*");
        double value = 0;
        int rc = bl_parse_f64(number, "samples", &value, err);
        if (rc != BL_OK)
            return rc;
        product *= value;
    }
    if (!(product > 0 && isfinite(product)))
        return BL_FAIL(err, BL_ERR_USAGE, "samples must come to a positive number, not %g", product);
    *out = product;
    return BL_OK;
}

int bl_template_number(const char *text, const bl_factors *factors, size_t c, double *out, bl_error *err)
{
    bl_str filled;
    bl_str_init(&filled);
    int rc = expand(text, factors, c, false, &filled, err);
    char *taken = rc == BL_OK ? bl_str_take(&filled) : NULL;
    if (rc == BL_OK && taken == NULL)
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to fill in the samples");
    if (rc == BL_OK) {
        rc = multiply(taken, out, err);
        if (rc != BL_OK)
            bl_error_remedy(err, "write a number or a product, as in 50000 or {batch}*100");
    }
    free(taken);
    bl_str_clear(&filled);
    return rc;
}
