/* A store as a block of bytes, so that an experiment can travel without a file. */
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"
#include "store/schema.h"

#define IN_MEMORY ":memory:"

int bl_store_to_bytes(bl_store *store, void **out, size_t *n, bl_error *err)
{
    sqlite3_int64 size = 0;
    unsigned char *bytes = sqlite3_serialize(store->db, "main", &size, 0);
    *out = bytes ? malloc((size_t)size) : NULL;
    *n = *out ? (size_t)size : 0;
    if (*out)
        memcpy(*out, bytes, *n);
    sqlite3_free(bytes);
    return *out ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for an experiment's bytes");
}

int bl_store_new(bl_store **out, bl_error *err)
{
    return bl_store_open(IN_MEMORY, BL_STORE_CREATE, out, err);
}

static int check(bl_store *store, bl_error *err)
{
    int64_t application = 0, version = 0;
    int code = bl_store_pragma(store, "PRAGMA application_id", &application, err);
    if (code == BL_OK)
        code = bl_store_pragma(store, "PRAGMA user_version", &version, err);
    if (code == BL_OK && (application != BL_STORE_APPLICATION_ID || version != BL_STORE_SCHEMA_VERSION))
        code = BL_FAIL(err, BL_ERR_FORMAT, "these bytes are no experiment of this batchlab");
    return code;
}

int bl_store_from_bytes(const void *bytes, size_t n, bl_store **out, bl_error *err)
{
    bl_store *store = NULL;
    *out = NULL;
    int code = bl_store_new(&store, err);
    unsigned char *copy = code == BL_OK ? sqlite3_malloc64(n > 0 ? n : 1) : NULL;
    if (code == BL_OK && !copy)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for an experiment's bytes");
    if (code == BL_OK) {
        memcpy(copy, bytes, n);
        int rc = sqlite3_deserialize(store->db, "main", copy, (sqlite3_int64)n, (sqlite3_int64)n,
                                     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
        code = rc == SQLITE_OK ? check(store, err) : bl_store_error(store, rc, "reading its bytes", err);
    }
    if (code != BL_OK) {
        bl_store_close(store);
        return code;
    }
    *out = store;
    return BL_OK;
}
