#include "trial/evidence.h"

#include <stdarg.h>
#include <stdio.h>

void bl_evidence_add(bl_evidence *evidence, const char *source, bool decided, const char *format, ...)
{
    if (evidence->n == BL_EVIDENCE_MAX)
        return;
    bl_evidence_item *item = &evidence->items[evidence->n++];
    item->source = source;
    item->decided = decided;
    va_list args;
    va_start(args, format);
    vsnprintf(item->text, sizeof item->text, format, args);
    va_end(args);
}
