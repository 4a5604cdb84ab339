/* What a scan remembers, read from a file that anybody may have changed. The checksum at the end, which would keep
 * nearly all inputs out, is put right first. */
#include "fuzz.h"

#include <string.h>

#include "data/scan_cache.h"

static void check(const uint8_t *data, size_t size)
{
    bl_scan_cache cache;
    if (!bl_scan_cache_parse(data, size, "/data", &cache)) {
        FUZZ_CHECK(cache.len == 0 && !cache.records);
        return;
    }
    for (size_t i = 0; i < cache.len; i++) {
        const bl_scan_record *r = &cache.records[i];
        FUZZ_CHECK(r->state < BL_PROBE_STATES && r->name_at < cache.names.len);
        FUZZ_CHECK(bl_scan_cache_find(&cache, cache.names.data + r->name_at) == r);
    }
    bl_str out;
    bl_str_init(&out);
    FUZZ_CHECK(bl_scan_cache_write(&cache, "/data", &out, NULL) == BL_OK);
    FUZZ_CHECK(out.len == size && memcmp(out.data, data, size) == 0);
    bl_str_clear(&out);
    bl_scan_cache_clear(&cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    if (size < sizeof(uint64_t))
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size - sizeof hash; i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    memcpy(copy, data, size - sizeof hash);
    memcpy(copy + size - sizeof hash, &hash, sizeof hash);
    check(copy, size);
    free(copy);
    return 0;
}
