/* Self-attention with several heads (Vaswani et al., "Attention is all you need", 2017, eq. 1): qkv (N, T, 3 C) holds
 * in each row C queries, C keys and C values, head after head; y = softmax(q k^T / sqrt(d)) v with d = C / heads. The
 * gradient takes qkv alone and makes the probabilities again, T x T for each head, rather than keep them. */
#include "graph/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int infer_attention(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    int heads = node->attrs.attention.heads;
    if (in[0]->n_dims != 3 || heads < 1 || in[0]->dim[2] % (3 * heads) != 0)
        return BL_FAIL(err, BL_ERR_INTERNAL, "attention: the heads do not divide the channels");
    out[0] = BL_SHAPE3(in[0]->dim[0], in[0]->dim[1], in[0]->dim[2] / 3);
    return BL_OK;
}

static int gradient_attention(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_attention_grad, &node.attrs, (bl_value[]){node.in[0], d_out[0]}, 2, node.name,
                         d_in, err);
}

/* One head of one sample. */
typedef struct head {
    const double *q, *k, *v; /* row t begins `apart` further each */
    int64_t n_tokens, d, apart;
} head;

static head head_at(const bl_ref_call *call, int64_t n, int h)
{
    const bl_shape *qkv = call->in_shape[0];
    int64_t c = qkv->dim[2] / 3, d = c / call->node->attrs.attention.heads;
    const double *q = call->in[0] + n * qkv->dim[1] * 3 * c + h * d;
    return (head){.q = q, .k = q + c, .v = q + 2 * c, .n_tokens = qkv->dim[1], .d = d, .apart = 3 * c};
}

/* p (T): how much token t attends to each. */
static void attend(const head *a, int64_t t, double *p)
{
    double top = -INFINITY, sum = 0;
    for (int64_t s = 0; s < a->n_tokens; s++) {
        p[s] = 0;
        for (int64_t i = 0; i < a->d; i++)
            p[s] += a->q[t * a->apart + i] * a->k[s * a->apart + i] / sqrt((double)a->d);
        top = fmax(top, p[s]);
    }
    for (int64_t s = 0; s < a->n_tokens; s++)
        sum += p[s] = exp(p[s] - top);
    for (int64_t s = 0; s < a->n_tokens; s++)
        p[s] /= sum;
}

static int reference_attention(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *y = call->out_shape[0];
    int heads = call->node->attrs.attention.heads;
    double *p = bl_calloc((size_t)y->dim[1], sizeof *p);
    if (!p)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for attention");
    memset(call->out[0], 0, (size_t)bl_shape_count(y) * sizeof(double));
    for (int64_t n = 0; n < y->dim[0]; n++)
        for (int h = 0; h < heads; h++) {
            head a = head_at(call, n, h);
            for (int64_t t = 0; t < a.n_tokens; t++) {
                double *row = call->out[0] + (n * a.n_tokens + t) * y->dim[2] + h * a.d;
                attend(&a, t, p);
                for (int64_t s = 0; s < a.n_tokens; s++)
                    for (int64_t i = 0; i < a.d; i++)
                        row[i] += p[s] * a.v[s * a.apart + i];
            }
        }
    free(p);
    return BL_OK;
}

/* What token t's row of the result gives to all queries, keys and values of the head; p and dp: T numbers each. */
static void give_back(const head *a, int64_t t, const double *dy, double *dq, double *p, double *dp)
{
    int64_t c = a->apart / 3;
    double mean = 0;
    attend(a, t, p);
    for (int64_t s = 0; s < a->n_tokens; s++) {
        dp[s] = 0;
        for (int64_t i = 0; i < a->d; i++) {
            dp[s] += dy[i] * a->v[s * a->apart + i];
            dq[s * a->apart + 2 * c + i] += p[s] * dy[i];
        }
        mean += p[s] * dp[s];
    }
    for (int64_t s = 0; s < a->n_tokens; s++)
        for (int64_t i = 0; i < a->d; i++) {
            double ds = p[s] * (dp[s] - mean) / sqrt((double)a->d);
            dq[t * a->apart + i] += ds * a->k[s * a->apart + i];
            dq[s * a->apart + c + i] += ds * a->q[t * a->apart + i];
        }
}

static int reference_attention_grad(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *qkv = call->in_shape[0], *dy = call->in_shape[1];
    int64_t n_tokens = qkv->dim[1];
    double *p = bl_calloc((size_t)n_tokens * 2, sizeof *p);
    if (!p)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for attention");
    memset(call->out[0], 0, (size_t)bl_shape_count(qkv) * sizeof(double));
    for (int64_t n = 0; n < qkv->dim[0]; n++)
        for (int h = 0; h < call->node->attrs.attention.heads; h++) {
            head a = head_at(call, n, h);
            for (int64_t t = 0; t < n_tokens; t++)
                give_back(&a, t, call->in[1] + (n * n_tokens + t) * dy->dim[2] + h * a.d,
                          call->out[0] + (a.q - call->in[0]), p, p + n_tokens);
        }
    free(p);
    return BL_OK;
}

const bl_op bl_op_attention = {.name = "attention",
                               .min_in = 1,
                               .max_in = 1,
                               .n_out = 1,
                               .layout = BL_OP_PLAIN,
                               .infer = infer_attention,
                               .gradient = gradient_attention,
                               .reference = reference_attention};
const bl_op bl_op_attention_grad = {.name = "attention_grad",
                                    .min_in = 2,
                                    .max_in = 2,
                                    .n_out = 1,
                                    .layout = BL_OP_PLAIN,
                                    .infer = bl_op_infer_first,
                                    .reference = reference_attention_grad};
