#include "data/cifar.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/str.h"
#include "data/image.h"
#include "data/picture.h"
#include "data/reader.h"

enum { FILES_MAX = 5 };

const bl_cifar_format bl_cifar10 = {1, {10, 0}}, bl_cifar100 = {2, {20, 100}};

/* Which files make a data set. */
typedef struct layout {
    const bl_reader *reader;
    const bl_cifar_format *format;
    const char *folder; /* as the archive unpacks: PATH may be that, or hold it */
    const char *train[FILES_MAX], *test;
    int n_train;
} layout;

typedef struct cifar {
    bl_dataset base; /* first */
    const layout *layout;
    bl_blob files[2][FILES_MAX];
    int64_t n[2][FILES_MAX]; /* records in each */
} cifar;

static size_t record_bytes(const bl_cifar_format *format)
{
    return (size_t)format->n_labels + 3 * BL_CIFAR_PIXELS;
}

static int check_labels(const bl_blob *blob, const bl_cifar_format *format, int64_t index, const uint8_t *labels,
                        bl_error *err)
{
    for (int i = 0; i < format->n_labels; i++)
        if (labels[i] >= format->n_values[i]) {
            BL_FAIL(err, BL_ERR_FORMAT, "'%s', image %lld: its %sclass is %d, which is not below %d", blob->name,
                    (long long)index,
                    format->n_labels == 1 ? ""
                    : i == 0              ? "coarse "
                                          : "fine ",
                    labels[i], format->n_values[i]);
            bl_error_remedy(err, "fetch the file again: this is not what its authors made");
            return BL_ERR_FORMAT;
        }
    return BL_OK;
}

int bl_cifar_check(const bl_blob *blob, const bl_cifar_format *format, int64_t *n, bl_error *err)
{
    int64_t record_b = (int64_t)record_bytes(format);
    *n = blob->len / record_b;
    if (blob->len == 0 || blob->len % record_b != 0) {
        BL_FAIL(err, BL_ERR_FORMAT, "'%s' has %lld bytes, which are not whole images of %lld bytes each", blob->name,
                (long long)blob->len, (long long)record_b);
        bl_error_remedy(err, "fetch the file again: it may have been cut");
        return BL_ERR_FORMAT;
    }
    for (int64_t i = 0; i < *n; i++) {
        uint8_t labels[2];
        int code = bl_blob_read(blob, i * record_b, labels, (size_t)format->n_labels, err);
        if (code == BL_OK)
            code = check_labels(blob, format, i, labels, err);
        if (code != BL_OK)
            return code;
    }
    return BL_OK;
}

int bl_cifar_read(const bl_blob *blob, const bl_cifar_format *format, int64_t index, uint8_t *pixels, int32_t *label,
                  bl_error *err)
{
    uint8_t record[BL_CIFAR_RECORD_MAX];
    size_t record_b = record_bytes(format);
    int code = bl_blob_read(blob, index * (int64_t)record_b, record, record_b, err);
    if (code == BL_OK) /* again: the file may have changed */
        code = check_labels(blob, format, index, record, err);
    if (code != BL_OK)
        return code;
    const uint8_t *planes = record + format->n_labels;
    for (size_t i = 0; i < BL_CIFAR_PIXELS; i++)
        for (size_t c = 0; c < 3; c++)
            pixels[3 * i + c] = planes[c * BL_CIFAR_PIXELS + i];
    *label = record[format->n_labels - 1];
    return BL_OK;
}

static void free_cifar(bl_dataset *dataset)
{
    cifar *c = (cifar *)dataset;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < FILES_MAX; i++)
            bl_blob_close(&c->files[s][i]);
    free((char *)dataset->description);
    free(c);
}

static int read_image(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                      int32_t *label, bl_error *err)
{
    const cifar *c = (const cifar *)dataset;
    bl_scratch own = {0}, *scratch = view->scratch ? view->scratch : &own;
    uint8_t *pixels = bl_scratch_room(scratch, BL_SCRATCH_PIXELS, 3 * BL_CIFAR_PIXELS);
    int file = 0;
    while (file < FILES_MAX - 1 && index >= c->n[split][file])
        index -= c->n[split][file++];
    int code = pixels ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for an image");
    if (code == BL_OK)
        code = bl_cifar_read(&c->files[split][file], c->layout->format, index, pixels, label, err);
    if (code == BL_OK) {
        bl_image image = {.pixels = pixels, .width = BL_CIFAR_SIDE, .height = BL_CIFAR_SIDE};
        bl_picture picture = bl_picture_whole(&image);
        code = bl_view_make(view, &picture, scratch, out, err);
    }
    bl_scratch_clear(&own);
    return code;
}

static const bl_dataset_kind cifar_kind = {.name = "cifar", .read = read_image, .free = free_cifar};

static const layout layout10 = {
    .reader = &bl_reader_cifar10,
    .format = &bl_cifar10,
    .folder = "cifar-10-batches-bin",
    .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
    .n_train = 5,
    .test = "test_batch.bin"};
static const layout layout100 = {.reader = &bl_reader_cifar100,
                                 .format = &bl_cifar100,
                                 .folder = "cifar-100-binary",
                                 .train = {"train.bin"},
                                 .n_train = 1,
                                 .test = "test.bin"};

/* Where the files lie: PATH or PATH/FOLDER; false where the first of them is in neither. */
static bool find_folder(const layout *l, const char *path, char *out, size_t room)
{
    char file[4096];
    for (int way = 0; way < 2; way++) {
        if (way == 0)
            snprintf(out, room, "%s", path);
        else
            snprintf(out, room, "%s/%s", path, l->folder);
        snprintf(file, sizeof file, "%s/%s", out, l->train[0]);
        if (bl_fs_is_file(file))
            return true;
    }
    return false;
}

static int open_file(cifar *c, bl_split split, int i, const char *folder, const char *name, bl_error *err)
{
    char path[4096 + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int code = bl_blob_open(path, &c->files[split][i], err);
    if (code == BL_OK)
        code = bl_cifar_check(&c->files[split][i], c->layout->format, &c->n[split][i], err);
    c->base.count[split] += c->n[split][i];
    return code;
}

static int open_layout(const layout *l, const char *path, bl_dataset **out, bl_error *err)
{
    char folder[4096], test[4096 + 64];
    if (!find_folder(l, path, folder, sizeof folder))
        return BL_FAIL(err, BL_ERR_ENV, "'%s' holds no file '%s'", path, l->train[0]);
    cifar *c = bl_calloc(1, sizeof *c);
    if (!c)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    c->base.kind = &cifar_kind;
    c->layout = l;
    c->base.n_classes = l->format->n_values[l->format->n_labels - 1];
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < l->n_train; i++)
        code = open_file(c, BL_SPLIT_TRAIN, i, folder, l->train[i], err);
    snprintf(test, sizeof test, "%s/%s", folder, l->test);
    if (code == BL_OK && bl_fs_exists(test))
        code = open_file(c, BL_SPLIT_TEST, 0, folder, l->test, err);
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "%s %s: %lld images to train on, %lld to test on, %d classes", l->reader->name, path,
                  (long long)c->base.count[0], (long long)c->base.count[1], c->base.n_classes);
    c->base.description = bl_str_take(&text);
    if (code == BL_OK && !c->base.description)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    if (code != BL_OK) {
        bl_dataset_free(&c->base);
        return code;
    }
    *out = &c->base;
    return BL_OK;
}

static bool recognises10(const char *path)
{
    char folder[4096];
    return find_folder(&layout10, path, folder, sizeof folder);
}

static bool recognises100(const char *path)
{
    char folder[4096];
    return find_folder(&layout100, path, folder, sizeof folder);
}

static int open10(const bl_data_options *options, bl_dataset **out, bl_error *err)
{
    return open_layout(&layout10, options->path, out, err);
}

static int open100(const bl_data_options *options, bl_dataset **out, bl_error *err)
{
    return open_layout(&layout100, options->path, out, err);
}

const bl_reader bl_reader_cifar10 = {
    .name = "CIFAR-10", .looks_for = "data_batch_1.bin", .recognises = recognises10, .open = open10};
const bl_reader bl_reader_cifar100 = {
    .name = "CIFAR-100", .looks_for = "train.bin", .recognises = recognises100, .open = open100};
