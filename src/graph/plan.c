#include "graph/plan.h"

#include <stdlib.h>

#include "graph/op.h"

/* Something that lives in the slab: a value with those that took its memory over, or a node's scratch. */
typedef struct item {
    size_t bytes, offset;
    int first, last; /* nodes, both included */
} item;

typedef struct planner {
    const bl_graph *graph;
    item *items; /* values first, then the nodes' scratches; 0 bytes: not there */
    int *root;   /* of each value: the value whose memory it uses */
    int *order;  /* of the items, by size */
    int n_items;
} planner;

static bool is_temp(const bl_graph *graph, bl_value v)
{
    return v >= 0 && graph->values[v].kind == BL_VALUE_TEMP;
}

static int measure(planner *p, const size_t *scratch_b, bl_error *err)
{
    const bl_graph *graph = p->graph;
    for (int v = 0; v < graph->n_values; v++) {
        p->root[v] = v;
        p->items[v] = (item){.first = graph->n_nodes, .last = -1};
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        const bl_node *node = &graph->nodes[i];
        for (int k = 0; k < node->n_out; k++)
            if (is_temp(graph, node->out[k])) {
                item *it = &p->items[node->out[k]];
                it->first = i < it->first ? i : it->first;
                it->last = i > it->last ? i : it->last;
            }
        for (int k = 0; k < node->n_in; k++)
            if (is_temp(graph, node->in[k]) && !(node->op->shape_only & 1 << k))
                p->items[node->in[k]].last = i;
        p->items[graph->n_values + i] = (item){.bytes = scratch_b[i], .first = i, .last = i};
    }
    for (int v = 0; v < graph->n_values; v++) {
        const bl_value_info *info = &graph->values[v];
        if (!is_temp(graph, v) || p->items[v].last < 0)
            continue;
        int code = bl_layout_bytes(&info->layout, &info->shape, info->dtype, &p->items[v].bytes, err);
        if (code != BL_OK)
            return code;
        if (info->is_output)
            p->items[v].last = graph->n_nodes;
    }
    for (int i = 0; i < p->n_items; i++)
        p->items[i].bytes = (p->items[i].bytes + BL_ALIGN_B - 1) / BL_ALIGN_B * BL_ALIGN_B;
    return BL_OK;
}

static int times_read(const bl_node *node, bl_value v)
{
    int n = 0;
    for (int k = 0; k < node->n_in; k++)
        n += node->in[k] == v;
    return n;
}

/* May output k take over the memory of input `source`, which ends here? */
static bool can_take_over(const planner *p, int index, bl_value out, bl_value source)
{
    const bl_node *node = &p->graph->nodes[index];
    if (!is_temp(p->graph, source) || times_read(node, source) != 1)
        return false;
    const item *from = &p->items[p->root[source]], *to = &p->items[out];
    return from->last == index && from->bytes == to->bytes && to->first == index && p->root[out] == out &&
           bl_layout_equal(&p->graph->values[source].layout, &p->graph->values[out].layout);
}

static void take_over(planner *p)
{
    for (int i = 0; i < p->graph->n_nodes; i++) {
        const bl_node *node = &p->graph->nodes[i];
        for (int k = 0; k < node->n_out; k++) {
            if (!is_temp(p->graph, node->out[k]))
                continue;
            for (int c = 0; c < 2; c++) {
                int at = node->op->in_place[k][c] - 1;
                if (at < 0 || at >= node->n_in || !can_take_over(p, i, node->out[k], node->in[at]))
                    continue;
                int root = p->root[node->in[at]];
                p->root[node->out[k]] = root;
                p->items[root].last = p->items[node->out[k]].last;
                p->items[node->out[k]].bytes = 0;
                break;
            }
        }
    }
}

static int by_size(const void *a, const void *b, void *items)
{
    const item *sorting = items, *x = &sorting[*(const int *)a], *y = &sorting[*(const int *)b];
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first != y->first ? x->first - y->first : *(const int *)a - *(const int *)b;
}

static int by_offset(const void *a, const void *b, void *items)
{
    const item *sorting = items, *x = &sorting[*(const int *)a], *y = &sorting[*(const int *)b];
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The lowest gap among the placed items that live at the same time. */
static size_t find_gap(const planner *p, const int *placed, int n_placed, const item *it)
{
    size_t end = 0;
    for (int i = 0; i < n_placed; i++) {
        const item *other = &p->items[placed[i]];
        if (other->first > it->last || other->last < it->first)
            continue;
        if (other->offset >= end && other->offset - end >= it->bytes)
            break;
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    return end;
}

static int place(planner *p, bool reuse, bl_plan_result *out, bl_error *err)
{
    int n = 0;
    int *placed = bl_calloc((size_t)p->n_items, sizeof *placed);
    if (!placed)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to plan the graph's memory");
    for (int i = 0; i < p->n_items; i++)
        if (p->items[i].bytes > 0)
            p->order[n++] = i;
    qsort_r(p->order, (size_t)n, sizeof *p->order, by_size, p->items);
    for (int i = 0; i < n; i++) {
        item *it = &p->items[p->order[i]];
        it->offset = reuse ? find_gap(p, placed, i, it) : out->slab_b;
        if (it->offset + it->bytes > out->slab_b)
            out->slab_b = it->offset + it->bytes;
        placed[i] = p->order[i];
        qsort_r(placed, (size_t)i + 1, sizeof *placed, by_offset, p->items);
    }
    free(placed);
    return BL_OK;
}

/* Is the item's memory what a forward node, be it run once more, wrote? */
static bool is_forward(const planner *p, const int *producer, int index)
{
    return producer[index] < 0 || !p->graph->nodes[producer[index]].backward ||
           p->graph->nodes[producer[index]].recomputed;
}

/* What lives at node `at`, by kind. */
static void count_live(const planner *p, const int *producer, int at, size_t *forward_b, size_t *backward_b,
                       size_t *scratch_b)
{
    *forward_b = *backward_b = *scratch_b = 0;
    for (int i = 0; i < p->n_items; i++) {
        if (p->items[i].bytes == 0 || p->items[i].first > at || p->items[i].last < at)
            continue;
        if (i >= p->graph->n_values)
            *scratch_b += p->items[i].bytes;
        else
            *(is_forward(p, producer, i) ? forward_b : backward_b) += p->items[i].bytes;
    }
}

static int bound(const planner *p, bl_plan_result *out, bl_error *err)
{
    int *producer = bl_calloc((size_t)p->graph->n_values, sizeof *producer);
    if (!producer)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to plan the graph's memory");
    for (int v = 0; v < p->graph->n_values; v++)
        producer[v] = -1;
    for (int i = 0; i < p->graph->n_nodes; i++)
        for (int k = 0; k < p->graph->nodes[i].n_out; k++)
            if (p->graph->nodes[i].out[k] >= 0)
                producer[p->graph->nodes[i].out[k]] = i;
    for (int i = 0; i < p->n_items; i++)
        out->naive_b += p->items[i].bytes;
    for (int at = 0; at < p->graph->n_nodes; at++) {
        size_t forward_b, backward_b, scratch_b;
        count_live(p, producer, at, &forward_b, &backward_b, &scratch_b);
        if (forward_b + backward_b + scratch_b <= out->lower_bound_b)
            continue;
        out->lower_bound_b = forward_b + backward_b + scratch_b;
        out->forward_b = forward_b;
        out->backward_b = backward_b;
        out->scratch_b = scratch_b;
    }
    free(producer);
    return BL_OK;
}

int bl_graph_plan(const bl_graph *graph, const size_t *scratch_b, bool reuse, bl_plan_result *out, bl_error *err)
{
    *out = (bl_plan_result){0};
    planner p = {.graph = graph, .n_items = graph->n_values + graph->n_nodes};
    p.items = bl_calloc((size_t)p.n_items, sizeof *p.items);
    p.root = bl_calloc((size_t)graph->n_values, sizeof *p.root);
    p.order = bl_calloc((size_t)p.n_items, sizeof *p.order);
    out->offset = bl_calloc((size_t)graph->n_values, sizeof *out->offset);
    out->scratch_offset = bl_calloc((size_t)graph->n_nodes, sizeof *out->scratch_offset);
    int code = BL_OK;
    if (!p.items || !p.root || !p.order || !out->offset || !out->scratch_offset)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to plan the graph's memory");
    if (code == BL_OK)
        code = measure(&p, scratch_b, err);
    if (code == BL_OK && reuse)
        take_over(&p);
    if (code == BL_OK)
        code = place(&p, reuse, out, err);
    if (code == BL_OK)
        code = bound(&p, out, err);
    if (code == BL_OK) {
        for (int v = 0; v < graph->n_values; v++)
            out->offset[v] = p.items[p.root[v]].offset;
        for (int i = 0; i < graph->n_nodes; i++)
            out->scratch_offset[i] = p.items[graph->n_values + i].offset;
    }
    free(p.items);
    free(p.root);
    free(p.order);
    return code;
}

void bl_plan_result_clear(bl_plan_result *plan)
{
    free(plan->offset);
    free(plan->scratch_offset);
    plan->offset = plan->scratch_offset = NULL;
}
