#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/str.h"
#include "data/files.h"
#include "data/picture.h"
#include "data/scan.h"

/* Paths lie one after the other in one text: a million files would be a million blocks otherwise. */
typedef struct split_files {
    bl_str names; /* "CLASS/FILE" with their zero bytes */
    size_t *at;   /* where each starts */
    int32_t *label;
    int64_t len, cap;
    char *root; /* PATH/train */
} split_files;

typedef struct folder {
    bl_dataset base; /* first */
    split_files splits[2];
    bl_strv classes;
} folder;

static void free_folder(bl_dataset *dataset)
{
    folder *f = (folder *)dataset;
    for (int s = 0; s < 2; s++) {
        bl_str_clear(&f->splits[s].names);
        free(f->splits[s].at);
        free(f->splits[s].label);
        free(f->splits[s].root);
    }
    bl_strv_clear(&f->classes);
    free((char *)f->base.description);
    free(f);
}

static void path_of(const bl_dataset *dataset, bl_split split, int64_t index, char *out, size_t room)
{
    const split_files *files = &((const folder *)dataset)->splits[split];
    snprintf(out, room, "%s/%s", files->root, files->names.data + files->at[index]);
}

static int read_image(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                      int32_t *label, bl_error *err)
{
    *label = ((const folder *)dataset)->splits[split].label[index];
    return bl_picture_view(dataset, split, index, view, out, err);
}

static int add_file(split_files *files, const char *class_name, const char *name, int32_t label, bl_error *err)
{
    if (files->len == files->cap) {
        int64_t cap = files->cap ? files->cap * 2 : 1024;
        size_t *at = bl_realloc(files->at, (size_t)cap, sizeof *at);
        if (at)
            files->at = at;
        int32_t *labels = at ? bl_realloc(files->label, (size_t)cap, sizeof *labels) : NULL;
        if (!labels)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %lld file names", (long long)cap);
        files->label = labels;
        files->cap = cap;
    }
    files->at[files->len] = files->names.len;
    files->label[files->len++] = label;
    bl_str_printf(&files->names, "%s/%s", class_name, name);
    bl_str_append_n(&files->names, "", 1);
    return files->names.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the file names") : BL_OK;
}

static bool is_folder_or_image(const char *path, const char *name)
{
    return bl_files_is_image(path, name) || bl_files_is_folder(path, name);
}

/* The images of one class: names first, that the progress knows how many there are. */
static int list_class(split_files *files, const char *class_name, int32_t label, bl_scan *scan, bl_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", files->root, class_name);
    bl_strv names;
    bl_strv_init(&names);
    int64_t before = files->len;
    int code = bl_files_list(path, is_folder_or_image, &names, err);
    for (size_t i = 0; code == BL_OK && i < names.len; i++) {
        char inner[4096 + 256];
        snprintf(inner, sizeof inner, "%s/%s", path, names.items[i]);
        code = bl_files_is_image(path, names.items[i])
                   ? add_file(files, class_name, names.items[i], label, err)
                   : bl_scan_leave_out(scan, inner, "a folder within a class is not entered", err);
    }
    if (code == BL_OK && files->len == before) {
        code = BL_FAIL(err, BL_ERR_FORMAT, "the class folder '%s' holds no JPEG or PNG image", path);
        bl_error_remedy(err, "put images into it, or remove the folder");
    }
    bl_scan_expect(scan, files->len - before);
    bl_strv_clear(&names);
    return code;
}

/* Keeps the files that are images; each class must have one left. */
static int scan_files(folder *f, bl_split split, bl_scan *scan, bl_error *err)
{
    split_files *files = &f->splits[split];
    const char *why = NULL;
    char path[4096];
    int64_t kept = 0, of_class = 0;
    for (int64_t i = 0; i < files->len; i++) {
        int32_t label = files->label[i];
        bool good = false, last = i + 1 == files->len || files->label[i + 1] != label;
        snprintf(path, sizeof path, "%s/%s", files->root, files->names.data + files->at[i]);
        int code = bl_scan_image(scan, path, &good, &why, err);
        if (code != BL_OK)
            return code;
        if (good) {
            files->at[kept] = files->at[i];
            files->label[kept++] = label;
            of_class++;
        }
        if (last && of_class == 0) {
            BL_FAIL(err, BL_ERR_FORMAT, "no image of the class '%s/%s' can be used; the last one: %s", files->root,
                    f->classes.items[label], why);
            bl_error_remedy(err, "put images into it, or remove the folder");
            return BL_ERR_FORMAT;
        }
        of_class = last ? 0 : of_class;
    }
    f->base.count[split] = files->len = kept;
    return BL_OK;
}

static int find_class(const folder *f, const char *name)
{
    for (size_t i = 0; i < f->classes.len; i++)
        if (strcmp(f->classes.items[i], name) == 0)
            return (int)i;
    return -1;
}

static int list_split(folder *f, bl_split split, const char *path, const char *name, bl_scan *scan, bl_error *err)
{
    split_files *files = &f->splits[split];
    bl_str root;
    bl_str_init(&root);
    bl_str_printf(&root, "%s/%s", path, name);
    files->root = bl_str_take(&root);
    bl_strv folders;
    bl_strv_init(&folders);
    int code = files->root ? bl_files_list(files->root, bl_files_is_folder, &folders, err)
                           : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path");
    if (code == BL_OK && folders.len == 0) {
        code = BL_FAIL(err, BL_ERR_ENV, "'%s' holds no class folders", files->root);
        bl_error_remedy(err, "images are looked for as %s/CLASS/*.jpg", files->root);
    }
    for (size_t i = 0; code == BL_OK && i < folders.len; i++) {
        if (split == BL_SPLIT_TRAIN && bl_strv_push(&f->classes, folders.items[i]) != BL_OK)
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the class names");
        int label = find_class(f, folders.items[i]);
        if (code == BL_OK && label < 0)
            code = BL_FAIL(err, BL_ERR_FORMAT, "'%s/%s' is a class that train lacks", files->root, folders.items[i]);
        if (code == BL_OK)
            code = list_class(files, folders.items[i], label, scan, err);
    }
    bl_strv_clear(&folders);
    return code;
}

static const bl_dataset_kind folder_kind = {
    .name = "folder", .read = read_image, .path = path_of, .least = bl_view_least, .free = free_folder};

static int find_and_list(folder *f, const char *path, bl_scan *scan, bl_error *err)
{
    if (!bl_fs_is_dir(path))
        return BL_FAIL(err, BL_ERR_ENV, "there is no folder '%s'", path);
    if (!bl_files_is_folder(path, "train")) {
        BL_FAIL(err, BL_ERR_ENV, "the folder '%s' has no folder 'train' in it", path);
        bl_error_remedy(err, "images are looked for as %s/train/CLASS/*.jpg", path);
        return BL_ERR_ENV;
    }
    int code = list_split(f, BL_SPLIT_TRAIN, path, "train", scan, err);
    const char *test = bl_files_is_folder(path, "test") ? "test" : bl_files_is_folder(path, "val") ? "val" : NULL;
    return code == BL_OK && test ? list_split(f, BL_SPLIT_TEST, path, test, scan, err) : code;
}

static int describe(folder *f, const char *path, bl_error *err)
{
    bl_str text;
    bl_str_init(&text);
    f->base.n_classes = (int)f->classes.len;
    bl_str_printf(&text, "image folder %s: %lld images to train on, %lld to test on, %d classes", path,
                  (long long)f->base.count[0], (long long)f->base.count[1], f->base.n_classes);
    f->base.description = bl_str_take(&text);
    return f->base.description ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
}

static int open_folder(const bl_data_options *options, bl_dataset **out, bl_error *err)
{
    folder *f = bl_calloc(1, sizeof *f);
    if (!f)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    f->base.kind = &folder_kind;
    bl_strv_init(&f->classes);
    bl_scan *scan = NULL;
    int code = bl_scan_new(options, &scan, err);
    if (code == BL_OK)
        code = find_and_list(f, options->path, scan, err);
    for (int s = 0; code == BL_OK && s < 2; s++)
        code = scan_files(f, (bl_split)s, scan, err);
    if (code == BL_OK)
        code = bl_scan_end(scan, &f->base, err);
    if (code == BL_OK)
        code = describe(f, options->path, err);
    bl_scan_free(scan);
    if (code != BL_OK) {
        bl_dataset_free(&f->base);
        return code;
    }
    *out = &f->base;
    return BL_OK;
}

int bl_folder_open(const char *path, bl_dataset **out, bl_error *err)
{
    return open_folder(&(bl_data_options){.path = path}, out, err);
}

/* A folder in `train`; whether there are images in it is for the opening to say. */
static bool recognises(const char *path)
{
    bl_strv names;
    bl_strv_init(&names);
    char train[4096];
    snprintf(train, sizeof train, "%s/train", path);
    bool found =
        bl_fs_is_dir(train) && bl_files_list(train, bl_files_is_folder, &names, NULL) == BL_OK && names.len > 0;
    bl_strv_clear(&names);
    return found;
}

const bl_reader bl_reader_folder = {
    .name = "image folder", .looks_for = "train/CLASS/*.jpg", .recognises = recognises, .open = open_folder};
