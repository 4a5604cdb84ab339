#include "data/idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/str.h"
#include "data/image.h"
#include "data/picture.h"
#include "data/reader.h"

enum { TYPE_BYTE = 8, DIMENSIONS_MAX = 3, CHUNK_B = 4096 };

typedef struct idx_split {
    bl_blob images, labels;
    bl_idx_images shape;
    bl_idx_labels values;
} idx_split;

typedef struct idx {
    bl_dataset base; /* first */
    idx_split splits[2];
} idx;

/* The sizes of a file of bytes in so many dimensions, which the file's own must be. */
static int read_header(const bl_blob *blob, int dimensions, const char *what, int64_t *sizes, bl_error *err)
{
    uint8_t header[4 + 4 * DIMENSIONS_MAX];
    int64_t want = 4 + 4 * dimensions, start = want;
    int code = bl_blob_read(blob, 0, header, (size_t)start, err);
    if (code != BL_OK)
        return code;
    if (header[0] != 0 || header[1] != 0 || header[2] != TYPE_BYTE || header[3] != dimensions)
        return BL_FAIL(err, BL_ERR_FORMAT, "'%s' is no IDX file of %s: it begins %02x%02x%02x%02x, not 0000%02x%02x",
                       blob->name, what, header[0], header[1], header[2], header[3], TYPE_BYTE, dimensions);
    int64_t values = 1;
    for (int d = 0; d < dimensions; d++) {
        const uint8_t *p = header + 4 + 4 * d;
        sizes[d] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
        if (sizes[d] == 0 || __builtin_mul_overflow(values, sizes[d], &values))
            return BL_FAIL(err, BL_ERR_FORMAT, "'%s' claims to be of size %lld", blob->name, (long long)sizes[d]);
    }
    if (values != blob->len - start) {
        BL_FAIL(err, BL_ERR_FORMAT, "'%s' claims %lld bytes of %s and holds %lld", blob->name, (long long)values, what,
                (long long)(blob->len - start));
        bl_error_remedy(err, "fetch the file again: it may have been cut");
        return BL_ERR_FORMAT;
    }
    return BL_OK;
}

int bl_idx_open_images(const bl_blob *blob, bl_idx_images *out, bl_error *err)
{
    int64_t sizes[3];
    int code = read_header(blob, 3, "images", sizes, err);
    if (code == BL_OK && bl_image_too_large((uint64_t)sizes[1], (uint64_t)sizes[2]))
        code = bl_image_refuse_size(blob->name, (uint64_t)sizes[2], (uint64_t)sizes[1], err);
    if (code == BL_OK)
        *out = (bl_idx_images){.n = sizes[0], .rows = (int)sizes[1], .columns = (int)sizes[2], .start = 16};
    return code;
}

int bl_idx_open_labels(const bl_blob *blob, bl_idx_labels *out, bl_error *err)
{
    int64_t n;
    int code = read_header(blob, 1, "labels", &n, err);
    if (code != BL_OK)
        return code;
    *out = (bl_idx_labels){.n = n, .start = 8};
    for (int64_t at = out->start; code == BL_OK && at < blob->len;) {
        uint8_t chunk[CHUNK_B];
        size_t some = blob->len - at < CHUNK_B ? (size_t)(blob->len - at) : CHUNK_B;
        code = bl_blob_read(blob, at, chunk, some, err);
        for (size_t i = 0; code == BL_OK && i < some; i++)
            out->largest = chunk[i] > out->largest ? chunk[i] : out->largest;
        at += (int64_t)some;
    }
    return code;
}

int bl_idx_read_image(const bl_blob *blob, const bl_idx_images *images, int64_t index, uint8_t *pixels, bl_error *err)
{
    size_t n = (size_t)images->rows * (size_t)images->columns;
    uint8_t *grey = pixels + 2 * n; /* spread from the front: a value is read before its place is written */
    int code = bl_blob_read(blob, images->start + index * (int64_t)n, grey, n, err);
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        uint8_t value = grey[i];
        for (size_t c = 0; c < 3; c++)
            pixels[3 * i + c] = value;
    }
    return code;
}

static void free_idx(bl_dataset *dataset)
{
    idx *x = (idx *)dataset;
    for (int s = 0; s < 2; s++) {
        bl_blob_close(&x->splits[s].images);
        bl_blob_close(&x->splits[s].labels);
    }
    free((char *)dataset->description);
    free(x);
}

static int read_image(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                      int32_t *label, bl_error *err)
{
    const idx_split *s = &((const idx *)dataset)->splits[split];
    bl_scratch own = {0}, *scratch = view->scratch ? view->scratch : &own;
    uint8_t *pixels = bl_scratch_room(scratch, BL_SCRATCH_PIXELS, 3 * (size_t)s->shape.rows * (size_t)s->shape.columns);
    uint8_t value = 0;
    int code = pixels ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for an image");
    if (code == BL_OK)
        code = bl_idx_read_image(&s->images, &s->shape, index, pixels, err);
    if (code == BL_OK)
        code = bl_blob_read(&s->labels, s->values.start + index, &value, 1, err);
    if (code == BL_OK && value >= dataset->n_classes)
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' has changed since it was opened", s->labels.name);
    if (code == BL_OK) {
        bl_image image = {.pixels = pixels, .width = s->shape.columns, .height = s->shape.rows};
        bl_picture picture = bl_picture_whole(&image);
        code = bl_view_make(view, &picture, scratch, out, err);
    }
    *label = value;
    bl_scratch_clear(&own);
    return code;
}

static const bl_dataset_kind idx_kind = {.name = "idx", .read = read_image, .free = free_idx};

/* The path of PREFIX-KIND-idxN-ubyte in one of the ways in which people name it; false where there is none. */
static bool find_file(const char *path, const char *prefix, const char *what, int dimensions, char *out, size_t room)
{
    static const char *const joints[] = {"-", "."}, *const endings[] = {"", ".gz"};
    for (size_t k = 0; k < 4; k++) {
        snprintf(out, room, "%s/%s-%s%sidx%d-ubyte%s", path, prefix, what, joints[k / 2], dimensions, endings[k % 2]);
        if (bl_fs_is_file(out))
            return true;
    }
    return false;
}

static int open_file(const char *path, bl_blob *out, bl_error *err)
{
    int code = bl_blob_open(path, out, err);
    size_t n = strlen(path);
    if (code == BL_OK && n > 3 && strcmp(path + n - 3, ".gz") == 0)
        code = bl_blob_unpack(out, BL_IDX_MAX_B, err);
    return code;
}

static int open_split(const char *path, const char *prefix, idx_split *s, bl_error *err)
{
    char file[4096];
    if (!find_file(path, prefix, "images", 3, file, sizeof file))
        return BL_FAIL(err, BL_ERR_ENV, "'%s' holds no file '%s-images-idx3-ubyte'", path, prefix);
    int code = open_file(file, &s->images, err);
    if (code == BL_OK)
        code = bl_idx_open_images(&s->images, &s->shape, err);
    if (code == BL_OK && !find_file(path, prefix, "labels", 1, file, sizeof file))
        code = BL_FAIL(err, BL_ERR_ENV, "'%s' holds no file '%s-labels-idx1-ubyte'", path, prefix);
    if (code == BL_OK)
        code = open_file(file, &s->labels, err);
    if (code == BL_OK)
        code = bl_idx_open_labels(&s->labels, &s->values, err);
    if (code == BL_OK && s->values.n != s->shape.n)
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' has %lld labels for %lld images", s->labels.name,
                       (long long)s->values.n, (long long)s->shape.n);
    return code;
}

static int open_idx(const bl_data_options *options, bl_dataset **out, bl_error *err)
{
    idx *x = bl_calloc(1, sizeof *x);
    if (!x)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    x->base.kind = &idx_kind;
    char file[4096];
    idx_split *train = &x->splits[BL_SPLIT_TRAIN], *test = &x->splits[BL_SPLIT_TEST];
    int code = open_split(options->path, "train", train, err);
    if (code == BL_OK && find_file(options->path, "t10k", "images", 3, file, sizeof file))
        code = open_split(options->path, "t10k", test, err);
    if (code == BL_OK && test->values.largest > train->values.largest)
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' holds the class %d, which the images to train on lack",
                       test->labels.name, test->values.largest);
    x->base.count[BL_SPLIT_TRAIN] = train->shape.n;
    x->base.count[BL_SPLIT_TEST] = test->shape.n;
    x->base.n_classes = train->values.largest > 0 ? train->values.largest + 1 : 2;
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "IDX %s: %lld images of %d x %d to train on, %lld to test on, %d classes", options->path,
                  (long long)train->shape.n, train->shape.columns, train->shape.rows, (long long)test->shape.n,
                  x->base.n_classes);
    x->base.description = bl_str_take(&text);
    if (code == BL_OK && !x->base.description)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    if (code != BL_OK) {
        bl_dataset_free(&x->base);
        return code;
    }
    *out = &x->base;
    return BL_OK;
}

static bool recognises(const char *path)
{
    char file[4096];
    return find_file(path, "train", "images", 3, file, sizeof file);
}

const bl_reader bl_reader_idx = {
    .name = "IDX, as MNIST's", .looks_for = "train-images-idx3-ubyte", .recognises = recognises, .open = open_idx};
