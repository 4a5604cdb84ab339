#include "train/keeper.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/fs.h"
#include "base/log.h"
#include "train/detect.h"
#include "train/weights.h"

/* ---- what the run is ---- */

/* Without the same value the position in the data, or the optimizer's state, means nothing. */
static const char *const fixed_options[] = {"accumulate",    "batch-size", "drop-last", "ema",          "image-size",
                                            "nominal-batch", "optimizer",  "seed",      "train-samples"};
/* They decide what is said, kept, or how long it takes; what matters of --data and --classes stands apart. */
static const char *const free_options[] = {"cache",         "cache-limit",
                                           "checkpoint",    "checkpoint-every",
                                           "classes",       "data",
                                           "epochs",        "eval",
                                           "eval-every",    "global-batch-size",
                                           "layers",        "list-models",
                                           "list-skipped",  "log",
                                           "new-head",      "noise-batch",
                                           "noise-samples", "noise-scale-every",
                                           "prefetch",      "profile",
                                           "quiet",         "recompute",
                                           "resume",        "save",
                                           "save-best",     "scan-cache",
                                           "steps",         "trace",
                                           "verify-images", "weights",
                                           "workers"};

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool add_fact(bl_keeper *k, bl_checkpoint_fact *facts, const char *name, const char *value, bool fixed)
{
    facts[k->checkpoint.n_facts++] = (bl_checkpoint_fact){.name = name, .value = value, .fixed = fixed};
    return name && value;
}

/* How each batch is shared out says where the training stands in the data. */
static const char *value_of(bl_keeper *k, const char *name, const char *value)
{
    const bl_train_options *o = k->options;
    if (strcmp(name, "batch-size") != 0)
        return value;
    return o->ranks == 1
               ? bl_arena_printf(&k->arena, "%lld", (long long)o->batch)
               : bl_arena_printf(&k->arena, "%lld (of %d ranks together)", (long long)o->global_batch, o->ranks);
}

static int gather_facts(bl_keeper *k, bl_error *err)
{
    const bl_trainer *t = k->trainer;
    const bl_strv *said = &k->options->said;
    bl_checkpoint_fact *facts = bl_arena_alloc(&k->arena, 5 + said->len / 2, sizeof *facts);
    k->checkpoint.facts = facts;
    bool ok = facts && add_fact(k, facts, "model", k->options->model->name, true) &&
              add_fact(k, facts, "classes", bl_arena_printf(&k->arena, "%d", t->n_classes), true) &&
              add_fact(k, facts, "training images",
                       bl_arena_printf(&k->arena, "%lld", (long long)t->dataset->count[BL_SPLIT_TRAIN]), true) &&
              add_fact(k, facts, "machine", bl_arena_strdup(&k->arena, bl_cpu_describe()), false);
    /* Rates that are constant or fall in steps do not ask for the end. */
    if (ok && (k->options->schedule == BL_SCHEDULE_COSINE || k->options->schedule == BL_SCHEDULE_LINEAR))
        ok = add_fact(k, facts, "steps in all", bl_arena_printf(&k->arena, "%lld", (long long)t->total_steps), false);
    for (size_t i = 0; ok && i + 1 < said->len; i += 2)
        if (!is_among(said->items[i], free_options, BL_ARRAY_LEN(free_options)))
            ok = add_fact(k, facts, bl_arena_printf(&k->arena, "--%s", said->items[i]),
                          value_of(k, said->items[i], said->items[i + 1]),
                          is_among(said->items[i], fixed_options, BL_ARRAY_LEN(fixed_options)));
    return ok ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for checkpoints");
}

static void add_number(bl_checkpoint *c, const char *name, int64_t *whole, double *real)
{
    c->numbers[c->n_numbers++] = (bl_checkpoint_number){.name = name, .whole = whole, .real = real};
}

static int describe_state(bl_keeper *k, bl_error *err)
{
    bl_trainer *t = k->trainer;
    bl_checkpoint *c = &k->checkpoint;
    const char *name;
    float *slab;
    int64_t count;
    c->params = t->params;
    for (int i = 0; bl_optim_state(t->optim, i, &name, &slab, &count); i++) {
        if (c->n_arrays == BL_CHECKPOINT_PARTS - 1)
            return BL_FAIL(err, BL_ERR_INTERNAL, "an optimizer with more state than a checkpoint holds");
        c->arrays[c->n_arrays++] = (bl_checkpoint_array){.name = name, .slab = slab, .count = count};
    }
    if (t->ema) {
        c->arrays[c->n_arrays++] = (bl_checkpoint_array){
            .name = "ema", .slab = bl_ema_slab(t->ema), .count = bl_params_whole_count(t->params)};
        add_number(c, "ema_updates", &k->ema_updates, NULL);
    }
    add_number(c, "step", &t->step, NULL);
    add_number(c, "epoch", &t->epoch, NULL);
    add_number(c, "batch", &t->batch, NULL);
    add_number(c, "optimizer_steps", &k->optim_steps, NULL);
    add_number(c, "loss_steps", &k->tally->loss_steps, NULL);
    add_number(c, "loss_sum", NULL, &k->tally->loss_sum);
    add_number(c, "seconds", NULL, &k->tally->seconds);
    add_number(c, "best_score", NULL, &k->tally->best_score);
    add_number(c, "box_sum", NULL, &k->tally->parts_sum[0]);
    add_number(c, "objectness_sum", NULL, &k->tally->parts_sum[1]);
    add_number(c, "classes_sum", NULL, &k->tally->parts_sum[2]);
    return gather_facts(k, err);
}

/* ---- the start ---- */

int bl_keeper_check(const bl_train_options *o, bl_error *err)
{
    const char *const paths[] = {o->checkpoint, o->save, o->save_best};
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < BL_ARRAY_LEN(paths); i++)
        if (paths[i])
            code = bl_fs_check_replace(paths[i], err);
    if (code == BL_OK && o->checkpoint && !o->resume && bl_fs_exists(o->checkpoint)) {
        BL_FAIL(err, BL_ERR_USAGE, "there is a checkpoint '%s' already", o->checkpoint);
        bl_error_remedy(err, "--resume goes on from it; or name another file, or remove that one");
        return BL_ERR_USAGE;
    }
    return code;
}

static int resume(bl_keeper *k, bl_error *err)
{
    bl_trainer *t = k->trainer;
    const char *path = k->options->checkpoint;
    bl_str differences;
    bl_str_init(&differences);
    int code = bl_checkpoint_read(&k->checkpoint, path, &differences, err);
    int64_t batches = t->batches_per_epoch;
    if (code == BL_OK &&
        (t->epoch >= INT64_MAX / batches || t->batch > batches || t->step > t->epoch * batches + t->batch))
        code = BL_FAIL(err, BL_ERR_FORMAT, "checkpoint '%s': step %lld is not after %lld epochs and %lld batches", path,
                       (long long)t->step, (long long)t->epoch, (long long)t->batch);
    if (code == BL_OK) {
        if (differences.len > 0)
            bl_log_warn("resumed otherwise than it began: %s", bl_str_text(&differences));
        bl_optim_set_steps(t->optim, k->optim_steps);
        if (t->ema)
            bl_ema_set_updates(t->ema, k->ema_updates);
        bl_exec_set_step(t->exec, (uint64_t)(t->epoch * batches + t->batch));
        k->resumed = true;
        k->kept_step = t->step;
        k->kept_batch = t->batch;
        if (!k->options->quiet)
            bl_log_note("resumed at step %lld of %lld, epoch %lld%s", (long long)t->step, (long long)t->total_steps,
                        (long long)t->epoch + 1, t->step < t->total_steps ? "" : ": nothing is left to do");
    }
    bl_str_clear(&differences);
    return code;
}

/* The same network for one class more, to see which parameters know of classes. */
static int declare_other(const bl_trainer *t, bl_params **out, bl_error *err)
{
    const bl_train_options *o = t->options;
    bl_graph *graph = NULL;
    int code = bl_params_new(out, err);
    if (code == BL_OK)
        code = bl_graph_new(*out, BL_MODE_EVAL, &graph, err);
    if (code == BL_OK) {
        bl_value x = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(1, 3, o->image_size, o->image_size));
        bl_detector_heads heads;
        if (bl_train_detects(t))
            o->model->build_detector(graph, x, t->n_classes + 1, &heads);
        else
            o->model->build(graph, x, t->n_classes + 1);
        code = bl_graph_finish(graph, err);
    }
    bl_graph_free(graph);
    return code;
}

static int start_from_weights(const bl_keeper *k, bl_error *err)
{
    const bl_train_options *o = k->options;
    bl_params *other = NULL;
    bl_strv fresh;
    bl_strv_init(&fresh);
    int code = declare_other(k->trainer, &other, err);
    if (code == BL_OK)
        code = bl_weights_load(o->weights, k->trainer->params, other, o->new_head, &fresh, err);
    if (code == BL_OK && k->trainer->ema)
        bl_ema_restart(k->trainer->ema);
    if (code == BL_OK && !o->quiet) {
        bl_str text;
        bl_str_init(&text);
        for (size_t i = 0; i < fresh.len; i++)
            bl_str_printf(&text, "%s%s", i ? ", " : "; drawn anew: ", fresh.items[i]);
        bl_log_note("weights of '%s'%s", o->weights, bl_str_text(&text));
        bl_str_clear(&text);
    }
    bl_strv_clear(&fresh);
    bl_params_free(other);
    return code;
}

int bl_keeper_start(bl_keeper *k, bl_trainer *trainer, bl_tally *tally, batchlab_marker *marker, bl_error *err)
{
    const bl_train_options *o = trainer->options;
    *k = (bl_keeper){.options = o, .trainer = trainer, .tally = tally, .marker = marker, .kept_step = -1};
    *tally = (bl_tally){.best_score = -1};
    bl_arena_init(&k->arena);
    if (o->save_best && trainer->dataset->count[BL_SPLIT_TEST] == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "--save-best: there are no test images to tell which weights are best");
    int code = o->checkpoint ? describe_state(k, err) : BL_OK;
    if (code != BL_OK)
        return code;
    if (o->checkpoint && o->resume && bl_fs_exists(o->checkpoint))
        return resume(k, err);
    if (o->resume)
        bl_log_note("there is no checkpoint '%s' yet: starting from the beginning", o->checkpoint);
    return o->weights ? start_from_weights(k, err) : BL_OK;
}

void bl_keeper_clear(bl_keeper *k)
{
    bl_arena_clear(&k->arena);
}

/* ---- on the way ---- */

/* Those that tests are made with. */
static int save_weights(bl_keeper *k, const char *path, bl_error *err)
{
    bl_ema *ema = k->trainer->ema;
    if (k->options->rank > 0)
        return BL_OK;
    batchlab_marker_phase(k->marker, "checkpoint");
    if (ema)
        bl_ema_swap(ema);
    int code = bl_weights_save(path, k->trainer->params, k->options->model->name, err);
    if (ema)
        bl_ema_swap(ema);
    batchlab_marker_phase(k->marker, "train");
    return code;
}

static int keep(bl_keeper *k, double seconds, bl_error *err)
{
    const bl_trainer *t = k->trainer;
    if (k->options->rank > 0 || (k->kept_step == t->step && k->kept_batch == t->batch))
        return BL_OK;
    double before_s = k->tally->seconds;
    batchlab_marker_phase(k->marker, "checkpoint");
    k->optim_steps = bl_optim_steps(t->optim);
    k->ema_updates = t->ema ? bl_ema_updates(t->ema) : 0;
    k->tally->seconds = before_s + seconds;
    int code = bl_checkpoint_write(&k->checkpoint, k->options->checkpoint, err);
    k->tally->seconds = before_s;
    batchlab_marker_phase(k->marker, "train");
    k->kept_step = t->step;
    k->kept_batch = t->batch;
    return code;
}

int bl_keeper_after_step(bl_keeper *k, double seconds, bl_error *err)
{
    int64_t every = k->options->checkpoint_every;
    bool due = k->options->checkpoint && every > 0 && k->trainer->step % every == 0;
    return due ? keep(k, seconds, err) : BL_OK;
}

int bl_keeper_after_test(bl_keeper *k, const bl_evaluation *test, bl_error *err)
{
    double score = bl_train_detects(k->trainer) ? test->map : test->top1;
    if (score <= k->tally->best_score)
        return BL_OK;
    k->tally->best_score = score;
    return k->options->save_best ? save_weights(k, k->options->save_best, err) : BL_OK;
}

int bl_keeper_after_epoch(bl_keeper *k, double seconds, bl_error *err)
{
    return k->options->checkpoint && k->options->checkpoint_every == 0 ? keep(k, seconds, err) : BL_OK;
}

int bl_keeper_end(bl_keeper *k, bool stopped, double seconds, bl_error *err)
{
    int code = k->options->checkpoint ? keep(k, seconds, err) : BL_OK;
    return code == BL_OK && k->options->save && !stopped ? save_weights(k, k->options->save, err) : code;
}
