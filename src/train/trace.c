#include "train/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/str.h"
#include "graph/op.h"

enum { BATCHES = 3 };

typedef struct event {
    int node;  /* or -1 - the sum's number */
    int batch; /* from 1 on */
    int64_t bytes;
    int64_t start_ns, end_ns;
} event;

struct bl_trace {
    const bl_graph *graph;
    event *events;
    int n, room;
    int batch; /* the present one, from 0 on */
};

int bl_trace_new(const bl_graph *graph, int n_sums, bl_trace **out, bl_error *err)
{
    bl_trace *t = bl_calloc(1, sizeof *t);
    int room = BATCHES * (graph->n_nodes + n_sums);
    event *events = bl_calloc((size_t)room, sizeof *events);
    if (!t || !events) {
        free(t);
        free(events);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a trace");
    }
    *t = (bl_trace){.graph = graph, .events = events, .room = room, .batch = -1};
    *out = t;
    return BL_OK;
}

void bl_trace_free(bl_trace *t)
{
    if (!t)
        return;
    free(t->events);
    free(t);
}

void bl_trace_batch(bl_trace *t)
{
    t->batch += t->batch <= BATCHES;
}

static void add(bl_trace *t, event e)
{
    e.batch = t->batch;
    if (t->batch >= 1 && t->batch <= BATCHES && t->n < t->room)
        t->events[t->n++] = e;
}

void bl_trace_node(bl_trace *t, int node, int64_t start_ns, int64_t end_ns)
{
    add(t, (event){.node = node, .start_ns = start_ns, .end_ns = end_ns});
}

void bl_trace_sum(bl_trace *t, int number, int64_t bytes, int64_t start_ns, int64_t end_ns)
{
    add(t, (event){.node = -1 - number, .bytes = bytes, .start_ns = start_ns, .end_ns = end_ns});
}

/* Names are of models' parameters and ops: nothing in them wants escaping. */
static void describe(const bl_trace *t, const event *e, bl_str *out)
{
    const bl_node *node = e->node >= 0 ? &t->graph->nodes[e->node] : NULL;
    if (!node) {
        bl_str_printf(out, "\"name\":\"sum %d\",\"cat\":\"sum\",\"args\":{\"batch\":%d,\"bytes\":%" PRId64 "}",
                      -1 - e->node, e->batch, e->bytes);
        return;
    }
    bl_str_printf(out, "\"name\":\"%s%s%s\",\"cat\":\"%s\",\"args\":{\"batch\":%d}", node->op->name,
                  node->name ? " " : "", node->name ? node->name : "", node->backward ? "backward" : "forward",
                  e->batch);
}

int bl_trace_write(const bl_trace *t, const char *path, int rank, bl_error *err)
{
    bl_str text;
    bl_str_init(&text);
    bl_str_append(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    int64_t zero_ns = t->n > 0 ? t->events[0].start_ns : 0;
    for (int i = 0; i < t->n; i++) {
        const event *e = &t->events[i];
        bl_str_append(&text, "{\"ph\":\"X\",");
        describe(t, e, &text);
        bl_str_printf(&text, ",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f},\n", rank, e->node >= 0 ? 0 : -e->node,
                      (double)(e->start_ns - zero_ns) / 1e3, (double)(e->end_ns - e->start_ns) / 1e3);
    }
    bl_str_printf(&text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}\n]}\n",
                  rank, rank);
    int code = text.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for '%s'", path)
                           : bl_fs_replace(path, bl_str_text(&text), text.len, err);
    bl_str_clear(&text);
    return code;
}
