/* Softmax with cross-entropy: target distribution (1 - smoothing) at the label plus smoothing / K everywhere (Szegedy
 * et al. 2016, section 7); the mean over the rows whose label is not negative. */
#include "graph/op.h"

#include <math.h>

static int infer_loss(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char text[128];
    if (in[0]->n_dims != 2 || in[1]->n_dims != 1 || in[1]->dim[0] != in[0]->dim[0])
        return BL_FAIL(err, BL_ERR_INTERNAL, "logits %s do not go with the labels",
                       bl_shape_format(in[0], text, sizeof text));
    out[0] = BL_SHAPE1(1);
    out[1] = *in[0];
    return BL_OK;
}

static int gradient_loss(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_value in[] = {node.out[1], node.in[1], d_out[0]};
    return bl_graph_emit(graph, &bl_op_softmax_loss_grad, &node.attrs, in, d_out[0] >= 0 ? 3 : 2, node.name, d_in, err);
}

static double target(const bl_ref_call *call, int64_t label, int64_t k, int64_t n_classes)
{
    double smoothing = (double)call->node->attrs.loss.label_smoothing;
    return (k == label ? 1 - smoothing : 0) + smoothing / (double)n_classes;
}

static int64_t rows_counted(const double *labels, int64_t n)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < n; i++)
        rows += labels[i] >= 0;
    return rows;
}

static int reference_loss(const bl_ref_call *call, bl_error *err)
{
    int64_t n_rows = call->in_shape[0]->dim[0], n_classes = call->in_shape[0]->dim[1];
    int64_t rows = rows_counted(call->in[1], n_rows);
    double loss = 0;
    for (int64_t n = 0; n < n_rows; n++) {
        const double *logits = call->in[0] + n * n_classes;
        double *p = call->out[1] + n * n_classes, largest = logits[0], sum = 0;
        for (int64_t k = 1; k < n_classes; k++)
            largest = fmax(largest, logits[k]);
        for (int64_t k = 0; k < n_classes; k++)
            sum += p[k] = exp(logits[k] - largest);
        for (int64_t k = 0; k < n_classes; k++) {
            p[k] /= sum;
            if (call->in[1][n] >= 0)
                loss -= target(call, (int64_t)call->in[1][n], k, n_classes) * (logits[k] - largest - log(sum));
        }
    }
    call->out[0][0] = rows > 0 ? loss / (double)rows : 0;
    return BL_OK;
}

static int reference_loss_grad(const bl_ref_call *call, bl_error *err)
{
    int64_t n_rows = call->in_shape[0]->dim[0], n_classes = call->in_shape[0]->dim[1];
    int64_t rows = rows_counted(call->in[1], n_rows);
    double scale = (call->in[2] ? call->in[2][0] : 1) / (double)(rows > 0 ? rows : 1);
    for (int64_t i = 0; i < n_rows * n_classes; i++) {
        double label = call->in[1][i / n_classes];
        call->out[0][i] =
            label < 0 ? 0 : scale * (call->in[0][i] - target(call, (int64_t)label, i % n_classes, n_classes));
    }
    return BL_OK;
}

const bl_op bl_op_softmax_loss = {.name = "softmax_loss",
                                  .min_in = 2,
                                  .max_in = 2,
                                  .n_out = 2,
                                  .layout = BL_OP_PLAIN,
                                  .infer = infer_loss,
                                  .gradient = gradient_loss,
                                  .reference = reference_loss};
const bl_op bl_op_softmax_loss_grad = {.name = "softmax_loss_grad",
                                       .min_in = 2,
                                       .max_in = 3,
                                       .n_out = 1,
                                       .layout = BL_OP_PLAIN,
                                       .in_place = {{1}},
                                       .infer = bl_op_infer_first,
                                       .reference = reference_loss_grad};
