/* The search for the largest batch on simulated programs, beside doubling and bisecting. With the argument `table` it
 * prints what each cost. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "programs.h"
#include "stats/rng.h"
#include "testing.h"

static void the_answer_is_always_true(void **state)
{
    for (size_t i = 0; i < n_programs; i++) {
        const program *p = &programs[i];
        cost c = search_for(p);
        if (c.answer != truth(p))
            fail_msg("%s: %lld, not %lld", p->name, (long long)c.answer, (long long)truth(p));
        if (c.answer == max_of(p) / multiple_of(p) * multiple_of(p))
            assert_int_equal(c.end.kind, BL_LARGEST_CAP);
        else if (c.answer > 0)
            assert_true(c.end.kind == BL_LARGEST_FOUND && c.end.above == c.answer + multiple_of(p));
    }
}

/* Where doubling and bisecting comes to the truth: elsewhere its cost is that of a wrong answer. */
static void add_costs(const program *p, cost *ours, cost *theirs)
{
    cost a = search_for(p), b = double_and_bisect(p);
    if (b.answer != truth(p))
        return;
    ours->probes += a.probes;
    ours->failed += a.failed;
    theirs->probes += b.probes;
    theirs->failed += b.failed;
}

static const program *named(const char *name)
{
    for (size_t i = 0; i < n_programs; i++)
        if (strcmp(programs[i].name, name) == 0)
            return &programs[i];
    fail_msg("no program is called %s", name);
    return NULL;
}

static void strange_curves_are_told(void **state)
{
    assert_int_equal(search_for(named("batch > data set")).end.why_above, BL_SIZE_LIMIT);
    assert_int_equal(search_for(named("slow, not failing")).end.why_above, BL_SIZE_SLOW);
    assert_int_equal(search_for(named("headroom 10 %")).end.why_above, BL_SIZE_HEADROOM);
    assert_int_equal(search_for(named("nothing fits")).end.why_above, BL_SIZE_MEMORY);
    assert_int_equal(search_for(named("only batch 1 breaks")).end.hole, 1);
    assert_int_equal(search_for(named("hole: 8 fails")).end.hole, 8);
    assert_int_equal(search_for(named("hole, budget not known")).end.hole, 4);
    bl_largest_step e = search_for(named("growth over steps")).end;
    assert_true(e.failed_longer > 195);
    e = search_for(named("linear")).end;
    assert_true(fabs(e.growth) < 1e-9);
    assert_true(e.line.known && fabs(e.line.fixed_b / MIB - 500) < 1e-6 &&
                fabs(e.line.per_sample_b / MIB - 37.3) < 1e-6);
    assert_true(fabs(e.line.worst_share) < 1e-9);
    e = search_for(named("bent")).end;
    assert_true(fabs(e.line.worst_share) > 0.02);
    e = search_for(named("flat")).end;
    assert_true(e.line.known && e.line.per_sample_b == 0);
}

/* The same history, broken off anywhere, goes on in the same way: nothing but the probes is remembered. A confirmation
 * that fails moves the answer down. */
static void a_confirmation_that_fails_moves_the_answer_down(void **state)
{
    const bl_largest_limits limits = {.min = 1, .max = 100, .multiple = 1, .budget_b = NAN};
    bl_probe probes[] = {{.batch = 4, .memory_b = 4, .sample_s = 1},
                         {.batch = 6, .verdict = BL_SIZE_MEMORY, .memory_b = NAN, .sample_s = NAN},
                         {.batch = 5, .memory_b = 5, .sample_s = 1},
                         {.batch = 24, .verdict = BL_SIZE_MEMORY, .memory_b = NAN, .sample_s = NAN},
                         {.batch = 5, .verdict = BL_SIZE_MEMORY, .memory_b = NAN, .sample_s = NAN, .longer = true},
                         {.batch = 4, .memory_b = 4, .sample_s = 1, .longer = true}};
    bl_largest_step step;
    assert_int_equal(bl_largest_next(&limits, probes, 4, &step, NULL), BL_OK);
    assert_int_equal(step.kind, BL_LARGEST_CONFIRM);
    assert_int_equal(step.batch, 5);
    assert_int_equal(bl_largest_next(&limits, probes, 5, &step, NULL), BL_OK);
    assert_int_equal(step.kind, BL_LARGEST_CONFIRM);
    assert_int_equal(step.batch, 4);
    assert_int_equal(bl_largest_next(&limits, probes, 6, &step, NULL), BL_OK);
    assert_int_equal(step.kind, BL_LARGEST_FOUND);
    assert_int_equal(step.above, 5);
}

static void limits_without_a_size_are_refused(void **state)
{
    const bl_largest_limits limits = {.min = 9, .max = 15, .multiple = 8, .budget_b = NAN};
    bl_largest_step step;
    assert_int_equal(bl_largest_next(&limits, NULL, 0, &step, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_largest_first(&limits), 0);
}

/* ---- the same kinds with other figures ---- */

typedef program vary(const program *p, int v);

/* These were looked at while the search was made. */
static program variant(const program *p, int v)
{
    program other = *p;
    v++;
    other.fixed *= 1 + 0.05 * v;
    other.per_sample *= 1 + 0.17 * v;
    other.bend *= 1 + 0.11 * v;
    if (other.data_set)
        other.data_set -= 7 * v;
    return other;
}

static double between(bl_rng *rng, double low, double high)
{
    return low * pow(high / low, bl_rng_uniform(rng));
}

/* These were not: they were drawn when it was done. All that a kind has is drawn anew. */
static program drawn(const program *p, int v)
{
    bl_rng rng;
    bl_rng_init(&rng, 1, (uint64_t)(p - programs) * 1000 + (uint64_t)v);
    program other = *p;
    double scale = between(&rng, 0.25, 4);
    other.budget *= scale;
    other.slow_from *= scale;
    other.hidden *= scale * between(&rng, 0.2, 2);
    other.fixed *= scale * between(&rng, 0.3, 1.5);
    other.per_sample *= scale * between(&rng, 0.2, 5);
    other.growth *= scale * between(&rng, 0.2, 2);
    other.bend *= scale * between(&rng, 0.2, 5);
    other.stair = other.stair > 0 ? floor(between(&rng, 2, 50)) : 0;
    other.noise *= between(&rng, 0.3, 2);
    other.data_set = other.data_set ? (int64_t)between(&rng, 20, 400) : 0;
    other.headroom *= between(&rng, 0.2, 3);
    return other;
}

typedef struct totals {
    cost ours, theirs;
} totals;

static void sum_varied(vary *change, int n, totals *sum)
{
    for (int v = 0; v < n; v++)
        for (size_t i = 0; i < n_programs; i++) {
            program p = change(&programs[i], v);
            cost c = search_for(&p);
            if (c.answer != truth(&p))
                fail_msg("%s, %d: %lld, not %lld", p.name, v, (long long)c.answer, (long long)truth(&p));
            add_costs(&p, &sum->ours, &sum->theirs);
        }
}

static void check_costs(const totals *sum)
{
    const cost *ours = &sum->ours, *theirs = &sum->theirs;
    if (ours->failed * 2 > theirs->failed || ours->probes * 3 > theirs->probes * 2)
        fail_msg("%d probes of %d, %d failed of %d", ours->probes, theirs->probes, ours->failed, theirs->failed);
}

static void sum_programs(totals *sum)
{
    for (size_t i = 0; i < n_programs; i++)
        add_costs(&programs[i], &sum->ours, &sum->theirs);
}

static void it_costs_half_the_failures_and_two_thirds_of_the_probes(void **state)
{
    totals sum = {.ours = {0}};
    sum_programs(&sum);
    check_costs(&sum);
}

#define N_VARIANTS 10
#define N_DRAWN    20

static void and_so_with_other_figures(void **state)
{
    totals sum = {.ours = {0}};
    sum_varied(variant, N_VARIANTS, &sum);
    check_costs(&sum);
    sum = (totals){.ours = {0}};
    sum_varied(drawn, N_DRAWN, &sum);
    check_costs(&sum);
}

static void print_totals(const char *name, const totals *sum)
{
    printf("%-24s %7s %7s | %7d %7d | %7d %7d\n", name, "", "", sum->ours.probes, sum->ours.failed, sum->theirs.probes,
           sum->theirs.failed);
}

static void print_table(bool with_drawn)
{
    printf("%-24s %7s %7s | %7s %7s | %7s %7s %7s\n", "program", "truth", "answer", "probes", "failed", "doubling",
           "failed", "answer");
    for (size_t i = 0; i < n_programs; i++) {
        cost a = search_for(&programs[i]), b = double_and_bisect(&programs[i]);
        printf("%-24s %7lld %7lld | %7d %7d | %7d %7d %7lld\n", programs[i].name, (long long)truth(&programs[i]),
               (long long)a.answer, a.probes, a.failed, b.probes, b.failed, (long long)b.answer);
    }
    totals sum = {.ours = {0}};
    sum_programs(&sum);
    print_totals("where both are true", &sum);
    sum = (totals){.ours = {0}};
    sum_varied(variant, N_VARIANTS, &sum);
    print_totals("the same, 220 variants", &sum);
    if (!with_drawn)
        return;
    sum = (totals){.ours = {0}};
    sum_varied(drawn, N_DRAWN, &sum);
    print_totals("the same, 440 drawn", &sum);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        print_table(argc == 2);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_always_true),
        cmocka_unit_test(it_costs_half_the_failures_and_two_thirds_of_the_probes),
        cmocka_unit_test(and_so_with_other_figures),
        cmocka_unit_test(strange_curves_are_told),
        cmocka_unit_test(a_confirmation_that_fails_moves_the_answer_down),
        cmocka_unit_test(limits_without_a_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
