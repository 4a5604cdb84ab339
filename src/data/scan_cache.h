/* What a scan of images found, kept for the next one. Of use inside this room. */
#ifndef BL_DATA_SCAN_CACHE_H
#define BL_DATA_SCAN_CACHE_H

#include <stdbool.h>

#include "base/str.h"
#include "data/probe.h"

/* It holds for a file of the same size and times. */
typedef struct bl_scan_record {
    int64_t size, modified_ns, changed_ns; /* bytes; st_mtim and st_ctim */
    uint8_t state;                         /* bl_probe */
    uint8_t decoded;                       /* whether it was decoded, too */
    size_t name_at;                        /* in names */
} bl_scan_record;

/* All zeros is an empty one. */
typedef struct bl_scan_cache {
    bl_str names; /* relative to the data set where they lie in it, with their zero bytes */
    bl_scan_record *records;
    size_t len, cap;
    bool sorted; /* by name: parsed ones are, and then they can be found */
} bl_scan_cache;

void bl_scan_cache_clear(bl_scan_cache *cache);
int bl_scan_cache_add(bl_scan_cache *cache, const char *name, const bl_scan_record *record, bl_error *err);
const bl_scan_record *bl_scan_cache_find(const bl_scan_cache *cache, const char *name); /* NULL: not there */
/* The bytes of a file for the data set at `root`; of names that were added twice, the last counts. */
int bl_scan_cache_write(bl_scan_cache *cache, const char *root, bl_str *out, bl_error *err);
/* Takes them back; false, and an empty cache, where they are damaged, of another version, or of another root. */
bool bl_scan_cache_parse(const uint8_t *data, size_t len, const char *root, bl_scan_cache *out);

#endif
