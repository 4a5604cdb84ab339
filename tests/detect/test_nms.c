/* Decoding against the formula, suppression against brute force. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/nms.h"
#include "formula.h"

#define LOW (-20.0f)

static const bl_detect_spec spec = {.n_classes = 3,
                                    .n_levels = 2,
                                    .stride = {8, 16},
                                    .anchor = {{{10, 13}, {16, 30}, {33, 23}}, {{30, 61}, {62, 45}, {59, 119}}}};
enum { H0 = 4, W0 = 6, CHANNELS = 24 };

typedef struct maps {
    float level0[CHANNELS * H0 * W0], level1[CHANNELS * H0 * W0 / 4];
} maps;

static void fill_low(maps *m)
{
    for (int i = 0; i < CHANNELS * H0 * W0; i++)
        m->level0[i] = LOW;
    for (int i = 0; i < CHANNELS * H0 * W0 / 4; i++)
        m->level1[i] = LOW;
}

static void decode(const bl_detect_spec *s, const maps *m, const bl_nms_options *options, bl_detections *out)
{
    bl_error err = {0};
    const float *head[] = {m->level0, m->level1};
    if (bl_detect_decode(s, head, (int[]){H0, H0 / 2}, (int[]){W0, W0 / 2}, options, out, &err) != BL_OK)
        fail_msg("%s", err.message);
}

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) < 1e-4))
        fail_msg("%g is not %g", got, wanted);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void decoding_follows_the_formula(void **state)
{
    maps m;
    bl_detections found = {0};
    fill_low(&m);
    decode(&spec, &m, &bl_nms_evaluation, &found);
    assert_int_equal(found.n, 0);
    /* Level 1, anchor 2, row 1, column 2: two classes above the threshold. */
    const float raw[8] = {0.5f, -0.25f, 0.75f, -1, 1.5f, 2, LOW, -3};
    for (int k = 0; k < 8; k++)
        m.level1[((2 * 8 + k) * 2 + 1) * 3 + 2] = raw[k];
    decode(&spec, &m, &bl_nms_evaluation, &found);
    assert_int_equal(found.n, 2);
    double x = (2 * sigmoid(0.5) - 0.5 + 2) * 16, y = (2 * sigmoid(-0.25) - 0.5 + 1) * 16;
    double w = pow(2 * sigmoid(0.75), 2) * 59, h = pow(2 * sigmoid(-1), 2) * 119;
    for (int i = 0; i < 2; i++) {
        near((double)found.at[i].x1, x - w / 2);
        near((double)found.at[i].y1, y - h / 2);
        near((double)found.at[i].x2, x + w / 2);
        near((double)found.at[i].y2, y + h / 2);
        near((double)found.at[i].score, sigmoid(1.5) * sigmoid(i == 0 ? 2 : -3));
        assert_int_equal(found.at[i].cls, i == 0 ? 0 : 2);
    }
    /* What is not finite is no box, and a class of it is none either. */
    m.level1[((2 * 8 + 5) * 2 + 1) * 3 + 2] = NAN;
    decode(&spec, &m, &bl_nms_evaluation, &found);
    assert_int_equal(found.n, 1);
    m.level1[((2 * 8 + 0) * 2 + 1) * 3 + 2] = NAN;
    decode(&spec, &m, &bl_nms_evaluation, &found);
    assert_int_equal(found.n, 0);
    bl_detections_clear(&found);
}

static void one_class_goes_by_objectness(void **state)
{
    maps m;
    bl_detect_spec one = spec;
    bl_detections found = {0};
    one.n_classes = 1;
    fill_low(&m);
    m.level0[(1 * 6 + 4) * H0 * W0 + 7] = 0.5f;
    decode(&one, &m, &bl_nms_evaluation, &found);
    assert_int_equal(found.n, 1);
    near((double)found.at[0].score, sigmoid(0.5));
    bl_detections_clear(&found);
}

static int rank(const void *a, const void *b)
{
    float x = ((const bl_detection *)a)->score, y = ((const bl_detection *)b)->score;
    return (x < y) - (x > y);
}

/* However many pass the threshold, the best are kept, also where the list is cut on the way. */
static void the_best_candidates_stay(void **state)
{
    maps m;
    bl_detections all = {0}, best = {0};
    for (int i = 0; i < CHANNELS * H0 * W0; i++)
        m.level0[i] = (float)formula_uniform(1, (uint64_t)i);
    for (int i = 0; i < CHANNELS * H0 * W0 / 4; i++)
        m.level1[i] = (float)formula_uniform(2, (uint64_t)i);
    bl_nms_options options = bl_nms_evaluation;
    decode(&spec, &m, &options, &all);
    assert_int_equal(all.n, 3 * 3 * (H0 * W0 + H0 * W0 / 4));
    options.max_candidates = 25;
    decode(&spec, &m, &options, &best);
    assert_int_equal(best.n, 25);
    qsort(all.at, (size_t)all.n, sizeof *all.at, rank);
    qsort(best.at, (size_t)best.n, sizeof *best.at, rank);
    for (int i = 0; i < 25; i++)
        assert_true(all.at[i].score == best.at[i].score);
    bl_detections_clear(&all);
    bl_detections_clear(&best);
}

static double iou(const bl_detection *a, const bl_detection *b)
{
    bl_box x = {((double)a->x1 + (double)a->x2) / 2, ((double)a->y1 + (double)a->y2) / 2, (double)a->x2 - (double)a->x1,
                (double)a->y2 - (double)a->y1};
    bl_box y = {((double)b->x1 + (double)b->x2) / 2, ((double)b->y1 + (double)b->y2) / 2, (double)b->x2 - (double)b->x1,
                (double)b->y2 - (double)b->y1};
    return bl_box_iou(&x, &y);
}

/* Takes the best box that is left and strikes out what it overlaps, until nothing is left. */
static int brute_force(bl_detection *boxes, int n, const bl_nms_options *options, bl_detection *out)
{
    bool *gone = calloc((size_t)n, sizeof *gone);
    int kept = 0;
    assert_non_null(gone);
    for (; kept < options->max_detections; kept++) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!gone[i] && (best < 0 || boxes[i].score > boxes[best].score))
                best = i;
        if (best < 0)
            break;
        out[kept] = boxes[best];
        for (int i = 0; i < n; i++)
            gone[i] = gone[i] || i == best ||
                      (boxes[i].cls == boxes[best].cls && iou(&boxes[i], &boxes[best]) > options->iou);
    }
    free(gone);
    return kept;
}

static void suppression_is_brute_force(void **state)
{
    enum { N = 400 };
    for (uint64_t round = 0; round < 12; round++) {
        bl_detections list = {.at = calloc(N, sizeof(bl_detection)), .n = N, .cap = N};
        bl_detection wanted[N];
        assert_non_null(list.at);
        for (uint64_t i = 0; i < N; i++) {
            bl_detection *d = &list.at[i];
            d->x1 = (float)(formula_bits(round, 6 * i) % 40);
            d->y1 = (float)(formula_bits(round, 6 * i + 1) % 40);
            d->x2 = d->x1 + 1 + (float)(formula_bits(round, 6 * i + 2) % 30);
            d->y2 = d->y1 + 1 + (float)(formula_bits(round, 6 * i + 3) % 30);
            d->score = (float)(formula_bits(round, 6 * i + 4) % 50) / 50; /* with ties */
            d->cls = (int)(formula_bits(round, 6 * i + 5) % 3);
        }
        bl_nms_options options = {
            .iou = 0.3 + 0.05 * (double)(round % 8), .max_detections = round % 3 == 0 ? 20 : N, .max_candidates = N};
        int n = brute_force(list.at, N, &options, wanted);
        assert_int_equal(bl_nms(&list, &options, NULL), BL_OK);
        assert_int_equal(list.n, n);
        assert_in_range(n, 15, N - 20);
        assert_memory_equal(list.at, wanted, (size_t)n * sizeof *wanted);
        bl_detections_clear(&list);
    }
}

static void nothing_in_nothing_out(void **state)
{
    bl_detections list = {0};
    assert_int_equal(bl_nms(&list, &bl_nms_evaluation, NULL), BL_OK);
    assert_int_equal(list.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_follows_the_formula), cmocka_unit_test(one_class_goes_by_objectness),
        cmocka_unit_test(the_best_candidates_stay),     cmocka_unit_test(suppression_is_brute_force),
        cmocka_unit_test(nothing_in_nothing_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
