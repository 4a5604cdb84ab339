/* Writes every learnt parameter's gradient of the formula's network as raw floats, in the table's order, for
 * compare_with_torch.py. usage: dump_gradients FILE [PARAMETER TO SPOIL] */
#include <stdio.h>
#include <string.h>

#include "formula.h"

int main(int argc, char **argv)
{
    formula_net net;
    FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
    if (!file || formula_net_init(&net, BL_MODE_TRAIN) != BL_OK || bl_exec_run(net.exec, NULL) != BL_OK)
        return 1;
    for (int i = 0; i < bl_params_count(net.params); i++) {
        const bl_param *p = bl_params_at(net.params, i);
        float *g = bl_params_grad(net.params, i);
        for (int64_t k = 0; g && argc > 2 && strcmp(argv[2], p->name) == 0 && k < p->count; k++)
            g[k] *= 1.001f;
        if (g && fwrite(g, sizeof *g, (size_t)p->count, file) != (size_t)p->count)
            return 1;
    }
    formula_net_clear(&net);
    return fclose(file) == 0 ? 0 : 1;
}
