#include "tensor/dtype.h"

#include "base/attributes.h"

static const struct {
    const char *name;
    size_t size;
} types[] = {[BL_F32] = {"f32", 4}, [BL_I32] = {"i32", 4}, [BL_U8] = {"u8", 1}};

size_t bl_dtype_size(bl_dtype dtype)
{
    return types[dtype].size;
}

const char *bl_dtype_name(bl_dtype dtype)
{
    return types[dtype].name;
}
