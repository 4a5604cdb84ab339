/* The Huffman codes of a baseline JPEG (ITU-T T.81, F.2.2). Of use to jpeg_quick.c. */
#ifndef BL_DATA_JPEG_CODES_H
#define BL_DATA_JPEG_CODES_H

#include "data/jpeg_quick.h"

enum {
    BL_JPEG_LOOK = 11, /* bits that are looked up at once */
    BL_JPEG_CODE_MAX = 16,
    BL_JPEG_QUANTISER_MAX = 4095,
    BL_JPEG_AFTER_B =
        2048 /* zeros after the codes, more than an MCU takes: one that runs over the end is noticed then */
};

extern const uint8_t bl_jpeg_natural[64]; /* the zigzag's order: places row by row */

typedef struct bl_jpeg_table {
    uint32_t look[1 << BL_JPEG_LOOK];
    int32_t last[BL_JPEG_CODE_MAX + 1];  /* the largest code of a length; -1 where none */
    int32_t shift[BL_JPEG_CODE_MAX + 1]; /* what makes it a place among the symbols */
    const uint8_t *symbols;
} bl_jpeg_table;

/* with_value: for symbols of a run and a value (AC), else of a value (DC). False where the codes are not those of a
 * tree. The symbols are borrowed. */
bool bl_jpeg_table_make(const JHUFF_TBL *from, bool with_value, bl_jpeg_table *out);

/* The upper n bits of `held` are the next ones; what lies below them is right too, but counts as not there. */
typedef struct bl_jpeg_bits {
    uint64_t held;
    const uint8_t *next;
    unsigned n;
} bl_jpeg_bits;

typedef struct bl_jpeg_component {
    const bl_jpeg_table *dc, *ac;
    uint16_t quantiser[64]; /* in the zigzag's order */
    int before;             /* the last block's first coefficient */
    int across, down;       /* blocks of an MCU */
    uint8_t *plane;
    size_t stride;
} bl_jpeg_component;

typedef struct bl_jpeg_codes {
    bl_jpeg_component component[3];
    bl_jpeg_bits bits;
    const uint8_t *codes;
    size_t codes_b;
    int first, end;           /* MCUs of a row that are wanted */
    int top;                  /* row of MCUs where the planes begin */
    int16_t coefficients[64]; /* zero between blocks */
} bl_jpeg_codes;

/* Rows of MCUs [0, bottom), of `per_row` each: those before c->top are only read, and so is what lies beside the part.
 * False: damaged, or something that is left to libjpeg. */
bool bl_jpeg_codes_read(bl_jpeg_codes *c, int per_row, int bottom);

#endif
