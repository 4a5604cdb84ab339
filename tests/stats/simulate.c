/* Whole experiments through the shipped verdicts: error rates, coverage and power under the noise of noise.h, as a
 * table in Markdown. Exit status 1 where a figure misses its target.
 *
 *     simulate [REPETITIONS]        (5000; below that the targets leave room for the error of the simulation) */
#include "noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats/tests.h"
#include "stats/verdict.h"

enum { BLOCKS = NOISE_BLOCKS_MAX };
#define MARGIN 0.01

typedef struct rates {
    double different, equal, inconclusive, covered, non_zero, blocks;
} rates;

static long repetitions = 5000;
static int misses;

/* Four standard errors of the simulation, and never less than 0.01. */
static double room(double target)
{
    double error = 4 * sqrt(target * (1 - target) / (double)repetitions);
    return error > 0.01 ? error : 0.01;
}

static void at_most(const char *what, const char *where, double got, double target)
{
    if (got <= target + room(target))
        return;
    fprintf(stderr, "%s, %s: %.4f is above %.4f\n", what, where, got, target);
    misses++;
}

static void at_least(const char *what, const char *where, double got, double target)
{
    if (got >= target - room(target))
        return;
    fprintf(stderr, "%s, %s: %.4f is below %.4f\n", what, where, got, target);
    misses++;
}

static void judge(const double *y, size_t n_cases, const bl_case_pair *pairs, size_t n_pairs, bl_verdict *out)
{
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    rule.margin = MARGIN;
    bl_error err = {0};
    if (bl_verdicts_compute(y, n_cases, BLOCKS, BLOCKS, pairs, n_pairs, &rule, out, &err) != BL_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(3);
    }
}

static rates simulate(scenario s, double effect)
{
    bl_rng rng;
    bl_rng_init(&rng, 20261203, (uint64_t)s * 1000 + (uint64_t)llround(1e4 * effect));
    const double effects[] = {0, effect};
    rates r = {0};
    for (long i = 0; i < repetitions; i++) {
        double y[2 * BLOCKS];
        bl_verdict v;
        draw_experiment(s, &rng, 2, BLOCKS, effects, y);
        judge(y, 2, &(bl_case_pair){0, 1}, 1, &v);
        const bl_interval *interval = &v.contrast.log_ratio;
        r.different += v.kind == BL_VERDICT_DIFFERENT;
        r.equal += v.kind == BL_VERDICT_NO_PRACTICAL_DIFFERENCE;
        r.inconclusive += v.kind == BL_VERDICT_INCONCLUSIVE;
        r.covered += interval->low <= effect && effect <= interval->high;
        r.non_zero += interval->low > 0 || interval->high < 0;
        r.blocks += (double)v.blocks;
    }
    double n = (double)repetitions;
    return (rates){r.different / n, r.equal / n, r.inconclusive / n, r.covered / n, r.non_zero / n, r.blocks / n};
}

static void print_row(scenario s, double effect, const rates *r)
{
    printf("| %s | %.1f %% | %.4f | %.4f | %.4f | %.4f | %.4f | %.1f |\n", scenario_names[s], 100 * expm1(effect),
           r->different, r->equal, r->inconclusive, r->non_zero, r->covered, r->blocks);
    fflush(stdout);
}

static void two_cases(void)
{
    const double effects[] = {0, log1p(0.005), log1p(MARGIN), log1p(0.02)};
    printf("| noise | true effect | different | no practical difference | inconclusive | interval excludes 0 | "
           "coverage | mean blocks |\n|---|---|---|---|---|---|---|---|\n");
    for (int s = 0; s < N_SCENARIOS; s++)
        for (size_t e = 0; e < sizeof effects / sizeof effects[0]; e++) {
            rates r = simulate((scenario)s, effects[e]);
            const char *where = scenario_names[s];
            print_row((scenario)s, effects[e], &r);
            at_least("coverage of the interval printed", where, r.covered, 0.94);
            if (e == 0) {
                at_most("the same case twice: non-zero", where, r.non_zero, 0.05);
                at_most("the same case twice: different", where, r.different, 0.025);
            } else if (e == 2) {
                at_most("at the margin: no practical difference", where, r.equal, 0.05);
                at_most("at the margin: different", where, r.different, 0.025);
            }
            if (s == IID && e < 2)
                at_least("sigma 0.5 %: no practical difference", e == 0 ? "at 0 %" : "at 0.5 %", r.equal,
                         e == 0 ? 0.97 : 0.95);
            if (s == IID && e == 3)
                at_least("sigma 0.5 %: different", "at 2 %", r.different, 0.95);
        }
}

static bool wrong(const bl_verdict *v, double truth)
{
    double delta = log1p(MARGIN) * (1 + 1e-12);
    return (v->kind == BL_VERDICT_DIFFERENT && fabs(truth) <= delta) ||
           (v->kind == BL_VERDICT_NO_PRACTICAL_DIFFERENCE && fabs(truth) >= delta / (1 + 2e-12));
}

/* How often at least one of several verdicts is wrong, and at least one interval excludes 0 though all are equal. */
static void many_cases(const char *name, size_t n_cases, const double *effects, const bl_case_pair *pairs,
                       size_t n_pairs)
{
    for (int s = 0; s < N_SCENARIOS; s += MIXED) { /* the mildest and the worst */
        bl_rng rng;
        bl_rng_init(&rng, 977, (uint64_t)s * 10 + n_cases);
        long any_wrong = 0;
        double decided = 0;
        for (long i = 0; i < repetitions; i++) {
            double y[NOISE_CASES_MAX * BLOCKS];
            bl_verdict v[8];
            bool failed = false;
            draw_experiment((scenario)s, &rng, n_cases, BLOCKS, effects, y);
            judge(y, n_cases, pairs, n_pairs, v);
            for (size_t p = 0; p < n_pairs; p++) {
                failed = failed || wrong(&v[p], effects[pairs[p].b] - effects[pairs[p].a]);
                decided += v[p].kind != BL_VERDICT_INCONCLUSIVE;
            }
            any_wrong += failed;
        }
        double rate = (double)any_wrong / (double)repetitions;
        printf("| %s | %s | %.4f | %.2f of %zu |\n", name, scenario_names[s], rate, decided / (double)repetitions,
               n_pairs);
        fflush(stdout);
        at_most("at least one wrong verdict", name, rate, 0.05);
    }
}

/* What the design forbids must be seen to fail. */
static void negative_control(void)
{
    bl_rng rng;
    bl_rng_init(&rng, 99, 0);
    long alarms = 0;
    for (long i = 0; i < repetitions; i++) {
        double noise[40];
        bl_test t;
        draw_noise(DRIFT, &rng, 40, noise);
        if (bl_test_welch(noise, 20, noise + 20, 20, &t, NULL) == BL_OK)
            alarms += t.p < 0.05;
    }
    double rate = (double)alarms / (double)repetitions;
    printf("\nNegative control: the same case twice under 2 %% drift, 20 runs of the one, then 20 of the other, "
           "Welch's test "
           "at 5 %%: %.4f false alarms.\n",
           rate);
    at_least("negative control", "must fail", rate, 0.5);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        repetitions = strtol(argv[1], NULL, 10);
    if (argc > 2 || repetitions < 100) {
        fprintf(stderr, "usage: simulate [REPETITIONS], at least 100\n");
        return 2;
    }
    printf("%ld experiments a row.\n\n", repetitions);
    two_cases();
    printf("\n| several pairs at once | noise | at least one wrong verdict | decided |\n|---|---|---|---|\n");
    const double at_margin = log1p(MARGIN);
    many_cases("3 equal cases, each with each", 3, (const double[]){0, 0, 0},
               (const bl_case_pair[]){{0, 1}, {0, 2}, {1, 2}}, 3);
    many_cases("4 against a baseline, all at the margin", 5,
               (const double[]){0, at_margin, -at_margin, at_margin, -at_margin},
               (const bl_case_pair[]){{0, 1}, {0, 2}, {0, 3}, {0, 4}}, 4);
    many_cases("4 against a baseline: 0, 1, 2, 5 %", 5, (const double[]){0, 0, at_margin, log1p(0.02), log1p(0.05)},
               (const bl_case_pair[]){{0, 1}, {0, 2}, {0, 3}, {0, 4}}, 4);
    negative_control();
    if (misses > 0)
        fprintf(stderr, "%d figures miss their targets\n", misses);
    return misses > 0 ? 1 : 0;
}
