/* Softmax with cross-entropy: target distribution (1 - smoothing) at the label plus smoothing / K everywhere (Szegedy
 * et al. 2016, section 7); the mean over the rows whose label is not negative. Of mixed samples (Zhang et al. 2018;
 * Yun et al. 2019), `share` of that mass lies at the label and the rest at the other label. */
#include "graph/op.h"

#include <math.h>

static int infer_loss(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char text[128];
    if (in[0]->n_dims != 2 || in[1]->n_dims != 1 || in[1]->dim[0] != in[0]->dim[0])
        return BL_FAIL(err, BL_ERR_INTERNAL, "logits %s do not go with the labels",
                       bl_shape_format(in[0], text, sizeof text));
    if (node->n_in == 3 || (node->n_in == 4 && (!bl_shape_equal(in[2], in[1]) || bl_shape_count(in[3]) != 1)))
        return BL_FAIL(err, BL_ERR_INTERNAL, "mixed samples want a second label each, and one share");
    out[0] = BL_SHAPE1(1);
    out[1] = *in[0];
    return BL_OK;
}

static int gradient_loss(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_value in[] = {node.out[1], node.in[1], d_out[0], node.in[2], node.in[3]};
    int n_in = node.n_in == 4 ? 5 : d_out[0] >= 0 ? 3 : 2;
    return bl_graph_emit(graph, &bl_op_softmax_loss_grad, &node.attrs, in, n_in, node.name, d_in, err);
}

typedef struct targets {
    const double *labels, *others; /* others: NULL where nothing is mixed */
    double share, smoothing;
    int64_t n_rows, n_classes;
} targets;

/* others_at: the input that holds the other labels, before the share. */
static targets targets_of(const bl_ref_call *call, int others_at)
{
    const double *others = call->node->n_in > others_at ? call->in[others_at] : NULL;
    return (targets){.labels = call->in[1],
                     .others = others,
                     .share = others ? call->in[others_at + 1][0] : 1,
                     .smoothing = (double)call->node->attrs.loss.label_smoothing,
                     .n_rows = call->in_shape[0]->dim[0],
                     .n_classes = call->in_shape[0]->dim[1]};
}

static double target(const targets *t, int64_t row, int64_t k)
{
    double at = (int64_t)t->labels[row] == k ? t->share : 0;
    if (t->others && (int64_t)t->others[row] == k)
        at += 1 - t->share;
    return (1 - t->smoothing) * at + t->smoothing / (double)t->n_classes;
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
    const targets t = targets_of(call, 2);
    int64_t n_classes = t.n_classes, rows = rows_counted(t.labels, t.n_rows);
    double loss = 0;
    for (int64_t n = 0; n < t.n_rows; n++) {
        const double *logits = call->in[0] + n * n_classes;
        double *p = call->out[1] + n * n_classes, largest = logits[0], sum = 0;
        for (int64_t k = 1; k < n_classes; k++)
            largest = fmax(largest, logits[k]);
        for (int64_t k = 0; k < n_classes; k++)
            sum += p[k] = exp(logits[k] - largest);
        for (int64_t k = 0; k < n_classes; k++) {
            p[k] /= sum;
            if (t.labels[n] >= 0)
                loss -= target(&t, n, k) * (logits[k] - largest - log(sum));
        }
    }
    call->out[0][0] = rows > 0 ? loss / (double)rows : 0;
    return BL_OK;
}

static int reference_loss_grad(const bl_ref_call *call, bl_error *err)
{
    const targets t = targets_of(call, 3);
    int64_t rows = rows_counted(t.labels, t.n_rows);
    double scale = (call->in[2] ? call->in[2][0] : 1) / (double)(rows > 0 ? rows : 1);
    for (int64_t i = 0; i < t.n_rows * t.n_classes; i++) {
        int64_t row = i / t.n_classes;
        call->out[0][i] = t.labels[row] < 0 ? 0 : scale * (call->in[0][i] - target(&t, row, i % t.n_classes));
    }
    return BL_OK;
}

const bl_op bl_op_softmax_loss = {.name = "softmax_loss",
                                  .min_in = 2,
                                  .max_in = 4,
                                  .n_out = 2,
                                  .layout = BL_OP_PLAIN,
                                  .infer = infer_loss,
                                  .gradient = gradient_loss,
                                  .reference = reference_loss};
const bl_op bl_op_softmax_loss_grad = {.name = "softmax_loss_grad",
                                       .min_in = 2,
                                       .max_in = 5,
                                       .n_out = 1,
                                       .layout = BL_OP_PLAIN,
                                       .in_place = {{1}},
                                       .infer = bl_op_infer_first,
                                       .reference = reference_loss_grad};
