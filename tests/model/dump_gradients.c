/* Writes every learnt parameter's gradient of the formula's network as raw floats, in the table's order, for
 * compare_with_torch.py. usage: dump_gradients MODEL SIZE SHIFT FILE [PARAMETER TO SPOIL] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"

int main(int argc, char **argv)
{
    formula_net net;
    FILE *file = argc > 4 ? fopen(argv[4], "wb") : NULL;
    formula_setup setup = {0};
    if (file)
        setup = (formula_setup){.model = argv[1], .size = atoi(argv[2]), .shift = strtod(argv[3], NULL)};
    if (!file || formula_net_init(&net, &setup, BL_MODE_TRAIN) != BL_OK || bl_exec_run(net.exec, NULL) != BL_OK)
        return 1;
    for (int i = 0; i < bl_params_count(net.params); i++) {
        const bl_param *p = bl_params_at(net.params, i);
        float *g = bl_params_grad(net.params, i);
        for (int64_t k = 0; g && argc > 5 && strcmp(argv[5], p->name) == 0 && k < p->count; k++)
            g[k] *= 1.001f;
        if (g && fwrite(g, sizeof *g, (size_t)p->count, file) != (size_t)p->count)
            return 1;
    }
    formula_net_clear(&net);
    return fclose(file) == 0 ? 0 : 1;
}
