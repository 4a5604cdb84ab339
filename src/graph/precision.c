#include "graph/precision.h"

#include <string.h>

static const char *const names[] = {"float32", "bfloat16", "bfloat16-emulated"};

bool bl_precision_from_name(const char *name, bl_precision *out)
{
    for (int i = 0; i <= BL_PRECISION_BFLOAT16_EMULATED; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (bl_precision)i;
            return true;
        }
    return false;
}

const char *bl_precision_name(bl_precision precision)
{
    return names[precision];
}
