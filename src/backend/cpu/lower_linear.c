/* Linear layers: oneDNN's matrix product on rows as they lie, added to a bias and a residual that are there before. */
#include "backend/cpu/internal.h"
#include "backend/cpu/kernels/matrix.h"
#include "graph/op.h"

static int last_of(const bl_shape *shape)
{
    return (int)shape->dim[shape->n_dims - 1];
}

static int rows_of(const bl_shape *shape)
{
    return (int)(bl_shape_count(shape) / last_of(shape));
}

static const bl_shape *shape_of(const bl_kernel *base, bl_value v)
{
    return &((const bl_cpu_kernel *)base)->graph->values[v].shape;
}

static const bl_node *node_of(const bl_kernel *base)
{
    return ((const bl_cpu_kernel *)base)->node;
}

static int run_forward(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_shape *x = shape_of(base, node_of(base)->in[0]), *y = shape_of(base, node_of(base)->out[0]);
    int rows = rows_of(x), inner = last_of(x), n_out = last_of(y);
    bool added = in[2] || in[3];
    if (added)
        bl_k_fill_rows(rows, n_out, in[2], in[3], out[0]);
    bl_dnnl_product product = {.turn_b = true,
                               .m = rows,
                               .n = n_out,
                               .k = inner,
                               .a = in[0],
                               .b = in[1],
                               .c = out[0],
                               .a_apart = inner,
                               .b_apart = inner,
                               .c_apart = n_out,
                               .scale = 1,
                               .add = added};
    return bl_dnnl_multiply(&product, err);
}

static int run_grad_data(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_shape *dy = shape_of(base, node_of(base)->in[0]), *w = shape_of(base, node_of(base)->in[1]);
    return bl_dnnl_gemm(false, false, rows_of(dy), last_of(w), last_of(dy), in[0], in[1], out[0], err);
}

static int run_grad_weights(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_shape *x = shape_of(base, node_of(base)->in[0]), *dy = shape_of(base, node_of(base)->in[1]);
    if (out[1])
        bl_k_column_sums(rows_of(dy), last_of(dy), in[1], out[1]);
    return out[0] ? bl_dnnl_gemm(true, false, last_of(dy), last_of(x), rows_of(dy), in[1], in[0], out[0], err) : BL_OK;
}

/* ---- with factors below float32: a convolution of 1 x 1 over one line of pixels, which are the matrix's rows ---- */

static int run_rounded_forward(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    bl_cpu_kernel *k = (bl_cpu_kernel *)base;
    const bl_shape *y = shape_of(base, k->node->out[0]);
    if (in[2] || in[3])
        bl_k_fill_rows(rows_of(y), last_of(y), in[2], in[3], out[0]);
    return bl_dnnl_conv_forward(k->conv, in[0], in[1], NULL, out[0], scratch, bl_cpu_weights_changed(k), err);
}

static int run_rounded_grad_data(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    return bl_dnnl_conv_grad_data(((bl_cpu_kernel *)base)->conv, in[0], in[1], out[0], scratch, err);
}

static int run_rounded_grad_weights(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_shape *dy = shape_of(base, node_of(base)->in[1]);
    if (out[1])
        bl_k_column_sums(rows_of(dy), last_of(dy), in[1], out[1]);
    return out[0] ? bl_dnnl_conv_grad_weights(((bl_cpu_kernel *)base)->conv, in[0], in[1], out[0], NULL, scratch, err)
                  : BL_OK;
}

static int lower_rounded(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    bool forward = node->op == &bl_op_linear, data = node->op == &bl_op_linear_grad_data;
    const bl_shape *x = &graph->values[data ? node->out[0] : node->in[0]].shape;
    const bl_shape *y = &graph->values[forward ? node->out[0] : data ? node->in[0] : node->in[1]].shape;
    bl_dnnl_conv_desc desc = {.n = 1,
                              .c = last_of(x),
                              .h = 1,
                              .w = rows_of(x),
                              .o = last_of(y),
                              .oh = 1,
                              .ow = rows_of(x),
                              .kernel = {1, 1},
                              .stride = {1, 1},
                              .dilation = {1, 1},
                              .groups = 1,
                              .rows = true,
                              .add = forward && (node->in[2] >= 0 || (node->n_in > 3 && node->in[3] >= 0)),
                              .precision = cpu->precision};
    kernel->base.run = forward ? run_rounded_forward : data ? run_rounded_grad_data : run_rounded_grad_weights;
    return bl_cpu_make_conv(cpu, graph, &desc,
                            forward ? BL_DNNL_FORWARD
                            : data  ? BL_DNNL_GRAD_DATA
                                    : BL_DNNL_GRAD_WEIGHTS,
                            kernel, err);
}

int bl_cpu_lower_linear(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    if (cpu->precision != BL_PRECISION_FLOAT32)
        return lower_rounded(cpu, graph, node, kernel, err);
    kernel->base.run = node->op == &bl_op_linear             ? run_forward
                       : node->op == &bl_op_linear_grad_data ? run_grad_data
                                                             : run_grad_weights;
    kernel->base.label = "gemm";
    return BL_OK;
}
