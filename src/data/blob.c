#include "data/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/str.h"

int bl_blob_open(const char *path, bl_blob *out, bl_error *err)
{
    *out = (bl_blob){.fd = -1};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return BL_FAIL(err, errno == ENOENT || errno == EACCES ? BL_ERR_ENV : BL_ERR_IO, "cannot open '%s': %s", path,
                       strerror(errno));
    int code = BL_OK;
    if (fstat(fd, &out->info) != 0)
        code = BL_FAIL(err, BL_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    else if (!S_ISREG(out->info.st_mode))
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' is no file", path);
    else if (!(out->name = bl_strdup(path)))
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to open '%s'", path);
    if (code != BL_OK) {
        close(fd);
        return code;
    }
    out->fd = fd;
    out->len = out->info.st_size;
    return BL_OK;
}

int bl_blob_from(const void *data, size_t len, const char *name, bl_blob *out, bl_error *err)
{
    *out = (bl_blob){.fd = -1, .name = bl_strdup(name), .data = data, .len = (int64_t)len};
    return out->name ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for '%s'", name);
}

void bl_blob_close(bl_blob *blob)
{
    if (blob->name && blob->fd >= 0)
        close(blob->fd);
    free(blob->name);
    free(blob->owned);
    *blob = (bl_blob){.fd = -1};
}

int bl_blob_read(const bl_blob *blob, int64_t offset, void *out, size_t n, bl_error *err)
{
    if (offset < 0 || offset > blob->len || n > (uint64_t)(blob->len - offset))
        return BL_FAIL(err, BL_ERR_FORMAT, "'%s' ends too early: it has %lld bytes", blob->name, (long long)blob->len);
    if (blob->fd < 0) {
        if (n > 0)
            memcpy(out, blob->data + offset, n);
        return BL_OK;
    }
    for (size_t got = 0; got < n;) {
        ssize_t some = pread(blob->fd, (uint8_t *)out + got, n - got, offset + (int64_t)got);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return BL_FAIL(err, BL_ERR_IO, "cannot read '%s': %s", blob->name, strerror(errno));
        if (some == 0)
            return BL_FAIL(err, BL_ERR_FORMAT, "'%s' has become shorter since it was opened", blob->name);
        got += (size_t)some;
    }
    return BL_OK;
}

typedef struct unpacking {
    z_stream stream;
    uint8_t in[1 << 14];
    uint8_t *out;
    size_t len, cap;
    int64_t at; /* in the packed bytes */
} unpacking;

static int refuse(const bl_blob *blob, const char *why, bl_error *err)
{
    return BL_FAIL(err, BL_ERR_FORMAT, "'%s' is a damaged gzip file: %s", blob->name, why ? why : "it ends too early");
}

/* Memory grows with what comes out, not with what a header claims. */
static int make_room(unpacking *u, const bl_blob *blob, int64_t most, bl_error *err)
{
    if (u->len < u->cap)
        return BL_OK;
    if (u->len > (uint64_t)most)
        return BL_FAIL(err, BL_ERR_FORMAT, "'%s' holds more than %lld bytes", blob->name, (long long)most);
    size_t cap = u->cap ? u->cap * 2 : 1 << 16;
    if (cap > (uint64_t)most + 1)
        cap = (size_t)most + 1;
    uint8_t *out = bl_realloc(u->out, cap, 1);
    if (!out)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to unpack '%s'", blob->name);
    u->out = out;
    u->cap = cap;
    return BL_OK;
}

static int unpack(unpacking *u, const bl_blob *blob, int64_t most, bl_error *err)
{
    for (;;) {
        int code = make_room(u, blob, most, err);
        if (code == BL_OK && u->stream.avail_in == 0) {
            int64_t left = blob->len - u->at;
            size_t n = left < (int64_t)sizeof u->in ? (size_t)left : sizeof u->in;
            code = n > 0 ? bl_blob_read(blob, u->at, u->in, n, err) : refuse(blob, NULL, err);
            u->at += (int64_t)n;
            u->stream.next_in = u->in;
            u->stream.avail_in = (uInt)n;
        }
        if (code != BL_OK)
            return code;
        size_t room = u->cap - u->len;
        uInt step = room < (1u << 30) ? (uInt)room : 1u << 30;
        u->stream.next_out = u->out + u->len;
        u->stream.avail_out = step;
        int status = inflate(&u->stream, Z_NO_FLUSH);
        u->len += step - u->stream.avail_out;
        if (status == Z_STREAM_END)
            return u->len > (uint64_t)most ? make_room(&(unpacking){.len = u->len}, blob, most, err) : BL_OK;
        if (status == Z_MEM_ERROR)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory to unpack '%s'", blob->name);
        if (status != Z_OK && status != Z_BUF_ERROR)
            return refuse(blob, u->stream.msg ? u->stream.msg : "unknown packing", err);
    }
}

int bl_blob_unpack(bl_blob *blob, int64_t most, bl_error *err)
{
    unpacking *u = bl_calloc(1, sizeof *u);
    if (!u || inflateInit2(&u->stream, 16 + MAX_WBITS) != Z_OK) {
        free(u);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to unpack '%s'", blob->name);
    }
    int code = unpack(u, blob, most, err);
    inflateEnd(&u->stream);
    if (code == BL_OK) {
        if (blob->fd >= 0)
            close(blob->fd);
        free(blob->owned);
        blob->fd = -1;
        blob->data = blob->owned = u->out;
        blob->len = (int64_t)u->len;
    } else {
        free(u->out);
    }
    free(u);
    return code;
}
