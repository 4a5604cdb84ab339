#include "detect/box.h"

#include <math.h>

#define EPS 1e-7

double bl_box_iou(const bl_box *a, const bl_box *b)
{
    double w = fmin(a->x + a->w / 2, b->x + b->w / 2) - fmax(a->x - a->w / 2, b->x - b->w / 2);
    double h = fmin(a->y + a->h / 2, b->y + b->h / 2) - fmax(a->y - a->h / 2, b->y - b->h / 2);
    double inter = w > 0 && h > 0 ? w * h : 0, iou = inter / (a->w * a->h + b->w * b->h - inter);
    return iou > 0 ? iou : 0;
}

/* One side of the two boxes: where they begin and end, what they share and what both span. */
typedef struct extent {
    double shared, span;
    double d_shared[2], d_span[2]; /* by the box's centre and size */
} extent;

/* How much of min(a, b) follows a: a tie is shared, as in PyTorch. */
static double share(double a, double b)
{
    return a < b ? 1 : a == b ? 0.5 : 0;
}

static extent compare(double centre, double size, double truth_centre, double truth_size)
{
    double low = centre - size / 2, high = centre + size / 2;
    double truth_low = truth_centre - truth_size / 2, truth_high = truth_centre + truth_size / 2;
    double high_is_nearer = share(high, truth_high), low_is_nearer = share(truth_low, low);
    extent e = {.shared = fmin(high, truth_high) - fmax(low, truth_low),
                .span = fmax(high, truth_high) - fmin(low, truth_low)};
    e.d_shared[0] = high_is_nearer - low_is_nearer;
    e.d_shared[1] = (high_is_nearer + low_is_nearer) / 2;
    e.d_span[0] = low_is_nearer - high_is_nearer;
    e.d_span[1] = 1 - (high_is_nearer + low_is_nearer) / 2;
    if (e.shared < 0)
        e.shared = e.d_shared[0] = e.d_shared[1] = 0;
    return e;
}

bl_ciou bl_box_ciou(const bl_box *box, const bl_box *truth)
{
    extent x = compare(box->x, box->w, truth->x, truth->w), y = compare(box->y, box->h, truth->y, truth->h);
    double w = box->w, h = box->h + EPS, truth_w = truth->w, truth_h = truth->h + EPS;
    double inter = x.shared * y.shared, whole = w * h + truth_w * truth_h - inter + EPS, iou = inter / whole;
    double dx = box->x - truth->x, dy = box->y - truth->y;
    double apart = dx * dx + dy * dy, diagonal = x.span * x.span + y.span * y.span + EPS;
    double ratio = w / (h + EPS), angle = atan(truth_w / (truth_h + EPS)) - atan(ratio);
    double scale = 4 / (M_PI * M_PI), v = scale * angle * angle, alpha = v / (v - iou + (1 + EPS));

    /* d (a / b) = (d a - a / b d b) / b for each of the three terms */
    double d_inter[4] = {x.d_shared[0] * y.shared, y.d_shared[0] * x.shared, x.d_shared[1] * y.shared,
                         y.d_shared[1] * x.shared};
    double d_area[4] = {0, 0, h, w}, d_apart[4] = {2 * dx, 2 * dy, 0, 0};
    double d_diagonal[4] = {2 * x.span * x.d_span[0], 2 * y.span * y.d_span[0], 2 * x.span * x.d_span[1],
                            2 * y.span * y.d_span[1]};
    double d_atan = 1 / (1 + ratio * ratio) / (h + EPS), d_ratio[4] = {0, 0, d_atan, -d_atan * ratio};
    bl_ciou out = {.value = iou - apart / diagonal - alpha * v, .alpha = alpha};
    for (int k = 0; k < 4; k++)
        out.d[k] = (d_inter[k] - iou * (d_area[k] - d_inter[k])) / whole -
                   (d_apart[k] - apart / diagonal * d_diagonal[k]) / diagonal + alpha * 2 * scale * angle * d_ratio[k];
    return out;
}
