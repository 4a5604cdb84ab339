/* The detectors' loss: the code of the room detect, on floats. */
#include "backend/cpu/internal.h"

#include "detect/loss.h"
#include "graph/op.h"

static int batch_of(const bl_cpu_kernel *k, bl_detect_batch *batch, bl_error *err)
{
    const bl_shape *shapes[BL_MAX_IN];
    for (int i = 0; i < k->node->n_in; i++)
        shapes[i] = &k->graph->values[k->node->in[i]].shape;
    return bl_detection_batch(k->node, shapes, batch, err);
}

static int run_loss(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_detect_batch batch;
    bl_detect_losses losses;
    int code = batch_of(k, &batch, err);
    if (code != BL_OK)
        return code;
    for (int i = 0; i < batch.n_heads; i++) {
        batch.head[i] = in[i];
        batch.grad[i] = k->node->attrs.detection.gradient ? out[2 + i] : NULL;
    }
    batch.targets = in[batch.n_heads];
    code = bl_detect_loss(k->node->attrs.detection.setup, &batch, scratch, &losses, err);
    if (code != BL_OK)
        return code;
    *(float *)out[0] = (float)losses.loss;
    for (int i = 0; i < 3 && out[1]; i++)
        ((float *)out[1])[i] = (float)losses.parts[i];
    return BL_OK;
}

static int run_scale(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    const float *from = in[0], factor = *(const float *)in[1];
    float *to = out[0];
    int64_t n = bl_shape_count(&k->graph->values[k->node->in[0]].shape);
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i] * factor;
    return BL_OK;
}

int bl_cpu_lower_detect(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    bl_detect_batch batch;
    kernel->base.label = "plain";
    kernel->base.run = node->op == &bl_op_detection_loss ? run_loss : run_scale;
    if (node->op != &bl_op_detection_loss)
        return BL_OK;
    int code = batch_of(kernel, &batch, err);
    return code != BL_OK ? code
                         : bl_detect_loss_scratch_b(node->attrs.detection.setup, &batch, &kernel->base.scratch_b, err);
}
