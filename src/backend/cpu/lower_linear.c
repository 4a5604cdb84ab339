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

int bl_cpu_lower_linear(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    kernel->base.run = node->op == &bl_op_linear             ? run_forward
                       : node->op == &bl_op_linear_grad_data ? run_grad_data
                                                             : run_grad_weights;
    kernel->base.label = "gemm";
    return BL_OK;
}
