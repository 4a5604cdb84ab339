#include "train/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Of a bucket: large enough that a sum's fixed cost is small beside it, and so many that the first ones are under way
 * early. No more than BL_DIST_SUMS of them. */
#define BUCKET_FLOATS (1 << 20)

/* A piece of the gradients' slab. */
typedef struct bucket {
    float *at;
    int64_t count;
    int ready; /* the node after which its gradients are complete; -1: before the first */
    int64_t started_ns;
    bool pending; /* started, and its end not seen yet */
} bucket;

struct bl_ranks {
    bl_dist *dist;
    bl_exec *exec;
    bl_params *params;
    bl_trace *trace;
    bucket buckets[BL_DIST_SUMS]; /* in the order in which they start */
    int n_buckets, next, n_pending;
    float loss_gradient;
    int64_t begin_ns, last_ns;   /* of this batch; the end of the last node */
    const bl_ranks_joint *joint; /* or NULL */
    int64_t batches_ns, sums_ns, bytes;
    int n;         /* ranks */
    double *along; /* BL_RANKS_JOINED numbers; then of each rank: time of batches, of that sums, and most memory */
};

enum { BATCHES_NS, SUMS_NS, PEAK_B, KINDS };

/* The node that completes each parameter's gradient; malloc'd. */
static int *find_ready(const bl_ranks *r)
{
    const bl_graph *graph = bl_exec_graph(r->exec);
    int n = bl_params_count(r->params), *ready = bl_calloc((size_t)n, sizeof *ready);
    for (int p = 0; ready && p < n; p++)
        ready[p] = -1;
    for (int i = 0; ready && i < graph->n_nodes; i++)
        for (int k = 0; k < graph->nodes[i].n_out; k++) {
            bl_value v = graph->nodes[i].out[k];
            if (v >= 0 && graph->values[v].kind == BL_VALUE_GRAD)
                ready[graph->values[v].param] = i;
        }
    return ready;
}

/* From the slab's end, where the backward pass begins, on. */
static void fill_buckets(bl_ranks *r, const int *ready)
{
    int64_t total = bl_params_slab_count(r->params), least = (total + BL_DIST_SUMS - 2) / (BL_DIST_SUMS - 1);
    int64_t size = least > BUCKET_FLOATS ? least : BUCKET_FLOATS, end = total;
    int last = -1;
    for (int p = bl_params_count(r->params); p-- > 0;) {
        const bl_param *param = bl_params_at(r->params, p);
        if (param->buffer)
            continue;
        last = ready[p] > last ? ready[p] : last;
        if (end - param->offset < size && param->offset > 0)
            continue;
        r->buckets[r->n_buckets++] =
            (bucket){.at = bl_params_grad_slab(r->params) + param->offset, .count = end - param->offset, .ready = last};
        end = param->offset;
        last = -1;
    }
}

static int by_ready(const void *a, const void *b)
{
    const bucket *x = a, *y = b;
    return x->ready != y->ready ? (x->ready > y->ready) - (x->ready < y->ready) : (x->at < y->at) - (x->at > y->at);
}

/* In rank 0's order: graphs of unequal batches might differ in what is computed again when. */
int bl_ranks_align(bl_ranks *r, bl_error *err)
{
    float places[BL_DIST_SUMS] = {0}, first[BL_DIST_SUMS], n = (float)r->n_buckets; /* places: numbers by address */
    bucket mine[BL_DIST_SUMS];
    qsort(r->buckets, (size_t)r->n_buckets, sizeof *r->buckets, by_ready);
    memcpy(mine, r->buckets, sizeof mine);
    for (int i = 0; i < r->n_buckets; i++)
        for (int k = 0; k < r->n_buckets; k++)
            places[i] += mine[k].at < mine[i].at;
    memcpy(first, places, sizeof first);
    int code = bl_dist_broadcast(r->dist, &n, 1, err);
    if (code == BL_OK && (int)n != r->n_buckets)
        code = BL_FAIL(err, BL_ERR_USAGE, "this rank has another network than the first one");
    if (code == BL_OK)
        code = bl_dist_broadcast(r->dist, first, BL_DIST_SUMS, err);
    for (int i = 0; code == BL_OK && i < r->n_buckets; i++)
        for (int k = 0; k < r->n_buckets; k++)
            if (places[k] == first[i])
                r->buckets[i] = mine[k];
    return code;
}

/* Notes which sums have ended. */
static void take_ended(bl_ranks *r)
{
    int64_t now_ns = 0;
    for (int k = 0; k < r->next; k++) {
        bucket *b = &r->buckets[k];
        if (!b->pending || !bl_dist_done(r->dist, k))
            continue;
        b->pending = false;
        r->n_pending--;
        if (r->trace) {
            now_ns = now_ns > 0 ? now_ns : bl_clock_ns();
            bl_trace_sum(r->trace, k, b->count * (int64_t)sizeof(float), b->started_ns, now_ns);
        }
    }
}

/* Starts what is complete after this node. */
static int start_sums(bl_ranks *r, int node, bl_error *err)
{
    int code = BL_OK;
    for (; code == BL_OK && r->next < r->n_buckets && r->buckets[r->next].ready <= node; r->next++) {
        bucket *b = &r->buckets[r->next];
        b->started_ns = bl_clock_ns();
        b->pending = true;
        r->n_pending++;
        r->bytes += b->count * (int64_t)sizeof(float);
        code = bl_dist_start(r->dist, r->next, b->at, b->count, err);
    }
    return code;
}

static int after_node(void *context, int node, bl_error *err)
{
    bl_ranks *r = context;
    int64_t end_ns = bl_clock_ns();
    int code = BL_OK;
    if (r->trace)
        bl_trace_node(r->trace, node, r->last_ns, end_ns);
    if (r->n_pending > 0) {
        code = bl_dist_poll(r->dist, err);
        take_ended(r);
    }
    if (code == BL_OK && r->n_buckets > 0)
        code = start_sums(r, node, err);
    r->last_ns = bl_clock_ns();
    r->sums_ns += r->last_ns - end_ns;
    return code;
}

int bl_ranks_new(bl_dist *dist, bl_exec *exec, bl_params *params, const bl_ranks_joint *joint, bool traced,
                 bl_ranks **out, bl_error *err)
{
    bl_ranks *r = bl_calloc(1, sizeof *r);
    if (!r)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the ranks");
    *r = (bl_ranks){.dist = dist, .exec = exec, .params = params, .joint = joint, .loss_gradient = 1, .n = 1};
    int code = BL_OK;
    if (dist && bl_dist_ranks(dist) > 1) {
        int *ready = find_ready(r);
        r->n = bl_dist_ranks(dist);
        r->along = bl_calloc(BL_RANKS_JOINED + KINDS * (size_t)r->n, sizeof *r->along);
        code = ready && r->along ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the ranks");
        if (code == BL_OK)
            fill_buckets(r, ready);
        free(ready);
    }
    if (code == BL_OK && traced)
        code = bl_trace_new(bl_exec_graph(exec), r->n_buckets, &r->trace, err);
    if (code != BL_OK) {
        bl_ranks_free(r);
        return code;
    }
    bl_exec_set_watch(exec, &(bl_exec_watch){.context = r, .after = after_node});
    *out = r;
    return BL_OK;
}

void bl_ranks_free(bl_ranks *r)
{
    if (!r)
        return;
    bl_trace_free(r->trace);
    free(r->along);
    free(r);
}

const float *bl_ranks_loss_gradient(const bl_ranks *r)
{
    return &r->loss_gradient;
}

void bl_ranks_begin(bl_ranks *r, int n, int n_whole)
{
    r->loss_gradient = (float)((double)n / (double)n_whole);
    r->next = 0;
    if (r->trace)
        bl_trace_batch(r->trace);
    r->begin_ns = r->last_ns = bl_clock_ns();
}

int bl_ranks_finish(bl_ranks *r, bl_error *err)
{
    int64_t before_ns = bl_clock_ns();
    int code = BL_OK;
    /* Those that no longer compete with computing: one by one, so that a trace shows when each ended. */
    while (code == BL_OK && r->n_pending > 0) {
        code = r->trace ? bl_dist_poll(r->dist, err) : bl_dist_wait(r->dist, err);
        take_ended(r);
    }
    int64_t now_ns = bl_clock_ns();
    r->sums_ns += now_ns - before_ns;
    r->batches_ns += now_ns - r->begin_ns;
    return code;
}

int bl_ranks_joint_sum(void *context, double *data, int64_t n, bl_error *err)
{
    bl_ranks_joint *joint = context;
    int64_t before_ns = bl_clock_ns();
    int code = bl_dist_sum(joint->dist, data, n, err);
    joint->waited_ns += bl_clock_ns() - before_ns;
    return code;
}

/* This rank's place among those of a kind. */
static double *about(const bl_ranks *r, int kind)
{
    return r->along + BL_RANKS_JOINED + (size_t)kind * (size_t)r->n;
}

int bl_ranks_join(bl_ranks *r, double *numbers, int n, bl_error *err)
{
    struct rusage usage;
    int rank = bl_dist_rank(r->dist), all = BL_RANKS_JOINED + KINDS * r->n;
    getrusage(RUSAGE_SELF, &usage);
    memset(r->along, 0, (size_t)all * sizeof *r->along);
    memcpy(r->along, numbers, (size_t)n * sizeof *numbers);
    about(r, BATCHES_NS)[rank] = (double)r->batches_ns;
    about(r, SUMS_NS)[rank] = (double)(r->sums_ns + (r->joint ? r->joint->waited_ns : 0));
    about(r, PEAK_B)[rank] = (double)usage.ru_maxrss * 1024;
    int code = bl_dist_sum(r->dist, r->along, all, err);
    memcpy(numbers, r->along, (size_t)n * sizeof *numbers);
    return code;
}

bl_ranks_load bl_ranks_load_of(const bl_ranks *r)
{
    double batches_ns = 0, sums_ns = 0, longest_ns = 0;
    bl_ranks_load load = {.n = r->n, .bytes = (double)r->bytes, .peak_b = about(r, PEAK_B)};
    for (int i = 0; i < r->n; i++) {
        double computing_ns = about(r, BATCHES_NS)[i] - about(r, SUMS_NS)[i];
        batches_ns += about(r, BATCHES_NS)[i];
        sums_ns += about(r, SUMS_NS)[i];
        longest_ns = computing_ns > longest_ns ? computing_ns : longest_ns;
    }
    load.sums_share = batches_ns > 0 ? sums_ns / batches_ns : 0;
    load.slowest_share = batches_ns > sums_ns ? longest_ns * r->n / (batches_ns - sums_ns) : 1;
    return load;
}

const bl_trace *bl_ranks_trace(const bl_ranks *r)
{
    return r->trace;
}
