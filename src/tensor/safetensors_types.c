#include "tensor/safetensors_types.h"

#include <stdio.h>
#include <string.h>

#include "base/attributes.h"

static const struct {
    const char *name;
    size_t size_b;
} types[] = {
    [BL_ST_BOOL] = {"BOOL", 1},       [BL_ST_U8] = {"U8", 1},           [BL_ST_I8] = {"I8", 1},
    [BL_ST_F8_E5M2] = {"F8_E5M2", 1}, [BL_ST_F8_E4M3] = {"F8_E4M3", 1}, [BL_ST_I16] = {"I16", 2},
    [BL_ST_U16] = {"U16", 2},         [BL_ST_F16] = {"F16", 2},         [BL_ST_BF16] = {"BF16", 2},
    [BL_ST_I32] = {"I32", 4},         [BL_ST_U32] = {"U32", 4},         [BL_ST_F32] = {"F32", 4},
    [BL_ST_F64] = {"F64", 8},         [BL_ST_I64] = {"I64", 8},         [BL_ST_U64] = {"U64", 8},
};

size_t bl_st_type_size(bl_st_type type)
{
    return types[type].size_b;
}

const char *bl_st_type_name(bl_st_type type)
{
    return types[type].name;
}

bool bl_st_type_from_name(const char *name, bl_st_type *out)
{
    for (int i = 0; i < (int)BL_ARRAY_LEN(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            *out = (bl_st_type)i;
            return true;
        }
    return false;
}

/* Names end up on terminals. */
const char *bl_st_name_fault(const char *name)
{
    size_t len = strlen(name);
    if (strcmp(name, BL_ST_METADATA) == 0)
        return "is reserved";
    if (len == 0)
        return "is empty";
    if (len > BL_SAFETENSORS_NAME_MAX_B)
        return "is too long";
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0))
            return "holds a control character";
    return NULL;
}

/* IEEE 754 binary16: subnormal numbers are multiples of 2^-24. */
static float from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 1023, bits;
    float value;
    if (exponent == 0) {
        value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float from_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* memcpy each: the format promises no alignment. */
#define EACH(source_type, expression)                                                                                  \
    for (size_t i = 0; i < count; i++) {                                                                               \
        source_type x;                                                                                                 \
        memcpy(&x, (const char *)from + i * sizeof x, sizeof x);                                                       \
        out[i] = (expression);                                                                                         \
    }                                                                                                                  \
    return true

bool bl_st_to_f32(bl_st_type type, const void *from, size_t count, float *out)
{
    switch (type) {
    case BL_ST_F32:
        EACH(float, x);
    case BL_ST_F64:
        EACH(double, (float)x);
    case BL_ST_F16:
        EACH(uint16_t, from_f16(x));
    case BL_ST_BF16:
        EACH(uint16_t, from_bf16(x));
    case BL_ST_I64:
        EACH(int64_t, (float)x);
    case BL_ST_I32:
        EACH(int32_t, (float)x);
    default:
        return false;
    }
}

bool bl_st_to_i64(bl_st_type type, const void *from, size_t count, int64_t *out)
{
    switch (type) {
    case BL_ST_I64:
        EACH(int64_t, x);
    case BL_ST_I32:
        EACH(int32_t, x);
    default:
        return false;
    }
}
