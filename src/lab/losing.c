#include "lab/losing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/factors.h"
#include "report/reaching.h"

bool bl_losing_wanted(const bl_sweep_spec *spec)
{
    bool rates = false;
    for (size_t f = 0; f < spec->factors.len; f++)
        rates = rates || (strcmp(spec->factors.items[f].name, "lr") == 0 && spec->factors.items[f].values.len > 1);
    return rates && spec->driving.until.name[0] && spec->driving.losing > 0;
}

int bl_losing_init(const bl_sweep_spec *spec, const bl_experiment *stored, bl_losing *l, bl_error *err)
{
    *l = (bl_losing){0};
    if (!bl_losing_wanted(spec))
        return BL_OK;
    size_t n_cases = bl_factors_n_cases(&spec->factors);
    l->batch = bl_calloc(n_cases, sizeof *l->batch);
    l->fewest = bl_calloc(n_cases, sizeof *l->fewest);
    if (!l->batch || !l->fewest)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for what trainings took");
    l->factor = spec->driving.losing;
    for (size_t c = 0; c < n_cases; c++) {
        double batch = (double)strtoll(bl_factors_value(&spec->factors, c, 0), NULL, 10);
        size_t i = 0;
        while (i < l->n && l->batch[i] != batch)
            i++;
        if (i == l->n) {
            l->batch[l->n] = batch;
            l->fewest[l->n++] = INFINITY;
        }
    }
    for (size_t i = 0; i < stored->n_trials; i++) {
        const bl_trial_record *t = &stored->trials[i];
        double batch = (double)strtoll(bl_factors_value(&spec->factors, t->case_index, 0), NULL, 10);
        bl_losing_reached(l, batch, bl_reaching_steps(t, batch, &spec->driving.until));
    }
    return BL_OK;
}

void bl_losing_clear(bl_losing *l)
{
    free(l->batch);
    free(l->fewest);
    *l = (bl_losing){0};
}

void bl_losing_reached(bl_losing *l, double batch, double steps)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->batch[i] == batch)
            l->fewest[i] = fmin(l->fewest[i], steps); /* of a NaN and a number the number */
}

double bl_losing_limit(const bl_losing *l, double batch)
{
    double least = INFINITY;
    for (size_t i = 0; i < l->n; i++)
        least = fmin(least, l->batch[i] <= batch ? l->fewest[i] : l->fewest[i] * l->batch[i] / batch);
    return l->factor > 0 ? l->factor * least : INFINITY;
}
