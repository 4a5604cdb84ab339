/* Steps of an optimizer for compare_with_torch.py: options as words, results as numbers on standard output.
 * dump_optim KIND MOMENTUM NESTEROV DECAY DECAY_ALL CLIP PARTS STEPS LR_WEIGHTS LR_SCALES LR_BIASES */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "optim/optim.h"

static const struct {
    const char *name;
    bl_shape shape;
} entries[] = {
    {"conv.weight", {4, {4, 3, 2, 2}}}, {"conv.bias", {1, {4}}},
    {"norm.weight", {1, {4}}},          {"norm.bias", {1, {4}}},
    {"layer_scale", {3, {4, 1, 1}}},    {"fc.weight", {2, {9, 2000}}},
};
enum { N = BL_ARRAY_LEN(entries) };

static int fill(bl_params *params)
{
    for (int p = 0, at; p < N; p++)
        if (bl_params_declare(params, entries[p].name, &entries[p].shape, (bl_init){0}, false, false, &at, NULL))
            return 1;
    if (bl_params_alloc(params, true, NULL))
        return 1;
    for (int p = 0; p < N; p++)
        for (int64_t i = 0; i < bl_params_at(params, p)->count; i++)
            bl_params_value(params, p)[i] = (float)cos((double)(3 * i + 50 * p));
    return 0;
}

/* Of part k: each part pulls elsewhere. */
static void put_gradients(bl_params *params, int k)
{
    for (int p = 0; p < N; p++)
        for (int64_t i = 0; i < bl_params_at(params, p)->count; i++)
            bl_params_grad(params, p)[i] =
                (float)(0.3 * (double)bl_params_value(params, p)[i] + sin((double)(i + 100 * p + 11 * k)));
}

int main(int argc, char **argv)
{
    bl_params *params;
    bl_optim *optim;
    double n[12] = {0};
    if (argc != 12)
        return 2;
    for (int i = 2; i < argc; i++)
        n[i] = strtod(argv[i], NULL);
    int parts = (int)n[7], steps = (int)n[8];
    bl_optim_options options = {.momentum = n[2],
                                .nesterov = n[3] > 0,
                                .weight_decay = n[4],
                                .decay_all = n[5] > 0,
                                .clip_norm = n[6],
                                .accumulate = parts > 1};
    bl_optim_rates rates = {.lr = {n[9], n[10], n[11]}, .momentum = NAN};
    if (!bl_optim_kind_from_name(argv[1], &options.kind) || bl_params_new(&params, NULL) || fill(params) ||
        bl_optim_new(params, &options, &optim, NULL))
        return 2;
    for (int step = 0; step < steps; step++) {
        put_gradients(params, 0);
        for (int k = 0; parts > 1 && k < parts; k++) {
            put_gradients(params, k);
            bl_optim_accumulate(optim, 1 + k);
        }
        bl_optim_step(optim, &rates);
    }
    for (int p = 0; p < N; p++)
        for (int64_t i = 0; i < bl_params_at(params, p)->count; i++)
            printf("%.9g\n", (double)bl_params_value(params, p)[i]);
    bl_optim_free(optim);
    bl_params_free(params);
    return 0;
}
