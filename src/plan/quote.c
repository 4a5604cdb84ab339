#include "plan/quote.h"

bl_quote bl_quote_n(const char *text, size_t n)
{
    bl_quote out;
    size_t at = 0;
    size_t shown = n <= BL_QUOTE_MAX ? n : BL_QUOTE_MAX - 3;
    out.text[at++] = '\'';
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)text[i];
        out.text[at++] = c < 0x20 || c == 0x7f ? '?' : text[i];
    }
    for (int i = 0; shown < n && i < 3; i++)
        out.text[at++] = '.';
    out.text[at++] = '\'';
    out.text[at] = '\0';
    return out;
}
