/* The first line is a parameter (NAME=VALUES), the rest a template. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "plan/template.h"

static void check_value_is_one_word(const bl_factors *factors, size_t c)
{
    char *argv[] = {(char *)"{p}"};
    bl_strv out;
    if (factors->len < 2 || strcmp(factors->items[1].name, "p") != 0)
        return;
    FUZZ_CHECK(bl_template_shell_argv(argv, 1, factors, c, &out, NULL) == BL_OK);
    /* Undo the quoting by hand: the value must come back, and nothing may stand outside the quotes but plain
     * characters and escaped quotes. */
    bl_str back;
    bl_str_init(&back);
    int quoted = 0;
    for (const char *s = out.items[2]; *s != '\0'; s++) {
        if (*s == '\'') {
            quoted = !quoted;
        } else if (quoted) {
            bl_str_append_c(&back, *s);
        } else if (*s == '\\') {
            FUZZ_CHECK(s[1] == '\'');
            bl_str_append_c(&back, *++s);
        } else {
            FUZZ_CHECK(strchr(" \t\n\r\v\f;&|<>()$`\"*?[]#~!{}", *s) == NULL);
            bl_str_append_c(&back, *s);
        }
    }
    FUZZ_CHECK(!quoted);
    FUZZ_CHECK(strcmp(bl_str_text(&back), bl_factors_value(factors, c, 1)) == 0);
    bl_str_clear(&back);
    bl_strv_clear(&out);
}

static void try_template(const char *text, const bl_factors *factors, size_t c)
{
    bl_error err = {0};
    bl_str out;
    bl_str_init(&out);
    int expanded = bl_template_expand(text, factors, c, &out, &err);
    FUZZ_CHECK(expanded == BL_OK || (expanded == BL_ERR_USAGE && err.message[0] != '\0' && err.remedy[0] != '\0'));
    FUZZ_CHECK(strchr(err.message, '\n') == NULL);
    if (strpbrk(text, "{}") == NULL)
        FUZZ_CHECK(expanded == BL_OK && strcmp(bl_str_text(&out), text) == 0);
    bl_str_clear(&out);

    char *argv[] = {(char *)"train", (char *)text};
    bl_strv argv_out;
    FUZZ_CHECK(bl_template_argv(argv, 2, factors, c, &argv_out, NULL) == expanded);
    FUZZ_CHECK(expanded != BL_OK || argv_out.len == 2);
    bl_strv_clear(&argv_out);
    FUZZ_CHECK(bl_template_shell_argv(argv, 2, factors, c, &argv_out, NULL) == expanded);
    bl_strv_clear(&argv_out);
    if (bl_template_check(argv, 2, text, factors, true, NULL) == BL_OK)
        FUZZ_CHECK(expanded == BL_OK);

    double samples = -1;
    if (bl_template_number(text, factors, c, &samples, NULL) == BL_OK)
        FUZZ_CHECK(samples > 0 && isfinite(samples));
    else
        FUZZ_CHECK(samples == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char *template = strchr(text, '\n');
    if (template != NULL)
        *template ++ = '\0';
    else
        template = text;

    bl_factors factors;
    bl_factors_init(&factors);
    bl_batch_list batches = {(int64_t[]){32, 128}, 2};
    bl_error err = {0};
    if (bl_factors_add_batch(&factors, &batches, NULL) == BL_OK) {
        int rc = bl_factors_add_param(&factors, text, &err);
        FUZZ_CHECK(rc == BL_OK || (rc == BL_ERR_USAGE && err.message[0] != '\0'));
        size_t n_cases = bl_factors_n_cases(&factors);
        FUZZ_CHECK(n_cases >= 2 && n_cases <= BL_CASES_MAX);
        try_template(template, &factors, n_cases - 1);
        for (size_t c = 0; c < n_cases && c < 8; c++)
            check_value_is_one_word(&factors, c);
    }
    bl_factors_clear(&factors);
    free(text);
    return 0;
}
