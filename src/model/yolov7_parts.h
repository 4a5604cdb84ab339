/* What the YOLOv7 detectors are put together from (Wang, Bochkovskiy and Liao, "YOLOv7: Trainable bag-of-freebies sets
 * new state-of-the-art for real-time object detectors", CVPR 2023). Of use for this folder alone. */
#ifndef BL_MODEL_YOLOV7_PARTS_H
#define BL_MODEL_YOLOV7_PARTS_H

#include "model/model.h"

/* A network being built. Every layer of its own, those without parameters too, has a number in the public state dicts
 * ("model.37.conv.weight"), so the parts below are called in the order of those numbers. */
typedef struct yolo {
    bl_graph *graph;
    bl_act act;
    int next; /* number of the next layer */
} yolo;

/* Convolution without bias, padded to keep the size, normalisation, activation: one layer. */
bl_value yolo_conv(yolo *net, bl_value x, int channels, int kernel, int stride);
/* Halves the sides; no parameters. */
bl_value yolo_max_pool(yolo *net, bl_value x);
bl_value yolo_concat(yolo *net, const bl_value *parts, int n);

/* Efficient layer aggregation: x by two 1x1 convolutions of `width` channels, the second's result through a chain of
 * `depth` 3x3 convolutions of `inner` channels. The chain's results, from the last one back and leaving out all but
 * every `every`-th, then both 1x1's, are joined and brought to `out` channels by another 1x1. */
typedef struct yolo_elan_args {
    int width, inner, depth, every, out;
} yolo_elan_args;
bl_value yolo_elan(yolo *net, bl_value x, yolo_elan_args args);

/* Halves the sides twice over, by pooling and by a convolution, `channels` each, and joins them and `also` unless it is
 * BL_NO_VALUE. */
bl_value yolo_down(yolo *net, bl_value x, int channels, bl_value also);
/* x brought to `channels` and twice the side, joined to `route` brought to `channels`. */
bl_value yolo_up(yolo *net, bl_value x, bl_value route, int channels);
/* x and the largest of 5x5, 9x9 and 13x13 around each pixel, in the order x, 5, 9, 13. */
void yolo_pyramid(yolo *net, bl_value x, bl_value out[4]);
/* Spatial pyramid pooling across two partial stages: one layer. */
bl_value yolo_sppcspc(yolo *net, bl_value x, int channels);
/* Normalised 3x3 and 1x1 convolutions, summed and activated (Ding et al., "RepVGG", CVPR 2021): one layer. */
bl_value yolo_rep_conv(yolo *net, bl_value x, int channels);
/* The heads, by `out->spec`: x[i] shifted by implicit numbers, by a 1x1 convolution, scaled by implicit numbers. aux:
 * the auxiliary ones, without those; NULL where there are none. */
void yolo_detect(yolo *net, const bl_value *x, const bl_value *aux, bl_detector_heads *out);

#endif
