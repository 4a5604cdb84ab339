#include "train/train_options.h"

#include <string.h>

#include "data/loader.h"
#include "dist/dist.h"
#include "train/option_rows.h"

#define NOT_GIVEN (-1)

static int take_cache(bl_train_options *o, const bl_train_raw *r, bl_error *err)
{
    if (r->cache && !bl_cache_mode_from_name(r->cache, &o->cache))
        return bl_options_no_such("--cache", r->cache, "none, ram, ram-encoded, disk", err);
    if (o->cache != BL_CACHE_NONE && !o->data)
        return BL_FAIL(err, BL_ERR_USAGE, "--cache %s keeps images that are files (--data); synthetic ones are none",
                       r->cache);
    if (o->cache == BL_CACHE_NONE && o->cache_limit_b > 0)
        return BL_FAIL(err, BL_ERR_USAGE, "--cache-limit means nothing without --cache");
    return BL_OK;
}

/* Defaults become words too: a checkpoint compares them with words that are given. */
static int take_words(bl_train_options *o, bl_train_raw *r, bl_error *err)
{
    bool detects = o->model->task == BL_TASK_DETECT;
    r->augment = r->augment ? r->augment : !o->data ? "none" : detects ? "mosaic" : "flip";
    if (!bl_augment_from_name(r->augment, &o->augment))
        return bl_options_no_such("--augment", r->augment, "none, flip, crop, mosaic", err);
    if (o->augment == (detects ? BL_AUGMENT_CROP : BL_AUGMENT_MOSAIC)) {
        BL_FAIL(err, BL_ERR_USAGE, "--augment %s is not for %s", r->augment, detects ? "detectors" : "classifiers");
        bl_error_remedy(err, "--augment %s", detects ? "mosaic" : "crop");
        return BL_ERR_USAGE;
    }
    r->precision = r->precision ? r->precision : "float32";
    if (!bl_precision_from_name(r->precision, &o->precision))
        return bl_options_no_such("--precision", r->precision, "float32, bfloat16, bfloat16-emulated", err);
    r->recompute = r->recompute ? r->recompute : "cheap";
    if (!bl_recompute_from_name(r->recompute, &o->recompute))
        return bl_options_no_such("--recompute", r->recompute, "none, cheap, all", err);
    if (!r->eval)
        o->eval_every = 0;
    return BL_OK;
}

static int check_company(const bl_train_options *o, bl_error *err)
{
    bool detects = o->model->task == BL_TASK_DETECT;
    if (o->nominal_batch > 0 && !detects)
        return BL_FAIL(err, BL_ERR_USAGE, "--nominal-batch is for detectors, which %s is not", o->model->name);
    if (o->nominal_batch > 0 && o->checkpoint)
        return BL_FAIL(err, BL_ERR_USAGE,
                       "--checkpoint does not go with --nominal-batch: gradients may wait for their update");
    if (detects && !o->drop_last)
        return BL_FAIL(err, BL_ERR_USAGE,
                       "--no-drop-last is not for detectors: they would learn that the images missing show nothing");
    if (o->data && (o->train_samples != NOT_GIVEN || o->test_samples != NOT_GIVEN))
        return BL_FAIL(err, BL_ERR_USAGE,
                       "--train-samples and --test-samples are for synthetic images, not for --data");
    if (!o->data && (o->verify_images || o->list_skipped))
        return BL_FAIL(err, BL_ERR_USAGE, "--%s is for the files of --data",
                       o->list_skipped ? "list-skipped" : "verify-images");
    return BL_OK;
}

/* Eight rounds of two micro-batches or more each. */
static int check_noise(bl_train_options *o, bl_error *err)
{
    bool sized = o->noise_samples != NOT_GIVEN || o->noise_batch != NOT_GIVEN;
    if (o->noise_every == 0 && sized)
        return BL_FAIL(err, BL_ERR_USAGE, "--noise-samples and --noise-batch mean nothing without --noise-scale-every");
    o->noise_samples = o->noise_samples == NOT_GIVEN ? 1024 : o->noise_samples;
    o->noise_batch = o->noise_batch == NOT_GIVEN ? 8 : o->noise_batch;
    if (o->noise_every > 0 && o->model->task == BL_TASK_DETECT)
        return BL_FAIL(err, BL_ERR_USAGE,
                       "--noise-scale-every is for classifiers: a detector's loss is no mean over samples");
    if (o->noise_every > 0 && (o->mixup > 0 || o->cutmix > 0))
        return BL_FAIL(
            err, BL_ERR_USAGE,
            "--noise-scale-every does not go with --mixup or --cutmix: samples of a batch then depend on each "
            "other");
    if (o->noise_every == 0 || o->noise_samples >= 16 * o->noise_batch)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "--noise-samples %lld is too few for micro-batches of %lld", (long long)o->noise_samples,
            (long long)o->noise_batch);
    bl_error_remedy(err, "--noise-samples %lld", 16 * (long long)o->noise_batch);
    return BL_ERR_USAGE;
}

static int check_files(const bl_train_options *o, bool eval, bl_error *err)
{
    if (!o->checkpoint && (o->resume || o->checkpoint_every > 0)) {
        BL_FAIL(err, BL_ERR_USAGE, "%s wants --checkpoint FILE", o->resume ? "--resume" : "--checkpoint-every");
        bl_error_remedy(err, "--checkpoint run.safetensors");
        return BL_ERR_USAGE;
    }
    if (o->new_head && !o->weights)
        return BL_FAIL(err, BL_ERR_USAGE, "--new-head wants --weights FILE: without them, all is drawn anew");
    if (o->save_best && !eval)
        return BL_FAIL(err, BL_ERR_USAGE, "--save-best wants tests, and --no-eval makes none");
    return BL_OK;
}

static int find_model(const bl_strv *operands, bl_train_options *o, bl_error *err)
{
    if (operands->len != 1) {
        BL_FAIL(err, BL_ERR_USAGE, operands->len == 0 ? "which model?" : "more than one model was named");
        bl_error_remedy(err, "batchlab-train mobilenet_v3_large; batchlab-train list shows all");
        return BL_ERR_USAGE;
    }
    o->model = bl_model_find(operands->items[0]);
    if (o->model)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "there is no model '%s'", operands->items[0]);
    bl_error_remedy(err, "batchlab-train list");
    return BL_ERR_USAGE;
}

static int check_size(bl_train_options *o, bl_error *err)
{
    if (o->image_size == NOT_GIVEN)
        o->image_size = o->model->image_size;
    int step = o->model->image_step;
    if (step > 0 && o->image_size % step != 0) {
        BL_FAIL(err, BL_ERR_USAGE, "--image-size %lld does not fit %s", (long long)o->image_size, o->model->name);
        bl_error_remedy(err, "a multiple of %d", step);
        return BL_ERR_USAGE;
    }
    if (o->image_size >= o->model->min_image_size)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "--image-size %lld is too small for %s", (long long)o->image_size, o->model->name);
    bl_error_remedy(err, "at least --image-size %d", o->model->min_image_size);
    return BL_ERR_USAGE;
}

static int take_batch(bl_train_options *o, const bl_train_raw *r, bl_error *err)
{
    if (o->batch != NOT_GIVEN && r->global_batch != NOT_GIVEN) {
        BL_FAIL(err, BL_ERR_USAGE, "--batch-size, of each rank, and --global-batch-size, of all, exclude each other");
        bl_error_remedy(err, "one of them");
        return BL_ERR_USAGE;
    }
    if (o->batch == NOT_GIVEN)
        o->batch = r->global_batch != NOT_GIVEN ? r->global_batch : 64;
    o->global_batch = o->batch;
    o->whole_given = r->global_batch != NOT_GIVEN;
    return BL_OK;
}

int bl_train_options_share(bl_train_options *o, bl_dist *dist, bl_error *err)
{
    int64_t first;
    o->dist = dist;
    o->ranks = bl_dist_ranks(dist);
    o->rank = bl_dist_rank(dist);
    if (o->whole_given && o->global_batch < o->ranks) {
        BL_FAIL(err, BL_ERR_USAGE, "--global-batch-size %lld leaves some of %d ranks without a sample",
                (long long)o->global_batch, o->ranks);
        bl_error_remedy(err, "--global-batch-size %d, or fewer ranks", o->ranks);
        return BL_ERR_USAGE;
    }
    if (o->whole_given)
        o->batch = bl_loader_share(o->global_batch, o->ranks, o->rank, &first);
    else if ((o->global_batch = o->batch * o->ranks) > INT32_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "%d ranks of %lld samples are too many", o->ranks, (long long)o->batch);
    if (o->ranks > 1 && (o->mixup > 0 || o->cutmix > 0) && o->global_batch < 2 * o->ranks)
        return BL_FAIL(err, BL_ERR_USAGE, "--mixup and --cutmix want two samples of each rank or more");
    if (o->ranks > 1 && o->noise_every > 0)
        return BL_FAIL(err, BL_ERR_USAGE, "--noise-scale-every is for one rank");
    if (o->ranks > 1 && o->profile)
        return BL_FAIL(err, BL_ERR_USAGE, "--profile is for one rank; --trace shows one of several");
    return BL_OK;
}

static void fill_defaults(bl_train_options *o)
{
    if (o->epochs == NOT_GIVEN)
        o->epochs = o->steps > 0 ? INT64_MAX : 1;
    if (o->train_samples == NOT_GIVEN)
        o->train_samples = 8192;
    if (o->test_samples == NOT_GIVEN)
        o->test_samples = 1024;
}

void bl_train_options_clear(bl_train_options *options)
{
    bl_strv_clear(&options->said);
}

int bl_train_options_parse(int argc, char **argv, bl_train_options *o, bl_error *err)
{
    *o = (bl_train_options){.batch = NOT_GIVEN,
                            .ranks = 1,
                            .epochs = NOT_GIVEN,
                            .image_size = NOT_GIVEN,
                            .train_samples = NOT_GIVEN,
                            .test_samples = NOT_GIVEN,
                            .drop_last = true,
                            .scan_cache = true,
                            .workers = 1,
                            .prefetch = 1,
                            .seed = 1,
                            .recompute = BL_RECOMPUTE_CHEAP,
                            .noise_samples = NOT_GIVEN,
                            .noise_batch = NOT_GIVEN,
                            .eval_every = 1};
    bl_train_raw r = {.eval = true, .global_batch = NOT_GIVEN};
    bl_learn_options_init(o, &r.learn);
    bl_option table[BL_TRAIN_ROWS_MAX];
    int n = bl_train_rows(o, &r, table);
    bl_command command = bl_train_command(table, n);
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, err);
    if (code != BL_OK)
        return code;
    o->help = result.help;
    o->list_models = o->list_models || (result.operands.len == 1 && strcmp(result.operands.items[0], "list") == 0);
    if (!o->help && !o->list_models) {
        code = find_model(&result.operands, o, err);
        if (code == BL_OK && result.n_rest > 0)
            code = BL_FAIL(err, BL_ERR_USAGE, "'%s' after -- means nothing here", result.rest[0]);
        if (code == BL_OK)
            code = take_batch(o, &r, err);
        if (code == BL_OK)
            code = take_words(o, &r, err);
        if (code == BL_OK)
            code = take_cache(o, &r, err);
        if (code == BL_OK)
            code = bl_learn_options_take(o, &r.learn, err);
        if (code == BL_OK)
            code = check_company(o, err);
        if (code == BL_OK)
            code = check_noise(o, err);
        if (code == BL_OK)
            code = check_size(o, err);
        if (code == BL_OK)
            code = check_files(o, r.eval, err);
        fill_defaults(o);
        if (code == BL_OK)
            code = bl_train_options_write_down(table, n, &o->said, err);
    }
    bl_options_result_clear(&result);
    return code;
}
