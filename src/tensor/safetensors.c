/* The reader. */
#include "tensor/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "tensor/safetensors_types.h"

#define LENGTH_B 8
#define CHUNK_B  16384 /* read and converted at a time */

struct bl_safetensors {
    char *path; /* or the name */
    int fd;     /* -1: in memory */
    const unsigned char *memory;
    uint64_t size_b, data_at_b;
    json_t *header;        /* owns the names and texts */
    bl_st_tensor *tensors; /* as the data lie */
    const bl_st_tensor **by_name;
    int n_tensors;
    bl_st_text *texts;
    int n_texts;
};

#define REFUSE(file, err, format, ...) BL_FAIL((err), BL_ERR_FORMAT, "'%s': " format, (file)->path, ##__VA_ARGS__)

static int read_at(const bl_safetensors *f, uint64_t at_b, void *out, size_t size_b, bl_error *err)
{
    if (f->memory) {
        memcpy(out, f->memory + at_b, size_b);
        return BL_OK;
    }
    for (size_t done = 0; done < size_b;) {
        ssize_t n = pread(f->fd, (char *)out + done, size_b - done, (off_t)(at_b + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return BL_FAIL(err, BL_ERR_IO, "cannot read '%s': %s", f->path, strerror(errno));
        if (n == 0)
            return REFUSE(f, err, "the file was cut while it was read");
        done += (size_t)n;
    }
    return BL_OK;
}

/* ---- one tensor's entry ---- */

static int take_shape(const bl_safetensors *f, json_t *value, bl_st_tensor *t, bl_error *err)
{
    if (!json_is_array(value))
        return REFUSE(f, err, "tensor '%.100s' has no shape", t->name);
    if (json_array_size(value) > BL_SAFETENSORS_DIMS_MAX)
        return REFUSE(f, err, "tensor '%.100s' has %zu dimensions, more than %d", t->name, json_array_size(value),
                      BL_SAFETENSORS_DIMS_MAX);
    t->n_dims = (int)json_array_size(value);
    t->count = 1;
    for (int i = 0; i < t->n_dims; i++) {
        json_t *extent = json_array_get(value, (size_t)i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return REFUSE(f, err, "tensor '%.100s': extent %d of its shape is no natural number", t->name, i);
        t->dim[i] = json_integer_value(extent);
        if (__builtin_mul_overflow(t->count, t->dim[i], &t->count))
            return REFUSE(f, err, "tensor '%.100s': its shape has more elements than can be counted", t->name);
    }
    return BL_OK;
}

static int take_offsets(const bl_safetensors *f, json_t *value, bl_st_tensor *t, bl_error *err)
{
    json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return REFUSE(f, err, "tensor '%.100s' has no two data_offsets", t->name);
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    uint64_t data_b = f->size_b - f->data_at_b, wanted_b;
    if (from < 0 || to < from || (uint64_t)to > data_b)
        return REFUSE(f, err, "tensor '%.100s': data_offsets %lld and %lld do not lie in the %llu bytes of data",
                      t->name, (long long)from, (long long)to, (unsigned long long)data_b);
    t->begin_b = (uint64_t)from;
    t->size_b = (uint64_t)(to - from);
    if (__builtin_mul_overflow((uint64_t)t->count, (uint64_t)bl_st_type_size(t->type), &wanted_b) ||
        wanted_b != t->size_b)
        return REFUSE(f, err, "tensor '%.100s': its data_offsets span %llu bytes, its shape and type do not", t->name,
                      (unsigned long long)t->size_b);
    return BL_OK;
}

static int take_tensor(const bl_safetensors *f, const char *name, json_t *entry, bl_st_tensor *t, bl_error *err)
{
    *t = (bl_st_tensor){.name = name};
    const char *fault = bl_st_name_fault(name);
    if (fault)
        return REFUSE(f, err, "the name of tensor %d %s", f->n_tensors + 1, fault);
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    /* Another field may change what the ones known mean. */
    if (!json_is_object(entry) || json_object_size(entry) != 3 || !type)
        return REFUSE(f, err, "tensor '%.100s' is not described by dtype, shape and data_offsets alone", name);
    if (!bl_st_type_from_name(type, &t->type))
        return REFUSE(f, err, "tensor '%.100s' has elements of an unknown type", name);
    int code = take_shape(f, json_object_get(entry, "shape"), t, err);
    return code == BL_OK ? take_offsets(f, json_object_get(entry, "data_offsets"), t, err) : code;
}

/* ---- the header ---- */

static int take_texts(bl_safetensors *f, json_t *object, bl_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return REFUSE(f, err, "its metadata are no object");
    f->texts = bl_calloc(json_object_size(object) + 1, sizeof *f->texts);
    if (!f->texts)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the metadata of '%s'", f->path);
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            return REFUSE(f, err, "metadata other than texts");
        f->texts[f->n_texts++] = (bl_st_text){key, json_string_value(value)};
    }
    return BL_OK;
}

static int compare_places(const void *a, const void *b)
{
    const bl_st_tensor *x = a, *y = b;
    if (x->begin_b != y->begin_b)
        return x->begin_b < y->begin_b ? -1 : 1;
    return (x->size_b > y->size_b) - (x->size_b < y->size_b); /* empty ones before what begins there */
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const bl_st_tensor *const *)a)->name, (*(const bl_st_tensor *const *)b)->name);
}

/* Every byte belongs to one tensor. */
static int check_cover(bl_safetensors *f, bl_error *err)
{
    uint64_t at_b = 0;
    qsort(f->tensors, (size_t)f->n_tensors, sizeof *f->tensors, compare_places);
    for (int i = 0; i < f->n_tensors; i++) {
        const bl_st_tensor *t = &f->tensors[i];
        if (t->begin_b != at_b)
            return REFUSE(f, err, "tensor '%.100s' begins at byte %llu of the data, %s %llu", t->name,
                          (unsigned long long)t->begin_b,
                          t->begin_b < at_b ? "inside another that ends at" : "with a gap after",
                          (unsigned long long)at_b);
        at_b += t->size_b;
        f->by_name[i] = t;
    }
    if (at_b != f->size_b - f->data_at_b)
        return REFUSE(f, err, "%llu bytes after the last tensor belong to none",
                      (unsigned long long)(f->size_b - f->data_at_b - at_b));
    qsort(f->by_name, (size_t)f->n_tensors, sizeof *f->by_name, compare_names);
    return BL_OK;
}

static int take_header(bl_safetensors *f, bl_error *err)
{
    size_t n = json_object_size(f->header);
    const char *name;
    json_t *entry;
    f->tensors = bl_calloc(n + 1, sizeof *f->tensors);
    f->by_name = bl_calloc(n + 1, sizeof *f->by_name);
    if (!f->tensors || !f->by_name)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the %zu tensors of '%s'", n, f->path);
    int code = BL_OK;
    json_object_foreach(f->header, name, entry)
    {
        if (strcmp(name, BL_ST_METADATA) == 0)
            code = take_texts(f, entry, err);
        else if ((code = take_tensor(f, name, entry, &f->tensors[f->n_tensors], err)) == BL_OK)
            f->n_tensors++;
        if (code != BL_OK)
            return code;
    }
    return check_cover(f, err);
}

/* jansson refuses what is no UTF-8, deep nesting (2048), numbers beyond 64 bits, and with the flag a name that comes
 * twice. Blanks behind the object are padding. */
static int parse_header(bl_safetensors *f, size_t length_b, bl_error *err)
{
    char *text = bl_calloc(length_b, 1);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the header of '%s'", f->path);
    int code = read_at(f, LENGTH_B, text, length_b, err);
    json_error_t what;
    if (code == BL_OK && text[0] != '{')
        code = REFUSE(f, err, "its header does not begin with '{'");
    if (code == BL_OK && !(f->header = json_loadb(text, length_b, JSON_REJECT_DUPLICATES, &what))) {
        if (json_error_code(&what) == json_error_out_of_memory)
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the header of '%s'", f->path);
        else
            code = REFUSE(f, err, "its header is no JSON, near byte %d: %s", what.position,
                          json_error_code(&what) == json_error_duplicate_key ? "a name comes twice" : "bad syntax");
    }
    free(text);
    return code == BL_OK ? take_header(f, err) : code;
}

static int check(bl_safetensors *f, bl_error *err)
{
    unsigned char bytes[LENGTH_B];
    uint64_t length_b = 0;
    if (f->size_b < LENGTH_B + 2)
        return REFUSE(f, err, "%llu bytes are too few for a safetensors file", (unsigned long long)f->size_b);
    int code = read_at(f, 0, bytes, sizeof bytes, err);
    if (code != BL_OK)
        return code;
    if (memcmp(bytes, "PK\3\4", 4) == 0 || (bytes[0] == 0x80 && bytes[1] == 2)) {
        REFUSE(f, err, "that is a file of Python's torch.save, not a safetensors file");
        bl_error_remedy(err, "tools/convert_state_dict.py makes a safetensors file of it");
        return BL_ERR_FORMAT;
    }
    for (int i = 0; i < LENGTH_B; i++)
        length_b |= (uint64_t)bytes[i] << (8 * i);
    if (length_b > f->size_b - LENGTH_B)
        return REFUSE(f, err, "its header would have %llu bytes, the file has %llu", (unsigned long long)length_b,
                      (unsigned long long)f->size_b);
    if (length_b > BL_SAFETENSORS_HEADER_MAX_B)
        return REFUSE(f, err, "a header of %llu bytes is more than the %d that are read", (unsigned long long)length_b,
                      BL_SAFETENSORS_HEADER_MAX_B);
    if (length_b < 2)
        return REFUSE(f, err, "its header is empty");
    f->data_at_b = LENGTH_B + length_b;
    return parse_header(f, (size_t)length_b, err);
}

static int open_file(bl_safetensors *f, bl_error *err)
{
    struct stat st;
    /* Without O_NONBLOCK a named pipe would hold us. */
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0)
        return BL_FAIL(err, errno == ENOENT || errno == EACCES || errno == ENOTDIR ? BL_ERR_ENV : BL_ERR_IO,
                       "cannot open '%s': %s", f->path, strerror(errno));
    if (fstat(f->fd, &st) != 0)
        return BL_FAIL(err, BL_ERR_IO, "cannot read '%s': %s", f->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return BL_FAIL(err, BL_ERR_USAGE, "'%s' is not an ordinary file", f->path);
    f->size_b = (uint64_t)st.st_size;
    return BL_OK;
}

static int open_any(const char *name, const void *memory, size_t size, bl_safetensors **out, bl_error *err)
{
    bl_safetensors *f = bl_calloc(1, sizeof *f);
    if (f) {
        f->fd = -1;
        f->path = bl_strdup(name);
    }
    if (!f || !f->path) {
        bl_safetensors_close(f);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to read '%s'", name);
    }
    f->memory = memory;
    f->size_b = size;
    int code = memory ? BL_OK : open_file(f, err);
    if (code == BL_OK)
        code = check(f, err);
    if (code == BL_ERR_FORMAT)
        bl_error_remedy(err, "is it a safetensors file, and whole? copy or make it again");
    if (code != BL_OK) {
        bl_safetensors_close(f);
        return code;
    }
    *out = f;
    return BL_OK;
}

int bl_safetensors_open(const char *path, bl_safetensors **out, bl_error *err)
{
    return open_any(path, NULL, 0, out, err);
}

int bl_safetensors_open_memory(const void *data, size_t size, const char *name, bl_safetensors **out, bl_error *err)
{
    return open_any(name, data, size, out, err);
}

void bl_safetensors_close(bl_safetensors *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    json_decref(f->header);
    free(f->tensors);
    free(f->by_name);
    free(f->texts);
    free(f->path);
    free(f);
}

/* ---- what is in it ---- */

int bl_safetensors_count(const bl_safetensors *f)
{
    return f->n_tensors;
}

const bl_st_tensor *bl_safetensors_at(const bl_safetensors *f, int index)
{
    return &f->tensors[index];
}

const bl_st_tensor *bl_safetensors_find(const bl_safetensors *f, const char *name)
{
    bl_st_tensor wanted = {.name = name};
    const bl_st_tensor *key = &wanted, **found;
    found = bsearch(&key, f->by_name, (size_t)f->n_tensors, sizeof *f->by_name, compare_names);
    return found ? *found : NULL;
}

int bl_safetensors_text_count(const bl_safetensors *f)
{
    return f->n_texts;
}

const bl_st_text *bl_safetensors_text_at(const bl_safetensors *f, int index)
{
    return &f->texts[index];
}

const char *bl_safetensors_text(const bl_safetensors *f, const char *key)
{
    return json_string_value(json_object_get(json_object_get(f->header, BL_ST_METADATA), key));
}

bool bl_st_has_shape(const bl_st_tensor *t, const bl_shape *shape)
{
    bool same = t->n_dims == shape->n_dims;
    for (int i = 0; same && i < t->n_dims; i++)
        same = t->dim[i] == shape->dim[i];
    return same;
}

const char *bl_st_format(const bl_st_tensor *t, char *out, size_t out_size)
{
    size_t len = (size_t)snprintf(out, out_size, "%s (", bl_st_type_name(t->type));
    for (int i = 0; i < t->n_dims && len < out_size; i++)
        len += (size_t)snprintf(out + len, out_size - len, "%s%lld", i ? ", " : "", (long long)t->dim[i]);
    if (len < out_size)
        snprintf(out + len, out_size - len, ")");
    return out;
}

/* ---- the data ---- */

typedef bool (*converter)(bl_st_type type, const void *from, size_t count, void *out);

static bool to_f32(bl_st_type type, const void *from, size_t count, void *out)
{
    return bl_st_to_f32(type, from, count, out);
}

static bool to_i64(bl_st_type type, const void *from, size_t count, void *out)
{
    return bl_st_to_i64(type, from, count, out);
}

static int read_as(const bl_safetensors *f, const bl_st_tensor *t, converter convert, size_t out_size, void *out,
                   bl_error *err)
{
    char chunk[CHUNK_B];
    size_t size = bl_st_type_size(t->type), at_once = sizeof chunk / size, count = (size_t)t->count;
    int code = BL_OK;
    if (!convert(t->type, chunk, 0, out))
        return REFUSE(f, err, "tensor '%.100s' of type %s cannot be read as %s", t->name, bl_st_type_name(t->type),
                      convert == to_f32 ? "numbers" : "whole numbers");
    for (size_t done = 0; code == BL_OK && done < count; done += at_once) {
        size_t n = count - done < at_once ? count - done : at_once;
        code = read_at(f, f->data_at_b + t->begin_b + done * size, chunk, n * size, err);
        if (code == BL_OK)
            convert(t->type, chunk, n, (char *)out + done * out_size);
    }
    return code;
}

int bl_safetensors_read_f32(const bl_safetensors *f, const bl_st_tensor *t, float *out, bl_error *err)
{
    if (t->type == BL_ST_F32) /* at once */
        return read_at(f, f->data_at_b + t->begin_b, out, (size_t)t->size_b, err);
    return read_as(f, t, to_f32, sizeof *out, out, err);
}

int bl_safetensors_read_i64(const bl_safetensors *f, const bl_st_tensor *t, int64_t *out, bl_error *err)
{
    return read_as(f, t, to_i64, sizeof *out, out, err);
}
