/* The loss and its gradient against PyTorch's (tools/reference_yolo_loss.py) and central differences; odd input. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/assign.h"
#include "formula.h"

#define NUMBERS 5

static bl_detect_losses run(const formula_case *c)
{
    bl_error err = {0};
    bl_detect_losses out;
    if (bl_detect_loss(&c->setup, &c->batch, c->scratch, &out, &err) != BL_OK)
        fail_msg("%s", err.message);
    return out;
}

/* The numbers of a line that begins with `key`. */
static void read_line(FILE *file, const char *key, double *out, int n)
{
    char line[1024];
    assert_non_null(fgets(line, sizeof line, file));
    if (strncmp(line, key, strlen(key)) != 0)
        fail_msg("a line of '%s' was expected, not '%s'", key, line);
    char *at = line + strlen(key);
    for (int i = 0; i < n; i++)
        out[i] = strtod(at, &at);
}

/* The largest error against the golden file's lines for this case, relative to the loss or the gradient's norm. */
static double golden_error(FILE *file, const formula_case *c, const bl_detect_losses *got)
{
    double wanted[NUMBERS], worst;
    read_line(file, "loss ", wanted, 5);
    worst = fabs(got->loss - wanted[0]) / wanted[0];
    for (int k = 0; k < 3; k++)
        worst = fmax(worst, fabs(got->parts[k] - wanted[1 + k]) / wanted[0]);
    assert_int_equal(got->n_matches, wanted[4]);
    for (int k = 0; k < c->batch.n_heads; k++) {
        double squares = 0, projection = 0, largest = 0;
        read_line(file, "grad ", wanted, 4);
        assert_int_equal(wanted[0], k);
        for (int64_t i = 0; i < c->count[k]; i++) {
            double g = bl_detect_read(&c->batch, c->batch.grad[k], i);
            squares += g * g;
            projection += g * formula_uniform((uint64_t)(10000 + k), (uint64_t)i);
            largest = fmax(largest, fabs(g));
        }
        worst = fmax(worst, fabs(sqrt(squares) - wanted[1]) / wanted[1]);
        worst = fmax(worst, fabs(projection - wanted[2]) / wanted[1]);
        worst = fmax(worst, fabs(largest - wanted[3]) / wanted[1]);
    }
    return worst;
}

static void narrow(int64_t n, const double *from, void *into)
{
    for (int64_t i = 0; i < n; i++)
        ((float *)into)[i] = (float)from[i];
}

/* The same case on floats. */
static void make_narrow(formula_case *c)
{
    for (int k = 0; k < c->batch.n_heads; k++)
        narrow(c->count[k], c->head[k], c->head[k]);
    narrow(c->batch.n_targets * BL_DETECT_TARGET_COLS, c->targets, c->targets);
    c->batch.wide = false;
}

static FILE *open_golden(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/yolo_loss.txt", getenv("BATCHLAB_SOURCE_ROOT"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

static bool next_case(FILE *file, formula_case *c)
{
    char line[1024];
    do
        if (!fgets(line, sizeof line, file))
            return false;
    while (line[0] == '#');
    formula_sizes sizes;
    assert_int_equal(sscanf(line, "case %d %d %d %d %d %lf %d", &sizes.number, &sizes.n_images, &sizes.n_classes,
                            &sizes.auxiliary, &sizes.size, &sizes.smoothing, &sizes.n_rows),
                     7);
    formula_case_init(c, &sizes);
    return true;
}

static void agrees_with_pytorch(void **state)
{
    FILE *file = open_golden();
    formula_case c;
    int n = 0;
    for (; next_case(file, &c); n++) {
        long at = ftell(file);
        bl_detect_losses got = run(&c);
        double wide = golden_error(file, &c, &got);
        /* The check itself: one head's gradient too long by a thousandth. */
        for (int64_t i = 0; i < c.count[1]; i++)
            c.grad[1][i] *= 1.001;
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_true(golden_error(file, &c, &got) > 9e-4);
        make_narrow(&c);
        got = run(&c);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        double narrow_error = golden_error(file, &c, &got);
        print_message("  case %d: doubles %.2g, floats %.2g\n", n, wide, narrow_error);
        assert_true(wide < 1e-11);
        assert_true(narrow_error < 1e-6);
        formula_case_clear(&c);
    }
    assert_int_equal(n, 6);
    fclose(file);
}

/* ---- central differences ---- */

/* The loss of one set of heads, from its definition: the matches, the targets of objectness and each alpha are held. */
typedef struct held {
    const bl_detect_match *matches;
    int n_matches;
    double *alpha;                       /* of each match */
    double *wanted[BL_DETECT_MAX_HEADS]; /* of each cell */
} held;

static double entropy(double x, double target)
{
    return -target * log(1 / (1 + exp(-x))) - (1 - target) * log(1 / (1 + exp(x)));
}

static double match_ciou(const formula_case *c, int head, const bl_detect_truth *truths, const bl_detect_match *m,
                         double alpha)
{
    double raw[4], h = c->batch.h[m->level], w = c->batch.w[m->level], stride = c->setup.spec.stride[m->level];
    for (int k = 0; k < 4; k++)
        raw[k] = c->head[head][bl_detect_index(&c->setup.spec, &c->batch, m->level, m->image, m->anchor, k, m->row,
                                               m->column)];
    for (int k = 0; k < 4; k++)
        raw[k] = 2 / (1 + exp(-raw[k]));
    const float *anchor = c->setup.spec.anchor[m->level][m->anchor];
    const bl_box *t = &truths[m->truth].box;
    bl_box box = {raw[0] - 0.5 + m->column, raw[1] - 0.5 + m->row, raw[2] * raw[2] * (double)anchor[0] / stride,
                  raw[3] * raw[3] * (double)anchor[1] / stride};
    return formula_ciou(&box, &(bl_box){t->x * w, t->y * h, t->w * w, t->h * h}, alpha);
}

static double held_loss(const formula_case *c, int first, const bl_detect_truth *truths, const held *h)
{
    static const double balance[2][4] = {{4, 1, 0.4, 0}, {4, 1, 0.25, 0.06}};
    const bl_detect_spec *spec = &c->setup.spec;
    double box = 0, objectness = 0, classes = 0, smooth = c->setup.label_smoothing / 2;
    int n[BL_DETECT_MAX_LEVELS] = {0}, per = 5 + spec->n_classes;
    for (int i = 0; i < h->n_matches; i++)
        n[h->matches[i].level]++;
    for (int i = 0; i < h->n_matches; i++) {
        const bl_detect_match *m = &h->matches[i];
        box += (1 - match_ciou(c, first + m->level, truths, m, h->alpha[i])) / n[m->level];
        for (int k = 0; k < spec->n_classes; k++)
            classes += entropy(c->head[first + m->level][bl_detect_index(spec, &c->batch, m->level, m->image, m->anchor,
                                                                         5 + k, m->row, m->column)],
                               k == truths[m->truth].cls ? 1 - smooth : smooth) /
                       n[m->level] / spec->n_classes;
    }
    for (int level = 0; level < spec->n_levels; level++) {
        int64_t pixels = (int64_t)c->batch.h[level] * c->batch.w[level], cells = c->count[first + level] / per;
        for (int64_t i = 0; i < cells; i++)
            objectness +=
                entropy(c->head[first + level][(i / pixels * per + 4) * pixels + i % pixels], h->wanted[level][i]) *
                balance[spec->n_levels == 4][level] / (double)cells;
    }
    const bl_detect_gains *g = &c->setup.gains;
    return (box * g->box + objectness * g->objectness + classes * g->classes) * c->batch.n;
}

/* What the loss holds constant, as it is now. */
static void hold(const formula_case *c, int first, const bl_detect_assign *assign, held *h)
{
    *h = (held){.matches = assign->matches, .n_matches = assign->n_matches};
    h->alpha = calloc((size_t)h->n_matches, sizeof *h->alpha);
    for (int level = 0; level < c->setup.spec.n_levels; level++)
        h->wanted[level] = calloc((size_t)c->count[first + level], sizeof(double));
    for (int i = 0; i < h->n_matches; i++) {
        const bl_detect_match *m = &h->matches[i];
        double own = match_ciou(c, first + m->level, assign->truths, m, NAN);
        /* CIoU falls linearly with alpha */
        double at0 = match_ciou(c, first + m->level, assign->truths, m, 0);
        double at1 = match_ciou(c, first + m->level, assign->truths, m, 1);
        h->alpha[i] = at0 == at1 ? 0 : (at0 - own) / (at0 - at1);
        int64_t cell = (((int64_t)m->image * BL_DETECT_ANCHORS + m->anchor) * c->batch.h[m->level] + m->row) *
                           c->batch.w[m->level] +
                       m->column;
        h->wanted[m->level][cell] = fmax(own, 0);
    }
}

static void check_differences(formula_case *c, int first, const bl_detect_assign *assign, double weight)
{
    const double step = 1e-5;
    held h;
    hold(c, first, assign, &h);
    for (int level = 0; level < c->setup.spec.n_levels; level++) {
        int head = first + level, seen = 0;
        double largest = 0;
        for (int64_t i = 0; i < c->count[head]; i++)
            largest = fmax(largest, fabs(c->grad[head][i]));
        for (int64_t i = 0; i < c->count[head]; i++) {
            /* Every element that a match moves, and some of the others. */
            if (fabs(c->grad[head][i]) < largest / 50 && i % 997 != 0)
                continue;
            double kept = c->head[head][i];
            c->head[head][i] = kept + step;
            double above = held_loss(c, first, assign->truths, &h);
            c->head[head][i] = kept - step;
            double slope = (above - held_loss(c, first, assign->truths, &h)) / (2 * step) * weight;
            c->head[head][i] = kept;
            if (fabs(slope - c->grad[head][i]) > 1e-6 * largest + 1e-10)
                fail_msg("head %d, element %lld: the derivative is %.9g, not %.9g", head, (long long)i,
                         c->grad[head][i], slope);
            seen++;
        }
        assert_true(seen > 0);
    }
    for (int level = 0; level < c->setup.spec.n_levels; level++)
        free(h.wanted[level]);
    free(h.alpha);
}

static void gradient_is_the_slope(void **state)
{
    for (int auxiliary = 0; auxiliary < 2; auxiliary++) {
        formula_case c;
        bl_detect_assign assign;
        size_t bytes;
        formula_case_init(&c, &(formula_sizes){.number = 20 + auxiliary,
                                               .n_images = 2,
                                               .n_classes = 3,
                                               .auxiliary = auxiliary,
                                               .size = auxiliary ? 128 : 64,
                                               .smoothing = 0.1,
                                               .n_rows = 5});
        run(&c);
        assert_true(bl_detect_assign_carve(&c.setup.spec, 5, &assign, c.scratch, &bytes));
        bl_detect_read_targets(&c.setup.spec, &c.batch, &assign);
        bl_detect_assign_run(&c.setup.spec, &c.batch, false, &assign);
        assert_true(assign.n_matches > 2);
        check_differences(&c, 0, &assign, 1);
        if (auxiliary) {
            bl_detect_assign_run(&c.setup.spec, &c.batch, true, &assign);
            check_differences(&c, 4, &assign, 0.25);
        }
        formula_case_clear(&c);
    }
}

/* ---- odd input ---- */

static void rows_that_are_no_boxes_do_not_count(void **state)
{
    const formula_sizes sizes = {.number = 0, .n_images = 3, .n_classes = 5, .size = 96, .n_rows = 17};
    formula_case plain, odd;
    formula_case_init(&plain, &sizes);
    formula_case_init(&odd, &sizes);
    static const double bad[][BL_DETECT_TARGET_COLS] = {
        {NAN, 0, 0.5, 0.5, 0.2, 0.2}, {0, NAN, 0.5, 0.5, 0.2, 0.2},  {0, 0, NAN, 0.5, 0.2, 0.2},
        {0, 0, 0.5, NAN, 0.2, 0.2},   {0, 0, 0.5, 0.5, NAN, 0.2},    {0, 0, 0.5, 0.5, 0.2, NAN},
        {3, 0, 0.5, 0.5, 0.2, 0.2},   {-1, 0, 0.5, 0.5, 0.2, 0.2},   {1e30, 0, 0.5, 0.5, 0.2, 0.2},
        {0, 5, 0.5, 0.5, 0.2, 0.2},   {0, -1, 0.5, 0.5, 0.2, 0.2},   {0, INFINITY, 0.5, 0.5, 0.2, 0.2},
        {0, 0, 1.01, 0.5, 0.2, 0.2},  {0, 0, 0.5, -0.01, 0.2, 0.2},  {0, 0, INFINITY, 0.5, 0.2, 0.2},
        {0, 0, 0.5, 0.5, 0, 0.2},     {0, 0, 0.5, 0.5, 0.2, -0.2},   {0, 0, 0.5, 0.5, INFINITY, 0.2},
        {0, 0, 0.5, 0.5, 0, 0},       {1, 2, -1e300, 0.5, 0.2, 0.2},
    };
    enum { ROW_B = sizeof bad[0], N_BAD = sizeof bad / ROW_B };
    char *rows = malloc((size_t)(sizes.n_rows + N_BAD) * ROW_B);
    assert_non_null(rows);
    memcpy(rows, bad, ROW_B * 9);
    memcpy(rows + ROW_B * 9, odd.targets, ROW_B * (size_t)sizes.n_rows);
    memcpy(rows + ROW_B * (size_t)(9 + sizes.n_rows), bad[9], ROW_B * (N_BAD - 9));
    free(odd.targets);
    odd.targets = (double *)(void *)rows;
    odd.batch.targets = rows;
    odd.batch.n_targets = sizes.n_rows + N_BAD;
    size_t bytes;
    assert_int_equal(bl_detect_loss_scratch_b(&odd.setup, &odd.batch, &bytes, NULL), BL_OK);
    free(odd.scratch);
    odd.scratch = malloc(bytes);
    bl_detect_losses a = run(&plain), b = run(&odd);
    assert_true(a.n_matches > 5 && a.n_matches == b.n_matches && a.loss == b.loss);
    for (int k = 0; k < plain.batch.n_heads; k++)
        assert_memory_equal(plain.grad[k], odd.grad[k], (size_t)plain.count[k] * sizeof(double));
    formula_case_clear(&plain);
    formula_case_clear(&odd);
}

/* Boxes on the borders, giant and tiny ones, and predictions that overflow everything but memory. */
static void extremes_stay_in_bounds(void **state)
{
    static const double rows[][BL_DETECT_TARGET_COLS] = {{0, 0, 0, 0, 0.3, 0.3},       {0, 1, 1, 1, 0.3, 0.3},
                                                         {1, 0, 1, 0, 1e-300, 1e-300}, {1, 1, 0.5, 0.5, 1e300, 0.5},
                                                         {1, 0, 0, 1, 0.5, 0.5},       {0, 2, 1, 1, 0.3, 0.3}};
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 800, -800};
    for (size_t v = 0; v <= sizeof values / sizeof *values; v++) {
        formula_case c;
        formula_case_init(&c, &(formula_sizes){.number = 5,
                                               .n_images = 2,
                                               .n_classes = 3,
                                               .auxiliary = 1,
                                               .size = 128,
                                               .n_rows = sizeof rows / sizeof rows[0]});
        memcpy(c.targets, rows, sizeof rows);
        for (int64_t i = 0; v > 0 && i < c.count[1]; i++)
            c.head[1][i] = values[v - 1];
        bl_detect_losses got = run(&c);
        assert_true(got.n_matches > 0);
        assert_int_equal(isnan(got.loss) != 0, v > 0 && !isfinite(values[v - 1]));
        formula_case_clear(&c);
    }
}

static void sizes_are_checked(void **state)
{
    formula_case c;
    bl_detect_losses out;
    size_t bytes;
    formula_case_init(&c, &(formula_sizes){.number = 0, .n_images = 1, .n_classes = 2, .size = 64, .n_rows = 2});
    assert_int_equal(bl_detect_loss(&c.setup, &c.batch, c.scratch, &out, NULL), BL_OK);
#define REFUSED(change)                                                                                                \
    do {                                                                                                               \
        formula_case bad = c;                                                                                          \
        change;                                                                                                        \
        assert_int_equal(bl_detect_loss(&bad.setup, &bad.batch, bad.scratch, &out, NULL), BL_ERR_INTERNAL);            \
    } while (0)
    REFUSED(bad.batch.n = 0);
    REFUSED(bad.batch.n_heads = 2);
    REFUSED(bad.batch.n_heads = 6);
    REFUSED(bad.batch.h[1] = 5);
    REFUSED(bad.batch.w[2] = 0);
    REFUSED(bad.batch.n_targets = -1);
    REFUSED(bad.setup.spec.n_levels = 5);
    REFUSED(bad.setup.spec.n_classes = 0);
    REFUSED(bad.setup.spec.stride[0] = 0);
    REFUSED(bad.setup.spec.anchor[2][1][0] = -1);
    REFUSED(bad.setup.spec.anchor[2][1][0] = NAN);
    c.batch.n_targets = INT64_MAX;
    assert_int_equal(bl_detect_loss_scratch_b(&c.setup, &c.batch, &bytes, NULL), BL_ERR_NOMEM);
    formula_case_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_pytorch),
        cmocka_unit_test(gradient_is_the_slope),
        cmocka_unit_test(rows_that_are_no_boxes_do_not_count),
        cmocka_unit_test(extremes_stay_in_bounds),
        cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
