/* The way out for nodes without a kernel: the op's own reference, in doubles, with conversions around it. */
#include "backend/cpu/internal.h"

#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

typedef struct side {
    bl_shape shape;
    bl_layout layout;
    bl_dtype dtype;
    bool present;
    size_t offset_b; /* of its doubles in the scratch */
} side;

typedef struct reference_kernel {
    bl_kernel base;
    bl_node node;
    side in[BL_MAX_IN], out[BL_MAX_OUT];
} reference_kernel;

/* Where element i of the plain tensor lies. */
static size_t place_of(const side *s, int64_t i)
{
    if (s->layout.kind != BL_LAYOUT_BLOCKED)
        return (size_t)i;
    int64_t pixels = s->shape.dim[2] * s->shape.dim[3], channels = s->shape.dim[1], block = s->layout.block;
    int64_t pixel = i % pixels, c = i / pixels % channels, n = i / pixels / channels;
    return (size_t)(((n * ((channels + block - 1) / block) + c / block) * pixels + pixel) * block + c % block);
}

static void widen(const side *s, const void *data, double *out)
{
    for (int64_t i = 0; i < bl_shape_count(&s->shape); i++)
        out[i] =
            s->dtype == BL_I32 ? (double)((const int32_t *)data)[i] : (double)((const float *)data)[place_of(s, i)];
}

static int narrow(const side *s, const double *from, float *out, bl_error *err)
{
    size_t bytes;
    int code = bl_layout_bytes(&s->layout, &s->shape, BL_F32, &bytes, err);
    if (code != BL_OK)
        return code;
    memset(out, 0, bytes);
    for (int64_t i = 0; i < bl_shape_count(&s->shape); i++)
        out[place_of(s, i)] = (float)from[i];
    return BL_OK;
}

static int run(bl_kernel *kernel, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    reference_kernel *k = (reference_kernel *)kernel;
    bl_ref_call call = {
        .node = &k->node, .seed = kernel->seed, .step = kernel->step, .first_sample = kernel->first_sample};
    for (int i = 0; i < k->node.n_in; i++) {
        if (!k->in[i].present)
            continue;
        double *data = (double *)(void *)((char *)scratch + k->in[i].offset_b);
        call.in_shape[i] = &k->in[i].shape;
        call.in[i] = data;
        if (!(k->node.op->shape_only & 1 << i))
            widen(&k->in[i], in[i], data);
    }
    for (int i = 0; i < k->node.n_out; i++) {
        double *data = (double *)(void *)((char *)scratch + k->out[i].offset_b);
        call.out_shape[i] = &k->out[i].shape;
        call.out[i] = data;
        if (k->node.op->updates[i] > 0)
            widen(&k->out[i], out[i], data);
    }
    int code = k->node.op->reference(&call, err);
    for (int i = 0; code == BL_OK && i < k->node.n_out; i++)
        if (out[i])
            code = narrow(&k->out[i], call.out[i], out[i], err);
    return code;
}

static bool reserve(reference_kernel *k, side *s)
{
    size_t bytes;
    s->offset_b = k->base.scratch_b;
    return bl_size_mul((size_t)bl_shape_count(&s->shape), sizeof(double), &bytes) &&
           bl_size_add(k->base.scratch_b, bytes, &k->base.scratch_b);
}

int bl_cpu_lower_reference(const bl_graph *graph, const bl_node *node, bl_kernel **out, bl_error *err)
{
    if (node->norm_at > 0)
        return BL_FAIL(err, BL_ERR_INTERNAL, "no kernel normalises as this one reads");
    reference_kernel *k = bl_calloc(1, sizeof *k);
    if (!k)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a kernel");
    k->base.run = run;
    k->base.label = "reference";
    k->node = *node;
    bool fits = true;
    const bl_shape *shapes[BL_MAX_IN] = {NULL};
    bl_shape results[BL_MAX_OUT] = {0};
    for (int i = 0; i < node->n_in; i++) {
        if (node->in[i] < 0)
            continue;
        const bl_value_info *info = &graph->values[node->in[i]];
        k->in[i] = (side){.shape = info->shape, .layout = info->layout, .dtype = info->dtype, .present = true};
        fits = fits && reserve(k, &k->in[i]);
        shapes[i] = &k->in[i].shape;
    }
    int code = node->op->infer(node, shapes, results, err);
    for (int i = 0; code == BL_OK && i < node->n_out; i++) {
        bl_layout layout = node->out[i] >= 0 ? graph->values[node->out[i]].layout : BL_PLAIN;
        k->out[i] = (side){.shape = results[i], .layout = layout, .dtype = BL_F32, .present = true};
        fits = fits && reserve(k, &k->out[i]);
    }
    if (code == BL_OK && !fits)
        code = BL_FAIL(err, BL_ERR_NOMEM, "the tensors are too large for this machine");
    if (code != BL_OK) {
        free(k);
        return code;
    }
    *out = &k->base;
    return BL_OK;
}
