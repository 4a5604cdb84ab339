#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "data/mix.h"

enum { DRAWS = 20000 };

/* Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)). */
static void shares_have_their_distribution(void **unused)
{
    static const double alphas[] = {0.02, 0.2, 0.8, 1, 2.5, 40};
    for (size_t a = 0; a < BL_ARRAY_LEN(alphas); a++) {
        bl_mix_options options = {.mixup = alphas[a], .seed = 5};
        double sum = 0, squares = 0, variance = 1 / (4 * (2 * alphas[a] + 1));
        for (int i = 0; i < DRAWS; i++) {
            bl_mix mix = bl_mix_draw(&options, 32, i / 100, i % 100);
            assert_true(!mix.cut && mix.share >= 0 && mix.share <= 1);
            sum += (double)mix.share - 0.5;
            squares += ((double)mix.share - 0.5) * ((double)mix.share - 0.5);
        }
        assert_true(fabs(sum / DRAWS) < 5 * sqrt(variance / DRAWS));
        assert_true(fabs(squares / DRAWS / variance - 1) < 0.05);
    }
}

static void rectangles_have_the_area_that_the_share_tells(void **unused)
{
    bl_mix_options options = {.cutmix = 1, .seed = 5};
    int whole = 0;
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        bl_mix mix = bl_mix_draw(&options, 33, 0, i);
        assert_true(mix.cut && mix.left >= 0 && mix.top >= 0 && mix.width >= 0 && mix.height >= 0);
        assert_true(mix.left + mix.width <= 33 && mix.top + mix.height <= 33);
        assert_true(fabs((double)mix.share - (1 - mix.width * mix.height / (33.0 * 33))) < 1e-6);
        whole += mix.width == mix.height;
        sum += (double)mix.share;
    }
    assert_true(whole > 0.1 * DRAWS && whole < 0.8 * DRAWS); /* the others are cut off by the border */
    assert_true(sum / DRAWS > 0.55 && sum / DRAWS < 0.75);   /* which leaves more than half */
}

static void both_take_turns(void **unused)
{
    bl_mix_options options = {.mixup = 0.2, .cutmix = 1, .seed = 1};
    int cut = 0;
    for (int i = 0; i < DRAWS; i++)
        cut += bl_mix_draw(&options, 32, 3, i).cut;
    assert_true(fabs(cut / (double)DRAWS - 0.5) < 0.02);
}

static void each_draw_depends_on_seed_epoch_and_number(void **unused)
{
    bl_mix_options options = {.mixup = 0.2, .cutmix = 1, .seed = 1}, other = options;
    other.seed = 2;
    bl_mix mix = bl_mix_draw(&options, 32, 4, 7), same = bl_mix_draw(&options, 32, 4, 7);
    assert_true(mix.cut == same.cut && mix.share == same.share && mix.left == same.left && mix.top == same.top &&
                mix.width == same.width && mix.height == same.height);
    assert_true(bl_mix_draw(&options, 32, 4, 8).share != mix.share);
    assert_true(bl_mix_draw(&options, 32, 7, 4).share != mix.share);
    assert_true(bl_mix_draw(&other, 32, 4, 7).share != mix.share);
    bl_mix none = bl_mix_draw(&(bl_mix_options){.seed = 1}, 32, 4, 7);
    assert_true(!none.cut && none.share == 1);
}

/* Against the definition, on a copy. */
static void check_apply(const bl_mix *mix, int n, int size)
{
    size_t plane = (size_t)size * (size_t)size, stride = 3 * plane, count = (size_t)n * stride;
    float *images = malloc(count * sizeof *images), *before = malloc(count * sizeof *before);
    int32_t labels[8], others[8];
    assert_true(images && before);
    for (size_t i = 0; i < count; i++)
        images[i] = before[i] = (float)sin((double)i);
    for (int i = 0; i < n; i++)
        labels[i] = 10 + i;
    bl_mix_apply(mix, n, size, images, labels, others);
    for (int i = 0; i < n; i++) {
        int from = i > 0 ? i - 1 : n - 1;
        assert_int_equal(others[i], labels[from]);
        for (size_t k = 0; k < stride; k++) {
            int x = (int)(k % (size_t)size), y = (int)(k % plane / (size_t)size);
            bool inside = x >= mix->left && x < mix->left + mix->width && y >= mix->top && y < mix->top + mix->height;
            float own = before[(size_t)i * stride + k], other = before[(size_t)from * stride + k];
            float want = mix->cut ? (inside ? other : own) : mix->share * own + (1 - mix->share) * other;
            assert_true(fabsf(images[(size_t)i * stride + k] - want) < 1e-6f);
        }
    }
    free(images);
    free(before);
}

static void mixing_follows_its_definition(void **unused)
{
    for (int n = 1; n <= 5; n += 2) {
        check_apply(&(bl_mix){.share = 0.3f}, n, 9);
        check_apply(&(bl_mix){.share = 0.8f}, n, 40); /* more than one piece */
        check_apply(&(bl_mix){.cut = true, .share = 0.5f, .left = 2, .top = 1, .width = 5, .height = 3}, n, 9);
        check_apply(&(bl_mix){.cut = true, .share = 0, .width = 9, .height = 9}, n, 9);
        check_apply(&(bl_mix){.cut = true, .share = 1, .left = 4, .top = 4}, n, 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_have_their_distribution),
        cmocka_unit_test(rectangles_have_the_area_that_the_share_tells),
        cmocka_unit_test(both_take_turns),
        cmocka_unit_test(each_draw_depends_on_seed_epoch_and_number),
        cmocka_unit_test(mixing_follows_its_definition),
    };
    return cmocka_run_group_tests_name("data/mix", tests, NULL, NULL);
}
