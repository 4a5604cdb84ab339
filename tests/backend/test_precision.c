/* Products whose factors are rounded to bfloat16: the rounding against its definition, convolutions and matrix products
 * against sums in doubles of rounded factors. Where the processor has bfloat16 its own products are held to the same;
 * where it has none the refusal is. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/dnnl_adapter.h"
#include "backend/cpu/kernels/bfloat16.h"
#include "base/alloc.h"
#include "tensor/layout.h"

/* Float32 sums of a few hundred terms; the rounding that must not be missing moves them by some 2e-3. */
#define TOLERANCE 2e-6

static const bl_dnnl_conv_desc descs[] = {
    {2, 16, 9, 7, 24, 5, 4, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 1, .bias = true, .block = 8},
    {1, 32, 6, 6, 16, 6, 6, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1, .block = 8},
    {2, 3, 12, 12, 16, 3, 3, {4, 4}, {4, 4}, {0, 0}, {1, 1}, 1, .bias = true, .plain_x = true, .block = 8},
    {2, 16, 5, 5, 16, 5, 5, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 2, .block = 8},
    {1, 48, 1, 37, 20, 1, 37, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1, .rows = true},
    {1, 5, 1, 3, 7, 1, 3, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1, .rows = true, .add = true},
};

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

/* ---- rounding ---- */

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* By the definition: of the two neighbours the nearer one, of two as near the even one. Beyond the largest the next
 * power of two stands for infinity. */
static float nearest(uint32_t bits)
{
    uint32_t low = bits & 0xffff0000u, high = low + 0x10000u;
    double x = (double)from_bits(bits), below = (double)from_bits(low), above = (double)from_bits(high);
    if (isnan(x) || isinf(x))
        return (float)x;
    if (isinf(above))
        above = copysign(0x1p128, x);
    double to_below = fabs(x - below), to_above = fabs(above - x);
    bool up = to_above < to_below || (to_above == to_below && (low >> 16 & 1));
    return from_bits(up ? high : low);
}

static void test_rounding(void **state)
{
    enum { COUNT = 1 << 16 };
    static const uint32_t special[] = {0,          0x80000000, 1,          0x7f800000, 0xff800000, 0x7fc00000,
                                       0x7f800001, 0xffffffff, 0x7f7fffff, 0x7f7f7fff, 0x7f7f8000, 0x3f808000,
                                       0x3f818000, 0x3f808001, 0x3f807fff, 0x00007fff, 0x0000ffff};
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    uint16_t *narrow = malloc(COUNT * sizeof *narrow);
    assert_true(x && y && narrow);
    uint64_t seed = 1;
    for (size_t i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = from_bits(i < BL_ARRAY_LEN(special) ? special[i] : (uint32_t)(seed >> 32));
    }
    bl_k_bfloat16(COUNT, x, narrow);
    bl_k_round_to_bfloat16(COUNT, x, y);
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        float expected = nearest(bits), wide = from_bits((uint32_t)narrow[i] << 16);
        assert_true(isnan(expected) ? isnan(wide) : wide == expected);
        assert_memory_equal(&wide, &y[i], sizeof wide);
    }
    bl_k_round_to_bfloat16(COUNT, y, y);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(from_bits((uint32_t)narrow[i] << 16) == y[i] || isnan(y[i]));
    free(x);
    free(y);
    free(narrow);
}

/* ---- products ---- */

typedef struct tensor {
    size_t count;
    float *data;
    double *rounded; /* what the products should read of it */
} tensor;

typedef struct rig {
    const bl_dnnl_conv_desc *d;
    tensor x, w, y, bias;
} rig;

static tensor make(size_t count, uint64_t seed)
{
    tensor t = {count, bl_aligned_alloc(BL_ALIGN_B, (count * sizeof(float) + BL_ALIGN_B - 1) / BL_ALIGN_B * BL_ALIGN_B),
                calloc(count, sizeof *t.rounded)};
    assert_true(t.data && t.rounded);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        t.data[i] = (float)(seed >> 40) * 0x1p-23f - 1;
        uint32_t bits;
        memcpy(&bits, &t.data[i], sizeof bits);
        t.rounded[i] = (double)nearest(bits);
    }
    return t;
}

static void clear(tensor *t)
{
    free(t->data);
    free(t->rounded);
}

/* Channels here fill their blocks. */
static size_t at(bool rows, int block, const int size[4], int n, int c, int h, int w)
{
    int b = rows ? size[1] : block > 0 ? block : 1;
    return ((((size_t)n * (size_t)(size[1] / b) + (size_t)(c / b)) * (size_t)size[2] + (size_t)h) * (size_t)size[3] +
            (size_t)w) *
               (size_t)b +
           (size_t)(c % b);
}

/* The sum over all products of the convolution's definition; `term` adds one of them where it belongs. */
static void each_product(const rig *r, double *out,
                         void (*term)(const rig *r, size_t x, size_t w, size_t y, double *out))
{
    const bl_dnnl_conv_desc *d = r->d;
    const int x_size[4] = {d->n, d->c, d->h, d->w}, y_size[4] = {d->n, d->o, d->oh, d->ow};
    int inner = d->c / d->groups, outer = d->o / d->groups;
    for (int i = 0; i < d->n * d->o * d->oh * d->ow; i++) {
        int ox = i % d->ow, oy = i / d->ow % d->oh, o = i / d->ow / d->oh % d->o, n = i / d->ow / d->oh / d->o;
        for (int j = 0; j < inner * d->kernel[0] * d->kernel[1]; j++) {
            int kx = j % d->kernel[1], ky = j / d->kernel[1] % d->kernel[0], c = j / d->kernel[1] / d->kernel[0];
            int iy = oy * d->stride[0] - d->pad[0] + ky * d->dilation[0];
            int ix = ox * d->stride[1] - d->pad[1] + kx * d->dilation[1];
            if (iy >= 0 && iy < d->h && ix >= 0 && ix < d->w)
                term(r, at(d->rows, d->plain_x ? 0 : d->block, x_size, n, o / outer * inner + c, iy, ix),
                     (size_t)o * (size_t)(inner * d->kernel[0] * d->kernel[1]) + (size_t)j,
                     at(d->rows, d->block, y_size, n, o, oy, ox), out);
        }
    }
}

static void forward_term(const rig *r, size_t x, size_t w, size_t y, double *out)
{
    out[y] += r->x.rounded[x] * r->w.rounded[w];
}

static void grad_data_term(const rig *r, size_t x, size_t w, size_t y, double *out)
{
    out[x] += r->y.rounded[y] * r->w.rounded[w];
}

static void grad_weights_term(const rig *r, size_t x, size_t w, size_t y, double *out)
{
    out[w] += r->x.rounded[x] * r->y.rounded[y];
}

static void compare(const rig *r, const char *what, const float *got, const double *expected, size_t n)
{
    double off = 0, whole = 0;
    for (size_t i = 0; i < n; i++) {
        off += ((double)got[i] - expected[i]) * ((double)got[i] - expected[i]);
        whole += expected[i] * expected[i];
    }
    if (!(sqrt(off / whole) < TOLERANCE))
        fail_msg("convolution %d, %s: off by %g", (int)(r->d - descs), what, sqrt(off / whole));
}

static void check(bl_dnnl *dnnl, const rig *r, bl_precision precision, bl_dnnl_conv_kind kind)
{
    static const char *const names[] = {"forward", "gradient of the input", "gradient of the weights"};
    bl_error err = {0};
    bl_dnnl_conv *conv = NULL;
    bl_dnnl_conv_desc d = *r->d;
    d.precision = precision;
    d.bias = d.bias && kind == BL_DNNL_FORWARD;
    d.add = d.add && kind == BL_DNNL_FORWARD;
    must(bl_dnnl_conv_new(dnnl, &d, kind, false, &conv, &err), &err);
    void *scratch = bl_aligned_alloc(BL_ALIGN_B, bl_dnnl_conv_scratch_b(conv) + BL_ALIGN_B);
    tensor out = make(kind == BL_DNNL_FORWARD ? r->y.count : kind == BL_DNNL_GRAD_DATA ? r->x.count : r->w.count, 9);
    double *expected = calloc(out.count, sizeof *expected);
    assert_true(scratch && expected);
    if (kind == BL_DNNL_FORWARD) {
        const int size[4] = {d.n, d.o, d.oh, d.ow};
        for (int i = 0; i < d.n * d.o * d.oh * d.ow; i++) {
            int o = i / d.ow / d.oh % d.o;
            size_t place = at(d.rows, d.block, size, i / d.ow / d.oh / d.o, o, i / d.ow % d.oh, i % d.ow);
            expected[place] = (d.bias ? (double)r->bias.data[o] : 0) + (d.add ? (double)out.data[place] : 0);
        }
        each_product(r, expected, forward_term);
        must(bl_dnnl_conv_forward(conv, r->x.data, r->w.data, d.bias ? r->bias.data : NULL, out.data, scratch, true,
                                  &err),
             &err);
    } else if (kind == BL_DNNL_GRAD_DATA) {
        each_product(r, expected, grad_data_term);
        must(bl_dnnl_conv_grad_data(conv, r->y.data, r->w.data, out.data, scratch, &err), &err);
    } else {
        each_product(r, expected, grad_weights_term);
        must(bl_dnnl_conv_grad_weights(conv, r->x.data, r->y.data, out.data, NULL, scratch, &err), &err);
    }
    compare(r, names[kind], out.data, expected, out.count);
    clear(&out);
    free(expected);
    free(scratch);
    bl_dnnl_conv_free(conv);
}

static void check_all(bl_dnnl *dnnl, bl_precision precision)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(descs); i++) {
        const bl_dnnl_conv_desc *d = &descs[i];
        size_t filter = (size_t)(d->c / d->groups * d->kernel[0] * d->kernel[1]);
        rig r = {d, make((size_t)(d->n * d->c * d->h * d->w), 1), make((size_t)d->o * filter, 2),
                 make((size_t)(d->n * d->o * d->oh * d->ow), 3), make((size_t)d->o, 4)};
        for (bl_dnnl_conv_kind kind = BL_DNNL_FORWARD; kind <= BL_DNNL_GRAD_WEIGHTS; kind++)
            if (kind != BL_DNNL_GRAD_DATA || !d->plain_x)
                check(dnnl, &r, precision, kind);
        clear(&r.x);
        clear(&r.w);
        clear(&r.y);
        clear(&r.bias);
    }
}

static void test_products(void **state)
{
    bl_error err = {0};
    bl_dnnl *dnnl = NULL;
    must(bl_dnnl_open(&dnnl, &err), &err);
    check_all(dnnl, BL_PRECISION_BFLOAT16_EMULATED);
    if (bl_dnnl_require_bfloat16(dnnl, &err) == BL_OK) {
        check_all(dnnl, BL_PRECISION_BFLOAT16);
    } else {
        assert_int_equal(err.code, BL_ERR_USAGE);
        assert_non_null(strstr(err.message, "bfloat16"));
        print_message("this processor has no bfloat16: %s\n", err.message);
    }
    bl_dnnl_close(dnnl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounding), cmocka_unit_test(test_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
