#include "programs.h"

#include <math.h>

#include "testing.h"

#define STEPS 20

const program programs[] = {
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

const size_t n_programs = sizeof programs / sizeof programs[0];

int64_t max_of(const program *p)
{
    return p->max ? p->max : 1024;
}

int64_t multiple_of(const program *p)
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

int64_t truth(const program *p)
{
    int64_t largest = 0;
    for (int64_t b = multiple_of(p); b <= max_of(p); b += multiple_of(p))
        if (does(p, b))
            largest = b;
    return largest;
}

cost search_for(const program *p)
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

cost double_and_bisect(const program *p)
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
