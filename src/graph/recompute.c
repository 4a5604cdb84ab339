#include "graph/recompute.h"

#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

/* Values below this part of the largest one are kept: statistics, gates, what comes after a global pool. */
#define SMALL_PART 64
#define MAX_TRIES  48

bool bl_recompute_from_name(const char *name, bl_recompute *out)
{
    static const char *const names[] = {"none", "cheap", "all"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (bl_recompute)i;
            return true;
        }
    return false;
}

typedef struct rewriting {
    bl_graph *graph;
    int n_values, n_forward; /* of the graph as it came */
    int *producer;           /* of each value: node, or -1 */
    int *first_use;          /* first and last backward node that reads its data; -1: none does */
    int *last_use;
    int *last_forward; /* last forward node that reads its data; -1 */
    int64_t *bytes;    /* 0 for what is not worth a thought */
    bool *again;       /* to be computed again */
    int *due;          /* of each forward node: the backward node before which it runs again; -1: it does not */
    bl_value *now;     /* what stands for the value in the backward pass */
} rewriting;

static void clear(rewriting *r)
{
    free(r->producer);
    free(r->first_use);
    free(r->last_use);
    free(r->last_forward);
    free(r->bytes);
    free(r->again);
    free(r->due);
    free(r->now);
}

static int count_forward(const bl_graph *graph)
{
    int n = 0;
    while (n < graph->n_nodes && !graph->nodes[n].backward)
        n++;
    return n;
}

static void note_reads(rewriting *r, int index)
{
    const bl_node *node = &r->graph->nodes[index];
    for (int k = 0; k < node->n_in; k++) {
        bl_value v = node->in[k];
        if (v < 0 || node->op->shape_only & 1 << k)
            continue;
        if (index < r->n_forward) {
            r->last_forward[v] = index;
        } else {
            r->first_use[v] = r->first_use[v] < 0 ? index : r->first_use[v];
            r->last_use[v] = index;
        }
    }
}

static int survey(rewriting *r, bl_error *err)
{
    const bl_graph *graph = r->graph;
    size_t n = (size_t)graph->n_values;
    r->n_values = graph->n_values;
    r->n_forward = count_forward(graph);
    r->producer = bl_calloc(n, sizeof *r->producer);
    r->first_use = bl_calloc(n, sizeof *r->first_use);
    r->last_use = bl_calloc(n, sizeof *r->last_use);
    r->last_forward = bl_calloc(n, sizeof *r->last_forward);
    r->bytes = bl_calloc(n, sizeof *r->bytes);
    r->again = bl_calloc(n, sizeof *r->again);
    r->due = bl_calloc((size_t)r->n_forward, sizeof *r->due);
    r->now = bl_calloc(n, sizeof *r->now);
    if (!r->producer || !r->first_use || !r->last_use || !r->last_forward || !r->bytes || !r->again || !r->due ||
        !r->now)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to transform the graph");
    int64_t largest = 0;
    for (int v = 0; v < graph->n_values; v++) {
        r->producer[v] = r->first_use[v] = r->last_use[v] = r->last_forward[v] = -1;
        r->now[v] = v;
        if (graph->values[v].kind == BL_VALUE_TEMP)
            r->bytes[v] = bl_shape_count(&graph->values[v].shape) * (int64_t)sizeof(float);
        largest = r->bytes[v] > largest ? r->bytes[v] : largest;
    }
    for (int i = 0; i < graph->n_nodes; i++)
        note_reads(r, i);
    for (int i = 0; i < r->n_forward; i++) {
        r->due[i] = -1;
        for (int k = 0; k < graph->nodes[i].n_out; k++)
            if (graph->nodes[i].out[k] >= 0)
                r->producer[graph->nodes[i].out[k]] = i;
    }
    for (int v = 0; v < graph->n_values; v++)
        if (r->bytes[v] < largest / SMALL_PART || graph->values[v].is_output || r->producer[v] < 0)
            r->bytes[v] = 0;
    return BL_OK;
}

static bool updates_something(const bl_op *op)
{
    for (int k = 0; k < op->n_out; k++)
        if (op->updates[k] > 0)
            return true;
    return false;
}

/* ---- which ---- */

static bool is_cheap(const bl_op *op)
{
    static const bl_op *const cheap[] = {&bl_op_norm_act,  &bl_op_norm_act_apply, &bl_op_layer_norm, &bl_op_activation,
                                         &bl_op_drop_path, &bl_op_dropout,        &bl_op_patches};
    for (size_t i = 0; i < BL_ARRAY_LEN(cheap); i++)
        if (cheap[i] == op)
            return true;
    return false;
}

/* Would computing v again keep nothing alive that is not kept anyway? */
static bool costs_no_memory(const rewriting *r, bl_value v)
{
    const bl_node *node = &r->graph->nodes[r->producer[v]];
    for (int k = 0; k < node->n_in; k++) {
        bl_value u = node->in[k];
        if (u < 0 || r->bytes[u] == 0 || node->op->shape_only & 1 << k)
            continue;
        if (r->last_use[u] < r->first_use[v] || r->again[u])
            return false;
    }
    return true;
}

static void choose_cheap(rewriting *r)
{
    for (int v = 0; v < r->n_values; v++) {
        if (r->bytes[v] == 0 || r->first_use[v] < 0 || !is_cheap(r->graph->nodes[r->producer[v]].op) ||
            r->graph->nodes[r->producer[v]].out[0] != v || !costs_no_memory(r, v))
            continue;
        r->again[v] = true;
        r->due[r->producer[v]] = r->first_use[v];
    }
}

/* Bytes that cross from before forward node `at` to it or a later one. */
static int64_t crossing(const rewriting *r, int at)
{
    int64_t sum = 0;
    for (int v = 0; v < r->n_values; v++)
        if (r->bytes[v] > 0 && r->producer[v] < at && r->last_forward[v] >= at)
            sum += r->bytes[v];
    return sum;
}

/* Bytes that forward node `at` makes and the backward pass reads. */
static int64_t kept_by(const rewriting *r, int at)
{
    int64_t sum = 0;
    for (int k = 0; k < r->graph->nodes[at].n_out; k++) {
        bl_value v = r->graph->nodes[at].out[k];
        if (v >= 0 && r->first_use[v] >= 0)
            sum += r->bytes[v];
    }
    return sum;
}

/* Cuts such that no stretch keeps more than `budget`, each at the cheapest place of the stretch's second half; cut[i]:
 * a stretch begins at forward node i. The peak in the backward pass: all cuts and the largest stretch. */
static int64_t cut_for(const rewriting *r, const int64_t *cross, int64_t budget, bool *cut)
{
    int64_t held = 0, largest = 0, cuts = 0;
    memset(cut, 0, (size_t)r->n_forward * sizeof *cut);
    int start = 0;
    for (int i = 0; i < r->n_forward; i++) {
        held += kept_by(r, i);
        if (held <= budget || i == start) {
            largest = held > largest ? held : largest;
            continue;
        }
        int best = i;
        int64_t half = 0;
        for (int j = start; j <= i; j++) {
            if (half >= held / 2 && j > start && cross[j] <= cross[best])
                best = j;
            half += kept_by(r, j);
        }
        cut[best] = true;
        cuts += cross[best];
        held = 0;
        start = best;
        i = best - 1; /* counted anew from the cut */
    }
    return cuts + largest;
}

static bool crosses_a_cut(const rewriting *r, bl_value v, const bool *cut)
{
    for (int i = r->producer[v] + 1; i <= r->last_forward[v]; i++)
        if (cut[i])
            return true;
    return false;
}

/* Marks `node` and what it needs of its own stretch, down to kept values. */
static void demand(rewriting *r, int index, int due, const bool *kept)
{
    if (r->due[index] >= 0 && r->due[index] <= due)
        return;
    r->due[index] = due;
    const bl_node *node = &r->graph->nodes[index];
    for (int k = 0; k < node->n_out; k++)
        if (node->out[k] >= 0)
            r->again[node->out[k]] = r->bytes[node->out[k]] > 0;
    for (int k = 0; k < node->n_in; k++) {
        bl_value u = node->in[k];
        if (u >= 0 && !kept[u] && !(node->op->shape_only & 1 << k))
            demand(r, r->producer[u], due, kept);
    }
}

static void choose_stretches(rewriting *r, const bool *cut, bool *kept)
{
    int last_start = 0;
    for (int i = 0; i < r->n_forward; i++)
        last_start = cut[i] ? i : last_start;
    for (int v = 0; v < r->n_values; v++)
        kept[v] = r->bytes[v] == 0 || r->producer[v] >= last_start || crosses_a_cut(r, v, cut) ||
                  updates_something(r->graph->nodes[r->producer[v]].op);
    for (int start = 0; start < last_start;) {
        int end = start + 1, due = r->graph->n_nodes;
        while (!cut[end])
            end++;
        for (int v = 0; v < r->n_values; v++)
            if (!kept[v] && r->producer[v] >= start && r->producer[v] < end && r->first_use[v] >= 0 &&
                r->first_use[v] < due)
                due = r->first_use[v];
        for (int v = 0; v < r->n_values; v++)
            if (!kept[v] && r->producer[v] >= start && r->producer[v] < end && r->first_use[v] >= 0)
                demand(r, r->producer[v], due, kept);
        start = end;
    }
}

static int choose_all(rewriting *r, bl_error *err)
{
    size_t n = (size_t)r->n_forward;
    int64_t *cross = bl_calloc(n, sizeof *cross), total = 0, best = INT64_MAX, best_budget = 0;
    bool *cut = bl_calloc(n, sizeof *cut), *kept = bl_calloc((size_t)r->n_values, sizeof *kept);
    int code = cross && cut && kept ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory to transform the graph");
    for (int i = 0; code == BL_OK && i < r->n_forward; i++) {
        cross[i] = crossing(r, i);
        total += kept_by(r, i);
    }
    for (int parts = 1; code == BL_OK && parts <= MAX_TRIES; parts++) {
        int64_t peak = cut_for(r, cross, total / parts, cut);
        if (peak < best) {
            best = peak;
            best_budget = total / parts;
        }
    }
    if (code == BL_OK) {
        cut_for(r, cross, best_budget, cut);
        choose_stretches(r, cut, kept);
    }
    free(cross);
    free(cut);
    free(kept);
    return code;
}

/* ---- rewriting ---- */

/* The node once more, reading what stands for its inputs now. Batch statistics are not taken again. */
static int clone(rewriting *r, int index, bl_node *out, bl_error *err)
{
    bl_graph *graph = r->graph;
    bl_node node = graph->nodes[index];
    node.backward = node.recomputed = true;
    for (int k = 0; k < node.n_in; k++)
        if (node.in[k] >= 0)
            node.in[k] = r->now[node.in[k]];
    if (node.op == &bl_op_norm_act) {
        bl_value residual = node.n_in > 3 ? node.in[3] : BL_NO_VALUE;
        node.op = &bl_op_norm_act_apply;
        node.in[3] = node.out[1];
        node.in[4] = node.out[2];
        node.in[5] = residual;
        node.n_in = residual >= 0 ? 6 : 5;
        node.n_out = 1;
        node.out[1] = node.out[2] = BL_NO_VALUE;
    }
    for (int k = 0; k < node.n_out; k++) {
        bl_value v = node.out[k];
        if (v < 0)
            continue;
        bl_shape shape = graph->values[v].shape;
        node.out[k] = bl_graph_add_value(graph, BL_VALUE_TEMP, graph->values[v].dtype, &shape, err);
        if (node.out[k] < 0)
            return err ? (int)err->code : BL_ERR_NOMEM;
        if (r->again[v])
            r->now[v] = node.out[k];
    }
    *out = node;
    return BL_OK;
}

static int rewrite(rewriting *r, bl_error *err)
{
    bl_graph *graph = r->graph;
    int n_again = 0, n = 0;
    for (int i = 0; i < r->n_forward; i++)
        n_again += r->due[i] >= 0;
    if (n_again == 0)
        return BL_OK;
    bl_node *nodes = bl_calloc((size_t)(graph->n_nodes + n_again), sizeof *nodes);
    if (!nodes)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to transform the graph");
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < graph->n_nodes; i++) {
        for (int f = 0; code == BL_OK && i >= r->n_forward && f < r->n_forward; f++)
            if (r->due[f] == i)
                code = clone(r, f, &nodes[n++], err);
        nodes[n] = graph->nodes[i];
        for (int k = 0; i >= r->n_forward && k < nodes[n].n_in; k++)
            if (nodes[n].in[k] >= 0 && nodes[n].in[k] < r->n_values)
                nodes[n].in[k] = r->now[nodes[n].in[k]];
        n++;
    }
    if (code != BL_OK) {
        free(nodes);
        return code;
    }
    free(graph->nodes);
    graph->nodes = nodes;
    graph->n_nodes = graph->cap_nodes = n;
    return BL_OK;
}

int bl_graph_recompute(bl_graph *graph, bl_recompute level, bl_error *err)
{
    if (level == BL_RECOMPUTE_NONE)
        return BL_OK;
    rewriting r = {.graph = graph};
    int code = survey(&r, err);
    if (code == BL_OK && level == BL_RECOMPUTE_CHEAP)
        choose_cheap(&r);
    else if (code == BL_OK)
        code = choose_all(&r, err);
    if (code == BL_OK)
        code = rewrite(&r, err);
    clear(&r);
    return code;
}
