#include "detect/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_DETECTIONS = 100, RECALLS = 101 };

/* As numpy's linspace makes them, to the last bit: an IoU may lie on a threshold. */
static const double threshold[BL_MAP_THRESHOLDS] = {0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.8999999999999999,
                                                    0.95};

/* A detection, and what it is at each threshold, a bit each. */
typedef struct verdict {
    float score;
    uint16_t right, ignored; /* neither: wrong */
} verdict;

typedef struct class_record {
    verdict *at; /* in the order of the images, and there by score */
    int64_t n, cap;
    int64_t n_truths;
} class_record;

struct bl_map {
    int n_classes;
    class_record *classes;
    int64_t n_images;
};

int bl_map_new(int n_classes, bl_map **out, bl_error *err)
{
    bl_map *map = n_classes > 0 ? bl_calloc(1, sizeof *map) : NULL;
    if (map)
        map->classes = bl_calloc((size_t)n_classes, sizeof *map->classes);
    if (!map || !map->classes) {
        free(map);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to evaluate %d classes", n_classes);
    }
    map->n_classes = n_classes;
    *out = map;
    return BL_OK;
}

void bl_map_free(bl_map *map)
{
    if (!map)
        return;
    for (int k = 0; k < map->n_classes; k++)
        free(map->classes[k].at);
    free(map->classes);
    free(map);
}

/* ---- one image ---- */

static int check(const bl_map *map, const bl_truth *truths, int n_truths, const bl_detection *detections,
                 int n_detections, bl_error *err)
{
    bool ok = true;
    for (int i = 0; ok && i < n_truths; i++)
        ok = truths[i].cls >= 0 && truths[i].cls < map->n_classes && isfinite(truths[i].x1) && isfinite(truths[i].y1) &&
             isfinite(truths[i].x2) && isfinite(truths[i].y2);
    for (int i = 0; ok && i < n_detections; i++)
        ok = detections[i].cls >= 0 && detections[i].cls < map->n_classes && isfinite(detections[i].score) &&
             isfinite(detections[i].x1) && isfinite(detections[i].y1) && isfinite(detections[i].x2) &&
             isfinite(detections[i].y2);
    return ok ? BL_OK : BL_FAIL(err, BL_ERR_INTERNAL, "a box of image %lld is not valid", (long long)map->n_images);
}

/* Sorted copies: by class, then crowds last, and by falling score. */
static int order_truths(const void *a, const void *b, void *data)
{
    const bl_truth *truths = data, *x = &truths[*(const int *)a], *y = &truths[*(const int *)b];
    if (x->cls != y->cls)
        return x->cls < y->cls ? -1 : 1;
    return x->crowd != y->crowd ? x->crowd - y->crowd : *(const int *)a - *(const int *)b;
}

static int order_detections(const void *a, const void *b, void *data)
{
    const bl_detection *all = data, *x = &all[*(const int *)a], *y = &all[*(const int *)b];
    if (x->cls != y->cls)
        return x->cls < y->cls ? -1 : 1;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return *(const int *)a - *(const int *)b;
}

static double overlap(const bl_detection *d, const bl_truth *t)
{
    double w = fmin((double)d->x2, (double)t->x2) - fmax((double)d->x1, (double)t->x1);
    double h = fmin((double)d->y2, (double)t->y2) - fmax((double)d->y1, (double)t->y1);
    double own = ((double)d->x2 - (double)d->x1) * ((double)d->y2 - (double)d->y1);
    double other = ((double)t->x2 - (double)t->x1) * ((double)t->y2 - (double)t->y1);
    if (w <= 0 || h <= 0)
        return 0;
    return w * h / (t->crowd ? own : own + other - w * h);
}

/* One class in one image. */
typedef struct matching {
    const bl_truth *truths;
    const int *truth_order;
    int n_truths;
    uint16_t *taken; /* of each truth in order: the thresholds at which it is */
} matching;

/* The detection's truth at threshold t, or -1: the last of those it overlaps most, a crowd only for want of others. */
static int find_truth(const matching *m, const bl_detection *d, int t)
{
    double best = threshold[t];
    int found = -1;
    for (int g = 0; g < m->n_truths; g++) {
        const bl_truth *truth = &m->truths[m->truth_order[g]];
        if (m->taken[g] & 1 << t && !truth->crowd)
            continue;
        if (found >= 0 && truth->crowd && !m->truths[m->truth_order[found]].crowd)
            break;
        double iou = overlap(d, truth);
        if (iou < best)
            continue;
        best = iou;
        found = g;
    }
    return found;
}

static verdict judge(const matching *m, const bl_detection *d)
{
    verdict v = {.score = d->score};
    for (int t = 0; t < BL_MAP_THRESHOLDS; t++) {
        int found = find_truth(m, d, t);
        if (found < 0)
            continue;
        m->taken[found] = (uint16_t)(m->taken[found] | 1 << t);
        if (m->truths[m->truth_order[found]].crowd)
            v.ignored = (uint16_t)(v.ignored | 1 << t);
        else
            v.right = (uint16_t)(v.right | 1 << t);
    }
    return v;
}

static int reserve(class_record *record, int64_t more, bl_error *err)
{
    if (record->n + more <= record->cap)
        return BL_OK;
    int64_t cap = record->cap * 2 > record->n + more ? record->cap * 2 : record->n + more;
    verdict *at = bl_realloc(record->at, (size_t)cap, sizeof *at);
    if (!at)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to evaluate %lld boxes", (long long)cap);
    record->at = at;
    record->cap = cap;
    return BL_OK;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Every class has room for what comes, so that an image counts whole or not at all. */
static int make_room(bl_map *map, const bl_detection *detections, const int *order, int n, bl_error *err)
{
    int code = BL_OK;
    for (int i = 0, end; code == BL_OK && i < n; i = end) {
        int cls = detections[order[i]].cls;
        for (end = i + 1; end < n && detections[order[end]].cls == cls;)
            end++;
        code = reserve(&map->classes[cls], min_int(end - i, MAX_DETECTIONS), err);
    }
    return code;
}

int bl_map_add(bl_map *map, const bl_truth *truths, int n_truths, const bl_detection *detections, int n_detections,
               bl_error *err)
{
    int code = check(map, truths, n_truths, detections, n_detections, err);
    if (code != BL_OK)
        return code;
    int *order = bl_calloc((size_t)n_truths + 1, sizeof *order);
    int *ranks = bl_calloc((size_t)n_detections + 1, sizeof *ranks);
    uint16_t *taken = bl_calloc((size_t)n_truths + 1, sizeof *taken);
    if (!order || !ranks || !taken)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to evaluate an image");
    for (int i = 0; code == BL_OK && i < n_truths; i++)
        order[i] = i;
    for (int i = 0; code == BL_OK && i < n_detections; i++)
        ranks[i] = i;
    if (code == BL_OK) {
        qsort_r(order, (size_t)n_truths, sizeof *order, order_truths, (void *)truths);
        qsort_r(ranks, (size_t)n_detections, sizeof *ranks, order_detections, (void *)detections);
        code = make_room(map, detections, ranks, n_detections, err);
    }
    int t = 0, d = 0;
    while (code == BL_OK && (t < n_truths || d < n_detections)) {
        int cls = t < n_truths ? truths[order[t]].cls : map->n_classes;
        if (d < n_detections)
            cls = min_int(cls, detections[ranks[d]].cls);
        class_record *record = &map->classes[cls];
        matching m = {.truths = truths, .truth_order = order + t, .taken = taken + t};
        for (; t < n_truths && truths[order[t]].cls == cls; t++, m.n_truths++)
            record->n_truths += !truths[order[t]].crowd;
        for (int rank = 0; d < n_detections && detections[ranks[d]].cls == cls; d++, rank++)
            if (rank < MAX_DETECTIONS)
                record->at[record->n++] = judge(&m, &detections[ranks[d]]);
    }
    map->n_images += code == BL_OK;
    free(order);
    free(ranks);
    free(taken);
    return code;
}

/* ---- the figures ---- */

typedef struct ranked {
    verdict v;
    int64_t place;
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->v.score != y->v.score)
        return x->v.score < y->v.score ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Average precision at one threshold. `precision` and `recall` have room for all detections. */
static double average_precision(const ranked *sorted, int64_t n, int64_t n_truths, int t, double *precision,
                                double *recall)
{
    int64_t right = 0, wrong = 0, k = 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        right += sorted[i].v.right >> t & 1;
        wrong += !((sorted[i].v.right | sorted[i].v.ignored) >> t & 1);
        recall[i] = (double)right / (double)n_truths;
        precision[i] = (double)right / ((double)(right + wrong) + 0x1p-52);
    }
    for (int64_t i = n - 1; i > 0; i--)
        precision[i - 1] = fmax(precision[i - 1], precision[i]);
    for (int r = 0; r < RECALLS; r++) {
        double wanted = r == RECALLS - 1 ? 1 : r * 0.01;
        while (k < n && recall[k] < wanted)
            k++;
        sum += k < n ? precision[k] : 0;
    }
    return sum / RECALLS;
}

static int class_figures(const class_record *record, double *ap, bl_error *err)
{
    size_t n = (size_t)record->n;
    ranked *sorted = bl_calloc(n + 1, sizeof *sorted);
    double *work = bl_calloc(2 * n + 1, sizeof *work);
    int code = sorted && work ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory to evaluate %zu boxes", n);
    if (code == BL_OK) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = (ranked){record->at[i], (int64_t)i};
        qsort(sorted, n, sizeof *sorted, by_score);
        for (int t = 0; t < BL_MAP_THRESHOLDS; t++)
            ap[t] = average_precision(sorted, record->n, record->n_truths, t, work, work + n);
    }
    free(sorted);
    free(work);
    return code;
}

int bl_map_compute(const bl_map *map, bl_map_result *out, bl_map_class *classes, bl_error *err)
{
    int n_counted = 0;
    *out = (bl_map_result){.n_images = map->n_images};
    for (int k = 0; k < map->n_classes; k++) {
        const class_record *record = &map->classes[k];
        bl_map_class figures = {.n_truths = record->n_truths, .ap50 = NAN, .ap = NAN};
        if (record->n_truths > 0) {
            double ap[BL_MAP_THRESHOLDS];
            int code = class_figures(record, ap, err);
            if (code != BL_OK)
                return code;
            figures.ap50 = ap[0];
            figures.ap = 0;
            for (int t = 0; t < BL_MAP_THRESHOLDS; t++) {
                figures.ap += ap[t] / BL_MAP_THRESHOLDS;
                out->at[t] += ap[t];
            }
            out->n_truths += record->n_truths;
            n_counted++;
        }
        if (classes)
            classes[k] = figures;
    }
    for (int t = 0; t < BL_MAP_THRESHOLDS; t++) {
        out->at[t] = n_counted > 0 ? out->at[t] / n_counted : NAN;
        out->map += out->at[t] / BL_MAP_THRESHOLDS;
    }
    out->map50 = out->at[0];
    return BL_OK;
}
