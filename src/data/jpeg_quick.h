/* The commonest kind of JPEG decoded by the project's own code, to libjpeg-turbo's bits, in less time: 8 bits,
 * baseline, Huffman codes, one scan of Y, Cb and Cr at 1 x 1, 2 x 1 or 2 x 2, no restarts. Whatever else comes, or
 * looks damaged, is declined before anything is decided, and libjpeg does it. For processors with AVX2 and BMI2. Of use
 * to the JPEG files of this room, after jpeglib.h. Formats: ITU-T T.81 (1992), sections F.2 and K; the transform:
 * Loeffler, Ligtenberg & Moschytz, ICASSP 1989. */
#ifndef BL_DATA_JPEG_QUICK_H
#define BL_DATA_JPEG_QUICK_H

#include <stdio.h>

#include <jpeglib.h>

#include "data/resample.h"

#ifdef BL_DATA_X86
/* info: of a whole file in memory, its header read and nothing after it, which stays so. part: of the image, in full
 * size. True: *out holds it, in the scratch. */
bool bl_jpeg_quick(const struct jpeg_decompress_struct *info, bl_part part, bl_scratch *scratch, bl_picture *out);
#endif
/* Whether this machine has what it takes, and BATCHLAB_KERNELS=portable is not set. */
bool bl_jpeg_quick_can(void);

/* A block's 64 coefficients, times their quantisers, row by row, to 8 x 8 samples; leaves them zero. False, and nothing
 * done, where their sum without signs is above 5900: 16 bits might overflow on the way. */
bool bl_jpeg_block(int16_t *coefficients, uint8_t *out, size_t stride);

/* The planes of a part: whole blocks. 32 bytes after each may be read. */
typedef struct bl_jpeg_planes {
    const uint8_t *plane[3];
    size_t stride[3];
    int left[3], top[3]; /* of the first sample, in the component */
    int across, down;    /* pixels that share a sample of chrominance: 1 or 2 */
    int width, height;   /* of the whole image's chrominance */
    uint16_t *sums;      /* room for (part.columns / 2 + 64) */
    uint8_t *line[2];    /* room for (part.columns + 128) each */
} bl_jpeg_planes;

/* Interpolates the chrominance and writes RGB [part.rows][part.columns][3]; 48 bytes after it may be written. */
void bl_jpeg_colour(const bl_jpeg_planes *planes, const bl_part *part, uint8_t *out);

#endif
