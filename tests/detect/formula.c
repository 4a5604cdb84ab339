#include "testing.h"

#include "formula.h"

#include <math.h>
#include <stdlib.h>

#define EPS 1e-7

uint32_t formula_bits(uint64_t stream, uint64_t index)
{
    uint64_t z = (stream << 32) + index;
    z = z * 0x9E3779B97F4A7C15u + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (uint32_t)(z >> 40);
}

double formula_uniform(uint64_t stream, uint64_t index)
{
    return (double)formula_bits(stream, index) / (1 << 23) - 1;
}

double formula_ciou(const bl_box *box, const bl_box *truth, double alpha)
{
    const bl_box *both[2] = {box, truth};
    double low[2][2], high[2][2], area = 0, shared = 1, hull = 0, apart = 0;
    for (int i = 0; i < 2; i++) {
        double centre[2] = {both[i]->x, both[i]->y}, size[2] = {both[i]->w, both[i]->h};
        for (int d = 0; d < 2; d++) {
            low[i][d] = centre[d] - size[d] / 2;
            high[i][d] = centre[d] + size[d] / 2;
        }
        area += size[0] * (size[1] + EPS);
    }
    for (int d = 0; d < 2; d++) {
        shared *= fmax(fmin(high[0][d], high[1][d]) - fmax(low[0][d], low[1][d]), 0);
        hull += pow(fmax(high[0][d], high[1][d]) - fmin(low[0][d], low[1][d]), 2);
        apart += pow((low[0][d] + high[0][d] - low[1][d] - high[1][d]) / 2, 2);
    }
    double iou = shared / (area - shared + EPS);
    double v = 4 / (M_PI * M_PI) * pow(atan(truth->w / (truth->h + 2 * EPS)) - atan(box->w / (box->h + 2 * EPS)), 2);
    if (isnan(alpha))
        alpha = v / (v - iou + 1 + EPS);
    return iou - apart / (hull + EPS) - alpha * v;
}

static const float anchors_p5[3][3][2] = {
    {{12, 16}, {19, 36}, {40, 28}}, {{36, 75}, {76, 55}, {72, 146}}, {{142, 110}, {192, 243}, {459, 401}}};
static const float anchors_p6[4][3][2] = {{{19, 27}, {44, 40}, {38, 94}},
                                          {{96, 68}, {86, 152}, {180, 137}},
                                          {{140, 301}, {303, 264}, {238, 542}},
                                          {{436, 615}, {739, 380}, {925, 792}}};

static double *make_head(const formula_case *c, const formula_sizes *sizes, int k)
{
    int64_t pixels = c->count[k] / (sizes->n_images * BL_DETECT_ANCHORS * (5 + sizes->n_classes));
    double *head = calloc((size_t)c->count[k], sizeof *head);
    assert_non_null(head);
    for (int64_t i = 0; i < c->count[k]; i++) {
        double u = formula_uniform((uint64_t)(100 * sizes->number + k), (uint64_t)i);
        head[i] = (double)(float)(i / pixels % (5 + sizes->n_classes) < 4 ? 1.5 * u : 2 * u - 1);
    }
    return head;
}

static double *make_targets(const formula_sizes *sizes)
{
    double *targets = calloc((size_t)sizes->n_rows * BL_DETECT_TARGET_COLS, sizeof *targets);
    assert_non_null(targets);
    for (int i = 0; i < sizes->n_rows; i++) {
        double u[BL_DETECT_TARGET_COLS], *row = targets + (size_t)i * BL_DETECT_TARGET_COLS;
        for (int k = 0; k < BL_DETECT_TARGET_COLS; k++)
            u[k] = formula_uniform((uint64_t)(100 * sizes->number + 99), (uint64_t)(i * BL_DETECT_TARGET_COLS + k));
        row[0] = i % 7 == 3 || sizes->n_rows == 1 ? -1 : i % (sizes->n_images > 1 ? sizes->n_images - 1 : 1);
        row[1] = floor((u[1] + 1) / 2 * sizes->n_classes);
        for (int k = 2; k < 4; k++)
            row[k] = (double)(float)(0.5 + 0.49 * u[k]);
        for (int k = 4; k < 6; k++)
            row[k] = (double)(float)(0.02 + 0.5 * ((u[k] + 1) / 2) * ((u[k] + 1) / 2));
    }
    return targets;
}

void formula_case_init(formula_case *c, const formula_sizes *sizes)
{
    *c = (formula_case){0};
    bl_detect_spec *spec = &c->setup.spec;
    spec->n_classes = sizes->n_classes;
    spec->n_levels = sizes->auxiliary ? 4 : 3;
    spec->auxiliary = sizes->auxiliary;
    bl_detect_batch *batch = &c->batch;
    batch->n = sizes->n_images;
    batch->n_heads = spec->n_levels * (1 + sizes->auxiliary);
    batch->wide = true;
    for (int i = 0; i < spec->n_levels; i++) {
        spec->stride[i] = 8 << i;
        batch->h[i] = batch->w[i] = sizes->size >> (3 + i);
        for (int a = 0; a < 6; a++)
            spec->anchor[i][a / 2][a % 2] =
                sizes->auxiliary ? anchors_p6[i][a / 2][a % 2] : anchors_p5[i][a / 2][a % 2];
    }
    c->setup.gains = bl_detect_default_gains(spec, sizes->size);
    c->setup.label_smoothing = sizes->smoothing;
    for (int k = 0; k < batch->n_heads; k++) {
        int level = k % spec->n_levels;
        c->count[k] = (int64_t)batch->n * BL_DETECT_ANCHORS * (5 + spec->n_classes) * batch->h[level] * batch->w[level];
        batch->head[k] = c->head[k] = make_head(c, sizes, k);
        batch->grad[k] = c->grad[k] = calloc((size_t)c->count[k], sizeof(double));
        assert_non_null(c->grad[k]);
    }
    batch->targets = c->targets = make_targets(sizes);
    batch->n_targets = sizes->n_rows;
    size_t bytes;
    assert_int_equal(bl_detect_loss_scratch_b(&c->setup, batch, &bytes, NULL), BL_OK);
    c->scratch = malloc(bytes);
    assert_non_null(c->scratch);
}

void formula_case_clear(formula_case *c)
{
    for (int k = 0; k < c->batch.n_heads; k++) {
        free(c->head[k]);
        free(c->grad[k]);
    }
    free(c->targets);
    free(c->scratch);
}
