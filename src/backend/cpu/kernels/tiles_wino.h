/* Inner loops of the Winograd convolutions (winograd.h). Included by tiles.c, once for each instruction set. A panel is
 * 2 BL_V channels beside one another. Transformed data are 36 matrices, `apart` floats between them. */
#ifndef BL_BACKEND_CPU_KERNELS_TILES_WINO_H
#define BL_BACKEND_CPU_KERNELS_TILES_WINO_H

#include "backend/cpu/kernels/act_simd.h"
#include "backend/cpu/kernels/tiles.h"

#define WINO_E     36
#define WINO_PANEL (2 * BL_V)

/* B' d, 6 -> 6 */
BL_INLINE void wino_b(const vfloat *d, int step, vfloat *t, int t_step)
{
    vfloat four = v_set(4), five = v_set(5), two = v_set(2);
    vfloat d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    vfloat even = v_sub(d4, v_mul(four, d2)), odd = v_sub(d3, v_mul(four, d1));
    vfloat outer = v_sub(d4, d2), inner = v_mul(two, v_sub(d3, d1));
    t[0] = v_add(v_sub(v_mul(four, d[0]), v_mul(five, d2)), d4);
    t[t_step] = v_add(even, odd);
    t[2 * t_step] = v_sub(even, odd);
    t[3 * t_step] = v_add(outer, inner);
    t[4 * t_step] = v_sub(outer, inner);
    t[5 * t_step] = v_add(v_sub(v_mul(four, d1), v_mul(five, d3)), d[5 * step]);
}

/* A' m, 6 -> 4 */
BL_INLINE void wino_a_turned(const vfloat *m, int step, vfloat *o, int o_step)
{
    vfloat s1 = v_add(m[step], m[2 * step]), s2 = v_sub(m[step], m[2 * step]);
    vfloat s3 = v_add(m[3 * step], m[4 * step]), s4 = v_sub(m[3 * step], m[4 * step]);
    o[0] = v_add(m[0], v_add(s1, s3));
    o[o_step] = v_fma(v_set(2), s4, s2);
    o[2 * o_step] = v_fma(v_set(4), s3, s1);
    o[3 * o_step] = v_add(v_fma(v_set(8), s4, s2), m[5 * step]);
}

/* A y, 4 -> 6 */
BL_INLINE void wino_a(const vfloat *y, int step, vfloat *r, int r_step)
{
    vfloat y0 = y[0], y1 = y[step], y2 = y[2 * step], y3 = y[3 * step];
    vfloat even = v_add(y0, y2), odd = v_add(y1, y3);
    vfloat even2 = v_fma(v_set(4), y2, y0), odd2 = v_mul(v_set(2), v_fma(v_set(4), y3, y1));
    r[0] = y0;
    r[r_step] = v_add(even, odd);
    r[2 * r_step] = v_sub(even, odd);
    r[3 * r_step] = v_add(even2, odd2);
    r[4 * r_step] = v_sub(even2, odd2);
    r[5 * r_step] = y3;
}

/* G g, 3 -> 6 */
BL_INLINE void wino_g(const vfloat *g, int step, vfloat *u, int u_step)
{
    vfloat g0 = g[0], g1 = g[step], g2 = g[2 * step];
    vfloat outer = v_mul(v_set(-1.0f / 6), v_add(g0, g2)), middle = v_mul(v_set(-1.0f / 6), g1);
    vfloat wide = v_fma(v_set(1.0f / 24), g0, v_mul(v_set(1.0f / 6), g2)), half = v_mul(v_set(1.0f / 12), g1);
    u[0] = v_mul(v_set(0.25f), g0);
    u[u_step] = v_add(outer, middle);
    u[2 * u_step] = v_sub(outer, middle);
    u[3 * u_step] = v_add(wide, half);
    u[4 * u_step] = v_sub(wide, half);
    u[5 * u_step] = g2;
}

/* G' m, 6 -> 3 */
BL_INLINE void wino_g_turned(const vfloat *m, int step, vfloat *g, int g_step)
{
    vfloat s1 = v_add(m[step], m[2 * step]), s2 = v_sub(m[2 * step], m[step]);
    vfloat s3 = v_add(m[3 * step], m[4 * step]), s4 = v_sub(m[3 * step], m[4 * step]);
    vfloat sixth = v_set(1.0f / 6);
    g[0] = v_fma(v_set(1.0f / 24), s3, v_sub(v_mul(v_set(0.25f), m[0]), v_mul(sixth, s1)));
    g[g_step] = v_fma(v_set(1.0f / 12), s4, v_mul(sixth, s2));
    g[2 * g_step] = v_add(v_mul(sixth, v_sub(s3, s1)), m[5 * step]);
}

/* The size x size part of a plane whose corner is (y0, x0), zeros outside; inside: all of it lies in the image. */
BL_INLINE void wino_gather(const bl_k_wino_image *image, const float *plane, int y0, int x0, int size, bool inside,
                           vfloat *out)
{
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            int iy = y0 + y, ix = x0 + x;
            if (inside || (iy >= 0 && ix >= 0 && iy < image->h && ix < image->w))
                out[y * size + x] = v_load(plane + ((size_t)iy * (size_t)image->w + (size_t)ix) * (size_t)image->block);
            else
                out[y * size + x] = v_set(0);
        }
}

BL_INLINE const float *wino_plane(const bl_k_wino_image *image, const float *x, int first_channel)
{
    size_t block = (size_t)image->block, plane = (size_t)image->h * (size_t)image->w * block;
    return x + (size_t)first_channel / block * plane + (size_t)first_channel % block;
}

static void tile_wino_input(const bl_k_wino_image *image, const float *x, int y0, int x0, float *v, size_t apart)
{
    bool inside = y0 >= 0 && x0 >= 0 && y0 + 6 <= image->h && x0 + 6 <= image->w;
    for (int c = 0; c < image->c; c += BL_V) {
        const float *plane = wino_plane(image, x, c);
        vfloat d[WINO_E], t[WINO_E];
        if (inside)
            wino_gather(image, plane, y0, x0, 6, true, d);
        else
            wino_gather(image, plane, y0, x0, 6, false, d);
        for (int i = 0; i < 6; i++)
            wino_b(d + i, 6, t + i, 6);
        for (int i = 0; i < 6; i++)
            wino_b(t + 6 * i, 1, d + 6 * i, 1);
        for (int e = 0; e < WINO_E; e++)
            v_store(v + (size_t)e * apart + c, d[e]);
    }
}

static void tile_wino_output_grad(const bl_k_wino_image *image, const float *dy, int y0, int x0, float *out,
                                  size_t apart, size_t panel_apart)
{
    bool inside = y0 + 4 <= image->h && x0 + 4 <= image->w;
    for (int c = 0; c < image->c; c += BL_V) {
        const float *plane = wino_plane(image, dy, c);
        float *to = out + (size_t)(c / WINO_PANEL) * panel_apart + c % WINO_PANEL;
        vfloat y[16], t[24], r[WINO_E];
        if (inside)
            wino_gather(image, plane, y0, x0, 4, true, y);
        else
            wino_gather(image, plane, y0, x0, 4, false, y);
        for (int i = 0; i < 4; i++)
            wino_a(y + i, 4, t + i, 4);
        for (int i = 0; i < 6; i++)
            wino_a(t + 4 * i, 1, r + 6 * i, 1);
        for (int e = 0; e < WINO_E; e++)
            v_store(to + (size_t)e * apart, r[e]);
    }
}

static void tile_wino_output(const bl_k_wino_image *image, const float *m, size_t apart, size_t panel_apart, int y0,
                             int x0, float *y)
{
    int rows = image->h - y0 < 4 ? image->h - y0 : 4, columns = image->w - x0 < 4 ? image->w - x0 : 4;
    for (int c = 0; c < image->c; c += BL_V) {
        const float *from = m + (size_t)(c / WINO_PANEL) * panel_apart + c % WINO_PANEL;
        size_t block = (size_t)image->block;
        float *plane = y + (size_t)c / block * (size_t)image->h * (size_t)image->w * block + (size_t)c % block;
        vfloat d[WINO_E], t[24], o[16];
        for (int e = 0; e < WINO_E; e++)
            d[e] = v_load(from + (size_t)e * apart);
        for (int i = 0; i < 6; i++)
            wino_a_turned(d + i, 6, t + i, 6);
        for (int i = 0; i < 4; i++)
            wino_a_turned(t + 6 * i, 1, o + 4 * i, 1);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                v_store(plane + ((size_t)(y0 + i) * (size_t)image->w + (size_t)(x0 + j)) * block, o[4 * i + j]);
    }
}

static void tile_wino_filters(const bl_k_wino_filters *f, const float *w, int panel, float *u, size_t apart)
{
    for (int i = 0; i < f->n_in_padded; i++)
        for (int half = 0; half < 2; half++) {
            float lanes[9][BL_V] = {{0}};
            int first = panel * WINO_PANEL + half * BL_V;
            for (int l = 0; i < f->n_in && l < BL_V && first + l < f->n_out; l++) {
                const float *g = w + (size_t)(first + l) * f->out_apart + (size_t)i * f->in_apart;
                for (int r = 0; r < 9; r++)
                    lanes[f->turn ? 8 - r : r][l] = g[r];
            }
            vfloat g[9], t[18], r[WINO_E];
            for (int k = 0; k < 9; k++)
                g[k] = v_load(lanes[k]);
            for (int k = 0; k < 3; k++)
                wino_g(g + k, 3, t + k, 3);
            for (int k = 0; k < 6; k++)
                wino_g(t + 3 * k, 1, r + 6 * k, 1);
            for (int e = 0; e < WINO_E; e++)
                v_store(u + (size_t)e * apart + (size_t)i * WINO_PANEL + (size_t)(half * BL_V), r[e]);
        }
}

static void tile_wino_filter_grad(const bl_k_wino_filters *f, const float *du, size_t apart, int panel, float *dw)
{
    for (int i = 0; i < f->n_in; i++)
        for (int half = 0; half < 2; half++) {
            int first = panel * WINO_PANEL + half * BL_V;
            if (first >= f->n_out)
                break;
            float lanes[9][BL_V];
            vfloat m[WINO_E], t[18], g[9];
            for (int e = 0; e < WINO_E; e++)
                m[e] = v_load(du + (size_t)e * apart + (size_t)i * WINO_PANEL + (size_t)(half * BL_V));
            for (int k = 0; k < 6; k++)
                wino_g_turned(m + k, 6, t + k, 6);
            for (int k = 0; k < 3; k++)
                wino_g_turned(t + 6 * k, 1, g + 3 * k, 1);
            for (int k = 0; k < 9; k++)
                v_store(lanes[k], g[k]);
            for (int l = 0; l < BL_V && first + l < f->n_out; l++)
                for (int r = 0; r < 9; r++)
                    dw[(size_t)(first + l) * f->out_apart + (size_t)i * f->in_apart + (size_t)r] = lanes[r][l];
        }
}

/* rows x (vectors BL_V) of C, in panels: sums over k of A(row, k) B(k, .). */
BL_INLINE void wino_gemm_with(int rows, int vectors, const bl_k_wino_gemm *g, const float *a, const float *b, float *c)
{
    vfloat sum[6][2];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sum[r][v] = g->add ? v_load(c + r * WINO_PANEL + v * BL_V) : v_set(0);
    for (int k = 0; k < g->depth; k++) {
        vfloat bv[2];
        for (int v = 0; v < vectors; v++)
            bv[v] = v_load(b + (size_t)k * WINO_PANEL + (size_t)(v * BL_V));
        const float *ak = a + (size_t)k * g->a_step;
        for (int r = 0; r < rows; r++) {
            vfloat av = v_set(ak[(size_t)r * g->a_row]);
            for (int v = 0; v < vectors; v++)
                sum[r][v] = v_fma(av, bv[v], sum[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            v_store(c + r * WINO_PANEL + v * BL_V, sum[r][v]);
}

static void tile_wino_gemm(const bl_k_wino_gemm *g, const float *a, const float *b, float *c)
{
    int row = 0;
#define WINO_ROWS(n, vectors)                                                                                          \
    for (; row + (n) <= g->rows; row += (n))                                                                           \
    wino_gemm_with(n, vectors, g, a + (size_t)row * g->a_row, b, c + (size_t)row * WINO_PANEL)
    if (g->whole_panel) {
        WINO_ROWS(6, 2);
        WINO_ROWS(4, 2);
        WINO_ROWS(2, 2);
    } else {
        WINO_ROWS(6, 1);
        WINO_ROWS(4, 1);
        WINO_ROWS(2, 1);
    }
#undef WINO_ROWS
}

#endif
