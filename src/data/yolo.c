#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/str.h"
#include "data/files.h"
#include "data/scene.h"
#include "data/yolo_labels.h"

#define TEXT_MAX_B ((size_t)16 << 20) /* of a label file: hundreds of thousands of boxes */

typedef struct split_images {
    char *images, *labels; /* their folders; NULL: no such split */
    bl_strv names;
    size_t *first; /* (images + 1) where each one's boxes start */
    bl_objects boxes;
    int64_t n_empty; /* images that show nothing */
} split_images;

typedef struct yolo {
    bl_dataset base; /* first */
    split_images splits[2];
    int64_t n_duplicates;
} yolo;

static void free_yolo(bl_dataset *dataset)
{
    yolo *y = (yolo *)dataset;
    for (int s = 0; s < 2; s++) {
        free(y->splits[s].images);
        free(y->splits[s].labels);
        bl_strv_clear(&y->splits[s].names);
        free(y->splits[s].first);
        bl_objects_clear(&y->splits[s].boxes);
    }
    free((char *)y->base.description);
    free(y);
}

static void path_of(const bl_dataset *dataset, bl_split split, int64_t index, char *out, size_t room)
{
    const split_images *s = &((const yolo *)dataset)->splits[split];
    snprintf(out, room, "%s/%s", s->images, s->names.items[index]);
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

static char *join(const char *a, const char *b, const char *c)
{
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "%s/%s", a, b);
    if (c)
        bl_str_printf(&text, "/%s", c);
    return bl_str_take(&text);
}

/* The only folder in PATH/images whose name begins with `word`, into *out where there is one. */
static int find_longer_name(const char *path, const char *word, char **out, bl_error *err)
{
    bl_strv names;
    bl_strv_init(&names);
    char *images = join(path, "images", NULL);
    const char *found = NULL;
    int code = images ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path");
    if (code == BL_OK && bl_fs_is_dir(images))
        code = bl_files_list(images, bl_files_is_folder, &names, err);
    for (size_t i = 0; code == BL_OK && i < names.len; i++) {
        if (strncmp(names.items[i], word, strlen(word)) != 0)
            continue;
        if (found) {
            code = BL_FAIL(err, BL_ERR_ENV, "'%s' holds both '%s' and '%s'", images, found, names.items[i]);
            bl_error_remedy(err, "name the one that is meant '%s'", word);
        }
        found = names.items[i];
    }
    if (code == BL_OK && found) {
        *out = join(path, "images", found);
        code = *out ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path");
    }
    bl_strv_clear(&names);
    free(images);
    return code;
}

/* The folder of a split's images into *out, NULL where there is none. */
static int find_images(const char *path, const char *word, char **out, bl_error *err)
{
    for (int way = 0; way < 2; way++) {
        char *folder = way == 0 ? join(path, "images", word) : join(path, word, "images");
        if (!folder)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path");
        if (bl_fs_is_dir(folder)) {
            *out = folder;
            return BL_OK;
        }
        free(folder);
    }
    return find_longer_name(path, word, out, err);
}

/* The same path with "labels" for its last "images"; it has one, since it was found by that. */
static char *labels_beside(const char *images)
{
    static const char word[] = "/images";
    const char *last = NULL;
    for (const char *p = strstr(images, word); p; p = strstr(p + 1, word))
        if (p[sizeof word - 1] == '/' || p[sizeof word - 1] == '\0')
            last = p;
    bl_str text;
    bl_str_init(&text);
    if (last) {
        bl_str_append_n(&text, images, (size_t)(last - images));
        bl_str_printf(&text, "/labels%s", last + sizeof word - 1);
    }
    return bl_str_take(&text);
}

static int read_labels(yolo *y, split_images *s, const char *image, int n_classes, bl_error *err)
{
    const char *dot = strrchr(image, '.');
    char path[4096], *text = NULL;
    size_t len = 0, before = s->boxes.len;
    snprintf(path, sizeof path, "%s/%.*s.txt", s->labels, (int)(dot - image), image);
    int code = BL_OK;
    if (bl_fs_exists(path)) {
        code = bl_fs_read(path, TEXT_MAX_B, &text, &len, err);
        if (code == BL_OK)
            code = bl_yolo_parse_labels(text, len, path, n_classes, &s->boxes, &y->n_duplicates, err);
        free(text);
    }
    s->n_empty += s->boxes.len == before;
    return code;
}

static int scan_split(yolo *y, bl_split split, int n_classes, bl_error *err)
{
    split_images *s = &y->splits[split];
    int code = bl_files_list(s->images, bl_files_is_image, &s->names, err);
    s->labels = labels_beside(s->images);
    s->first = bl_calloc(s->names.len + 1, sizeof *s->first);
    if (code == BL_OK && (!s->first || !s->labels))
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu file names", s->names.len);
    if (code == BL_OK && s->names.len == 0)
        code = BL_FAIL(err, BL_ERR_ENV, "'%s' holds no JPEG or PNG image", s->images);
    for (size_t i = 0; code == BL_OK && i < s->names.len; i++) {
        code = read_labels(y, s, s->names.items[i], n_classes, err);
        s->first[i + 1] = s->boxes.len;
    }
    if (code == BL_OK && s->boxes.len == 0) {
        code = BL_FAIL(err, BL_ERR_FORMAT, "no image in '%s' has a label", s->images);
        bl_error_remedy(err, "labels are looked for as %s/*.txt", s->labels);
    }
    y->base.count[split] = (int64_t)s->names.len;
    return code;
}

/* The lines of PATH/classes.txt that say something; 0 where there is no such file. */
static int count_names(const char *path, int *out, bl_error *err)
{
    char *file = join(path, "classes.txt", NULL), *text = NULL, *rest = NULL;
    size_t len;
    int code = file ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path");
    *out = 0;
    if (code == BL_OK && bl_fs_exists(file)) {
        code = bl_fs_read(file, TEXT_MAX_B, &text, &len, err);
        for (char *line = code == BL_OK ? strtok_r(text, "\r\n", &rest) : NULL; line;
             line = strtok_r(NULL, "\r\n", &rest))
            *out += line[strspn(line, " \t")] != '\0';
        if (code == BL_OK && (*out < 1 || *out > BL_CLASSES_MAX))
            code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' names %d classes, which is not between 1 and %d", file, *out,
                           BL_CLASSES_MAX);
    }
    free(text);
    free(file);
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
                  train->names.len, train->boxes.len, (long long)train->n_empty, test->names.len);
    if (test->names.len > 0)
        bl_str_printf(&text, " (%zu boxes, %lld images without)", test->boxes.len, (long long)test->n_empty);
    bl_str_printf(&text, ", %d classes", y->base.n_classes);
    if (y->n_duplicates > 0)
        bl_str_printf(&text, "; %lld repeated labels left out", (long long)y->n_duplicates);
    y->base.description = bl_str_take(&text);
    return y->base.description ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
}

static int find_splits(yolo *y, const char *path, bl_error *err)
{
    if (!bl_fs_is_dir(path))
        return BL_FAIL(err, BL_ERR_ENV, "there is no folder '%s'", path);
    char **train = &y->splits[BL_SPLIT_TRAIN].images, **test = &y->splits[BL_SPLIT_TEST].images;
    int code = find_images(path, "train", train, err);
    if (code == BL_OK && !*train) {
        code = BL_FAIL(err, BL_ERR_ENV, "'%s' holds no folder 'images/train'", path);
        bl_error_remedy(err, "images are looked for as %s/images/train/*.jpg, labels as labels/train/*.txt", path);
    }
    if (code == BL_OK)
        code = find_images(path, "val", test, err);
    if (code == BL_OK && !*test)
        code = find_images(path, "test", test, err);
    return code;
}

int bl_yolo_open(const char *path, int n_classes, bl_dataset **out, bl_error *err)
{
    yolo *y = bl_calloc(1, sizeof *y);
    if (!y)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    y->base.kind = &yolo_kind;
    int n_names = 0;
    int code = find_splits(y, path, err);
    if (code == BL_OK)
        code = count_names(path, &n_names, err);
    int limit = n_classes > 0 ? n_classes : n_names > 0 ? n_names : BL_CLASSES_MAX;
    for (int s = 0; code == BL_OK && s < 2; s++)
        if (y->splits[s].images)
            code = scan_split(y, (bl_split)s, limit, err);
    y->base.n_classes = n_classes > 0 || n_names > 0 ? limit : largest_class(y) + 1;
    if (code == BL_OK)
        code = describe(y, path, err);
    if (code != BL_OK) {
        free_yolo(&y->base);
        return code;
    }
    *out = &y->base;
    return BL_OK;
}
