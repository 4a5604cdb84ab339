/* Batches whose samples are mixed with one another: mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019). Each sample
 * takes from the one before it, the first from the last; one share for the whole batch, drawn from the seed, the epoch
 * and the batch's number alone. */
#ifndef BL_DATA_MIX_H
#define BL_DATA_MIX_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bl_mix_options {
    double mixup, cutmix; /* alpha of Beta(alpha, alpha), from which shares are drawn; 0: never. Both: one or the other,
                             each for half of the batches */
    uint64_t seed;
} bl_mix_options;

typedef struct bl_mix {
    bool cut;    /* CutMix: the rectangle below comes from the other sample; else mixup: a weighted sum */
    float share; /* of the sample itself, in [0, 1] */
    int left, top, width, height;
} bl_mix;

/* What happens to batch `number` of the epoch, of images of size x size pixels. */
bl_mix bl_mix_draw(const bl_mix_options *options, int size, int64_t epoch, int64_t number);
/* images (n, 3, size, size) are changed in place; others (n) gets the labels of those that they are mixed with. */
void bl_mix_apply(const bl_mix *mix, int n, int size, float *images, const int32_t *labels, int32_t *others);

#endif
