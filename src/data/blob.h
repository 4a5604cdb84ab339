/* The bytes of a file, wherever they are: on disk, or in memory. Of use inside this room. */
#ifndef BL_DATA_BLOB_H
#define BL_DATA_BLOB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

typedef struct bl_blob {
    char *name;          /* for errors */
    int fd;              /* -1: in memory */
    const uint8_t *data; /* there */
    uint8_t *owned;      /* the same, where it is to be freed */
    int64_t len;         /* bytes */
    struct stat info;    /* of the file */
} bl_blob;

/* An ordinary file; what else there is by that name (folder, pipe, a link in a circle) is an error, and waits for
 * nobody. BL_ERR_ENV, BL_ERR_IO, BL_ERR_FORMAT. To be closed where it succeeds. */
int bl_blob_open(const char *path, bl_blob *out, bl_error *err);
/* Borrows the bytes. */
int bl_blob_from(const void *data, size_t len, const char *name, bl_blob *out, bl_error *err);
void bl_blob_close(bl_blob *blob); /* one of all zeros, or closed, too */
/* n bytes from `offset` on, from any thread; BL_ERR_FORMAT where there are not as many. */
int bl_blob_read(const bl_blob *blob, int64_t offset, void *out, size_t n, bl_error *err);
/* Takes what gzip packed (RFC 1952) out of it, into memory: at most so many bytes, else BL_ERR_FORMAT. */
int bl_blob_unpack(bl_blob *blob, int64_t most, bl_error *err);

#endif
