#include "shapes/predict.h"

#include <math.h>

bl_estimate bl_predict(const bl_device *d, bl_number type, const bl_product *p)
{
    double flops = bl_device_flops(d, p->tiled ? type : BL_FLOAT32), bytes = p->elements * bl_number_b(type);
    bl_estimate e = {.intensity = p->flop / bytes, .busy = 1, .fill = 1};
    e.memory_s = bytes / (d->bandwidth_gb_s * 1e9);
    e.arithmetic_s = flops > 0 ? p->flop / flops : INFINITY;
    if (p->tiled && d->tile[0] > 0) {
        double area = d->tile[0] * (double)d->tile[1];
        e.tiles = p->count * ceil(p->m / d->tile[0]) * ceil(p->n / d->tile[1]);
        e.waves = ceil(e.tiles / d->units);
        e.busy = e.tiles / (e.waves * d->units);
        e.fill = p->count * p->m * p->n / (e.tiles * area);
        e.arithmetic_s = flops > 0 ? e.waves * d->units * 2 * area * p->k / flops : INFINITY;
    }
    e.seconds = fmax(e.arithmetic_s, e.memory_s);
    return e;
}

const char *bl_predict_misaligned(const bl_device *d, bl_number type, const bl_product *p)
{
    static const char *const texts[] = {"", "M", "N", "M and N", "K", "M and K", "N and K", "M, N and K"};
    double multiple = bl_device_alignment(d, type);
    int which = (fmod(p->m, multiple) != 0) | (fmod(p->n, multiple) != 0) << 1 | (fmod(p->k, multiple) != 0) << 2;
    return texts[which];
}

double bl_predict_layers(const bl_device *d, bl_number type, const bl_layer *layers, size_t n, double batch)
{
    double sum = 0;
    for (bl_layers_walk w = bl_layers_begin(layers, n, batch); bl_layers_next(&w);)
        sum += bl_predict(d, type, &w.product).seconds;
    return sum;
}

double bl_predict_rule(const bl_device *d, int n, double height, double width, double channels)
{
    return floor(n * 16384.0 * d->units / (height * width * channels));
}
