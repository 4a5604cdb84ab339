/* How long products take at least on a device, without running them: arithmetic in whole tiles and whole waves of
 * tiles, or moving each element once, whichever takes longer (Williams, Waterman and Patterson, "Roofline", CACM 2009;
 * tiles and waves: NVIDIA, "Matrix Multiplication Background User's Guide", 3.1 and 3.2). */
#ifndef BL_SHAPES_PREDICT_H
#define BL_SHAPES_PREDICT_H

#include "shapes/device.h"
#include "shapes/layer.h"

typedef struct bl_estimate {
    double intensity; /* operations a byte */
    double tiles;     /* of all products; 0 where the device has no tiles */
    double waves;     /* tiles / units, rounded up */
    double busy;      /* tiles / (waves units): the share of units' time that has a tile */
    double fill;      /* the share of the tiles' area that lies in the result */
    double arithmetic_s, memory_s, seconds;
} bl_estimate;

/* A device that lacks the type takes for ever: seconds is infinite. */
bl_estimate bl_predict(const bl_device *device, bl_number type, const bl_product *product);
/* Which of M, N and K are no multiples of the device's alignment: "N and K"; empty: none. Static storage. */
const char *bl_predict_misaligned(const bl_device *device, bl_number type, const bl_product *product);

/* The sum over all roles of all layers, in seconds a step. */
double bl_predict_layers(const bl_device *device, bl_number type, const bl_layer *layers, size_t n, double batch);

/* A rule that goes around: int(n 2^14 units / (height width channels)), said to be the best batch sizes for n = 1, 2,
 * ... It is stated here to be tested. */
double bl_predict_rule(const bl_device *device, int n, double height, double width, double channels);

#endif
