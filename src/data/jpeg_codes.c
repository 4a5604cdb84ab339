/* From codes to blocks. */
#include "data/jpeg_codes.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK = BL_JPEG_LOOK,
    CODE_MAX = BL_JPEG_CODE_MAX,
    SIZE_MAX_BITS = 11 /* of a value; 8-bit images need no more */
};

const uint8_t bl_jpeg_natural[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                     12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                     35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                     58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* What the next LOOK bits begin with: from the lowest bit on, 6 of its length, 2 of its kind, 8 of the symbol (a run of
 * zeros and the bits of the value, 4 each), 16 of the coefficient, with a sign. */
typedef uint32_t entry;

enum { OTHER, CODE, VALUE, EMPTY }; /* a longer code or none; a code; a code and its value; a code that has none */

static entry make_entry(int len, unsigned kind, unsigned symbol, int value)
{
    return (unsigned)len | kind << 6 | symbol << 8 | (uint32_t)value << 16;
}

static inline unsigned kind_of(entry e)
{
    return e >> 6 & 3;
}

static inline unsigned symbol_of(entry e)
{
    return e >> 8 & 255;
}

typedef bl_jpeg_table table;
typedef bl_jpeg_bits bits;
typedef bl_jpeg_component component;
typedef bl_jpeg_codes decoder;

static int extend(unsigned value, int size)
{
    return value >> (size - 1) ? (int)value : (int)value - (1 << size) + 1;
}

/* with_value: symbols are those of a run and a value, else bits of a value alone, which are not looked up. */
static void fill_look(table *t, unsigned code, int len, unsigned symbol, bool with_value)
{
    int rest = LOOK - len, size = symbol & 15;
    for (unsigned tail = 0; tail < 1u << rest; tail++) {
        entry e = make_entry(len, CODE, symbol, 0);
        if (with_value && size == 0)
            e = make_entry(len, EMPTY, symbol, 0);
        else if (with_value && size <= rest)
            e = make_entry(len + size, VALUE, symbol, extend(tail >> (rest - size), size));
        t->look[code << rest | tail] = e;
    }
}

bool bl_jpeg_table_make(const JHUFF_TBL *from, bool with_value, table *t)
{
    unsigned code = 0, n = 0;
    if (!from)
        return false;
    for (int i = 0; i < 1 << LOOK; i++)
        t->look[i] = make_entry(0, OTHER, 0, 0);
    t->symbols = from->huffval;
    for (int len = 1; len <= CODE_MAX; len++, code <<= 1) {
        t->shift[len] = (int32_t)n - (int32_t)code;
        for (int i = 0; i < from->bits[len]; i++, code++, n++) {
            if (n >= 256 || code >= 1u << len)
                return false;
            if (len <= LOOK)
                fill_look(t, code, len, from->huffval[n], with_value);
        }
        t->last[len] = from->bits[len] ? (int32_t)code - 1 : -1;
    }
    return true;
}

/* 56 bits at least. */
static inline void refill(bits *b)
{
    uint64_t word;
    memcpy(&word, b->next, sizeof word);
    b->held |= __builtin_bswap64(word) >> b->n;
    b->next += (63 - b->n) >> 3;
    b->n |= 56;
}

static inline void drop(bits *b, unsigned n)
{
    b->held <<= n;
    b->n -= n;
}

static inline int take_value(bits *b, int size)
{
    int value = extend((unsigned)(b->held >> (64 - size)), size);
    drop(b, (unsigned)size);
    return value;
}

/* The symbol of a code longer than LOOK; -1 where there is none. */
static int take_long(bits *b, const table *t)
{
    for (int len = LOOK + 1; len <= CODE_MAX; len++) {
        int32_t code = (int32_t)(b->held >> (64 - len));
        if (code <= t->last[len]) {
            drop(b, (unsigned)len);
            return t->symbols[(code + t->shift[len]) & 255];
        }
    }
    return -1;
}

static inline int take_code(bits *b, const table *t, entry e)
{
    if (kind_of(e) == OTHER)
        return take_long(b, t);
    drop(b, e & 63);
    return (int)symbol_of(e);
}

/* A symbol without a value, or with one that was not looked up with it: 0 goes on, 1 the block ends, -1 declined. */
static int take_other(bits *b, const table *t, entry e, int *k, int *value)
{
    int symbol = take_code(b, t, e), size = symbol & 15;
    if (symbol < 0 || size > SIZE_MAX_BITS)
        return -1;
    *value = 0;
    if (size == 0) {
        *k += 15;
        return symbol >> 4 == 15 ? 0 : 1;
    }
    *k += symbol >> 4;
    *value = take_value(b, size);
    return 0;
}

/* The first coefficient's value is added to the last block's. */
static bool take_first(bits *b, component *c)
{
    refill(b);
    int size = take_code(b, c->dc, c->dc->look[b->held >> (64 - LOOK)]);
    if (size < 0 || size > SIZE_MAX_BITS)
        return false;
    if (size > 0)
        c->before += take_value(b, size);
    return abs(c->before) < 1 << 14;
}

enum { BETWEEN = 3 }; /* symbols from refill to refill: two of LOOK bits leave enough for a third of any length. */

/* One block's coefficients, times their quantisers, into out (64), which is zero; *any: others than the first. */
static inline __attribute__((always_inline)) bool take_block(bits *given, component *c, bool keep, int16_t *out,
                                                             bool *any)
{
    if (!take_first(given, c))
        return false;
    bits b = *given;
    const entry *look = c->ac->look;
    int k = 1, scaled = c->before * c->quantiser[0];
    uint32_t wide = (uint32_t)scaled + 16384; /* above 15 bits, one bit shows that one value does not fit them */
    if (keep)
        out[0] = (int16_t)scaled;
    while (k < 64) {
        refill(&b);
#pragma GCC unroll 3
        for (int i = 0; i < BETWEEN && k < 64; i++, k++) {
            entry e = look[b.held >> (64 - LOOK)];
            int value = (int32_t)e >> 16;
            if (__builtin_expect(kind_of(e) == VALUE, 1)) {
                drop(&b, e & 63);
                k += symbol_of(e) >> 4;
            } else if (kind_of(e) == EMPTY && symbol_of(e) == 0) {
                drop(&b, e & 63);
                goto done;
            } else {
                bits others = b; /* apart, so that these stay in registers */
                int at = k, other, end = take_other(&others, c->ac, e, &at, &other);
                if (end < 0)
                    return false;
                b = others;
                if (end > 0)
                    goto done;
                refill(&b);
                k = at;
                value = other;
            }
            if (k > 63)
                return false;
            if (keep) {
                scaled = value * c->quantiser[k];
                out[bl_jpeg_natural[k]] = (int16_t)scaled;
                wide |= (uint32_t)scaled + 16384;
            }
        }
    }
done:
    *given = b;
    *any = k > 1;
    return !keep || wide >> 15 == 0;
}

static bool within(const decoder *d)
{
    return (size_t)(d->bits.next - d->codes) <= d->codes_b + d->bits.n / 8;
}

static void fill_block(int16_t *coefficients, uint8_t *out, size_t stride)
{
    int level = ((coefficients[0] + 4) >> 3) + 128;
    coefficients[0] = 0;
    level = level < 0 ? 0 : level > 255 ? 255 : level;
    for (int i = 0; i < 8; i++)
        memset(out + (size_t)i * stride, level, 8);
}

static bool skip_mcu(decoder *d)
{
    for (int i = 0; i < 3; i++) {
        component *c = &d->component[i];
        bool any;
        for (int k = 0; k < c->across * c->down; k++)
            if (!take_block(&d->bits, c, false, NULL, &any))
                return false;
    }
    return within(d);
}

static bool keep_mcu(decoder *d, int x, int y)
{
    for (int i = 0; i < 3; i++) {
        component *c = &d->component[i];
        for (int k = 0; k < c->across * c->down; k++) {
            bool any;
            if (!take_block(&d->bits, c, true, d->coefficients, &any))
                return false;
            size_t row = 8 * (size_t)((y - d->top) * c->down + k / c->across);
            uint8_t *at = c->plane + row * c->stride + 8 * (size_t)((x - d->first) * c->across + k % c->across);
            if (!any)
                fill_block(d->coefficients, at, c->stride);
            else if (!bl_jpeg_block(d->coefficients, at, c->stride))
                return false;
        }
    }
    return within(d);
}

bool bl_jpeg_codes_read(decoder *d, int per_row, int bottom)
{
    for (int y = 0; y < bottom; y++)
        for (int x = 0; x < (y == bottom - 1 ? d->end : per_row); x++) {
            bool wanted = y >= d->top && x >= d->first && x < d->end;
            if (!(wanted ? keep_mcu(d, x, y) : skip_mcu(d)))
                return false;
        }
    return true;
}
