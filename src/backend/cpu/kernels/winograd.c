#include "backend/cpu/kernels/winograd.h"

#include <omp.h>
#include <string.h>

#include "backend/cpu/kernels/block.h"

enum { N_PRODUCTS = 36, RESULT = 4 };

/* Of the transformed parts that are worked on at a time, in both operands: a thread's own should stay in its cache,
 * those that all threads share in the shared one. */
#define OWN_B    ((size_t)1 << 20)
#define SHARED_B ((size_t)8 << 20)
/* The weights' gradient: sums over slices of the parts are kept apart while all of them take no more than this. */
#define SLICES_B      ((size_t)16 << 20)
#define MAX_SLICES    16
#define SLICE_PARTS   96
#define MIN_PARTS     24
#define ROW_PADDING   16 /* floats, lest rows lie a multiple of a page apart */
#define MIN_CHANNELS  32
#define MIN_PARTS_ALL 32 /* fewer parts do not pay for transforming the filters */

/* One convolution as 36 products, from images of h x w to ones of oh x ow. */
typedef struct wino_plan {
    const bl_k_tiles *tiles;
    int block, h, w, oh, ow, pad;
    int in_padded, out_padded; /* whole blocks */
    int panel, n_panels;       /* channels a panel; panels of the output */
    int down, across;          /* parts of an image */
    int parts, at_a_time;      /* all parts; how many a block holds, a multiple of 2 */
    int n_threads;             /* that work on blocks of their own; 1: all work on one block together */
    int n_slices;              /* into which the parts of a weights' gradient are cut */
    size_t row;                /* floats of a transformed part of the input */
} wino_plan;

static int padded(int c, int block)
{
    return (c + block - 1) / block * block;
}

static wino_plan plan_of(int n, int n_in, int n_out, int block, int h, int w, int pad)
{
    wino_plan p = {.tiles = bl_k_tiles_for(block),
                   .block = block,
                   .h = h,
                   .w = w,
                   .oh = h + 2 * pad - 2,
                   .ow = w + 2 * pad - 2,
                   .pad = pad};
    p.in_padded = padded(n_in, block);
    p.out_padded = padded(n_out, block);
    p.panel = 2 * p.tiles->v;
    p.n_panels = (p.out_padded + p.panel - 1) / p.panel;
    p.down = (p.oh + RESULT - 1) / RESULT;
    p.across = (p.ow + RESULT - 1) / RESULT;
    p.parts = n * p.down * p.across;
    p.row = (size_t)p.in_padded + ROW_PADDING;
    return p;
}

/* Blocks of parts that take `room_b` transformed, as many as `n_threads` of them want. */
static void cut_blocks(wino_plan *p, int n_threads, size_t room_b)
{
    size_t part_b = N_PRODUCTS * sizeof(float) * (p->row + (size_t)(p->n_panels * p->panel));
    int fit = (int)(room_b / part_b), share = (p->parts + n_threads - 1) / n_threads;
    p->n_threads = n_threads;
    p->at_a_time = fit < MIN_PARTS ? MIN_PARTS : fit / 12 * 12;
    if (p->at_a_time > share)
        p->at_a_time = (share + 1) / 2 * 2;
}

/* Floats of one of the 36 matrices: transformed filters, input parts, output parts. */
static size_t filter_floats(const wino_plan *p)
{
    return (size_t)p->n_panels * (size_t)p->in_padded * (size_t)p->panel;
}

static size_t input_floats(const wino_plan *p)
{
    return (size_t)p->at_a_time * p->row;
}

static size_t output_floats(const wino_plan *p)
{
    return (size_t)p->n_panels * (size_t)p->at_a_time * (size_t)p->panel;
}

/* Follows from the shape alone, since the order of a sum does. One: all threads work on it together. */
static int slices_of(const wino_plan *p)
{
    size_t fit = SLICES_B / (N_PRODUCTS * filter_floats(p) * sizeof(float));
    size_t useful = (size_t)p->parts / SLICE_PARTS, n = fit < useful ? fit : useful;
    return n < 2 ? 1 : n < MAX_SLICES ? (int)n : MAX_SLICES;
}

static wino_plan plan_for(const bl_k_wino *s, bl_k_wino_kind kind)
{
    int oh = s->h + 2 * s->pad - 2, ow = s->w + 2 * s->pad - 2,
        n_threads = s->threads > 0 ? s->threads : omp_get_max_threads();
    wino_plan p = kind == BL_K_WINO_GRAD_DATA ? plan_of(s->n, s->k, s->c, s->block, oh, ow, 2 - s->pad)
                                              : plan_of(s->n, s->c, s->k, s->block, s->h, s->w, s->pad);
    p.n_slices = kind == BL_K_WINO_GRAD_WEIGHTS ? slices_of(&p) : 1;
    if (kind == BL_K_WINO_GRAD_WEIGHTS && p.n_slices == 1)
        cut_blocks(&p, 1, SHARED_B);
    else if (kind == BL_K_WINO_GRAD_WEIGHTS)
        cut_blocks(&p, n_threads < p.n_slices ? n_threads : p.n_slices, OWN_B);
    else
        cut_blocks(&p, n_threads, OWN_B);
    return p;
}

bool bl_k_wino_pays(const bl_k_wino *s, bl_k_wino_kind kind)
{
    if (s->pad > 2 || s->c < MIN_CHANNELS || s->k < MIN_CHANNELS || s->h + 2 * s->pad < 3 || s->w + 2 * s->pad < 3)
        return false;
    wino_plan p = plan_for(s, kind);
    return p.parts >= MIN_PARTS_ALL;
}

size_t bl_k_wino_scratch_b(const bl_k_wino *s, bl_k_wino_kind kind)
{
    wino_plan p = plan_for(s, kind);
    return N_PRODUCTS *
           ((size_t)p.n_slices * filter_floats(&p) + (size_t)p.n_threads * (input_floats(&p) + output_floats(&p))) *
           sizeof(float);
}

/* Where part i lies: its image, and its corner in the output. */
static int place_of(const wino_plan *p, int i, int *y0, int *x0)
{
    int in_image = i % (p->down * p->across);
    *y0 = in_image / p->across * RESULT;
    *x0 = in_image % p->across * RESULT;
    return i / (p->down * p->across);
}

static size_t image_floats(int c_padded, int h, int w)
{
    return (size_t)c_padded * (size_t)h * (size_t)w;
}

static void transform_input(const wino_plan *p, const float *x, int i, int slot, float *v)
{
    bl_k_wino_image image = {.block = p->block, .c = p->in_padded, .h = p->h, .w = p->w};
    size_t apart = input_floats(p);
    float *to = v + (size_t)slot * p->row;
    if (i >= p->parts) { /* one more, for an even number */
        for (int e = 0; e < N_PRODUCTS; e++)
            memset(to + (size_t)e * apart, 0, p->row * sizeof *to);
        return;
    }
    int y0, x0, n = place_of(p, i, &y0, &x0);
    p->tiles->wino_input(&image, x + (size_t)n * image_floats(p->in_padded, p->h, p->w), y0 - p->pad, x0 - p->pad, to,
                         apart);
}

/* A block of parts, count of them from `first` on; v and m: room for the transformed ones. */
static void convolve_block(const wino_plan *p, int first, int count, const float *x, const float *u, float *y, float *v,
                           float *m)
{
    size_t u_apart = filter_floats(p), v_apart = input_floats(p), m_apart = output_floats(p);
    size_t panel_apart = (size_t)p->at_a_time * (size_t)p->panel;
    bl_k_wino_image out = {.block = p->block, .c = p->out_padded, .h = p->oh, .w = p->ow};
    int even = (count + 1) / 2 * 2;
    for (int i = 0; i < even; i++)
        transform_input(p, x, first + i, i, v);
    for (int e = 0; e < N_PRODUCTS; e++)
        for (int panel = 0; panel < p->n_panels; panel++) {
            bl_k_wino_gemm gemm = {.rows = even,
                                   .depth = p->in_padded,
                                   .a_row = p->row,
                                   .a_step = 1,
                                   .whole_panel = (panel + 1) * p->panel <= p->out_padded};
            p->tiles->wino_gemm(&gemm, v + (size_t)e * v_apart,
                                u + (size_t)e * u_apart + (size_t)panel * (size_t)p->in_padded * (size_t)p->panel,
                                m + (size_t)e * m_apart + (size_t)panel * panel_apart);
        }
    for (int i = 0; i < count; i++) {
        int y0, x0, n = place_of(p, first + i, &y0, &x0);
        p->tiles->wino_output(&out, m + (size_t)i * (size_t)p->panel, m_apart, panel_apart, y0, x0,
                              y + (size_t)n * image_floats(p->out_padded, p->oh, p->ow));
    }
}

/* y = x convolved with the filters described. Threads take whole blocks, so they wait for one another only once. What a
 * part becomes does not depend on its block. */
static void convolve(const wino_plan *p, const bl_k_wino_filters *filters, const float *x, const float *w, float *y,
                     float *scratch)
{
    size_t u_apart = filter_floats(p), own = N_PRODUCTS * (input_floats(p) + output_floats(p));
    float *u = scratch, *rooms = u + N_PRODUCTS * u_apart;
    int n_blocks = (p->parts + p->at_a_time - 1) / p->at_a_time;
#pragma omp parallel num_threads(p->n_threads)
    {
        float *v = rooms + (size_t)omp_get_thread_num() * own, *m = v + N_PRODUCTS * input_floats(p);
#pragma omp for schedule(static)
        for (int panel = 0; panel < p->n_panels; panel++)
            p->tiles->wino_filters(filters, w, panel, u + (size_t)panel * (size_t)p->in_padded * (size_t)p->panel,
                                   u_apart);
#pragma omp for schedule(dynamic)
        for (int k = 0; k < n_blocks; k++) {
            int first = k * p->at_a_time, left = p->parts - first;
            convolve_block(p, first, left < p->at_a_time ? left : p->at_a_time, x, u, y, v, m);
        }
    }
}

void bl_k_wino_forward(const bl_k_wino *s, const float *x, const float *w, float *y, void *scratch)
{
    wino_plan p = plan_for(s, BL_K_WINO_FORWARD);
    bl_k_wino_filters filters = {
        .n_in = s->c, .n_in_padded = p.in_padded, .n_out = s->k, .in_apart = 9, .out_apart = 9 * (size_t)s->c};
    convolve(&p, &filters, x, w, y, scratch);
}

void bl_k_wino_grad_data(const bl_k_wino *s, const float *dy, const float *w, float *dx, void *scratch)
{
    wino_plan p = plan_for(s, BL_K_WINO_GRAD_DATA);
    bl_k_wino_filters filters = {.n_in = s->k,
                                 .n_in_padded = p.in_padded,
                                 .n_out = s->c,
                                 .in_apart = 9 * (size_t)s->c,
                                 .out_apart = 9,
                                 .turn = true};
    convolve(&p, &filters, dy, w, dx, scratch);
}

/* Part i of x and of dy, transformed, to `slot` of v and m. */
static void transform_both(const wino_plan *p, const float *x, const float *dy, int i, int slot, float *v, float *m)
{
    bl_k_wino_image out = {.block = p->block, .c = p->out_padded, .h = p->oh, .w = p->ow};
    int y0, x0, n = place_of(p, i, &y0, &x0);
    transform_input(p, x, i, slot, v);
    p->tiles->wino_output_grad(&out, dy + (size_t)n * image_floats(p->out_padded, p->oh, p->ow), y0, x0,
                               m + (size_t)slot * (size_t)p->panel, output_floats(p),
                               (size_t)p->at_a_time * (size_t)p->panel);
}

/* Sums over `count` parts, for one of the 36 and one panel; add: to what stands there. */
static void sum_products(const wino_plan *p, int count, bool add, int e, int panel, const float *v, const float *m,
                         float *u)
{
    bl_k_wino_gemm gemm = {.rows = p->in_padded,
                           .depth = count,
                           .a_row = 1,
                           .a_step = p->row,
                           .whole_panel = (panel + 1) * p->panel <= p->out_padded,
                           .add = add};
    p->tiles->wino_gemm(&gemm, v + (size_t)e * input_floats(p),
                        m + (size_t)e * output_floats(p) + (size_t)panel * (size_t)p->at_a_time * (size_t)p->panel,
                        u + (size_t)e * filter_floats(p) + (size_t)panel * (size_t)p->in_padded * (size_t)p->panel);
}

static int count_from(const wino_plan *p, int first, int end)
{
    return end - first < p->at_a_time ? end - first : p->at_a_time;
}

/* Large filters: all threads on one block. Each sum stays with one thread, in order. */
static void sum_together(const wino_plan *p, const float *x, const float *dy, float *u, float *v, float *m)
{
#pragma omp parallel
    for (int first = 0; first < p->parts; first += p->at_a_time) {
        int count = count_from(p, first, p->parts);
#pragma omp for schedule(static)
        for (int i = 0; i < count; i++)
            transform_both(p, x, dy, first + i, i, v, m);
#pragma omp for collapse(2) schedule(static)
        for (int e = 0; e < N_PRODUCTS; e++)
            for (int panel = 0; panel < p->n_panels; panel++)
                sum_products(p, count, first > 0, e, panel, v, m, u);
    }
}

/* Small filters: each slice is one thread's, and the slices' sums are added in order. */
static void sum_slices(const wino_plan *p, const float *x, const float *dy, float *u, float *rooms)
{
    size_t sum = N_PRODUCTS * filter_floats(p), own = N_PRODUCTS * (input_floats(p) + output_floats(p));
#pragma omp parallel num_threads(p->n_threads)
    {
        float *v = rooms + (size_t)omp_get_thread_num() * own, *m = v + N_PRODUCTS * input_floats(p);
#pragma omp for schedule(dynamic)
        for (int k = 0; k < p->n_slices; k++) {
            int start = (int)((int64_t)p->parts * k / p->n_slices),
                end = (int)((int64_t)p->parts * (k + 1) / p->n_slices);
            for (int first = start; first < end; first += p->at_a_time) {
                int count = count_from(p, first, end);
                for (int i = 0; i < count; i++)
                    transform_both(p, x, dy, first + i, i, v, m);
                for (int e = 0; e < N_PRODUCTS; e++)
                    for (int panel = 0; panel < p->n_panels; panel++)
                        sum_products(p, count, first > start, e, panel, v, m, u + (size_t)k * sum);
            }
        }
#pragma omp for schedule(static)
        for (int e = 0; e < N_PRODUCTS; e++)
            for (int k = 1; k < p->n_slices; k++) {
                float *to = u + (size_t)e * filter_floats(p);
                p->tiles->add(filter_floats(p), to, to + (size_t)k * sum, to);
            }
    }
}

void bl_k_wino_grad_weights(const bl_k_wino *s, const float *x, const float *dy, float *dw, void *scratch)
{
    wino_plan p = plan_for(s, BL_K_WINO_GRAD_WEIGHTS);
    bl_k_wino_filters filters = {.n_in = s->c, .n_out = s->k, .in_apart = 9, .out_apart = 9 * (size_t)s->c};
    float *u = scratch, *rooms = u + (size_t)p.n_slices * N_PRODUCTS * filter_floats(&p);
    if (p.n_slices == 1)
        sum_together(&p, x, dy, u, rooms, rooms + N_PRODUCTS * input_floats(&p));
    else
        sum_slices(&p, x, dy, u, rooms);
#pragma omp parallel for schedule(static)
    for (int panel = 0; panel < p.n_panels; panel++)
        p.tiles->wino_filter_grad(&filters, u + (size_t)panel * (size_t)p.in_padded * (size_t)p.panel,
                                  filter_floats(&p), panel, dw);
}
