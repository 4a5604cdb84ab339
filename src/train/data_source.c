#include "train/data_source.h"

#include "base/log.h"
#include "data/reader.h"
#include "train/progress.h"

enum { DRAWN_CLASSES = 10 };

static void show(void *context, int64_t done, int64_t total)
{
    bl_progress_scan(context, done, total);
}

int bl_train_open_data(const bl_train_options *o, bl_dataset **out, bl_error *err)
{
    bl_progress progress;
    bl_data_options options = {.path = o->data,
                               .boxes = o->model->task == BL_TASK_DETECT,
                               .n_classes = o->classes > 0 || o->data ? (int)o->classes : DRAWN_CLASSES,
                               .n_train = o->train_samples,
                               .n_test = o->test_samples,
                               .seed = (uint64_t)o->seed,
                               .verify = o->verify_images,
                               .remember = o->scan_cache,
                               .progress = show,
                               .context = &progress};
    bl_progress_init(&progress, o->quiet);
    int code = bl_data_open(&options, out, err);
    bl_progress_erase(&progress);
    return code;
}

void bl_train_warn_of_left_out(const bl_dataset *dataset)
{
    size_t n = dataset->left_out.len;
    if (n > 0)
        bl_log_warn("%zu of the data set's files cannot be used (--list-skipped lists them), such as %s", n,
                    dataset->left_out.items[0]);
}

int bl_train_list_skipped(const bl_train_options *options, FILE *out, bl_error *err)
{
    bl_dataset *dataset = NULL;
    int code = bl_train_open_data(options, &dataset, err);
    if (code != BL_OK)
        return code;
    fprintf(out, "%s\n%zu left out, %zu remarks\n", dataset->description, dataset->left_out.len, dataset->remarks.len);
    for (size_t i = 0; i < dataset->left_out.len; i++)
        fprintf(out, "left out: %s\n", dataset->left_out.items[i]);
    for (size_t i = 0; i < dataset->remarks.len; i++)
        fprintf(out, "remark: %s\n", dataset->remarks.items[i]);
    bl_dataset_free(dataset);
    return BL_OK;
}
