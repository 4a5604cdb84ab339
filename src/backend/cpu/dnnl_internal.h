/* What the files that call oneDNN share. */
#ifndef BL_BACKEND_CPU_DNNL_INTERNAL_H
#define BL_BACKEND_CPU_DNNL_INTERNAL_H

#include <dnnl.h>

#include "backend/cpu/dnnl_adapter.h"

struct bl_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

int bl_dnnl_check(dnnl_status_t status, const char *what, bl_error *err);

/* Asks oneDNN for a convolution; `any`: it may choose the images' layout too. attr may be NULL. */
dnnl_status_t bl_dnnl_ask(const bl_dnnl *dnnl, const bl_dnnl_conv_desc *desc, bl_dnnl_conv_kind kind, bool any,
                          const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out);
/* The channel block of the layout that the convolution's result has; 0 where it has none. */
size_t bl_dnnl_block_of(const_dnnl_primitive_desc_t conv);

#endif
