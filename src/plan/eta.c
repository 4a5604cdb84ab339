#include "plan/eta.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"

int bl_eta_init(bl_eta *eta, size_t n_cases, bl_error *err)
{
    *eta = (bl_eta){.n_cases = n_cases};
    eta->sum_s = bl_calloc(n_cases > 0 ? n_cases : 1, sizeof(*eta->sum_s));
    eta->n = bl_calloc(n_cases > 0 ? n_cases : 1, sizeof(*eta->n));
    if (eta->sum_s != NULL && eta->n != NULL)
        return BL_OK;
    bl_eta_clear(eta);
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the durations of %zu cases", n_cases);
}

void bl_eta_clear(bl_eta *eta)
{
    free(eta->sum_s);
    free(eta->n);
    *eta = (bl_eta){0};
}

void bl_eta_add(bl_eta *eta, size_t case_index, double wall_s)
{
    if (case_index >= eta->n_cases || !isfinite(wall_s) || wall_s < 0)
        return;
    eta->sum_s[case_index] += wall_s;
    eta->n[case_index]++;
}

double bl_eta_remaining(const bl_eta *eta, const bl_plan_entry *entries, size_t n, double elapsed_s)
{
    double all = 0;
    size_t ran = 0;
    for (size_t c = 0; c < eta->n_cases; c++) {
        if (eta->n[c] == 0)
            continue;
        all += eta->sum_s[c] / (double)eta->n[c];
        ran++;
    }
    if (ran == 0)
        return n == 0 ? 0 : NAN;
    double rest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t c = entries[i].case_index;
        bool known = c < eta->n_cases && eta->n[c] > 0;
        double mean = known ? eta->sum_s[c] / (double)eta->n[c] : all / (double)ran;
        rest += i == 0 ? fmax(0, mean - elapsed_s) : mean;
    }
    return rest;
}
