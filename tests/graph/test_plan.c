/* The memory plan, held against a slab that remembers who wrote which place: on random graphs no node may find its
 * inputs overwritten, and outputs of the graph must be whole at the end. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "graph/builder.h"
#include "graph/op.h"
#include "graph/passes.h"
#include "graph/plan.h"

#define GRAIN 64 /* bytes a place */

static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

/* Some layers over earlier values of the same shape, one in three of them not the newest. */
static bl_graph *random_graph(bl_params *params)
{
    bl_error err = {0};
    bl_graph *g = NULL;
    must(bl_graph_new(params, BL_MODE_TRAIN, &g, &err), &err);
    bl_value x = bl_build_input(g, "x", BL_F32, BL_SHAPE4(2, 8, 4, 4)), values[32];
    values[0] = bl_build_conv2d(g, "first", x, (bl_conv2d_args){.out_channels = 8, .kernel = 1});
    int n = 1, wanted = 4 + (int)draw(20);
    while (n < wanted) {
        bl_value from = values[draw(3) == 0 ? draw((uint32_t)n) : (uint32_t)n - 1];
        char name[16];
        snprintf(name, sizeof name, "layer%d", n);
        switch (draw(6)) {
        case 0:
            values[n] = bl_build_conv2d(g, name, from, (bl_conv2d_args){.out_channels = 8, .kernel = 3, .pad = 1});
            break;
        case 1:
            values[n] = bl_build_batch_norm(g, name, from, 0, 0);
            break;
        case 2:
            values[n] = bl_build_activation(g, from, BL_ACT_SILU);
            break;
        case 3:
            values[n] = bl_build_add(g, from, values[draw((uint32_t)n)]);
            break;
        case 4:
            values[n] = bl_build_gate(g, from, bl_build_global_avg_pool(g, values[draw((uint32_t)n)]));
            break;
        default:
            values[n] = bl_build_dropout(g, from, 0.5f);
            break;
        }
        if (draw(8) == 0) {
            snprintf(name, sizeof name, "out%d", n);
            bl_build_output(g, name, values[n]);
        }
        n++;
    }
    bl_value labels = bl_build_input(g, "labels", BL_I32, BL_SHAPE1(2));
    bl_build_softmax_cross_entropy(g, bl_build_flatten(g, values[n - 1]), labels, 0);
    must(bl_graph_finish(g, &err), &err);
    return g;
}

typedef struct slab {
    const bl_graph *graph;
    const bl_plan_result *plan;
    int *owner; /* of each place: a value, or -1 - node for scratch; INT32_MIN: nobody */
    size_t n_places;
} slab;

static size_t places(size_t bytes)
{
    return (bytes + GRAIN - 1) / GRAIN;
}

static size_t bytes_of(const bl_graph *graph, bl_value v)
{
    size_t bytes = 0;
    const bl_value_info *info = &graph->values[v];
    must(bl_layout_bytes(&info->layout, &info->shape, info->dtype, &bytes, NULL), &(bl_error){0});
    return bytes;
}

static bool in_slab(const bl_graph *graph, bl_value v)
{
    return v >= 0 && graph->values[v].kind == BL_VALUE_TEMP;
}

static void write_places(slab *s, size_t offset, size_t bytes, int owner)
{
    assert_int_equal(offset % GRAIN, 0);
    for (size_t i = 0; i < places(bytes); i++) {
        assert_true(offset / GRAIN + i < s->n_places);
        s->owner[offset / GRAIN + i] = owner;
    }
}

static void expect_owner(const slab *s, size_t offset, size_t bytes, int owner)
{
    for (size_t i = 0; i < places(bytes); i++)
        assert_int_equal(s->owner[offset / GRAIN + i], owner);
}

/* An output may lie on an input of its own node only where the op allows this, exactly, and nobody reads it later. */
static void check_takeover(const slab *s, const bl_node *node, int k)
{
    const size_t *offset = s->plan->offset;
    size_t from = offset[node->out[k]], to = from + bytes_of(s->graph, node->out[k]);
    for (int i = 0; i < node->n_in; i++) {
        bl_value v = node->in[i];
        if (!in_slab(s->graph, v) || node->op->shape_only & 1 << i || offset[v] >= to ||
            offset[v] + bytes_of(s->graph, v) <= from)
            continue;
        assert_int_equal(offset[v], from);
        assert_true(node->op->in_place[k][0] == i + 1 || node->op->in_place[k][1] == i + 1);
    }
}

static void run_node(slab *s, int index, const size_t *scratch_b)
{
    const bl_node *node = &s->graph->nodes[index];
    write_places(s, s->plan->scratch_offset[index], scratch_b[index], -1 - index);
    for (int k = 0; k < node->n_in; k++)
        if (in_slab(s->graph, node->in[k]) && !(node->op->shape_only & 1 << k))
            expect_owner(s, s->plan->offset[node->in[k]], bytes_of(s->graph, node->in[k]), node->in[k]);
    for (int k = 0; k < node->n_out; k++)
        if (in_slab(s->graph, node->out[k])) {
            check_takeover(s, node, k);
            write_places(s, s->plan->offset[node->out[k]], bytes_of(s->graph, node->out[k]), node->out[k]);
        }
    /* Nor may scratch and outputs, or two outputs, lie on one another. */
    expect_owner(s, s->plan->scratch_offset[index], scratch_b[index], -1 - index);
    for (int k = 0; k < node->n_out; k++)
        if (in_slab(s->graph, node->out[k]))
            expect_owner(s, s->plan->offset[node->out[k]], bytes_of(s->graph, node->out[k]), node->out[k]);
}

static void check_plan(const bl_graph *graph, const size_t *scratch_b, const bl_plan_result *plan)
{
    slab s = {.graph = graph, .plan = plan, .n_places = places(plan->slab_b)};
    s.owner = malloc(s.n_places * sizeof *s.owner);
    assert_non_null(s.owner);
    for (size_t i = 0; i < s.n_places; i++)
        s.owner[i] = INT32_MIN;
    for (int i = 0; i < graph->n_nodes; i++)
        run_node(&s, i, scratch_b);
    for (int v = 0; v < graph->n_values; v++)
        if (in_slab(graph, v) && graph->values[v].is_output)
            expect_owner(&s, plan->offset[v], bytes_of(graph, v), v);
    free(s.owner);
}

static void test_random_graphs(void **state)
{
    bl_error err = {0};
    bool shared = false;
    for (int seed = 0; seed < 300; seed++) {
        random_state = (uint32_t)seed * 7919u + 1;
        bl_params *params = NULL;
        must(bl_params_new(&params, &err), &err);
        bl_graph *graph = random_graph(params);
        bl_value loss = bl_graph_find_value(graph, "loss"), one = BL_NO_VALUE;
        if (seed % 2 == 0)
            must(bl_graph_fuse(graph, &err), &err);
        must(bl_graph_differentiate(graph, &loss, &one, 1, &err), &err);
        if (seed % 2 == 0)
            must(bl_graph_absorb(graph, &err), &err);
        must(bl_graph_sweep(graph, &err), &err);
        size_t *scratch_b = calloc((size_t)graph->n_nodes, sizeof *scratch_b);
        assert_non_null(scratch_b);
        for (int i = 0; i < graph->n_nodes; i++)
            scratch_b[i] = draw(2) * draw(5000);
        bl_plan_result plan, apart;
        must(bl_graph_plan(graph, scratch_b, true, &plan, &err), &err);
        must(bl_graph_plan(graph, scratch_b, false, &apart, &err), &err);
        check_plan(graph, scratch_b, &plan);
        check_plan(graph, scratch_b, &apart);
        assert_true(plan.lower_bound_b <= plan.slab_b);
        assert_true(plan.slab_b <= apart.slab_b);
        shared = shared || plan.slab_b < apart.slab_b / 2;
        bl_plan_result_clear(&plan);
        bl_plan_result_clear(&apart);
        free(scratch_b);
        bl_graph_free(graph);
        bl_params_free(params);
    }
    assert_true(shared);
}

/* A chain of activations in evaluation: each takes the memory of the one before it. */
static void test_a_chain_needs_one_place(void **state)
{
    bl_error err = {0};
    bl_params *params = NULL;
    bl_graph *g = NULL;
    must(bl_params_new(&params, &err), &err);
    must(bl_graph_new(params, BL_MODE_EVAL, &g, &err), &err);
    bl_value x = bl_build_input(g, "x", BL_F32, BL_SHAPE2(16, 64));
    for (int i = 0; i < 6; i++)
        x = bl_build_activation(g, x, BL_ACT_SILU);
    bl_build_output(g, "y", x);
    size_t scratch_b[6] = {0};
    bl_plan_result plan;
    must(bl_graph_plan(g, scratch_b, true, &plan, &err), &err);
    assert_int_equal(plan.slab_b, 16 * 64 * sizeof(float));
    bl_plan_result_clear(&plan);
    must(bl_graph_plan(g, scratch_b, false, &plan, &err), &err);
    assert_int_equal(plan.slab_b, 6 * 16 * 64 * sizeof(float));
    bl_plan_result_clear(&plan);
    bl_graph_free(g);
    bl_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_a_chain_needs_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
