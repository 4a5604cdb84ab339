/* Random numbers: reference values, no bias, streams apart. */
#include "near.h"

#include <string.h>

#include "base/attributes.h"
#include "stats/rng.h"

/* splitmix64 from seed 1234567 and xoshiro256** from state {1, 2, 3, 4}: the values of the authors' own C files. */
static void reference_values(void **state)
{
    (void)state;
    uint64_t s = 1234567;
    const uint64_t split[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                              UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
    for (size_t i = 0; i < BL_ARRAY_LEN(split); i++)
        assert_true(bl_rng_splitmix(&s) == split[i]);
    bl_rng rng = {{1, 2, 3, 4}};
    const uint64_t xoshiro[] = {11520, 0, 1509978240, UINT64_C(1215971899390074240)};
    for (size_t i = 0; i < BL_ARRAY_LEN(xoshiro); i++)
        assert_true(bl_rng_next(&rng) == xoshiro[i]);
}

static void bounded_draws_are_even(void **state)
{
    (void)state;
    bl_rng rng;
    bl_rng_init(&rng, 7, 0);
    const uint64_t bounds[] = {2, 3, 7, 10};
    for (size_t k = 0; k < BL_ARRAY_LEN(bounds); k++) {
        double count[10] = {0};
        for (int i = 0; i < 100000; i++) {
            uint64_t v = bl_rng_below(&rng, bounds[k]);
            assert_true(v < bounds[k]);
            count[v]++;
        }
        double expected = 100000.0 / (double)bounds[k];
        double chi2 = 0;
        for (uint64_t v = 0; v < bounds[k]; v++)
            chi2 += (count[v] - expected) * (count[v] - expected) / expected;
        assert_true(chi2 < 28); /* chance below 0.001 with 9 degrees of freedom */
    }
    assert_true(bl_rng_below(&rng, 0) == 0);
    assert_true(bl_rng_below(&rng, 1) == 0);
    /* A bound just above half of 2^64: about half of the draws are drawn again, and none may be out of range. */
    uint64_t big = (UINT64_C(1) << 63) + 1;
    double mean = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t v = bl_rng_below(&rng, big);
        assert_true(v < big);
        mean += (double)v / (double)big / 10000;
    }
    assert_near(mean, 0.5, 0.02);
}

/* All six orders of three things come equally often. */
static void shuffles_are_even(void **state)
{
    (void)state;
    bl_rng rng;
    bl_rng_init(&rng, 8, 0);
    double count[27] = {0};
    for (int i = 0; i < 60000; i++) {
        size_t v[] = {0, 1, 2};
        bl_rng_shuffle_sizes(&rng, v, 3);
        count[v[0] * 9 + v[1] * 3 + v[2]]++;
    }
    int orders = 0;
    for (int i = 0; i < 27; i++) {
        if (count[i] == 0)
            continue;
        orders++;
        assert_near(count[i] / 10000, 1, 0.05);
    }
    assert_int_equal(orders, 6);
}

static void normal_moments(void **state)
{
    (void)state;
    bl_rng rng;
    bl_rng_init(&rng, 9, 0);
    double sum[5] = {0};
    for (int i = 0; i < 200000; i++) {
        double x = bl_rng_normal(&rng);
        double power = 1;
        for (int k = 0; k < 5; k++, power *= x)
            sum[k] += power;
    }
    assert_near(sum[1] / sum[0], 0, 0.01);
    assert_near(sum[2] / sum[0], 1, 0.015);
    assert_near(sum[3] / sum[0], 0, 0.03);
    assert_near(sum[4] / sum[0], 3, 0.03);
}

static void streams_and_seeds_differ(void **state)
{
    (void)state;
    uint64_t seen[64];
    size_t n = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        for (uint64_t stream = 0; stream < 8; stream++) {
            bl_rng rng, again;
            bl_rng_init(&rng, seed, stream);
            bl_rng_init(&again, seed, stream);
            uint64_t v = bl_rng_next(&rng);
            assert_true(v == bl_rng_next(&again));
            for (size_t i = 0; i < n; i++)
                assert_true(seen[i] != v);
            seen[n++] = v;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_values),         cmocka_unit_test(bounded_draws_are_even),
        cmocka_unit_test(shuffles_are_even),        cmocka_unit_test(normal_moments),
        cmocka_unit_test(streams_and_seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
