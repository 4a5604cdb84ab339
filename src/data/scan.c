#include "data/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "data/files.h"
#include "data/image.h"
#include "data/scan_cache.h"

#define CACHE_MAX_B ((size_t)1 << 30)
enum { TELL_EVERY = 64 };

struct bl_scan {
    bl_data_options options;
    char *root, *file;         /* the data set's, and what is kept of it; file NULL: nothing */
    bl_scan_cache known, seen; /* from the last time; now */
    size_t n_known;            /* of those seen, found in `known` */
    bl_strv left_out, remarks;
    bl_scratch scratch;
    bl_str why;
    int64_t done, expected;
};

/* Keeps nothing where nobody says where, or where that lies in the data themselves. */
static void find_file(bl_scan *s)
{
    char *folder = bl_files_cache_folder();
    bl_str path;
    bl_str_init(&path);
    if (folder && s->root) {
        size_t n = strlen(s->root);
        uint64_t hash = 14695981039346656037u;
        for (const char *p = s->root; *p; p++)
            hash = (hash ^ (uint8_t)*p) * 1099511628211u;
        bool inside = strncmp(folder, s->root, n) == 0 && (folder[n] == '/' || folder[n] == '\0');
        if (!inside && bl_fs_mkdirs(folder, NULL) == BL_OK) {
            char *real = realpath(folder, NULL);
            inside = !real || (strncmp(real, s->root, n) == 0 && (real[n] == '/' || real[n] == '\0'));
            free(real);
            if (!inside)
                bl_str_printf(&path, "%s/%016" PRIx64 ".scan", folder, hash);
        }
    }
    s->file = path.len > 0 ? bl_str_take(&path) : NULL;
    bl_str_clear(&path);
    free(folder);
}

int bl_scan_new(const bl_data_options *options, bl_scan **out, bl_error *err)
{
    bl_scan *s = bl_calloc(1, sizeof *s);
    if (!s)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to scan '%s'", options->path);
    s->options = *options;
    bl_strv_init(&s->left_out);
    bl_strv_init(&s->remarks);
    bl_str_init(&s->why);
    s->root = realpath(options->path, NULL);
    char *data = NULL;
    size_t len;
    if (options->remember)
        find_file(s);
    if (s->file && bl_fs_read(s->file, CACHE_MAX_B, &data, &len, NULL) == BL_OK)
        bl_scan_cache_parse((const uint8_t *)data, len, s->root, &s->known);
    free(data);
    *out = s;
    return BL_OK;
}

void bl_scan_free(bl_scan *s)
{
    if (!s)
        return;
    bl_scan_cache_clear(&s->known);
    bl_scan_cache_clear(&s->seen);
    bl_strv_clear(&s->left_out);
    bl_strv_clear(&s->remarks);
    bl_scratch_clear(&s->scratch);
    bl_str_clear(&s->why);
    free(s->root);
    free(s->file);
    free(s);
}

void bl_scan_expect(bl_scan *s, int64_t more)
{
    s->expected += more;
}

static int add_line(bl_strv *list, const char *path, const char *what, bl_error *err)
{
    bl_str line;
    bl_str_init(&line);
    bl_str_printf(&line, "%s: %s", path, what);
    int code = line.failed || bl_strv_push(list, line.data) != BL_OK
                   ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for what is left out")
                   : BL_OK;
    bl_str_clear(&line);
    return code;
}

int bl_scan_leave_out(bl_scan *s, const char *path, const char *why, bl_error *err)
{
    return add_line(&s->left_out, path, why, err);
}

int bl_scan_remark(bl_scan *s, const char *path, const char *what, bl_error *err)
{
    return add_line(&s->remarks, path, what, err);
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int decode(bl_scan *s, const bl_blob *blob, bl_scan_record *record, bl_error *err)
{
    const uint8_t *data;
    size_t len;
    bl_image image = {0};
    bl_error cause = {0};
    int code = bl_files_read(blob->name, &s->scratch, &data, &len, &cause);
    if (code == BL_OK)
        code = bl_image_decode(data, len, 0, blob->name, &image, &cause);
    bl_image_clear(&image);
    record->decoded = 1;
    if (code == BL_ERR_FORMAT) {
        record->state = BL_PROBE_DAMAGED;
        return BL_OK;
    }
    if (code != BL_OK && err)
        *err = cause;
    return code;
}

/* What is known of a file of that size and those times; NULL: nothing that will do. */
static const bl_scan_record *recall(const bl_scan *s, const char *name, const bl_scan_record *now)
{
    const bl_scan_record *known = bl_scan_cache_find(&s->known, name);
    if (!known || known->size != now->size || known->modified_ns != now->modified_ns ||
        known->changed_ns != now->changed_ns)
        return NULL;
    /* One that is no image without decoding is none with it. */
    return known->decoded || !s->options.verify || known->state != BL_PROBE_GOOD ? known : NULL;
}

static bl_scan_record record_of(const struct stat *info)
{
    return (bl_scan_record){
        .size = info->st_size, .modified_ns = nanoseconds(info->st_mtim), .changed_ns = nanoseconds(info->st_ctim)};
}

static int look_into(bl_scan *s, const char *path, bl_scan_record *record, bl_error *err)
{
    bl_blob blob;
    bl_probe state = BL_PROBE_GOOD;
    int code = bl_blob_open(path, &blob, err);
    if (code != BL_OK)
        return code;
    *record = record_of(&blob.info);
    code = bl_probe_image(&blob, &state, err);
    record->state = (uint8_t)state;
    if (code == BL_OK && s->options.verify && state == BL_PROBE_GOOD)
        code = decode(s, &blob, record, err);
    bl_blob_close(&blob);
    return code;
}

/* Known files are not even opened. */
static int look_at(bl_scan *s, const char *path, bl_scan_record *record, bl_error *err)
{
    size_t n = strlen(s->options.path);
    const char *name = strncmp(path, s->options.path, n) == 0 && path[n] == '/' ? path + n + 1 : path;
    struct stat info;
    const bl_scan_record *known = NULL;
    if (s->known.len > 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        *record = record_of(&info);
        known = recall(s, name, record);
    }
    int code = BL_OK;
    if (known) {
        s->n_known++;
        *record = *known;
    } else {
        code = look_into(s, path, record, err);
    }
    if (code == BL_OK)
        code = bl_scan_cache_add(&s->seen, name, record, err);
    if (record->state == BL_PROBE_DAMAGED && !s->options.verify)
        record->state = BL_PROBE_GOOD; /* unless images are verified, the same ones whatever was found once */
    return code;
}

int bl_scan_image(bl_scan *s, const char *path, bool *good, const char **why, bl_error *err)
{
    bl_error cause = {0};
    bl_scan_record record = {0};
    int code = look_at(s, path, &record, &cause);
    if (code == BL_ERR_NOMEM) {
        if (err)
            *err = cause;
        return code;
    }
    *good = code == BL_OK && record.state == BL_PROBE_GOOD;
    bl_str_reset(&s->why);
    if (code != BL_OK) /* that file cannot be read; others may be */
        bl_str_append(&s->why, cause.message);
    else if (!*good)
        bl_str_append(&s->why, bl_probe_words((bl_probe)record.state));
    if (why)
        *why = bl_str_text(&s->why);
    if (++s->done % TELL_EVERY == 0 && s->options.progress)
        s->options.progress(s->options.context, s->done, s->expected > s->done ? s->expected : s->done);
    return *good ? BL_OK : bl_scan_leave_out(s, path, bl_str_text(&s->why), err);
}

int bl_scan_end(bl_scan *s, bl_dataset *dataset, bl_error *err)
{
    dataset->left_out = s->left_out;
    dataset->remarks = s->remarks;
    bl_strv_init(&s->left_out);
    bl_strv_init(&s->remarks);
    bool news = s->n_known != s->seen.len || s->seen.len != s->known.len;
    if (!s->file || !news)
        return BL_OK;
    bl_str bytes;
    bl_str_init(&bytes);
    int code = bl_scan_cache_write(&s->seen, s->root, &bytes, err);
    if (code == BL_OK)
        bl_fs_replace(s->file, bytes.data, bytes.len, NULL);
    bl_str_clear(&bytes);
    return code;
}
