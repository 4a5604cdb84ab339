/* Answers questions about the statistics on standard input, one a line, for compare_with_scipy.py:
 *     NAME PARAMETER... : x...      ->      the results, blank-separated, or "error" */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "stats/dist.h"
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
