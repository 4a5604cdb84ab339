#include "detect/assign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/shape.h"

#define ANCHOR_RATIO 4.0 /* sides may differ by less than this factor */
#define WORST        700 /* no term of a cost is larger: log of the smallest double is -745 */

/* The boxes of which the IoUs are summed up to k: of the plain loss, and of the one with auxiliary heads. */
enum { TOP_PLAIN = 10, TOP_AUXILIARY = 20, TOP_MAX = 20, NEIGHBOURS = 5 };

double bl_detect_sigmoid(double x)
{
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double bl_detect_softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

bl_box bl_detect_decode_box(const double raw[4], float anchor_w, float anchor_h, double slope[4])
{
    double s[4];
    for (int k = 0; k < 4; k++)
        s[k] = bl_detect_sigmoid(raw[k]);
    bl_box box = {.x = 2 * s[0] - 0.5,
                  .y = 2 * s[1] - 0.5,
                  .w = 4 * s[2] * s[2] * (double)anchor_w,
                  .h = 4 * s[3] * s[3] * (double)anchor_h};
    for (int k = 0; k < 2; k++)
        slope[k] = 2 * s[k] * (1 - s[k]);
    slope[2] = 2 * box.w * (1 - s[2]);
    slope[3] = 2 * box.h * (1 - s[3]);
    return box;
}

/* ---- memory and targets ---- */

/* The next array of `count` elements at *used; NULL while only sizes are asked for. */
static bool carve(char *memory, size_t count, size_t size, size_t *used, void *out)
{
    size_t bytes;
    void *at = memory ? memory + *used : NULL;
    memcpy(out, &at, sizeof at);
    return bl_size_mul(count, size, &bytes) && bytes <= SIZE_MAX - 7 &&
           bl_size_add(*used, (bytes + 7) & ~(size_t)7, used);
}

bool bl_detect_assign_carve(const bl_detect_spec *spec, int64_t n_targets, bl_detect_assign *assign, void *memory,
                            size_t *bytes)
{
    size_t targets = (size_t)n_targets, most;
    *bytes = 0;
    if (n_targets < 0 || !bl_size_mul(targets, (size_t)(spec->n_levels * BL_DETECT_ANCHORS * NEIGHBOURS), &most) ||
        most > INT32_MAX)
        return false;
    return carve(memory, targets, sizeof *assign->truths, bytes, &assign->truths) &&
           carve(memory, most, sizeof *assign->matches, bytes, &assign->matches) &&
           carve(memory, most, sizeof *assign->candidates, bytes, &assign->candidates) &&
           carve(memory, most, sizeof *assign->iou, bytes, &assign->iou) &&
           carve(memory, most, sizeof *assign->cost, bytes, &assign->cost) &&
           carve(memory, most, sizeof *assign->owner, bytes, &assign->owner) &&
           carve(memory, most, sizeof *assign->n_owners, bytes, &assign->n_owners);
}

static int by_image(const void *a, const void *b)
{
    const bl_detect_truth *x = a, *y = b;
    return x->image != y->image ? (x->image > y->image) - (x->image < y->image) : x->order - y->order;
}

void bl_detect_read_targets(const bl_detect_spec *spec, const bl_detect_batch *batch, bl_detect_assign *assign)
{
    assign->n_truths = 0;
    for (int64_t i = 0; i < batch->n_targets; i++) {
        double row[BL_DETECT_TARGET_COLS];
        for (int k = 0; k < BL_DETECT_TARGET_COLS; k++)
            row[k] = bl_detect_read(batch, batch->targets, i * BL_DETECT_TARGET_COLS + k);
        /* Written so that a NaN fails every one of them. */
        bool ok = row[0] >= 0 && row[0] < batch->n && row[1] >= 0 && row[1] < spec->n_classes && row[2] >= 0 &&
                  row[2] <= 1 && row[3] >= 0 && row[3] <= 1 && row[4] > 0 && row[5] > 0 && isfinite(row[4]) &&
                  isfinite(row[5]);
        if (ok)
            assign->truths[assign->n_truths++] = (bl_detect_truth){
                .image = (int)row[0], .cls = (int)row[1], .order = (int)i, .box = {row[2], row[3], row[4], row[5]}};
    }
    qsort(assign->truths, (size_t)assign->n_truths, sizeof *assign->truths, by_image);
}

/* ---- candidates ---- */

/* -log of sqrt(sigmoid(objectness) sigmoid(class)), and of one less that. */
static double minus_log(double objectness, double cls)
{
    return fmin((bl_detect_softplus(-objectness) + bl_detect_softplus(-cls)) / 2, WORST);
}

static double minus_log_rest(double minus)
{
    return fmin(-log(-expm1(-minus)), WORST);
}

static double channel(const bl_detect_batch *batch, const bl_detect_candidate *c, int k)
{
    int64_t pixels = (int64_t)batch->h[c->at.level] * batch->w[c->at.level];
    return bl_detect_read(batch, batch->head[c->at.level], c->index + k * pixels);
}

static bl_detect_candidate predict(const bl_detect_spec *spec, const bl_detect_batch *batch, bl_detect_match at)
{
    bl_detect_candidate c = {.at = at};
    c.index = bl_detect_index(spec, batch, at.level, at.image, at.anchor, 0, at.row, at.column);
    double raw[4], slope[4], stride = spec->stride[at.level];
    for (int k = 0; k < 4; k++)
        raw[k] = channel(batch, &c, k);
    const float *anchor = spec->anchor[at.level][at.anchor];
    c.box = bl_detect_decode_box(raw, anchor[0], anchor[1], slope);
    c.box.x = (c.box.x + at.column) * stride;
    c.box.y = (c.box.y + at.row) * stride;
    for (int k = 0; k < spec->n_classes; k++)
        c.off += minus_log_rest(minus_log(channel(batch, &c, 4), channel(batch, &c, 5 + k)));
    return c;
}

static bool fits_anchor(const bl_detect_spec *spec, const bl_detect_batch *batch, int level, int anchor,
                        const bl_box *box)
{
    double rw = box->w * batch->w[level] * spec->stride[level] / (double)spec->anchor[level][anchor][0];
    double rh = box->h * batch->h[level] * spec->stride[level] / (double)spec->anchor[level][anchor][1];
    return fmax(fmax(rw, 1 / rw), fmax(rh, 1 / rh)) < ANCHOR_RATIO;
}

/* Moves a position on the grid by the neighbour's offset; false where the box does not reach over there. */
static bool neighbour(int which, double reach, double size_x, double size_y, double *x, double *y)
{
    static const int sign[NEIGHBOURS][2] = {{0, 0}, {-1, 0}, {0, -1}, {1, 0}, {0, 1}};
    double from[] = {*x, *y, size_x - *x, size_y - *y}; /* each of the four borders */
    if (which > 0 && !(from[which - 1] > 1 && fmod(from[which - 1], 1) < reach))
        return false;
    *x += sign[which][0] * reach;
    *y += sign[which][1] * reach;
    return true;
}

static int clamp(double position, int size)
{
    return position < size - 1 ? (int)position : size - 1;
}

/* Of the truths first..end-1, all of one image: level by level, and there pixel, then its neighbours. */
static int find_candidates(const bl_detect_spec *spec, const bl_detect_batch *batch, bool wide,
                           const bl_detect_assign *assign, int first, int end)
{
    int n = 0;
    double reach = wide ? 1 : 0.5;
    for (int level = 0; level < spec->n_levels; level++)
        for (int which = 0; which < NEIGHBOURS; which++)
            for (int anchor = 0; anchor < BL_DETECT_ANCHORS; anchor++)
                for (int t = first; t < end; t++) {
                    const bl_detect_truth *truth = &assign->truths[t];
                    int h = batch->h[level], w = batch->w[level];
                    double x = truth->box.x * w, y = truth->box.y * h;
                    if (!fits_anchor(spec, batch, level, anchor, &truth->box) || !neighbour(which, reach, w, h, &x, &y))
                        continue;
                    bl_detect_match at = {.level = level, .image = truth->image, .anchor = anchor};
                    at.row = clamp(y, h);
                    at.column = clamp(x, w);
                    assign->candidates[n++] = predict(spec, batch, at);
                }
    return n;
}

/* ---- matching ---- */

static double iou_with(const bl_detect_spec *spec, const bl_detect_batch *batch, const bl_detect_truth *truth,
                       const bl_detect_candidate *c)
{
    double width = (double)batch->w[0] * spec->stride[0], height = (double)batch->h[0] * spec->stride[0];
    bl_box box = {truth->box.x * width, truth->box.y * height, truth->box.w * width, truth->box.h * height};
    return bl_box_iou(&box, &c->box);
}

static double cost_of(const bl_detect_batch *batch, const bl_detect_truth *truth, const bl_detect_candidate *c,
                      double iou)
{
    double right = minus_log(channel(batch, c, 4), channel(batch, c, 5 + truth->cls));
    return c->off - minus_log_rest(right) + right - 3 * log(iou + 1e-8);
}

/* Puts `value` into the sorted list of the `most` smallest; the earlier of equals stays first. */
static int insert(double *values, int *places, int n, int most, double value, int place)
{
    if (n == most && !(value < values[n - 1]))
        return n;
    int at = n < most ? n++ : n - 1;
    for (; at > 0 && value < values[at - 1]; at--) {
        values[at] = values[at - 1];
        places[at] = places[at - 1];
    }
    values[at] = value;
    places[at] = place;
    return n;
}

/* The box takes its k cheapest candidates, k being the sum of its best IoUs. */
static void choose(const bl_detect_spec *spec, const bl_detect_batch *batch, bl_detect_assign *assign, int t, int n)
{
    double values[TOP_MAX], sum = 0;
    int places[TOP_MAX], kept = 0, top = spec->auxiliary ? TOP_AUXILIARY : TOP_PLAIN;
    for (int c = 0; c < n; c++) {
        assign->iou[c] = iou_with(spec, batch, &assign->truths[t], &assign->candidates[c]);
        assign->cost[c] = cost_of(batch, &assign->truths[t], &assign->candidates[c], assign->iou[c]);
        kept = insert(values, places, kept, top, -assign->iou[c], c);
    }
    for (int i = 0; i < kept; i++)
        sum -= values[i];
    int k = sum < 1 ? 1 : (int)sum;
    kept = 0;
    for (int c = 0; c < n; c++)
        kept = insert(values, places, kept, k, assign->cost[c], c);
    for (int i = 0; i < kept; i++) {
        assign->owner[places[i]] = t;
        assign->n_owners[places[i]]++;
    }
}

/* A candidate that several boxes took goes to the one, of all in the image, that it costs least. */
static int cheapest(const bl_detect_spec *spec, const bl_detect_batch *batch, const bl_detect_assign *assign, int first,
                    int end, const bl_detect_candidate *c)
{
    int best = first;
    double least = INFINITY;
    for (int t = first; t < end; t++) {
        double cost = cost_of(batch, &assign->truths[t], c, iou_with(spec, batch, &assign->truths[t], c));
        if (cost < least) {
            least = cost;
            best = t;
        }
    }
    return best;
}

static void match_image(const bl_detect_spec *spec, const bl_detect_batch *batch, bool wide, bl_detect_assign *assign,
                        int first, int end)
{
    int n = find_candidates(spec, batch, wide, assign, first, end);
    memset(assign->n_owners, 0, (size_t)n * sizeof *assign->n_owners);
    for (int t = first; n > 0 && t < end; t++)
        choose(spec, batch, assign, t, n);
    for (int c = 0; c < n; c++) {
        if (assign->n_owners[c] == 0)
            continue;
        bl_detect_match *match = &assign->matches[assign->n_matches++];
        *match = assign->candidates[c].at;
        match->truth = assign->n_owners[c] == 1 ? assign->owner[c]
                                                : cheapest(spec, batch, assign, first, end, &assign->candidates[c]);
    }
}

void bl_detect_assign_run(const bl_detect_spec *spec, const bl_detect_batch *batch, bool wide, bl_detect_assign *assign)
{
    assign->n_matches = 0;
    for (int first = 0, end; first < assign->n_truths; first = end) {
        for (end = first + 1; end < assign->n_truths && assign->truths[end].image == assign->truths[first].image;)
            end++;
        match_image(spec, batch, wide, assign, first, end);
    }
}
