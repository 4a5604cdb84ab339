#include "backend/cpu/dnnl_adapter.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/dnnl_internal.h"
#include "base/alloc.h"

int bl_dnnl_check(dnnl_status_t status, const char *what, bl_error *err)
{
    if (status == dnnl_success)
        return BL_OK;
    if (status == dnnl_out_of_memory)
        return BL_FAIL(err, BL_ERR_NOMEM, "oneDNN has no memory to %s", what);
    return BL_FAIL(err, BL_ERR_INTERNAL, "oneDNN could not %s (status %d)", what, (int)status);
}

int bl_dnnl_open(bl_dnnl **out, bl_error *err)
{
    bl_dnnl *dnnl = bl_calloc(1, sizeof *dnnl);
    if (!dnnl)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for oneDNN");
    int code = bl_dnnl_check(dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0), "start", err);
    if (code == BL_OK)
        code = bl_dnnl_check(dnnl_stream_create(&dnnl->stream, dnnl->engine, dnnl_stream_default_flags), "start", err);
    if (code != BL_OK) {
        bl_dnnl_close(dnnl);
        return code;
    }
    *out = dnnl;
    return BL_OK;
}

void bl_dnnl_close(bl_dnnl *dnnl)
{
    if (!dnnl)
        return;
    if (dnnl->stream)
        dnnl_stream_destroy(dnnl->stream);
    if (dnnl->engine)
        dnnl_engine_destroy(dnnl->engine);
    free(dnnl);
}

const char *bl_dnnl_version(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static const bl_dnnl_conv_desc typical = {.n = 1,
                                          .c = 64,
                                          .h = 28,
                                          .w = 28,
                                          .o = 64,
                                          .oh = 28,
                                          .ow = 28,
                                          .kernel = {3, 3},
                                          .stride = {1, 1},
                                          .pad = {1, 1},
                                          .dilation = {1, 1},
                                          .groups = 1};

int bl_dnnl_preferred_block(bl_dnnl *dnnl)
{
    dnnl_primitive_desc_t conv = NULL;
    size_t block = 0;
    if (bl_dnnl_ask(dnnl, &typical, BL_DNNL_FORWARD, true, NULL, &conv) == dnnl_success) {
        block = bl_dnnl_block_of(conv);
        dnnl_primitive_desc_destroy(conv);
    }
    return block == 16 ? 16 : 8;
}

int bl_dnnl_require_bfloat16(bl_dnnl *dnnl, bl_error *err)
{
    bl_dnnl_conv_desc desc = typical;
    desc.precision = BL_PRECISION_BFLOAT16;
    desc.block = bl_dnnl_preferred_block(dnnl);
    for (bl_dnnl_conv_kind kind = BL_DNNL_FORWARD; kind <= BL_DNNL_GRAD_WEIGHTS; kind++) {
        dnnl_primitive_desc_t conv = NULL;
        if (bl_dnnl_ask(dnnl, &desc, kind, false, NULL, &conv) != dnnl_success) {
            BL_FAIL(err, BL_ERR_USAGE, "oneDNN %s has no bfloat16 convolutions for this processor", bl_dnnl_version());
            bl_error_remedy(err,
                            "--precision float32, or bfloat16-emulated for the same roundings at no gain of speed; "
                            "bfloat16 needs a processor with AVX512_BF16 or AMX");
            return BL_ERR_USAGE;
        }
        dnnl_primitive_desc_destroy(conv);
    }
    return BL_OK;
}

int bl_dnnl_multiply(const bl_dnnl_product *p, bl_error *err)
{
    return bl_dnnl_check(dnnl_sgemm(p->turn_a ? 'T' : 'N', p->turn_b ? 'T' : 'N', p->m, p->n, p->k, p->scale, p->a,
                                    p->a_apart, p->b, p->b_apart, p->add ? 1.0f : 0.0f, p->c, p->c_apart),
                         "multiply matrices", err);
}

int bl_dnnl_gemm(bool turn_a, bool turn_b, int m, int n, int k, const float *a, const float *b, float *c, bl_error *err)
{
    return bl_dnnl_multiply(
        &(bl_dnnl_product){turn_a, turn_b, m, n, k, a, b, c, turn_a ? m : k, turn_b ? k : n, n, 1, false}, err);
}
