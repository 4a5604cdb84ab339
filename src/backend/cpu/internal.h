/* What the files of the CPU backend share. */
#ifndef BL_BACKEND_CPU_INTERNAL_H
#define BL_BACKEND_CPU_INTERNAL_H

#include "backend/cpu/dnnl_adapter.h"
#include "backend/cpu/kernels/common.h"
#include "graph/backend.h"

typedef struct bl_cpu {
    bl_dnnl *dnnl;
    int block; /* channels a block in images */
    bl_precision precision;
    const bl_joint *joint; /* or NULL */
} bl_cpu;

bool bl_cpu_is_depthwise(const bl_graph *graph, const bl_node *node);
int bl_cpu_assign_layouts(void *state, bl_graph *graph, bl_error *err);
int bl_cpu_lower(void *state, const bl_graph *graph, const bl_node *node, bl_kernel **out, bl_error *err);

/* The families of kernels; each makes the kernel of its ops. */
typedef struct bl_cpu_kernel bl_cpu_kernel;
typedef int bl_cpu_lowering(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel,
                            bl_error *err);

/* One kernel: what its run function needs. */
struct bl_cpu_kernel {
    bl_kernel base; /* first */
    const bl_graph *graph;
    const bl_node *node;
    bl_k_shape image; /* the node's main image: input 0, or for gradients of it the output */
    size_t count;     /* floats of it */
    bl_dnnl_conv *conv;
    const bl_joint *joint;   /* of a batch normalisation, or NULL */
    int threads;             /* that its scratch has room for, where each has its own */
    uint64_t params_version; /* of the kept weights */
    bool ran;
};

/* The values of the convolution that a node belongs to, be it forward or one of its gradients. */
typedef struct bl_cpu_conv {
    bl_value x, w, y;
    bool bias;
} bl_cpu_conv;
bl_cpu_conv bl_cpu_conv_of(const bl_node *node);

/* oneDNN's convolution for the kernel, with its scratch and label. */
int bl_cpu_make_conv(bl_cpu *cpu, const bl_graph *graph, const bl_dnnl_conv_desc *desc, bl_dnnl_conv_kind kind,
                     bl_cpu_kernel *kernel, bl_error *err);
/* Have the parameters changed since this was last asked of the kernel? */
bool bl_cpu_weights_changed(bl_cpu_kernel *kernel);

/* True where the node is a convolution that these kernels do, and do better. */
bool bl_cpu_lower_winograd(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel);

bl_cpu_lowering bl_cpu_lower_attention, bl_cpu_lower_conv, bl_cpu_lower_detect, bl_cpu_lower_linear, bl_cpu_lower_norm,
    bl_cpu_lower_plain;

/* Any node by its op's reference in doubles, for what has no kernel of its own. */
int bl_cpu_lower_reference(const bl_graph *graph, const bl_node *node, bl_kernel **out, bl_error *err);

/* An image tensor, or anything else as one long row. */
bl_k_shape bl_cpu_shape(const bl_graph *graph, bl_value v);
/* The normalisation that the node applies to its first input; NULL where there is none. */
const struct bl_k_norm *bl_cpu_absorbed(const bl_node *node, void *const *in, struct bl_k_norm *out);

#endif
