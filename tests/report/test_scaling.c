/* Speed over ranks: which cases are set against which, and what comes out of figures that are known beforehand. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/scaling.h"

enum { BATCHES = 2, RANKS = 3, BLOCKS = 6 };

/* Batches of 32 and 64 a rank, 1, 2 and 4 ranks: a sample takes 1 ms on one rank, and each doubling gives 1.8 times the
 * speed. */
static void fill(sample *s, const char *second, const char **ranks, size_t n_ranks)
{
    static const char *batches[] = {"32", "64"};
    static bl_stored_factor factors[2];
    static bl_named_value metrics[2], memory[1];
    static const double weather[] = {1, 1.02, 0.99, 1.01, 1.005, 0.995};
    sample_init(s, BLOCKS);
    factors[0] = (bl_stored_factor){"batch", batches, BATCHES};
    factors[1] = (bl_stored_factor){second, ranks, n_ranks};
    metrics[0] = (bl_named_value){.name = "sums_share", .value = 0.125};
    metrics[1] = (bl_named_value){.name = "slowest_share", .value = 1.0625};
    memory[0] = (bl_named_value){.name = "largest_rank", .value = 3 << 20};
    s->experiment.factors = factors;
    s->experiment.n_factors = 2;
    for (size_t block = 0; block < BLOCKS; block++)
        for (size_t c = 0; c < BATCHES * n_ranks; c++) {
            double n = (double)(1 << c % n_ranks), batch = (c < n_ranks ? 32 : 64) * n;
            bl_trial_record *t = sample_add(s, block, c, batch * 0.001 / pow(1.8, log2(n)) * weather[block % 6]);
            for (size_t k = 0; k < t->n_steps; k++)
                t->steps[k].samples = (int64_t)batch;
            t->ranks = (int64_t)n;
            t->metrics = metrics;
            t->n_metrics = 2;
            t->memory = memory;
            t->n_memory = 1;
        }
    sample_analyse(s);
}

static const char *three[] = {"1", "2", "4"};

static void both_kinds(void **state)
{
    static sample s;
    bl_scaling_row *rows;
    size_t n, strong = 0;
    bl_error err = {0};
    fill(&s, "ranks", three, RANKS);
    assert_int_equal(bl_scaling_rows(&s.analysis, &rows, &n, &err), BL_OK);
    /* Strong: of 64 and of 128 in all, 1 and 2 or 2 and 4 ranks. Weak: 32 and 64 a rank, 1, 2 and 4 ranks. */
    while (strong < n && rows[strong].kind == BL_SCALING_STRONG)
        strong++;
    assert_int_equal(strong, 4);
    assert_int_equal(n, 4 + 6);
    for (size_t i = 0; i < n; i++) {
        const bl_scaling_row *r = &rows[i];
        double times = r->ranks / (i < strong ? rows[i - i % 2].ranks : 1), wanted = pow(1.8, log2(times));
        assert_int_equal(r->first, i < strong ? i % 2 == 0 : (i - strong) % 3 == 0);
        assert_true(fabs(r->share * times - 1) < 1e-12);
        assert_true(r->speed_up.ratio.n == BLOCKS && fabs(r->speed_up.ratio.estimate / wanted - 1) < 1e-6);
        assert_true(r->sums_share == 0.125 && r->slowest_share == 1.0625 && r->largest_rank_b == 3 << 20);
        assert_true(r->batch == (i < strong ? (i < 2 ? 64 : 128) : (i < strong + 3 ? 32 : 64) * r->ranks));
    }
    free(rows);
    sample_clear(&s);
}

static void the_tables(void **state)
{
    static sample s;
    bl_report_style style = {.width = 200};
    bl_str text;
    bl_str_init(&text);
    fill(&s, "ranks", three, RANKS);
    bl_report_scaling(&s.analysis, &style, &text);
    const char *shown = bl_str_text(&text);
    assert_non_null(strstr(shown, "Strong scaling: the same batch on more ranks"));
    assert_non_null(strstr(shown, "Weak scaling: the same batch on each of more ranks"));
    assert_non_null(strstr(shown, "3.240")); /* of 4 ranks */
    assert_non_null(strstr(shown, "81.0 %"));
    assert_non_null(strstr(shown, "12.5 %"));
    assert_non_null(strstr(shown, "1.062"));
    assert_non_null(strstr(shown, "3.00 MiB"));
    assert_null(strstr(shown, "another number of ranks"));
    bl_str_reset(&text);
    s.trials[4].ranks = 1;
    bl_report_markdown(&s.analysis, &text);
    assert_non_null(strstr(bl_str_text(&text), "| efficiency |"));
    assert_non_null(strstr(bl_str_text(&text), "In 1 trial the program said another number of ranks"));
    bl_str_clear(&text);
    sample_clear(&s);
}

static void nothing_where_nothing_can_be_said(void **state)
{
    static const char *one[] = {"2"}, *words[] = {"few", "many"};
    static sample s;
    bl_scaling_row *rows;
    size_t n;
    bl_error err = {0};
    const struct {
        const char *name, **ranks;
        size_t n;
    } cases[] = {{"workers", three, RANKS}, {"ranks", one, 1}, {"ranks", words, 2}};
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        fill(&s, cases[i].name, cases[i].ranks, cases[i].n);
        assert_int_equal(bl_scaling_rows(&s.analysis, &rows, &n, &err), BL_OK);
        assert_true(n == 0 && !rows);
        sample_clear(&s);
    }
    /* Steps read from progress lines: whose samples they count is not known. */
    fill(&s, "ranks", three, RANKS);
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        s.trials[i].step_source = "progress";
    assert_int_equal(bl_scaling_rows(&s.analysis, &rows, &n, &err), BL_OK);
    assert_true(n == 0 && !rows);
    sample_clear(&s);
}

/* A case that failed is in no table, and the others are set against the fewest ranks that are left. */
static void a_case_that_failed(void **state)
{
    static sample s;
    bl_scaling_row *rows;
    size_t n, weak = 0;
    bl_error err = {0};
    fill(&s, "ranks", three, RANKS);
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        if (s.trials[i].case_index == 0)
            s.trials[i].outcome = "out_of_memory";
    bl_analysis_clear(&s.analysis);
    sample_analyse(&s);
    assert_int_equal(bl_scaling_rows(&s.analysis, &rows, &n, &err), BL_OK);
    while (weak < n && rows[weak].kind == BL_SCALING_STRONG)
        weak++;
    assert_int_equal(n - weak, 5);
    assert_true(rows[weak].case_index == 1 && rows[weak].first && rows[weak].share == 1);
    assert_true(rows[weak + 1].case_index == 2 && rows[weak + 1].reference == 1 && rows[weak + 1].share == 0.5);
    free(rows);
    sample_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds),
        cmocka_unit_test(the_tables),
        cmocka_unit_test(nothing_where_nothing_can_be_said),
        cmocka_unit_test(a_case_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
