/* Activation functions in doubles: their definition, for the references. */
#ifndef BL_GRAPH_ACT_H
#define BL_GRAPH_ACT_H

#include "graph/graph.h"

double bl_act_value(bl_act act, double x);
/* At kinks the one-sided derivative that PyTorch takes. */
double bl_act_slope(bl_act act, double x);

#endif
