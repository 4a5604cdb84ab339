#include "plan/words.h"

#include <string.h>

#include "plan/quote.h"

static int fail(const char *text, const char *what, bl_error *err)
{
    int rc = BL_FAIL(err, BL_ERR_USAGE, "%s in %s", what, bl_quote_n(text, strlen(text)).text);
    bl_error_remedy(err, "quote as for a shell: 'two words' is one");
    return rc;
}

/* At an opening quote: appends what it holds and moves past its end. */
static bool take_quoted(const char **at, bl_str *word)
{
    char quote = *(*at)++;
    for (; **at && **at != quote; ++*at) {
        if (quote == '"' && **at == '\\' && (*at)[1] && strchr("\"\\$`", (*at)[1]))
            ++*at;
        bl_str_append_c(word, **at);
    }
    bool closed = **at == quote;
    *at += closed; /* never beyond the text's end */
    return closed;
}

/* One word from `at` on, up to a blank or the end. */
static int take_word(const char *text, const char **at, bl_str *word, bl_error *err)
{
    while (**at && !strchr(" \t\n", **at)) {
        if (**at == '\'' || **at == '"') {
            if (!take_quoted(at, word))
                return fail(text, "a quote is not closed", err);
        } else if (**at == '\\' && !(*at)[1]) {
            return fail(text, "nothing follows the last backslash", err);
        } else {
            *at += **at == '\\';
            bl_str_append_c(word, *(*at)++);
        }
    }
    return BL_OK;
}

int bl_words_split(const char *text, bl_strv *out, bl_error *err)
{
    bl_strv_init(out);
    bl_str word;
    bl_str_init(&word);
    int code = BL_OK;
    const char *at = text + strspn(text, " \t\n");
    while (*at && code == BL_OK) {
        bl_str_reset(&word);
        code = take_word(text, &at, &word, err);
        if (code == BL_OK && (word.failed || bl_strv_push(out, bl_str_text(&word)) != BL_OK))
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for a command's words");
        at += strspn(at, " \t\n");
    }
    if (code == BL_OK && out->len == 0)
        code = BL_FAIL(err, BL_ERR_USAGE, "the command is empty");
    bl_str_clear(&word);
    if (code != BL_OK)
        bl_strv_clear(out);
    return code;
}
