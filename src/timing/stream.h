/* The machine's memory bandwidth, as McCalpin's STREAM has it ("Memory bandwidth and machine balance", 1995): the triad
 * a = b + s c over arrays that no cache holds, 3 x 4 bytes a number. What a processor reads of `a` before it writes
 * there is not counted, so that the memory itself may do up to a third more. */
#ifndef BL_TIMING_STREAM_H
#define BL_TIMING_STREAM_H

#include <stddef.h>

#include "base/error.h"

#define BL_STREAM_NUMBERS ((size_t)32 << 20) /* of each array: 128 MiB */

typedef struct bl_stream {
    float *a, *b, *c;
    size_t n;
} bl_stream;

int bl_stream_make(size_t numbers, int threads, bl_stream *out, bl_error *err);
int bl_stream_run(void *stream, bl_error *err); /* the triad, once */
void bl_stream_clear(bl_stream *stream);

#endif
