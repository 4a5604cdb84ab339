#include "train/option_rows.h"

#include <string.h>

#include "base/attributes.h"
#include "data/loader.h"

#define DATA_ROWS_MAX 24

static int data_rows(bl_train_options *o, bl_train_raw *r, bl_option *table)
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

static int machine_rows(bl_train_options *o, bl_train_raw *r, bl_option *table)
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
    _Static_assert(sizeof rows / sizeof rows[0] + BL_LEARN_ROWS_MAX + DATA_ROWS_MAX <= BL_TRAIN_ROWS_MAX,
                   "raise BL_TRAIN_ROWS_MAX");
    memcpy(table, rows, sizeof rows);
    return (int)BL_ARRAY_LEN(rows);
}

int bl_train_rows(bl_train_options *o, bl_train_raw *r, bl_option *table)
{
    int n = data_rows(o, r, table);
    n += bl_learn_options_rows(o, &r->learn, table + n);
    return n + machine_rows(o, r, table + n);
}

bl_command bl_train_command(const bl_option *table, int n)
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
    bl_train_raw r = {0};
    bl_option table[BL_TRAIN_ROWS_MAX];
    int n = bl_train_rows(&unused, &r, table);
    bl_command command = bl_train_command(table, n);
    bl_options_print_help(&command, out);
}
