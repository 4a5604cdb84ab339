#include "data/scan_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const char magic[] = "batchlab scan 1\n";

/* A record in the file, followed by its name and a zero byte. Written as the machine has it: the file stays there. */
typedef struct stored {
    int64_t size, modified_ns, changed_ns;
    uint8_t state, decoded;
    uint16_t name_len;
    uint32_t zero;
} stored;

static uint64_t checksum(const uint8_t *data, size_t len)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    return hash;
}

void bl_scan_cache_clear(bl_scan_cache *cache)
{
    bl_str_clear(&cache->names);
    free(cache->records);
    *cache = (bl_scan_cache){0};
}

static const char *name_of(const bl_scan_cache *cache, const bl_scan_record *record)
{
    return cache->names.data + record->name_at;
}

int bl_scan_cache_add(bl_scan_cache *cache, const char *name, const bl_scan_record *record, bl_error *err)
{
    if (cache->len == cache->cap) {
        size_t cap = cache->cap ? cache->cap * 2 : 256;
        bl_scan_record *records = bl_realloc(cache->records, cap, sizeof *records);
        if (!records)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu file names", cap);
        cache->records = records;
        cache->cap = cap;
    }
    bl_scan_record *added = &cache->records[cache->len];
    *added = *record;
    added->name_at = cache->names.len;
    bl_str_append_n(&cache->names, name, strlen(name) + 1);
    if (cache->names.failed)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the file names");
    cache->len++;
    cache->sorted = false;
    return BL_OK;
}

typedef struct search {
    const bl_scan_cache *cache;
    const char *name;
} search;

static int compare_to(const void *key, const void *record)
{
    const search *s = key;
    return strcmp(s->name, name_of(s->cache, record));
}

const bl_scan_record *bl_scan_cache_find(const bl_scan_cache *cache, const char *name)
{
    search s = {cache, name};
    return cache->sorted ? bsearch(&s, cache->records, cache->len, sizeof *cache->records, compare_to) : NULL;
}

static int compare_records(const void *a, const void *b, void *context)
{
    const bl_scan_record *x = a, *y = b;
    int order = strcmp(name_of(context, x), name_of(context, y));
    return order ? order : (x->name_at > y->name_at) - (x->name_at < y->name_at);
}

int bl_scan_cache_write(bl_scan_cache *cache, const char *root, bl_str *out, bl_error *err)
{
    uint64_t count = 0;
    if (cache->len > 1)
        qsort_r(cache->records, cache->len, sizeof *cache->records, compare_records, cache);
    bl_str_append_n(out, magic, sizeof magic);
    bl_str_append_n(out, root, strlen(root) + 1);
    for (size_t i = 0; i < cache->len; i++) {
        const bl_scan_record *r = &cache->records[i];
        size_t n = strlen(name_of(cache, r));
        if (n > UINT16_MAX || (i + 1 < cache->len && strcmp(name_of(cache, r), name_of(cache, r + 1)) == 0))
            continue;
        stored s = {.size = r->size,
                    .modified_ns = r->modified_ns,
                    .changed_ns = r->changed_ns,
                    .state = r->state,
                    .decoded = r->decoded,
                    .name_len = (uint16_t)n};
        bl_str_append_n(out, (const char *)&s, sizeof s);
        bl_str_append_n(out, name_of(cache, r), n + 1);
        count++;
    }
    bl_str_append_n(out, (const char *)&count, sizeof count);
    uint64_t sum = out->failed ? 0 : checksum((const uint8_t *)out->data, out->len);
    bl_str_append_n(out, (const char *)&sum, sizeof sum);
    return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for what the scan found") : BL_OK;
}

/* One record off the front. */
static bool take(const uint8_t **at, const uint8_t *end, bl_scan_cache *out)
{
    stored s;
    if ((size_t)(end - *at) < sizeof s)
        return false;
    memcpy(&s, *at, sizeof s);
    *at += sizeof s;
    if (s.state >= BL_PROBE_STATES || s.decoded > 1 || s.zero != 0 || (size_t)(end - *at) < (size_t)s.name_len + 1)
        return false;
    const char *name = (const char *)*at;
    *at += s.name_len + 1;
    if (strnlen(name, (size_t)s.name_len + 1) != s.name_len)
        return false;
    if (out->len > 0 && strcmp(name_of(out, &out->records[out->len - 1]), name) >= 0)
        return false;
    bl_scan_record r = {.size = s.size,
                        .modified_ns = s.modified_ns,
                        .changed_ns = s.changed_ns,
                        .state = s.state,
                        .decoded = s.decoded};
    return bl_scan_cache_add(out, name, &r, NULL) == BL_OK;
}

static bool parse(const uint8_t *data, size_t len, const char *root, bl_scan_cache *out)
{
    size_t root_len = strlen(root) + 1, head = sizeof magic + root_len;
    uint64_t sum, count;
    if (len < head + sizeof count + sizeof sum || memcmp(data, magic, sizeof magic) != 0 ||
        memcmp(data + sizeof magic, root, root_len) != 0)
        return false;
    len -= sizeof sum;
    memcpy(&sum, data + len, sizeof sum);
    if (checksum(data, len) != sum)
        return false;
    len -= sizeof count;
    memcpy(&count, data + len, sizeof count);
    for (const uint8_t *at = data + head, *end = data + len; at < end;)
        if (!take(&at, end, out))
            return false;
    return out->len == count;
}

bool bl_scan_cache_parse(const uint8_t *data, size_t len, const char *root, bl_scan_cache *out)
{
    *out = (bl_scan_cache){0};
    if (!parse(data, len, root, out)) {
        bl_scan_cache_clear(out);
        return false;
    }
    out->sorted = true;
    return true;
}
