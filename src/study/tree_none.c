#include "study/tree.h"

int bl_tree_parse(const char *text, size_t len, const char *name, bl_arena *arena, const bl_node **out, bl_error *err)
{
    BL_FAIL(err, BL_ERR_ENV, "'%s' cannot be read: batchlab was built without libyaml", name);
    bl_error_remedy(err, "install libyaml-dev and build again with -Dyaml=enabled");
    return BL_ERR_ENV;
}
