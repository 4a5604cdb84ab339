/* Attention and the tokens around it. A task is one head of one sample; within it the queries go in pieces, so that the
 * scores of a piece (queries x tokens) lie in the processor's cache and memory does not grow with the square of the
 * tokens (Rabe & Staats, "Self-attention does not need O(n^2) memory", 2021). Nothing but qkv is kept: the gradient
 * makes the probabilities again, as FlashAttention does (Dao et al. 2022, algorithm 4). */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/cpu/internal.h"
#include "backend/cpu/kernels/matrix.h"
#include "backend/cpu/kernels/tokens.h"
#include "graph/op.h"

enum { QUERIES = 256 }; /* of a piece */

/* One head of one sample. Its rows in q, k and v are 3 C floats apart, those in y C. */
typedef struct head {
    int n_tokens, d;
    int apart, y_apart;
    float scale;
    const float *q, *k, *v;
    float *scores; /* a piece: min(QUERIES, n_tokens) x row */
    size_t row;
} head;

static size_t row_of(int n_tokens)
{
    return ((size_t)n_tokens + BL_K_BLOCK_MAX - 1) / BL_K_BLOCK_MAX * BL_K_BLOCK_MAX;
}

static size_t piece_floats(int n_tokens)
{
    return (size_t)(n_tokens < QUERIES ? n_tokens : QUERIES) * row_of(n_tokens);
}

static head head_of(const bl_cpu_kernel *k, const float *qkv, int task, float *scores)
{
    const bl_shape *shape = &k->graph->values[k->node->in[0]].shape;
    int heads = k->node->attrs.attention.heads, c = (int)shape->dim[2] / 3, d = c / heads;
    const float *q = qkv + (size_t)(task / heads) * (size_t)shape->dim[1] * (size_t)(3 * c) + task % heads * d;
    return (head){.n_tokens = (int)shape->dim[1],
                  .d = d,
                  .apart = 3 * c,
                  .y_apart = c,
                  .scale = 1 / sqrtf((float)d),
                  .q = q,
                  .k = q + c,
                  .v = q + 2 * c,
                  .scores = scores,
                  .row = row_of((int)shape->dim[1])};
}

/* Where the head's part of the result begins. */
static size_t result_at(const bl_cpu_kernel *k, const head *h, int task)
{
    int heads = k->node->attrs.attention.heads;
    return (size_t)(task / heads) * (size_t)h->n_tokens * (size_t)h->y_apart + (size_t)(task % heads * h->d);
}

/* The probabilities of `count` queries from `first` on. */
static int attend(const head *h, int first, int count)
{
    bl_dnnl_product scores = {.turn_b = true,
                              .m = count,
                              .n = h->n_tokens,
                              .k = h->d,
                              .a = h->q + (size_t)first * (size_t)h->apart,
                              .b = h->k,
                              .c = h->scores,
                              .a_apart = h->apart,
                              .b_apart = h->apart,
                              .c_apart = (int)h->row,
                              .scale = h->scale};
    int code = bl_dnnl_multiply(&scores, NULL);
    bl_k_softmax_rows(count, h->n_tokens, h->row, h->scores);
    return code;
}

static int forward_head(const head *h, float *y)
{
    int code = BL_OK;
    for (int first = 0; code == BL_OK && first < h->n_tokens; first += QUERIES) {
        int count = h->n_tokens - first < QUERIES ? h->n_tokens - first : QUERIES;
        code = attend(h, first, count);
        bl_dnnl_product sum = {.m = count,
                               .n = h->d,
                               .k = h->n_tokens,
                               .a = h->scores,
                               .b = h->v,
                               .c = y + (size_t)first * (size_t)h->y_apart,
                               .a_apart = (int)h->row,
                               .b_apart = h->apart,
                               .c_apart = h->y_apart,
                               .scale = 1};
        if (code == BL_OK)
            code = bl_dnnl_multiply(&sum, NULL);
    }
    return code;
}

/* The gradients of q, k and v lie as these do; dscores: another piece. */
static int gradient_head(const head *h, const float *dy, float *dq, float *dscores)
{
    int code = BL_OK, t = h->n_tokens, row = (int)h->row;
    float *dk = dq + (h->k - h->q), *dv = dq + (h->v - h->q);
    for (int first = 0; code == BL_OK && first < t; first += QUERIES) {
        int count = t - first < QUERIES ? t - first : QUERIES;
        bool add = first > 0;
        const float *d = dy + (size_t)first * (size_t)h->y_apart, *q = h->q + (size_t)first * (size_t)h->apart;
        const bl_dnnl_product before[] = {
            {false, true, count, t, h->d, d, h->v, dscores, h->y_apart, h->apart, row, 1, false},
            {true, false, t, h->d, count, h->scores, d, dv, row, h->y_apart, h->apart, 1, add},
        };
        const bl_dnnl_product after[] = {
            {false, false, count, h->d, t, dscores, h->k, dq + (size_t)first * (size_t)h->apart, row, h->apart,
             h->apart, h->scale, false},
            {true, false, t, h->d, count, dscores, q, dk, row, h->apart, h->apart, h->scale, add},
        };
        code = attend(h, first, count);
        for (int i = 0; code == BL_OK && i < 2; i++)
            code = bl_dnnl_multiply(&before[i], NULL);
        if (code == BL_OK)
            bl_k_softmax_rows_grad(count, t, h->row, h->scores, dscores);
        for (int i = 0; code == BL_OK && i < 2; i++)
            code = bl_dnnl_multiply(&after[i], NULL);
    }
    return code;
}

static int n_tasks(const bl_cpu_kernel *k)
{
    return (int)k->graph->values[k->node->in[0]].shape.dim[0] * k->node->attrs.attention.heads;
}

static int checked(int code, bl_error *err)
{
    return code == BL_OK ? BL_OK : BL_FAIL(err, (bl_code)code, "oneDNN could not multiply the heads' matrices");
}

static int run_attention(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    size_t piece = piece_floats((int)k->graph->values[k->node->in[0]].shape.dim[1]);
    int code = BL_OK;
#pragma omp parallel for schedule(static) num_threads(k->threads) reduction(max : code)
    for (int task = 0; task < n_tasks(k); task++) {
        head h = head_of(k, in[0], task, (float *)scratch + (size_t)omp_get_thread_num() * piece);
        int mine = forward_head(&h, (float *)out[0] + result_at(k, &h, task));
        code = mine > code ? mine : code;
    }
    return checked(code, err);
}

static int run_attention_grad(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    size_t piece = piece_floats((int)k->graph->values[k->node->in[0]].shape.dim[1]);
    int code = BL_OK;
#pragma omp parallel for schedule(static) num_threads(k->threads) reduction(max : code)
    for (int task = 0; task < n_tasks(k); task++) {
        float *mine = (float *)scratch + (size_t)omp_get_thread_num() * 2 * piece;
        head h = head_of(k, in[0], task, mine);
        int done = gradient_head(&h, (const float *)in[1] + result_at(k, &h, task),
                                 (float *)out[0] + (h.q - (const float *)in[0]), mine + piece);
        code = done > code ? done : code;
    }
    return checked(code, err);
}

/* ---- tokens ---- */

static const bl_shape *shape_of(const bl_kernel *base, bl_value v)
{
    return &((const bl_cpu_kernel *)base)->graph->values[v].shape;
}

static const bl_node *node_of(const bl_kernel *base)
{
    return ((const bl_cpu_kernel *)base)->node;
}

static int run_patches(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    bool forward = node_of(base)->op == &bl_op_patches;
    const bl_shape *x = shape_of(base, node_of(base)->in[forward ? 0 : 1]);
    (forward ? bl_k_patches_forward : bl_k_patches_grad)((int)x->dim[0], (int)x->dim[1], (int)x->dim[2], (int)x->dim[3],
                                                         node_of(base)->attrs.conv.kernel[0], in[0], out[0]);
    return BL_OK;
}

static int run_tokens(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_shape *y = shape_of(base, node_of(base)->out[0]);
    bl_k_tokens_forward((int)y->dim[0], (int)y->dim[1], (int)y->dim[2], in[0], in[1], in[2], out[0]);
    return BL_OK;
}

static int run_tokens_grad(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_shape *dy = shape_of(base, node_of(base)->in[0]);
    bl_k_tokens_grad((int)dy->dim[0], (int)dy->dim[1], (int)dy->dim[2], in[0], out[0], out[1], out[2]);
    return BL_OK;
}

static int run_first_token(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bool forward = k->node->op == &bl_op_first_token;
    const bl_shape *tokens = &k->graph->values[k->node->in[forward ? 0 : 1]].shape;
    size_t c = (size_t)tokens->dim[2], each = (size_t)tokens->dim[1] * c, n = (size_t)tokens->dim[0];
    const float *from = in[0];
    float *to = out[0];
    if (!forward)
        memset(to, 0, n * each * sizeof *to);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * (forward ? c : each), from + i * (forward ? each : c), c * sizeof *to);
    return BL_OK;
}

int bl_cpu_lower_attention(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel,
                           bl_error *err)
{
    const bl_shape *in = &graph->values[node->in[0]].shape;
    if (node->op == &bl_op_attention || node->op == &bl_op_attention_grad) {
        bool forward = node->op == &bl_op_attention;
        kernel->threads = omp_get_max_threads();
        kernel->base.run = forward ? run_attention : run_attention_grad;
        kernel->base.scratch_b =
            (size_t)kernel->threads * piece_floats((int)in->dim[1]) * (forward ? 1 : 2) * sizeof(float);
        return BL_OK;
    }
    bool patches = node->op == &bl_op_patches || node->op == &bl_op_patches_grad;
    kernel->base.run = patches                          ? run_patches
                       : node->op == &bl_op_tokens      ? run_tokens
                       : node->op == &bl_op_tokens_grad ? run_tokens_grad
                                                        : run_first_token;
    return BL_OK;
}
