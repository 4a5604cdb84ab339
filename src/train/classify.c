#include "train/classify.h"

#include <stdlib.h>

#include "base/alloc.h"

int bl_train_run_batch(bl_exec *exec, const bl_batch *batch, float *loss, bl_error *err)
{
    int code = bl_exec_bind(exec, "images", batch->images, err);
    if (code == BL_OK)
        code = batch->targets ? bl_exec_bind(exec, "targets", batch->targets, err)
                              : bl_exec_bind(exec, "labels", batch->labels, err);
    if (code == BL_OK)
        code = bl_exec_run(exec, err);
    return code == BL_OK ? bl_exec_read(exec, "loss", loss, 1, err) : code;
}

static int64_t count_hits(const float *logits, const int32_t *labels, int n, int n_classes)
{
    int64_t hits = 0;
    for (int i = 0; i < n; i++) {
        const float *row = logits + (size_t)i * (size_t)n_classes;
        int largest = 0;
        for (int k = 1; k < n_classes; k++)
            if (row[k] > row[largest])
                largest = k;
        hits += labels[i] == largest;
    }
    return hits;
}

/* Losses and hits of all ranks; BL_ERR_INTERRUPTED where one was told to stop. */
static int join_test(const bl_trainer *t, bool interrupted, double *loss_sum, double *hits, double *n, bl_error *err)
{
    double sums[] = {*loss_sum, *hits, *n, interrupted};
    int code = t->options->ranks > 1 ? bl_dist_sum(t->options->dist, sums, BL_ARRAY_LEN(sums), err) : BL_OK;
    *loss_sum = sums[0];
    *hits = sums[1];
    *n = sums[2];
    return code == BL_OK && sums[3] > 0 ? BL_ERR_INTERRUPTED : code;
}

int bl_train_evaluate_classifier(const bl_trainer *t, bl_exec *exec, bl_loader *loader, int batch_size,
                                 const volatile int *stop, bl_evaluation *out, bl_error *err)
{
    int n_classes = t->n_classes;
    size_t n_logits = (size_t)batch_size * (size_t)n_classes;
    float *logits = bl_calloc(n_logits, sizeof *logits);
    int code = logits ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory to evaluate");
    double loss_sum = 0, hits = 0, n = 0;
    bool interrupted = false;
    bl_batch batch;
    bl_loader_start_epoch(loader, 0);
    while (code == BL_OK && !interrupted && bl_loader_next(loader, &batch, err)) {
        float loss;
        code = bl_train_run_batch(exec, &batch, &loss, err);
        if (code == BL_OK)
            code = bl_exec_read(exec, "logits", logits, (int64_t)n_logits, err);
        if (code != BL_OK)
            break;
        interrupted = stop && *stop;
        loss_sum += (double)loss * batch.n;
        hits += (double)count_hits(logits, batch.labels, batch.n, n_classes);
        n += batch.n;
    }
    if (code == BL_OK && err && err->code != BL_OK)
        code = err->code;
    if (code == BL_OK)
        code = join_test(t, interrupted, &loss_sum, &hits, &n, err);
    out->n = (int64_t)n;
    out->top1 = n > 0 ? hits / n : 0;
    out->loss = n > 0 ? loss_sum / n : 0;
    free(logits);
    return code;
}
