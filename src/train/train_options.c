#include "train/train_options.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "data/loader.h"
#include "dist/dist.h"
#include "train/learn_options.h"

#define MAX_OPTIONS   96
#define DATA_ROWS_MAX 24
#define NOT_GIVEN     (-1)

/* What is still text after parsing. */
typedef struct raw {
    bl_learn_raw learn;
    const char *augment, *recompute, *precision, *cache;
    bool eval;
    int64_t global_batch;
} raw;

static int data_rows(bl_train_options *o, raw *r, bl_option *table)
{
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "What to train on", NULL, 0, 0},
        {BL_OPT_STRING, 'd', "data", "PATH",
         "A folder with train/CLASS/*.jpg and test/CLASS/*.jpg, or with CIFAR's binary files, or MNIST's; for "
         "detectors "
         "a data.yaml, or a folder with one, or with images/train/*.jpg and labels/train/*.txt. Which it is, is found "
         "out (default: synthetic images).",
         &o->data, 0, 0},
        {BL_OPT_FLAG, 0, "verify-images", NULL,
         "Decode each image of --data before training, and leave out the damaged ones, which otherwise end it when "
         "they are met.",
         &o->verify_images, 0, 0},
        {BL_OPT_FLAG, 0, "scan-cache", NULL,
         "Look again only at files of --data that changed since the last time (default); --no-scan-cache looks at all "
         "and keeps nothing under $XDG_CACHE_HOME/batchlab.",
         &o->scan_cache, 0, 0},
        {BL_OPT_INT, 0, "image-size", "N", "Side of the images in pixels (default: the model's customary one).",
         &o->image_size, 8, BL_VIEW_SIZE_MAX},
        {BL_OPT_INT, 0, "classes", "N", "Outputs of the model (default: the data's classes; synthetic images: 10).",
         &o->classes, 2, 100000},
        {BL_OPT_INT, 0, "train-samples", "N", "Synthetic images to train on (default: 8192).", &o->train_samples, 1,
         1 << 30},
        {BL_OPT_INT, 0, "test-samples", "N", "Synthetic images to test on (default: 1024).", &o->test_samples, 0,
         1 << 30},
        {BL_OPT_STRING, 0, "augment", "HOW",
         "none, flip (mirror and shift), crop (random part, mirrored) or mosaic (YOLOv7's; detectors, which know no "
         "crop) "
         "(default: none for synthetic images, else flip, and mosaic for detectors).",
         &r->augment, 0, 0},
        {BL_OPT_GROUP, 0, NULL, NULL, "How long", NULL, 0, 0},
        {BL_OPT_INT, 'b', "batch-size", "N",
         "Samples a batch, and a step without --accumulate; of each rank where there are several (default: 64).",
         &o->batch, 1, 1 << 20},
        {BL_OPT_INT, 0, "global-batch-size", "N", "Samples a batch of all ranks together, shared out among them.",
         &r->global_batch, 1, 1 << 20},
        {BL_OPT_INT, 0, "accumulate", "N",
         "Batches whose gradients make one step, as one batch N times as large would (default: 1).", &o->accumulate, 1,
         1 << 20},
        {BL_OPT_INT, 'e', "epochs", "N", "Passes over the data (default: 1, or as many as --steps needs).", &o->epochs,
         1, 1000000},
        {BL_OPT_INT, 's', "steps", "N", "End after this many steps (default: no limit).", &o->steps, 1, INT64_MAX},
        {BL_OPT_FLAG, 0, "drop-last", NULL,
         "Leave out an epoch's last batch where it is not full (default); --no-drop-last trains on it.", &o->drop_last,
         0, 0},
    };
    _Static_assert(sizeof rows / sizeof rows[0] <= DATA_ROWS_MAX, "raise DATA_ROWS_MAX");
    memcpy(table, rows, sizeof rows);
    return (int)BL_ARRAY_LEN(rows);
}

static int machine_rows(bl_train_options *o, raw *r, bl_option *table)
{
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "On what", NULL, 0, 0},
        {BL_OPT_INT, 0, "threads", "N", "Threads that compute (default: all processors that may be used).", &o->threads,
         1, 1024},
        {BL_OPT_FLAG, 0, "sync-batch-norm", NULL,
         "Where several ranks train together (mpirun -np 2 batchlab-train ...), normalise with the statistics of all "
         "their samples rather than each with its own.",
         &o->sync_batch_norm, 0, 0},
        {BL_OPT_STRING, 0, "precision", "WHAT",
         "What the factors of matrix products and dense convolutions are rounded to: float32 (not at all), bfloat16 "
         "(on "
         "processors that multiply it; sums, storage and all else stay float32) or bfloat16-emulated (the same "
         "roundings on any processor, no faster than float32) (default: float32).",
         &r->precision, 0, 0},
        {BL_OPT_STRING, 0, "recompute", "WHAT",
         "Activations computed again in the backward pass rather than kept: none, cheap (of normalisations and "
         "activations: hardly any time) or all (also of convolutions: about a third of time) (default: cheap). "
         "The results are the same to the bit.",
         &r->recompute, 0, 0},
        {BL_OPT_INT, 'w', "workers", "N", "Threads that prepare data ahead of the step (default: 1; 0: none).",
         &o->workers, 0, 256},
        {BL_OPT_INT, 0, "prefetch", "N", "Batches made ahead of the one trained on (default: 1).", &o->prefetch, 1,
         BL_PREFETCH_MAX},
        {BL_OPT_STRING, 0, "cache", "WHERE",
         "Keep the images of --data between epochs: none, ram (decoded, in memory), ram-encoded (the files' bytes) or "
         "disk (decoded, in one file under $XDG_CACHE_HOME/batchlab). The results are the same to the bit. What does "
         "not fit is told (default: none).",
         &r->cache, 0, 0},
        {BL_OPT_SIZE, 0, "cache-limit", "SIZE",
         "Bytes that they may take, such as 4G (default: half of the memory available, or of the disk's free space).",
         &o->cache_limit_b, 1, 0},
        {BL_OPT_INT, 0, "seed", "N",
         "Of the first weights, the order, the augmentation and dropout; the same seed and threads give the same bits "
         "(default: 1).",
         &o->seed, 0, INT64_MAX},
        {BL_OPT_GROUP, 0, NULL, NULL, "What to keep", NULL, 0, 0},
        {BL_OPT_STRING, 0, "weights", "FILE", "Start from these weights (safetensors), which must be the model's.",
         &o->weights, 0, 0},
        {BL_OPT_FLAG, 0, "new-head", NULL, "With --weights: draw what depends on the number of classes anew.",
         &o->new_head, 0, 0},
        {BL_OPT_STRING, 0, "save", "FILE", "Write the weights there at the end (safetensors).", &o->save, 0, 0},
        {BL_OPT_STRING, 0, "save-best", "FILE",
         "Write the weights there after each test with the best top-1 so far, or mAP.", &o->save_best, 0, 0},
        {BL_OPT_STRING, 0, "checkpoint", "FILE",
         "Keep the whole state of the training there, also where SIGINT or SIGTERM ends it.", &o->checkpoint, 0, 0},
        {BL_OPT_INT, 0, "checkpoint-every", "N", "Write it after every N steps (default: after each epoch).",
         &o->checkpoint_every, 1, INT64_MAX},
        {BL_OPT_FLAG, 0, "resume", NULL, "Go on from the checkpoint bit for bit, where there is one.", &o->resume, 0,
         0},
        {BL_OPT_GROUP, 0, NULL, NULL, "What to say", NULL, 0, 0},
        {BL_OPT_INT, 0, "eval-every", "N", "Test after every N epochs, and at the end (default: 1).", &o->eval_every, 1,
         1000000},
        {BL_OPT_FLAG, 0, "eval", NULL, "Test at all (default); --no-eval does not.", &r->eval, 0, 0},
        {BL_OPT_STRING, 0, "log", "FILE", "Write a line an epoch there, as CSV.", &o->log, 0, 0},
        {BL_OPT_INT, 0, "noise-scale-every", "N",
         "Classifiers: measure after every N steps how noisy the gradient is, weights held. The noise scale is an "
         "order of "
         "magnitude of the batch size from which on samples are wasted, if the rate is a good one (default: never).",
         &o->noise_every, 1, INT64_MAX},
        {BL_OPT_INT, 0, "noise-samples", "N", "Samples for each such measurement (default: 1024).", &o->noise_samples,
         16, 1 << 30},
        {BL_OPT_INT, 0, "noise-batch", "N",
         "Samples a micro-batch in it: fewer are more exact and slower (default: 8). Batch normalisation takes the "
         "statistics of these.",
         &o->noise_batch, 1, 1 << 20},
        {BL_OPT_FLAG, 0, "profile", NULL, "At the end, say where the time went.", &o->profile, 0, 0},
        {BL_OPT_STRING, 0, "trace", "FILE",
         "Write a timeline of the second to fourth batch there, for Perfetto or chrome://tracing.", &o->trace, 0, 0},
        {BL_OPT_FLAG, 0, "memory-plan", NULL, "Print the memory that training would take, by kind, and leave.",
         &o->memory_plan, 0, 0},
        {BL_OPT_FLAG, 0, "list-skipped", NULL, "Print which files of --data are left out, and why, and leave.",
         &o->list_skipped, 0, 0},
        {BL_OPT_FLAG, 'q', "quiet", NULL, "No progress, only the result.", &o->quiet, 0, 0},
        {BL_OPT_FLAG, 0, "layers", NULL, "Print the model's layers, as batchlab explain reads them, and leave.",
         &o->layers, 0, 0},
        {BL_OPT_FLAG, 0, "list-models", NULL, "List the models and leave.", &o->list_models, 0, 0},
    };
    _Static_assert(sizeof rows / sizeof rows[0] + BL_LEARN_ROWS_MAX + DATA_ROWS_MAX <= MAX_OPTIONS,
                   "raise MAX_OPTIONS");
    memcpy(table, rows, sizeof rows);
    return (int)BL_ARRAY_LEN(rows);
}

static int fill_table(bl_train_options *o, raw *r, bl_option *table)
{
    int n = data_rows(o, r, table);
    n += bl_learn_options_rows(o, &r->learn, table + n);
    return n + machine_rows(o, r, table + n);
}

static bl_command command_of(const bl_option *table, int n)
{
    return (bl_command){
        .program = "batchlab-train",
        .summary = "Trains an image classifier or a detector on the processor.",
        .usage = "MODEL [options] | list",
        .details = "MODEL is one of those that batchlab-train list shows. Run by batchlab, it marks its steps "
                   "(docs/PROTOCOL.md); run by hand, "
                   "it shows its progress. SIGINT or SIGTERM ends it after the step at hand.",
        .examples =
            "  batchlab-train tiny_cnn                                        # a first try, on synthetic images\n"
            "  batchlab-train mobilenet_v3_large -d cifar10 --image-size 64 -e 12 --schedule cosine\n"
            "  batchlab-train mobilenet_v3_large -b 16 --steps 20 --profile   # where does the time go?\n"
            "  batchlab-train yolov7_tiny -d coco128 --image-size 320 -b 8    # a detector\n"
            "  batchlab-train resnet18 -d flowers --weights resnet18.safetensors --new-head --checkpoint run "
            "--resume\n",
        .options = table,
        .n_options = n,
    };
}

void bl_train_options_print_help(FILE *out)
{
    bl_train_options unused = {0};
    raw r = {0};
    bl_option table[MAX_OPTIONS];
    int n = fill_table(&unused, &r, table);
    bl_command command = command_of(table, n);
    bl_options_print_help(&command, out);
}

static int take_cache(bl_train_options *o, const raw *r, bl_error *err)
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
static int take_words(bl_train_options *o, raw *r, bl_error *err)
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

static int take_batch(bl_train_options *o, const raw *r, bl_error *err)
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

/* As few digits as tell the number from all others; nothing for one that was not given. */
static void format_real(double value, bl_str *out)
{
    if (isnan(value))
        return;
    char text[40];
    double back;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (bl_parse_f64(text, "", &back, NULL) == BL_OK && back == value)
            break;
    }
    bl_str_append(out, text);
}

static void format_value(const bl_option *option, bl_str *out)
{
    switch (option->kind) {
    case BL_OPT_FLAG:
        bl_str_append(out, *(const bool *)option->target ? "yes" : "no");
        break;
    case BL_OPT_STRING:
        bl_str_append(out, *(const char **)option->target ? *(const char **)option->target : "");
        break;
    case BL_OPT_STRINGS:
        for (size_t i = 0; i < ((const bl_strv *)option->target)->len; i++)
            bl_str_printf(out, "%s%s", i ? " " : "", ((const bl_strv *)option->target)->items[i]);
        break;
    case BL_OPT_INT:
        bl_str_printf(out, "%lld", (long long)*(const int64_t *)option->target);
        break;
    case BL_OPT_SIZE:
        bl_str_printf(out, "%llu", (unsigned long long)*(const uint64_t *)option->target);
        break;
    case BL_OPT_FLOAT:
    case BL_OPT_DURATION:
        format_real(*(const double *)option->target, out);
        break;
    case BL_OPT_GROUP:
        break;
    }
}

static int write_down(const bl_option *table, int n, bl_strv *said, bl_error *err)
{
    bl_str value;
    bl_str_init(&value);
    bool ok = true;
    for (int i = 0; ok && i < n; i++) {
        bl_str_reset(&value);
        format_value(&table[i], &value);
        if (table[i].kind != BL_OPT_GROUP)
            ok = !value.failed && bl_strv_push(said, table[i].long_name) == BL_OK &&
                 bl_strv_push(said, bl_str_text(&value)) == BL_OK;
    }
    bl_str_clear(&value);
    return ok ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the options");
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
    raw r = {.eval = true, .global_batch = NOT_GIVEN};
    bl_learn_options_init(o, &r.learn);
    bl_option table[MAX_OPTIONS];
    int n = fill_table(o, &r, table);
    bl_command command = command_of(table, n);
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
            code = write_down(table, n, &o->said, err);
    }
    bl_options_result_clear(&result);
    return code;
}
