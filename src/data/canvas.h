/* The square that pictures are laid on for detection, before it becomes the network's input. Of use inside this room.
 */
#ifndef BL_DATA_CANVAS_H
#define BL_DATA_CANVAS_H

#include "data/image.h"

#define BL_CANVAS_GREY 114 /* what lies beside pictures, as in YOLO's training */

typedef struct bl_canvas {
    float *planes; /* (3, size, size): red, green, blue in [0, 255] */
    int size;
} bl_canvas;

/* In pixels of the canvas, and may reach beyond it. */
typedef struct bl_rect {
    double left, top, right, bottom;
} bl_rect;

void bl_canvas_fill(bl_canvas *canvas, float value);
/* Resamples the picture (data/resample.h) so that the whole of it would fill `where`, and draws what lies in `window`
 * of it: pixels whose middle is in both. The picture must hold bl_canvas_part. */
int bl_canvas_draw(bl_canvas *canvas, const bl_picture *picture, const bl_rect *where, const bl_rect *window,
                   bl_scratch *scratch, bl_error *err);
/* The pixels of an image of these sides that drawing it so looks at. */
bl_part bl_canvas_part(const bl_canvas *canvas, int width, int height, const bl_rect *where, const bl_rect *window);
/* this * share + other * (1 - share) */
void bl_canvas_blend(bl_canvas *canvas, const bl_canvas *other, float share);
/* Multiplies hue (modulo a full turn), saturation and value by the gains; the latter two stay at most 1. */
void bl_canvas_recolor(bl_canvas *canvas, const float gains[3]);
void bl_canvas_mirror(bl_canvas *canvas);

#endif
