/* Answers questions about the statistics on standard input, one a line, for compare_with_scipy.py:
 *     NAME PARAMETER... : x...      ->      the results, blank-separated, or "error" */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "stats/describe.h"
#include "stats/dist.h"
#include "stats/fit.h"
#include "stats/interval.h"
#include "stats/tests.h"

enum { VALUES_MAX = 2000, LINE_MAX_B = 65536, PARAMETERS_MAX = 8 };

typedef struct question {
    double p[PARAMETERS_MAX]; /* before the colon */
    double x[VALUES_MAX];     /* after it */
    size_t n_p, n;
} question;

static void put(double value)
{
    printf("%.17g ", value);
}

static int hodges_lehmann(const question *q)
{
    bl_interval i;
    int rc = bl_hodges_lehmann(q->x, q->n, q->p[0], &i, NULL);
    put(i.estimate);
    put(i.low);
    put(i.high);
    put(i.level);
    return rc;
}

static int t_interval(const question *q)
{
    bl_interval i;
    int rc = bl_t_interval(q->x, q->n, q->p[0], &i, NULL);
    put(i.estimate);
    put(i.low);
    put(i.high);
    return rc;
}

static void put_test(const bl_test *t)
{
    put(t->statistic);
    put(t->p);
    put(t->p_greater);
    put(t->p_less);
}

static int signed_rank(const question *q)
{
    bl_test t;
    int rc = bl_test_signed_rank(q->x, q->n, q->p[0], &t, NULL);
    put_test(&t);
    return rc;
}

static int t_test(const question *q)
{
    bl_test t;
    int rc = bl_test_t(q->x, q->n, q->p[0], &t, NULL);
    put_test(&t);
    return rc;
}

static int welch(const question *q)
{
    bl_test t;
    size_t nx = (size_t)q->p[0];
    int rc = bl_test_welch(q->x, nx, q->x + nx, q->n - nx, &t, NULL);
    put_test(&t);
    return rc;
}

static int tost(const question *q)
{
    bl_tost t;
    int rc = bl_test_tost(q->x, q->n, q->p[0], q->p[1], &t, NULL);
    put(t.p);
    put(t.p_low);
    put(t.p_high);
    return rc;
}

static int adjust(const question *q)
{
    double out[VALUES_MAX];
    int rc = q->p[0] == 0 ? bl_adjust_holm(q->x, q->n, out, NULL) : bl_adjust_benjamini_hochberg(q->x, q->n, out, NULL);
    for (size_t i = 0; i < q->n; i++)
        put(out[i]);
    return rc;
}

static int distributions(const question *q)
{
    put(bl_normal_cdf(q->x[0]));
    put(bl_normal_quantile(q->p[0]));
    put(bl_t_cdf(q->x[0], q->p[1]));
    put(bl_t_sf(q->x[0], q->p[1]));
    put(bl_t_quantile(q->p[0], q->p[1]));
    put(bl_beta_inc(q->p[1], q->p[2], q->p[0]));
    return BL_OK;
}

static int chi2(const question *q)
{
    put(bl_chi2_sf(q->x[0], q->p[0]));
    put(bl_gamma_q(q->p[0], q->x[0]));
    return BL_OK;
}

static int signed_rank_cdf(const question *q)
{
    put(bl_signed_rank_cdf(q->x[0], (size_t)q->p[0]));
    return BL_OK;
}

static int ljung_box(const question *q)
{
    bl_test t;
    int rc = bl_test_ljung_box(q->x, q->n, (size_t)q->p[0], &t, NULL);
    put(t.statistic);
    put(t.p);
    return rc;
}

static int trimmed_mean(const question *q)
{
    double mean;
    int rc = bl_trimmed_mean(q->x, q->n, q->p[0], &mean, NULL);
    put(mean);
    return rc;
}

static int bca(const question *q)
{
    bl_interval i;
    int rc = bl_bca_mean(q->x, q->n, q->p[0], 20000, 1, &i, NULL);
    put(i.low);
    put(i.high);
    return rc;
}

/* The values are x, then as many y. */
static int theil_sen(const question *q)
{
    bl_line line;
    int rc = bl_fit_theil_sen(q->x, q->x + q->n / 2, q->n / 2, &line, NULL);
    put(line.slope);
    put(line.intercept);
    return rc;
}

static int step_time(const question *q)
{
    bl_step_time_fit fit;
    int rc = bl_fit_step_time(q->x, q->x + q->n / 2, q->n / 2, &fit, NULL);
    put(fit.fixed_s);
    put(fit.per_sample_s);
    return rc;
}

static int pchip(const question *q)
{
    double slopes[VALUES_MAX];
    size_t n = q->n / 2;
    int rc = bl_pchip_slopes(q->x, q->x + n, n, slopes, NULL);
    for (int i = 0; rc == BL_OK && i <= 20; i++)
        put(bl_pchip_value(q->x, q->x + n, slopes, n,
                           i == 20 ? q->x[n - 1] : q->x[0] + (q->x[n - 1] - q->x[0]) * i / 20));
    return rc;
}

static const struct {
    const char *name;
    int (*answer)(const question *);
} questions[] = {
    {"hodges_lehmann", hodges_lehmann},
    {"t_interval", t_interval},
    {"signed_rank", signed_rank},
    {"t_test", t_test},
    {"welch", welch},
    {"tost", tost},
    {"adjust", adjust},
    {"distributions", distributions},
    {"chi2", chi2},
    {"signed_rank_cdf", signed_rank_cdf},
    {"ljung_box", ljung_box},
    {"trimmed_mean", trimmed_mean},
    {"bca", bca},
    {"theil_sen", theil_sen},
    {"step_time", step_time},
    {"pchip", pchip},
};

static int answer(char *line)
{
    static question q;
    q.n = q.n_p = 0;
    char *save = NULL;
    const char *name = strtok_r(line, " \n", &save);
    bool values = false;
    for (char *word = strtok_r(NULL, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        if (strcmp(word, ":") == 0)
            values = true;
        else if (values && q.n < VALUES_MAX)
            q.x[q.n++] = strtod(word, NULL);
        else if (!values && q.n_p < PARAMETERS_MAX)
            q.p[q.n_p++] = strtod(word, NULL);
    }
    for (size_t i = 0; name && i < BL_ARRAY_LEN(questions); i++)
        if (strcmp(questions[i].name, name) == 0)
            return questions[i].answer(&q);
    return BL_ERR_USAGE;
}

int main(void)
{
    char *line = malloc(LINE_MAX_B);
    while (line && fgets(line, LINE_MAX_B, stdin)) {
        if (answer(line) != BL_OK)
            printf("error");
        printf("\n");
    }
    free(line);
    return 0;
}
