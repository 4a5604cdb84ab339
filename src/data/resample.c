#include "data/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/shape.h"

/* Output pixels [*from, *end). */
static void find_range(bl_span where, bl_span window, int size, int *from, int *end)
{
    double a = ceil(fmax(fmax(where.low, window.low), 0) - 0.5);
    double b = ceil(fmin(fmin(where.high, window.high), size) - 0.5);
    *from = *end = 0;
    if (!(b > a) || !(where.high > where.low))
        return;
    *from = (int)a;
    *end = (int)b;
}

/* Of the source: the middle of output pixel i, and how far to each side pixels count. */
typedef struct place {
    double middle, support;
} place;

static place place_of(bl_span where, int source, int i)
{
    double scale = source / (where.high - where.low);
    return (place){.middle = (i + 0.5 - where.low) * scale, .support = scale > 1 ? scale : 1};
}

static int first_tap(const place *p)
{
    return (int)fmax(0, ceil(p->middle - p->support - 0.5));
}

static int last_tap(const place *p, int source)
{
    return (int)fmin(source - 1, floor(p->middle + p->support - 0.5));
}

void bl_axis_reach(bl_span where, bl_span window, int source, int size, int *begin, int *end)
{
    int from, to;
    find_range(where, window, size, &from, &to);
    *begin = *end = 0;
    if (to == from)
        return;
    place low = place_of(where, source, from), high = place_of(where, source, to - 1);
    int first = first_tap(&low), last = last_tap(&high, source);
    *begin = first < source ? first : source - 1;
    *end = (last < 0 ? 0 : last) + 1;
}

static int fill_taps(const place *p, int source, int n, int *first, float *weight)
{
    double sum = 0;
    int last = last_tap(p, source), count = 0;
    *first = first_tap(p);
    for (int k = *first; k <= last && count < n; k++) {
        double w = fmax(1 - fabs(k + 0.5 - p->middle) / p->support, 0);
        weight[count++] = (float)w;
        sum += w;
    }
    if (sum <= 0) { /* only where rounding leaves a middle on the very edge */
        *first = p->middle < 0 ? 0 : p->middle >= source ? source - 1 : (int)p->middle;
        weight[0] = 1;
        memset(weight + 1, 0, (size_t)(n - 1) * sizeof *weight);
        return 1;
    }
    for (int k = 0; k < n; k++)
        weight[k] = k < count ? (float)((double)weight[k] / sum) : 0;
    return count;
}

int bl_axis_make(bl_span where, bl_span window, int source, int size, bl_scratch *scratch, bl_scratch_use use,
                 bl_axis *out, bl_error *err)
{
    int from, end;
    size_t taps, bytes;
    find_range(where, window, size, &from, &end);
    *out = (bl_axis){0};
    if (end == from)
        return BL_OK;
    size_t len = (size_t)(end - from);
    double reach = place_of(where, source, 0).support;
    int n = (int)fmin(ceil(2 * reach) + 1, source);
    char *block = NULL;
    if (bl_size_mul(len, (size_t)n, &taps) && bl_size_mul(taps + 2 * len, sizeof(float), &bytes))
        block = bl_scratch_room(scratch, use, bytes);
    if (!block)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to resize an image");
    float *weight = (float *)block;
    int *first = (int *)(block + taps * sizeof *weight), *count = first + len;
    *out = (bl_axis){.from = from, .len = (int)len, .n = n, .first = first, .count = count, .weight = weight};
    out->begin = source;
    for (size_t i = 0; i < len; i++) {
        place p = place_of(where, source, from + (int)i);
        count[i] = fill_taps(&p, source, n, &first[i], weight + i * (size_t)n);
        out->taps = count[i] > out->taps ? count[i] : out->taps;
        out->begin = first[i] < out->begin ? first[i] : out->begin;
        out->end = first[i] + count[i] > out->end ? first[i] + count[i] : out->end;
    }
    return BL_OK;
}

static const bl_resample_loops *forced;

void bl_resample_use(const bl_resample_loops *loops)
{
    forced = loops;
}

const bl_resample_loops *bl_resample_choose(void)
{
    if (forced)
        return forced;
#ifdef BL_DATA_X86
    const char *wanted = getenv("BATCHLAB_KERNELS");
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        !(wanted && strcmp(wanted, bl_resample_portable.name) == 0))
        return &bl_resample_avx2;
#endif
    return &bl_resample_portable;
}

/* What both ways of going through a picture need. */
typedef struct pass {
    const bl_resample_loops *loops;
    const bl_axis *across, *down;
    const bl_planes *out;
    const uint8_t *from; /* of the first column that is used, in the picture's first line */
    size_t stride;       /* bytes of a line */
    int top;             /* the picture's first line */
    float *row;          /* room for one line of it */
    size_t n;            /* floats of that: 3 a column */
} pass;

static const uint8_t *line_of(const pass *p, int y)
{
    return p->from + (size_t)(y - p->top) * p->stride;
}

/* Where it shrinks: first down, then across. Lines of the source are summed as bytes lie, and nothing is stored but one
 * line. */
static void down_then_across(const pass *p)
{
    for (int y = 0; y < p->down->len; y++) {
        const float *weight = p->down->weight + (size_t)y * (size_t)p->down->n;
        p->loops->down(line_of(p, p->down->first[y]), p->stride, weight, p->down->count[y], p->n, p->row);
        p->loops->across(p->row, p->across, p->out, p->out->at + (size_t)(p->down->from + y) * p->out->stride);
    }
}

enum { RING_MAX = 4 }; /* taps of an axis that does not shrink are 3 at most */

/* Where it grows: first across, since the source has fewer lines. The last few of these are kept, in planes. */
static void across_then_down(const pass *p, float *ring)
{
    static const float one = 1;
    const bl_planes *out = p->out;
    size_t width = out->mirror ? (size_t)out->mirror : (size_t)(p->across->from + p->across->len), line = 3 * width;
    size_t first = (size_t)(out->mirror ? out->mirror - p->across->from - p->across->len : p->across->from);
    int held[RING_MAX] = {-1, -1, -1, -1};
    bl_planes planes = {.plane = width, .scale = {1, 1, 1}, .mirror = out->mirror};
    for (int y = 0; y < p->down->len; y++) {
        const float *weight = p->down->weight + (size_t)y * (size_t)p->down->n, *rows[RING_MAX];
        int taps = p->down->count[y];
        for (int k = 0; k < taps; k++) {
            int source = p->down->first[y] + k, slot = source % RING_MAX;
            float *at = ring + (size_t)slot * line;
            if (held[slot] != source) {
                p->loops->down(line_of(p, source), p->stride, &one, 1, p->n, p->row);
                p->loops->across(p->row, p->across, &planes, at);
                held[slot] = source;
            }
            rows[k] = at + first;
        }
        float *to = out->at + (size_t)(p->down->from + y) * out->stride + first;
        for (int c = 0; c < 3; c++) {
            p->loops->blend(rows, weight, taps, (size_t)p->across->len, out->scale[c], out->bias[c],
                            to + (size_t)c * out->plane);
            for (int k = 0; k < taps; k++)
                rows[k] += width;
        }
    }
}

int bl_resample(const bl_picture *picture, const bl_axis *across, const bl_axis *down, const bl_planes *out,
                bl_scratch *scratch, bl_error *err)
{
    if (across->len == 0 || down->len == 0)
        return BL_OK;
    const bl_part *part = &picture->part;
    if (across->begin < part->left || across->end > part->left + part->columns || down->begin < part->top ||
        down->end > part->top + part->rows)
        return BL_FAIL(err, BL_ERR_INTERNAL, "a part of an image is resized that is not there");
    pass p = {.loops = bl_resample_choose(),
              .across = across,
              .down = down,
              .out = out,
              .from = picture->pixels + 3 * (size_t)(across->begin - part->left),
              .stride = 3 * (size_t)part->columns,
              .top = part->top,
              .n = 3 * (size_t)(across->end - across->begin)};
    bool grows = down->end - down->begin < down->len && down->n < RING_MAX;
    size_t width = out->mirror ? (size_t)out->mirror : (size_t)(across->from + across->len);
    float *ring = NULL;
    size_t after = 3 * (size_t)across->taps + 4;
    p.row = bl_scratch_room(scratch, BL_SCRATCH_ROW, (p.n + after) * sizeof *p.row);
    if (grows)
        ring = bl_scratch_room(scratch, BL_SCRATCH_RING, RING_MAX * 3 * width * sizeof *ring);
    if (!p.row || (grows && !ring))
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to resize an image");
    memset(p.row + p.n, 0, after * sizeof *p.row);
    if (grows)
        across_then_down(&p, ring);
    else
        down_then_across(&p);
    return BL_OK;
}
