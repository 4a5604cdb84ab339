#include "store/experiment.h"

#include "base/attributes.h"

static const char *const state_names[] = {"running", "finished", "interrupted"};

const char *bl_experiment_state_name(bl_experiment_state state)
{
    return (size_t)state < BL_ARRAY_LEN(state_names) ? state_names[state] : "unknown";
}

size_t bl_experiment_n_cases(const bl_experiment *experiment)
{
    size_t n = experiment->n_factors > 0;
    for (size_t f = 0; f < experiment->n_factors; f++)
        n *= experiment->factors[f].n_values;
    return n;
}

const char *bl_experiment_value(const bl_experiment *experiment, size_t c, size_t f)
{
    for (size_t later = experiment->n_factors; later-- > f + 1;)
        c /= experiment->factors[later].n_values;
    return experiment->factors[f].values[c % experiment->factors[f].n_values];
}
