#include "report/svg.h"

#include <string.h>

/* Length of the sequence at `text` where it is UTF-8 of a character that XML allows, else 0. */
static size_t sequence(const unsigned char *text, unsigned long *character)
{
    size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xC2 && text[0] <= 0xDF ? 2 : (text[0] & 0xF0) == 0xE0 ? 3 : 0;
    if (text[0] >= 0xF0 && text[0] <= 0xF4)
        n = 4;
    if (n == 0 || (n == 1 && ((text[0] < 0x20 && text[0] != '\t' && text[0] != '\n') || text[0] == 0x7f)))
        return 0;
    unsigned long code = n == 1 ? text[0] : text[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3F);
    }
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    /* Overlong forms, surrogates, C1 controls, bidirectional overrides, U+FFFE and U+FFFF. */
    bool bad = code < least[n] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ||
               (code >= 0x80 && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
               (code >= 0x2066 && code <= 0x2069) || code == 0xFFFE || code == 0xFFFF;
    *character = code;
    return bad ? 0 : n;
}

void bl_markup_text(bl_str *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; c && *c;) {
        unsigned long character;
        size_t n = sequence(c, &character);
        if (n == 0)
            bl_str_append(out, "\xEF\xBF\xBD");
        else if (*c == '&')
            bl_str_append(out, "&amp;");
        else if (*c == '<')
            bl_str_append(out, "&lt;");
        else if (*c == '>')
            bl_str_append(out, "&gt;");
        else if (*c == '"')
            bl_str_append(out, "&quot;");
        else if (*c == '\'')
            bl_str_append(out, "&#39;");
        else
            bl_str_append_n(out, (const char *)c, n);
        c += n > 0 ? n : 1;
    }
}

void bl_markup_json(bl_str *out, const char *text)
{
    bl_str_append_c(out, '"');
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        unsigned long character;
        size_t n = sequence(c, &character);
        if (n == 0)
            character = 0xFFFD;
        bool plain = character >= 0x20 && character < 0x7F && !strchr("\"\\<>&'", (int)character);
        if (plain)
            bl_str_append_c(out, (char)character);
        else if (character < 0x10000)
            bl_str_printf(out, "\\u%04lx", character);
        else
            bl_str_printf(out, "\\u%04lx\\u%04lx", 0xD800 + ((character - 0x10000) >> 10),
                          0xDC00 + ((character - 0x10000) & 0x3FF));
        c += n > 0 ? n : 1;
    }
    bl_str_append_c(out, '"');
}
