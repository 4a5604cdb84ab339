/* Comparing doubles in tests. */
#ifndef BL_TESTS_STATS_NEAR_H
#define BL_TESTS_STATS_NEAR_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fails unless |got - want| <= tolerance * max(1, |want|); NaN equals NaN only. */
#define assert_near(got, want, tolerance)                                                                              \
    do {                                                                                                               \
        double near_got = (got);                                                                                       \
        double near_want = (want);                                                                                     \
        double near_scale = fabs(near_want) > 1 ? fabs(near_want) : 1;                                                 \
        if (isnan(near_want) ? !isnan(near_got) : !(fabs(near_got - near_want) <= (tolerance)*near_scale))             \
            fail_msg("%s is %.17g, not %.17g", #got, near_got, near_want);                                             \
    } while (0)

/* The same relative to |want|, for tiny probabilities. */
#define assert_near_relative(got, want, tolerance)                                                                     \
    do {                                                                                                               \
        double near_got = (got);                                                                                       \
        double near_want = (want);                                                                                     \
        if (!(fabs(near_got - near_want) <= (tolerance)*fabs(near_want)))                                              \
            fail_msg("%s is %.17g, not %.17g", #got, near_got, near_want);                                             \
    } while (0)

#endif
