#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/str.h"
#include "data/scan.h"
#include "data/scene.h"
#include "data/yolo_labels.h"
#include "data/yolo_places.h"

#define TEXT_MAX_B ((size_t)16 << 20) /* of a label file: hundreds of thousands of boxes */

typedef struct split_images {
    bl_strv paths;
    size_t *first; /* (images + 1) where each one's boxes start */
    bl_objects boxes;
    int64_t n_empty; /* images that show nothing */
} split_images;

typedef struct yolo {
    bl_dataset base; /* first */
    split_images splits[2];
    int64_t n_duplicates, n_unlabelled; /* labels that were there before; images without a label file */
} yolo;

static void free_yolo(bl_dataset *dataset)
{
    yolo *y = (yolo *)dataset;
    for (int s = 0; s < 2; s++) {
        bl_strv_clear(&y->splits[s].paths);
        free(y->splits[s].first);
        bl_objects_clear(&y->splits[s].boxes);
    }
    free((char *)y->base.description);
    free(y);
}

static void path_of(const bl_dataset *dataset, bl_split split, int64_t index, char *out, size_t room)
{
    snprintf(out, room, "%s", ((const yolo *)dataset)->splits[split].paths.items[index]);
}

typedef struct from {
    const bl_dataset *dataset;
    bl_split split;
} from;

static int read_picture(const void *context, int64_t index, const bl_want *want, bl_scratch *scratch, bl_picture *out,
                        bl_error *err)
{
    const from *f = context;
    return bl_picture_read(f->dataset, f->split, index, want, scratch, out, err);
}

static const bl_object *boxes_of(const void *context, int64_t index, size_t *n)
{
    const from *f = context;
    const split_images *s = &((const yolo *)f->dataset)->splits[f->split];
    *n = s->first[index + 1] - s->first[index];
    return s->boxes.items ? s->boxes.items + s->first[index] : NULL;
}

static int read_scene(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                      bl_objects *boxes, float frame[4], bl_error *err)
{
    const from f = {dataset, split};
    bl_scene_source source = {
        .context = &f, .count = dataset->count[split], .picture = read_picture, .boxes = boxes_of};
    return bl_scene_make(&source, index, view, &bl_scene_yolov7, out, boxes, frame, err);
}

static const bl_dataset_kind yolo_kind = {
    .name = "yolo", .read_boxes = read_scene, .path = path_of, .least = bl_scene_least, .free = free_yolo};

/* What is done while a data set is opened. */
typedef struct opening {
    yolo *y;
    bl_scan *scan;
    bl_yolo_places places;
    int limit; /* labels are below */
} opening;

static int no_memory(size_t n, bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu file names", n);
}

typedef struct labelled {
    char *labels;
    size_t image;
} labelled;

static int by_labels(const void *a, const void *b)
{
    const labelled *x = a, *y = b;
    int order = strcmp(x->labels, y->labels);
    return order ? order : (x->image > y->image) - (x->image < y->image);
}

/* Marks those whose labels an earlier image has: the same image again, or another of the same name. */
static int mark_repeated(const bl_strv *images, bool *repeated, bl_error *err)
{
    labelled *all = bl_calloc(images->len, sizeof *all);
    int code = all ? BL_OK : no_memory(images->len, err);
    size_t n = 0;
    for (; code == BL_OK && n < images->len; n++) {
        char path[BL_YOLO_PATH_MAX];
        code = bl_yolo_labels_of(images->items[n], path, err);
        all[n] = (labelled){code == BL_OK ? bl_strdup(path) : NULL, n};
        if (code == BL_OK && !all[n].labels)
            code = no_memory(images->len, err);
    }
    if (code == BL_OK)
        qsort(all, n, sizeof *all, by_labels);
    for (size_t i = 1; code == BL_OK && i < n; i++)
        repeated[all[i].image] = strcmp(all[i].labels, all[i - 1].labels) == 0;
    for (size_t i = 0; i < n; i++)
        free(all[i].labels);
    free(all);
    return code;
}

static int read_labels(opening *o, split_images *s, const char *image, bl_error *err)
{
    yolo *y = o->y;
    char path[BL_YOLO_PATH_MAX], *text = NULL;
    size_t len = 0, before = s->boxes.len;
    int64_t repeated = 0;
    int code = bl_yolo_labels_of(image, path, err);
    if (code == BL_OK && bl_fs_exists(path)) {
        code = bl_fs_read(path, TEXT_MAX_B, &text, &len, err);
        if (code == BL_OK)
            code = bl_yolo_parse_labels(text, len, path, o->limit, &s->boxes, &repeated, err);
        free(text);
        if (code == BL_OK && repeated > 0)
            code = bl_scan_remark(o->scan, path, "a label that was there before is left out", err);
    } else if (code == BL_OK) {
        y->n_unlabelled++;
        code = bl_scan_remark(o->scan, image, "there is no label file: it shows nothing", err);
    }
    y->n_duplicates += repeated;
    s->n_empty += s->boxes.len == before;
    return code;
}

static int take_image(opening *o, split_images *s, const char *path, bool repeated, bl_error *err)
{
    bool good = false;
    if (repeated)
        return bl_scan_leave_out(o->scan, path, "an image before it has the same label file", err);
    int code = bl_scan_image(o->scan, path, &good, NULL, err);
    if (code != BL_OK || !good)
        return code;
    code = read_labels(o, s, path, err);
    if (code == BL_OK && bl_strv_push(&s->paths, path) != BL_OK)
        code = no_memory(s->paths.len + 1, err);
    if (code == BL_OK)
        s->first[s->paths.len] = s->boxes.len;
    return code;
}

/* Where the labels of a split's first image are looked for, for a remedy. */
static void name_labels(const bl_strv *images, bl_error *err)
{
    char path[BL_YOLO_PATH_MAX];
    if (bl_yolo_labels_of(images->items[0], path, NULL) != BL_OK)
        return;
    char *slash = strrchr(path, '/');
    bl_error_remedy(err, "labels are looked for as %.*s/*.txt", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int check_split(const split_images *s, const bl_strv *images, const char *place, bl_error *err)
{
    if (s->paths.len == 0)
        return BL_FAIL(err, BL_ERR_FORMAT, "no image of '%s' can be used, such as '%s'", place, images->items[0]);
    if (s->boxes.len > 0)
        return BL_OK;
    BL_FAIL(err, BL_ERR_FORMAT, "no image in '%s' has a label", place);
    name_labels(images, err);
    return BL_ERR_FORMAT;
}

static int take_images(opening *o, split_images *s, const bl_strv *images, bl_error *err)
{
    bool *repeated = bl_calloc(images->len, sizeof *repeated);
    s->first = bl_calloc(images->len + 1, sizeof *s->first);
    int code = repeated && s->first ? mark_repeated(images, repeated, err) : no_memory(images->len, err);
    for (size_t i = 0; code == BL_OK && i < images->len; i++)
        code = take_image(o, s, images->items[i], repeated[i], err);
    free(repeated);
    return code;
}

static int list_split(opening *o, bl_split split, bl_strv *images, bl_error *err)
{
    const bl_strv *places = &o->places.splits[split];
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < places->len; i++)
        code = bl_yolo_list_images(&o->places, places->items[i], o->scan, images, err);
    if (code == BL_OK && places->len > 0 && images->len == 0)
        code = BL_FAIL(err, BL_ERR_ENV, "'%s' holds no JPEG or PNG image", places->items[0]);
    bl_scan_expect(o->scan, (int64_t)images->len);
    return code;
}

static int scan_splits(opening *o, bl_error *err)
{
    bl_strv images[2];
    bl_strv_init(&images[0]);
    bl_strv_init(&images[1]);
    int code = list_split(o, BL_SPLIT_TRAIN, &images[0], err);
    if (code == BL_OK)
        code = list_split(o, BL_SPLIT_TEST, &images[1], err);
    for (int s = 0; s < 2; s++) {
        split_images *split = &o->y->splits[s];
        if (code == BL_OK && images[s].len > 0)
            code = take_images(o, split, &images[s], err);
        if (code == BL_OK && images[s].len > 0)
            code = check_split(split, &images[s], o->places.splits[s].items[0], err);
        o->y->base.count[s] = (int64_t)split->paths.len;
        bl_strv_clear(&images[s]);
    }
    return code;
}

static int largest_class(const yolo *y)
{
    int largest = 0;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < y->splits[s].boxes.len; i++)
            if (y->splits[s].boxes.items[i].label > largest)
                largest = y->splits[s].boxes.items[i].label;
    return largest;
}

static int describe(yolo *y, const char *path, bl_error *err)
{
    const split_images *train = &y->splits[BL_SPLIT_TRAIN], *test = &y->splits[BL_SPLIT_TEST];
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "boxes %s: %zu images to train on (%zu boxes, %lld images without), %zu to test on", path,
                  train->paths.len, train->boxes.len, (long long)train->n_empty, test->paths.len);
    if (test->paths.len > 0)
        bl_str_printf(&text, " (%zu boxes, %lld images without)", test->boxes.len, (long long)test->n_empty);
    bl_str_printf(&text, ", %d classes", y->base.n_classes);
    if (y->n_unlabelled > 0)
        bl_str_printf(&text, "; %lld images have no label file", (long long)y->n_unlabelled);
    if (y->n_duplicates > 0)
        bl_str_printf(&text, "; %lld repeated labels left out", (long long)y->n_duplicates);
    y->base.description = bl_str_take(&text);
    return y->base.description ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
}

static int open_yolo(const bl_data_options *options, bl_dataset **out, bl_error *err)
{
    opening o = {.y = bl_calloc(1, sizeof *o.y)};
    if (!o.y)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    bl_dataset *base = &o.y->base;
    base->kind = &yolo_kind;
    int code = bl_yolo_find_places(options->path, &o.places, err);
    int said = options->n_classes > 0 ? options->n_classes : o.places.n_classes;
    o.limit = said > 0 ? said : BL_CLASSES_MAX;
    if (code == BL_OK)
        code = bl_scan_new(options, &o.scan, err);
    if (code == BL_OK)
        code = scan_splits(&o, err);
    base->n_classes = said > 0 ? said : largest_class(o.y) + 1;
    if (code == BL_OK)
        code = describe(o.y, options->path, err);
    if (code == BL_OK)
        code = bl_scan_end(o.scan, base, err);
    bl_scan_free(o.scan);
    bl_yolo_places_clear(&o.places);
    if (code != BL_OK) {
        bl_dataset_free(base);
        return code;
    }
    *out = base;
    return BL_OK;
}

int bl_yolo_open(const char *path, int n_classes, bl_dataset **out, bl_error *err)
{
    return open_yolo(&(bl_data_options){.path = path, .boxes = true, .n_classes = n_classes}, out, err);
}

const bl_reader bl_reader_yolo = {.name = "YOLO's boxes",
                                  .looks_for = "data.yaml, or images/train/*.jpg with labels/train/*.txt",
                                  .boxes = true,
                                  .recognises = bl_yolo_recognises,
                                  .open = open_yolo};
