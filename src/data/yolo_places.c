#include "data/yolo_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "data/data_yaml.h"
#include "data/files.h"
#include "data/image_list.h"

#define YAML_MAX_B  ((size_t)1 << 20)
#define NAMES_MAX_B ((size_t)16 << 20)
#define LIST_MAX_B  ((size_t)256 << 20)

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path");
}

static char *join(const char *a, const char *b, const char *c)
{
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "%s/%s", a, b);
    if (c)
        bl_str_printf(&text, "/%s", c);
    return bl_str_take(&text);
}

/* The folder of a file's path; "." where it has none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? bl_strdup(".") : slash == path ? bl_strdup("/") : bl_strndup(path, (size_t)(slash - path));
}

static int push(bl_strv *list, const char *path, bl_error *err)
{
    return bl_strv_push(list, path) == BL_OK ? BL_OK : no_memory(err);
}

void bl_yolo_places_clear(bl_yolo_places *places)
{
    bl_strv_clear(&places->splits[0]);
    bl_strv_clear(&places->splits[1]);
    free(places->base);
    *places = (bl_yolo_places){0};
}

/* ---- without a data.yaml ---- */

/* The only folder in PATH/images whose name begins with `word`, into *out where there is one. */
static int find_longer_name(const char *path, const char *word, char **out, bl_error *err)
{
    bl_strv names;
    bl_strv_init(&names);
    char *images = join(path, "images", NULL);
    const char *found = NULL;
    int code = images ? BL_OK : no_memory(err);
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
    if (code == BL_OK && found && !(*out = join(images, found, NULL)))
        code = no_memory(err);
    bl_strv_clear(&names);
    free(images);
    return code;
}

/* PATH/images/WORD or PATH/WORD/images or PATH/images/WORD..., into *out; NULL where there is none. */
static int find_images(const char *path, const char *word, char **out, bl_error *err)
{
    *out = NULL;
    for (int way = 0; way < 2; way++) {
        char *folder = way == 0 ? join(path, "images", word) : join(path, word, "images");
        if (!folder)
            return no_memory(err);
        if (bl_fs_is_dir(folder)) {
            *out = folder;
            return BL_OK;
        }
        free(folder);
    }
    return find_longer_name(path, word, out, err);
}

static int find_split(const char *path, const char *word, bl_strv *out, bl_error *err)
{
    char *folder;
    int code = find_images(path, word, &folder, err);
    if (code == BL_OK && folder)
        code = push(out, folder, err);
    free(folder);
    return code;
}

/* The lines of PATH/classes.txt that say something; 0 where there is no such file. */
static int count_names(const char *path, int *out, bl_error *err)
{
    char *file = join(path, "classes.txt", NULL), *text = NULL, *rest = NULL;
    size_t len;
    int code = file ? BL_OK : no_memory(err);
    *out = 0;
    if (code == BL_OK && bl_fs_exists(file)) {
        code = bl_fs_read(file, NAMES_MAX_B, &text, &len, err);
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

static int find_by_layout(const char *path, bl_yolo_places *out, bl_error *err)
{
    if (!bl_fs_is_dir(path))
        return BL_FAIL(err, BL_ERR_ENV, "there is no folder '%s'", path);
    bl_strv *train = &out->splits[BL_SPLIT_TRAIN], *test = &out->splits[BL_SPLIT_TEST];
    int code = find_split(path, "train", train, err);
    if (code == BL_OK && train->len == 0) {
        code = BL_FAIL(err, BL_ERR_ENV, "'%s' holds no folder 'images/train'", path);
        bl_error_remedy(err, "images are looked for as %s/images/train/*.jpg, labels as labels/train/*.txt", path);
    }
    if (code == BL_OK)
        code = find_split(path, "val", test, err);
    if (code == BL_OK && test->len == 0)
        code = find_split(path, "test", test, err);
    return code == BL_OK ? count_names(path, &out->n_classes, err) : code;
}

/* ---- with one ---- */

static bool ends_as_yaml(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".yaml") == 0 || strcasecmp(dot, ".yml") == 0);
}

/* PATH itself, PATH/data.yaml or PATH/NAME.yaml where PATH is a folder of that name; NULL: none, or no memory. */
static char *find_yaml(const char *path)
{
    if (bl_fs_is_file(path))
        return ends_as_yaml(path) ? bl_strdup(path) : NULL;
    char *real = realpath(path, NULL), *file = NULL;
    const char *slash = real ? strrchr(real, '/') : NULL, *name = slash && slash[1] ? slash + 1 : "data";
    static const char *const endings[] = {"yaml", "yml"};
    for (int k = 0; k < 4 && !file; k++) {
        bl_str text;
        bl_str_init(&text);
        bl_str_printf(&text, "%s/%s.%s", path, k < 2 ? "data" : name, endings[k % 2]);
        file = bl_str_take(&text);
        if (file && !bl_fs_is_file(file)) {
            free(file);
            file = NULL;
        }
    }
    free(real);
    return file;
}

/* data.yaml's own folder; what it says that its paths begin with, or NULL; its name, for errors. */
typedef struct yaml_place {
    const char *folder, *path, *name;
} yaml_place;

static char *below(const char *folder, const char *path, const char *entry)
{
    if (entry[0] == '/')
        return bl_strdup(entry);
    if (!path)
        return join(folder, entry, NULL);
    return path[0] == '/' ? join(path, entry, NULL) : join(folder, path, entry);
}

static const char *without_dots(const char *entry)
{
    for (;;) {
        if (strncmp(entry, "./", 2) == 0)
            entry += 2;
        else if (strncmp(entry, "../", 3) == 0)
            entry += 3;
        else
            return entry;
    }
}

/* People move data sets, and tools disagree on what paths are relative to: the first that is there counts. */
static int resolve(const yaml_place *y, const char *key, const char *entry, bl_strv *out, bl_error *err)
{
    char *first = NULL;
    int code = BL_OK;
    bool found = false;
    for (int k = 0; k < 4 && code == BL_OK && !found; k++) {
        char *place = k == 0   ? below(y->folder, y->path, entry)
                      : k == 1 ? below(y->folder, NULL, entry)
                      : k == 2 ? below(y->folder, NULL, without_dots(entry))
                               : below(".", y->path, entry);
        found = place && bl_fs_exists(place);
        if (!place || found)
            code = place ? push(out, place, err) : no_memory(err);
        if (k == 0)
            first = place;
        else
            free(place);
    }
    if (code == BL_OK && !found) {
        code = BL_FAIL(err, BL_ERR_ENV, "'%s' says '%s: %s', and there is no '%s'", y->name, key, entry, first);
        bl_error_remedy(err, "correct 'path' or '%s' in it", key);
    }
    free(first);
    return code;
}

static int resolve_all(const yaml_place *y, const char *key, const bl_strv *entries, bl_strv *out, bl_error *err)
{
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < entries->len; i++)
        code = resolve(y, key, entries->items[i], out, err);
    return code;
}

static int find_by_yaml(const char *file, bl_yolo_places *out, bl_error *err)
{
    char *text = NULL, *folder = folder_of(file);
    size_t len = 0;
    bl_data_yaml yaml = {0};
    int code = folder ? bl_fs_read(file, YAML_MAX_B, &text, &len, err) : no_memory(err);
    if (code == BL_OK)
        code = bl_data_yaml_parse(text, len, file, &yaml, err);
    yaml_place y = {folder, yaml.path && strcmp(yaml.path, ".") != 0 ? yaml.path : NULL, file};
    if (code == BL_OK)
        code = resolve_all(&y, "train", &yaml.train, &out->splits[BL_SPLIT_TRAIN], err);
    bool val = yaml.val.len > 0;
    if (code == BL_OK)
        code = resolve_all(&y, val ? "val" : "test", val ? &yaml.val : &yaml.test, &out->splits[BL_SPLIT_TEST], err);
    if (code == BL_OK) {
        out->n_classes = yaml.nc > 0 ? (int)yaml.nc : (int)yaml.names.len;
        out->base = y.path ? below(folder, NULL, y.path) : bl_strdup(folder);
        code = out->base ? BL_OK : no_memory(err);
    }
    bl_data_yaml_clear(&yaml);
    free(text);
    free(folder);
    return code;
}

int bl_yolo_find_places(const char *path, bl_yolo_places *out, bl_error *err)
{
    *out = (bl_yolo_places){0};
    char *yaml = find_yaml(path);
    int code = yaml ? find_by_yaml(yaml, out, err) : find_by_layout(path, out, err);
    free(yaml);
    return code;
}

bool bl_yolo_recognises(const char *path)
{
    char *yaml = find_yaml(path), *folder = NULL;
    bool found = yaml != NULL;
    free(yaml);
    if (!found && bl_fs_is_dir(path)) {
        /* Two that might be meant are for the opening to refuse. */
        found = find_images(path, "train", &folder, NULL) != BL_OK || folder;
        free(folder);
    }
    return found;
}

/* ---- images and labels ---- */

static bool is_image_or_folder(const char *path, const char *name)
{
    return bl_files_is_image(path, name) || bl_files_is_folder(path, name);
}

static int list_folder(const char *place, bl_scan *scan, bl_strv *images, bl_error *err)
{
    bl_strv names;
    bl_strv_init(&names);
    int code = bl_files_list(place, is_image_or_folder, &names, err);
    for (size_t i = 0; code == BL_OK && i < names.len; i++) {
        char *path = join(place, names.items[i], NULL);
        if (!path)
            code = no_memory(err);
        else if (bl_files_is_image(place, names.items[i]))
            code = push(images, path, err);
        else
            code = bl_scan_leave_out(scan, path, "a folder within is not entered", err);
        free(path);
    }
    bl_strv_clear(&names);
    return code;
}

/* The first of the list's own folder, data.yaml's path and the folder that the trainer runs in in which the first
 * image is; the list's own where it is in none. */
static const char *base_of_list(const char *own, const char *base, const char *first)
{
    const char *const bases[] = {own, base, "."};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        char *path = bases[i] ? join(bases[i], first, NULL) : NULL;
        bool there = path && bl_fs_exists(path);
        free(path);
        if (there)
            return bases[i];
    }
    return own;
}

static int list_file(const bl_yolo_places *places, const char *file, bl_strv *images, bl_error *err)
{
    bl_strv lines;
    bl_strv_init(&lines);
    char *text = NULL, *own = folder_of(file);
    size_t len;
    int code = own ? bl_fs_read(file, LIST_MAX_B, &text, &len, err) : no_memory(err);
    if (code == BL_OK)
        code = bl_image_list_parse(text, len, file, &lines, err);
    const char *base = code == BL_OK && lines.len > 0 ? base_of_list(own, places->base, lines.items[0]) : own;
    for (size_t i = 0; code == BL_OK && i < lines.len; i++) {
        char *path = below(base, NULL, lines.items[i]);
        code = path ? push(images, path, err) : no_memory(err);
        free(path);
    }
    bl_strv_clear(&lines);
    free(text);
    free(own);
    return code;
}

int bl_yolo_list_images(const bl_yolo_places *places, const char *place, bl_scan *scan, bl_strv *images, bl_error *err)
{
    return bl_fs_is_dir(place) ? list_folder(place, scan, images, err) : list_file(places, place, images, err);
}

int bl_yolo_labels_of(const char *image, char out[BL_YOLO_PATH_MAX], bl_error *err)
{
    static const char word[] = "/images/";
    const char *last = NULL, *slash = strrchr(image, '/'), *dot = strrchr(image, '.');
    for (const char *p = strstr(image, word); p; p = strstr(p + 1, word))
        last = p;
    size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - image) : strlen(image);
    int before = last ? (int)(last - image) : 0, skip = last ? (int)sizeof word - 1 : 0;
    int n = snprintf(out, BL_YOLO_PATH_MAX, "%.*s%s%.*s.txt", before, image, last ? "/labels/" : "",
                     (int)stem - before - skip, image + before + skip);
    return n >= 0 && n < BL_YOLO_PATH_MAX ? BL_OK : BL_FAIL(err, BL_ERR_FORMAT, "'%s' is too long a path", image);
}
