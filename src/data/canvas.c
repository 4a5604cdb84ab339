#include "data/canvas.h"

#include <math.h>
#include <stddef.h>

void bl_canvas_fill(bl_canvas *canvas, float value)
{
    size_t n = 3 * (size_t)canvas->size * (size_t)canvas->size;
    for (size_t i = 0; i < n; i++)
        canvas->planes[i] = value;
}

bl_part bl_canvas_part(const bl_canvas *canvas, int width, int height, const bl_rect *where, const bl_rect *window)
{
    int left, right, top, bottom;
    bl_axis_reach((bl_span){where->left, where->right}, (bl_span){window->left, window->right}, width, canvas->size,
                  &left, &right);
    bl_axis_reach((bl_span){where->top, where->bottom}, (bl_span){window->top, window->bottom}, height, canvas->size,
                  &top, &bottom);
    return (bl_part){left, top, right - left, bottom - top};
}

int bl_canvas_draw(bl_canvas *canvas, const bl_picture *picture, const bl_rect *where, const bl_rect *window,
                   bl_scratch *scratch, bl_error *err)
{
    size_t side = (size_t)canvas->size;
    bl_planes planes = {.at = canvas->planes, .plane = side * side, .stride = side, .scale = {1, 1, 1}};
    bl_axis across, down;
    int code = bl_axis_make((bl_span){where->left, where->right}, (bl_span){window->left, window->right},
                            picture->width, canvas->size, scratch, BL_SCRATCH_ACROSS, &across, err);
    if (code == BL_OK)
        code = bl_axis_make((bl_span){where->top, where->bottom}, (bl_span){window->top, window->bottom},
                            picture->height, canvas->size, scratch, BL_SCRATCH_DOWN, &down, err);
    return code == BL_OK ? bl_resample(picture, &across, &down, &planes, scratch, err) : code;
}

void bl_canvas_blend(bl_canvas *canvas, const bl_canvas *other, float share)
{
    size_t n = 3 * (size_t)canvas->size * (size_t)canvas->size;
    for (size_t i = 0; i < n; i++)
        canvas->planes[i] = share * canvas->planes[i] + (1 - share) * other->planes[i];
}

/* Hue in [0, 6): 0 red, 2 green, 4 blue (Smith 1978). */
static void recolor_pixel(float *r, float *g, float *b, const float gains[3])
{
    float value = fmaxf(*r, fmaxf(*g, *b)), least = fminf(*r, fminf(*g, *b)), range = value - least, hue = 0;
    if (range > 0)
        hue = value == *r ? (*g - *b) / range : value == *g ? 2 + (*b - *r) / range : 4 + (*r - *g) / range;
    hue = fmodf((hue < 0 ? hue + 6 : hue) * gains[0], 6);
    float saturation = value > 0 ? fminf(1, range / value * gains[1]) : 0;
    value = fminf(255, value * gains[2]);
    int sector = (int)hue;
    float part = hue - (float)sector, low = value * (1 - saturation);
    float falling = value * (1 - saturation * part), rising = value * (1 - saturation * (1 - part));
    const float rgb[6][3] = {{value, rising, low},  {falling, value, low}, {low, value, rising},
                             {low, falling, value}, {rising, low, value},  {value, low, falling}};
    *r = rgb[sector][0];
    *g = rgb[sector][1];
    *b = rgb[sector][2];
}

void bl_canvas_recolor(bl_canvas *canvas, const float gains[3])
{
    size_t plane = (size_t)canvas->size * (size_t)canvas->size;
    float *p = canvas->planes;
    for (size_t i = 0; i < plane; i++)
        recolor_pixel(&p[i], &p[plane + i], &p[2 * plane + i], gains);
}

void bl_canvas_mirror(bl_canvas *canvas)
{
    size_t side = (size_t)canvas->size;
    for (size_t row = 0; row < 3 * side; row++) {
        float *line = canvas->planes + row * side;
        for (size_t x = 0; x < side / 2; x++) {
            float held = line[x];
            line[x] = line[side - 1 - x];
            line[side - 1 - x] = held;
        }
    }
}
