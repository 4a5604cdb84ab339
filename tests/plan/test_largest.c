/* The search for the largest batch on simulated programs, beside doubling and bisecting. With the argument `table` it
 * prints what each cost. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/largest.h"
#include "testing.h"

#define MIB   1048576.0
#define STEPS 20

typedef struct program {
    const char *name;
    double fixed, per_sample; /* MiB */
    double budget;            /* MiB */
    bool budget_known;
    int64_t max, multiple;
    double stair;     /* samples that memory is taken for at once */
    double growth;    /* MiB a step */
    double noise;     /* of the measured memory */
    int64_t hole;     /* a size that fails for want of workspace */
    int64_t data_set; /* samples that there are; 0: enough */
    bool no_one;      /* batch 1 breaks it */
    double slow_from; /* memory beyond which a sample takes 20 times as long, instead of failing; MiB */
    double bend;      /* MiB a sample squared */
    double headroom;
    double hidden; /* MiB that are needed and not measured */
} program;

static const program programs[] = {
    {.name = "linear", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true},
    {.name = "linear, large model", .fixed = 7000, .per_sample = 410, .budget = 16384, .budget_known = true},
    {.name = "linear, small model", .fixed = 20, .per_sample = 1.7, .budget = 8192, .budget_known = true, .max = 65536},
    {.name = "staircase", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true, .stair = 16},
    {.name = "hole: 4 fails", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true, .hole = 4},
    {.name = "hole: 8 fails", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true, .hole = 8},
    {.name = "hole, budget not known", .fixed = 500, .per_sample = 37.3, .budget = 8192, .hole = 4},
    {.name = "flat", .fixed = 3000, .budget = 8192, .budget_known = true},
    {.name = "falling", .fixed = 3000, .per_sample = -0.2, .budget = 8192, .budget_known = true},
    {.name = "growth over steps", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true, .growth = 10},
    {.name = "nothing fits", .fixed = 9000, .per_sample = 37.3, .budget = 8192, .budget_known = true},
    {.name = "everything fits", .fixed = 100, .per_sample = 0.5, .budget = 8192, .budget_known = true},
    {.name = "only batch 1 breaks",
     .fixed = 500,
     .per_sample = 37.3,
     .budget = 8192,
     .budget_known = true,
     .no_one = true},
    {.name = "batch > data set",
     .fixed = 500,
     .per_sample = 37.3,
     .budget = 8192,
     .budget_known = true,
     .data_set = 150},
    {.name = "slow, not failing",
     .fixed = 500,
     .per_sample = 37.3,
     .budget = 8192,
     .budget_known = true,
     .slow_from = 8192},
    {.name = "noise 1 %", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true, .noise = 0.01},
    {.name = "noise 3 %", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true, .noise = 0.03},
    {.name = "bent", .fixed = 500, .per_sample = 10, .budget = 8192, .budget_known = true, .bend = 0.12},
    {.name = "budget not known", .fixed = 500, .per_sample = 37.3, .budget = 8192},
    {.name = "less than it seems",
     .fixed = 500,
     .per_sample = 37.3,
     .budget = 8192,
     .budget_known = true,
     .hidden = 700},
    {.name = "multiples of 8", .fixed = 500, .per_sample = 7.3, .budget = 8192, .budget_known = true, .multiple = 8},
    {.name = "headroom 10 %", .fixed = 500, .per_sample = 37.3, .budget = 8192, .budget_known = true, .headroom = 0.1},
};

static int64_t max_of(const program *p)
{
    return p->max ? p->max : 1024;
}

static int64_t multiple_of(const program *p)
{
    return p->multiple ? p->multiple : 1;
}

static double memory(const program *p, int64_t batch, int64_t steps)
{
    double n = p->stair > 0 ? ceil((double)batch / p->stair) * p->stair : (double)batch;
    return p->fixed + p->per_sample * n + p->bend * n * n + p->growth * (double)steps;
}

/* The same size measured again gives the same noise: results do not depend on anything else. */
static double noise(const program *p, int64_t batch)
{
    return 1 + p->noise * sin((double)batch * 12.9898 + 1);
}

static bl_probe run(const program *p, int64_t batch, bool longer)
{
    int64_t steps = longer ? 2 * STEPS : STEPS;
    bl_probe probe = {.batch = batch, .longer = longer, .memory_b = NAN, .sample_s = NAN};
    double m = memory(p, batch, steps);
    if (p->no_one && batch == 1)
        probe.verdict = BL_SIZE_LIMIT;
    else if (p->data_set && batch > p->data_set)
        probe.verdict = BL_SIZE_LIMIT;
    else if (batch == p->hole || (p->slow_from == 0 && m + p->hidden > p->budget))
        probe.verdict = BL_SIZE_MEMORY;
    else {
        probe.memory_b = m * noise(p, batch) * MIB;
        probe.sample_s = 0.001 + 0.01 / (double)batch;
        if (p->slow_from > 0 && m > p->slow_from)
            probe.sample_s *= 20;
    }
    return probe;
}

static bl_largest_limits limits_of(const program *p)
{
    return (bl_largest_limits){.min = 1,
                               .max = max_of(p),
                               .multiple = multiple_of(p),
                               .budget_b = p->budget_known ? p->budget * MIB : NAN,
                               .headroom = p->headroom};
}

static bool does(const program *p, int64_t batch)
{
    bl_probe probe = run(p, batch, true);
    return probe.verdict == BL_SIZE_FITS && !(p->slow_from > 0 && memory(p, batch, STEPS) > p->slow_from) &&
           !(p->headroom > 0 && probe.memory_b > p->budget * MIB * (1 - p->headroom));
}

/* Every size tried: 0 where none does. */
static int64_t truth(const program *p)
{
    int64_t largest = 0;
    for (int64_t b = multiple_of(p); b <= max_of(p); b += multiple_of(p))
        if (does(p, b))
            largest = b;
    return largest;
}

typedef struct cost {
    int64_t answer;
    int probes, failed;
    bl_largest_step end;
} cost;

static cost search_for(const program *p)
{
    static bl_probe probes[BL_PROBES_MAX];
    cost c = {0};
    const bl_largest_limits limits = limits_of(p);
    for (size_t n = 0; n < 100; n++) {
        bl_error err = {0};
        if (bl_largest_next(&limits, probes, n, &c.end, &err) != BL_OK)
            fail_msg("%s: %s", p->name, err.message);
        if (c.end.kind != BL_LARGEST_PROBE && c.end.kind != BL_LARGEST_CONFIRM) {
            c.answer = c.end.kind == BL_LARGEST_NOTHING ? 0 : c.end.batch;
            return c;
        }
        assert_true(c.end.batch >= 1 && c.end.batch <= limits.max && c.end.batch % limits.multiple == 0);
        probes[n] = run(p, c.end.batch, c.end.longer);
        c.probes++;
        c.failed += !does(p, c.end.batch);
    }
    fail_msg("%s: no end", p->name);
    return c;
}

/* What people do: double until it fails, then halve the gap. Nothing is run again. */
static cost double_and_bisect(const program *p)
{
    int64_t multiple = multiple_of(p), max = max_of(p), fits = 0, fails = 0;
    cost c = {0};
    for (int64_t b = multiple; fails == 0 && fits < max; b = b * 2 < max ? b * 2 : max) {
        c.probes++;
        if (does(p, b)) {
            fits = b;
        } else {
            fails = b;
            c.failed++;
        }
    }
    while (fails > 0 && fits > 0 && fails - fits > multiple) {
        int64_t mid = fits + (fails - fits) / 2 / multiple * multiple;
        c.probes++;
        if (does(p, mid)) {
            fits = mid;
        } else {
            fails = mid;
            c.failed++;
        }
    }
    c.answer = fits;
    return c;
}

static void the_answer_is_always_true(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
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
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
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

/* The same kinds with other figures: what the search was not tried out on. */
static program variant(const program *p, int v)
{
    program other = *p;
    other.fixed *= 1 + 0.05 * v;
    other.per_sample *= 1 + 0.17 * v;
    other.bend *= 1 + 0.11 * v;
    if (other.data_set)
        other.data_set -= 7 * v;
    return other;
}

static void sum_variants(cost *ours, cost *theirs)
{
    for (int v = 1; v <= 10; v++)
        for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
            program p = variant(&programs[i], v);
            cost c = search_for(&p);
            if (c.answer != truth(&p))
                fail_msg("%s, variant %d: %lld, not %lld", p.name, v, (long long)c.answer, (long long)truth(&p));
            add_costs(&p, ours, theirs);
        }
}

static void it_costs_half_the_failures_and_two_thirds_of_the_probes(void **state)
{
    cost ours = {0}, theirs = {0};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        add_costs(&programs[i], &ours, &theirs);
    sum_variants(&ours, &theirs);
    if (ours.failed * 2 > theirs.failed || ours.probes * 3 > theirs.probes * 2)
        fail_msg("%d probes of %d, %d failed of %d", ours.probes, theirs.probes, ours.failed, theirs.failed);
}

static void print_table(void)
{
    cost ours = {0}, theirs = {0};
    printf("%-24s %7s %7s | %7s %7s | %7s %7s %7s\n", "program", "truth", "answer", "probes", "failed", "doubling",
           "failed", "answer");
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        cost a = search_for(&programs[i]), b = double_and_bisect(&programs[i]);
        printf("%-24s %7lld %7lld | %7d %7d | %7d %7d %7lld\n", programs[i].name, (long long)truth(&programs[i]),
               (long long)a.answer, a.probes, a.failed, b.probes, b.failed, (long long)b.answer);
        add_costs(&programs[i], &ours, &theirs);
    }
    printf("%-24s %7s %7s | %7d %7d | %7d %7d\n", "where both are true", "", "", ours.probes, ours.failed,
           theirs.probes, theirs.failed);
    cost other = {0}, doubled = {0};
    sum_variants(&other, &doubled);
    printf("%-24s %7s %7s | %7d %7d | %7d %7d\n", "the same, 220 variants", "", "", other.probes, other.failed,
           doubled.probes, doubled.failed);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        print_table();
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_always_true),
        cmocka_unit_test(it_costs_half_the_failures_and_two_thirds_of_the_probes),
        cmocka_unit_test(strange_curves_are_told),
        cmocka_unit_test(a_confirmation_that_fails_moves_the_answer_down),
        cmocka_unit_test(limits_without_a_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
