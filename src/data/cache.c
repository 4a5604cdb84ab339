#include "data/cache.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/attributes.h"
#include "base/fs.h"
#include "data/cache_parts.h"
#include "data/files.h"

static const char *const names[] = {"none", "ram", "ram-encoded", "disk"};

bool bl_cache_mode_from_name(const char *name, bl_cache_mode *out)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (bl_cache_mode)i;
            return true;
        }
    return false;
}

const char *bl_cache_mode_name(bl_cache_mode mode)
{
    return (size_t)mode < BL_ARRAY_LEN(names) ? names[mode] : "?";
}

/* Eight bytes at a time: pixels are many. */
uint64_t bl_cache_hash(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    for (; len >= 8; len -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; len > 0; len--, bytes++)
        hash = (hash ^ *bytes) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

/* ---- going through the images ---- */

bool bl_cache_exceeded(const bl_cache_filling *f)
{
    return atomic_load(&f->bytes) > f->limit_b;
}

static int keep_one(bl_cache_filling *f, int64_t index, bl_scratch *scratch, bl_error *err)
{
    char path[4096];
    const uint8_t *data;
    size_t len;
    bl_picture picture = {0};
    bl_want want = {.least = f->dataset->kind->least(&f->options->views[f->split])};
    f->dataset->kind->path(f->dataset, f->split, index, path, sizeof path);
    /* What cannot be read will say so when it is wanted. */
    if (bl_files_read(path, scratch, &data, &len, NULL) != BL_OK)
        return BL_OK;
    if (f->decoded && bl_picture_decode(data, len, &want, path, scratch, &picture, NULL) != BL_OK)
        return BL_OK;
    uint64_t bytes = f->decoded ? 3 * (uint64_t)picture.width * (uint64_t)picture.height : len;
    if (atomic_fetch_add(&f->bytes, bytes) + bytes > f->limit_b)
        return BL_OK;
    int code = f->keep(f, index, &picture, data, len, err);
    if (code == BL_OK)
        atomic_fetch_add(&f->kept, 1);
    return code;
}

static void *fill(void *context)
{
    bl_cache_filling *f = context;
    bl_scratch scratch = {0};
    while (atomic_load(&f->code) == BL_OK && !bl_cache_exceeded(f)) {
        int64_t index = atomic_fetch_add(&f->next, 1);
        if (index >= f->dataset->count[f->split])
            break;
        bl_error err = {0};
        int code = keep_one(f, index, &scratch, &err);
        if (code == BL_OK && f->options->stop && *f->options->stop)
            code = BL_FAIL(&err, BL_ERR_INTERRUPTED, "interrupted");
        int none = BL_OK;
        if (code != BL_OK && atomic_compare_exchange_strong(&f->code, &none, code) && f->err)
            *f->err = err;
    }
    bl_scratch_clear(&scratch);
    return NULL;
}

int bl_cache_go_through(bl_cache_filling *f)
{
    pthread_t threads[64];
    int n = 0, wanted = f->n_threads < (int)BL_ARRAY_LEN(threads) ? f->n_threads : (int)BL_ARRAY_LEN(threads);
    atomic_store(&f->next, 0);
    atomic_store(&f->code, BL_OK);
    while (n < wanted - 1 && pthread_create(&threads[n], NULL, fill, f) == 0)
        n++;
    fill(f); /* this thread too: where there can be no others, alone */
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return atomic_load(&f->code);
}

/* ---- in memory ---- */

static int keep_in_memory(bl_cache_filling *f, int64_t index, const bl_picture *picture, const uint8_t *data,
                          size_t len, bl_error *err)
{
    bl_cache_split *split = f->context;
    bl_cache_entry *entry = &split->entries[index];
    const uint8_t *from = f->decoded ? picture->pixels : data;
    size_t bytes = f->decoded ? 3 * (size_t)picture->width * (size_t)picture->height : len;
    uint8_t *copy = bl_realloc(NULL, bytes, 1);
    if (!copy)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to keep images");
    memcpy(copy, from, bytes);
    *entry = (bl_cache_entry){.data = copy, .len = bytes};
    if (f->decoded) {
        entry->width = picture->width;
        entry->height = picture->height;
    }
    return BL_OK;
}

static void clear_split(bl_cache_split *split)
{
    if (split->map)
        bl_cache_file_close(split);
    for (int64_t i = 0; split->entries && !split->map && i < split->n; i++)
        free((void *)split->entries[i].data);
    free(split->entries);
    *split = (bl_cache_split){0};
}

void bl_cache_free(struct bl_cache *cache)
{
    if (!cache)
        return;
    for (int s = 0; s < 2; s++)
        clear_split(&cache->splits[s]);
    free(cache);
}

bl_kept bl_cache_find(struct bl_cache *cache, bl_split split, int64_t index)
{
    bl_kept kept = {0};
    if (!cache || index >= cache->splits[split].n)
        return kept;
    bl_cache_split *s = &cache->splits[split];
    const bl_cache_entry *e = &s->entries[index];
    if (s->checked && e->data) {
        unsigned char state = atomic_load_explicit(&s->checked[index], memory_order_relaxed);
        if (state == 0) {
            state = bl_cache_hash(0, e->data, (size_t)e->len) == s->sums[index] ? 1 : 2;
            atomic_store_explicit(&s->checked[index], state, memory_order_relaxed);
        }
        if (state == 2)
            return kept;
    }
    kept.data = e->data;
    kept.len = (size_t)e->len;
    if (e->data && e->width > 0)
        kept.picture = (bl_picture){
            .pixels = e->data, .width = e->width, .height = e->height, .part = {0, 0, e->width, e->height}};
    return kept;
}

/* A number in a file of the system's; `otherwise` where there is none ("max"). */
static uint64_t number_in(const char *path, const char *key, uint64_t otherwise)
{
    char *text = NULL, *end = NULL;
    uint64_t value = otherwise;
    if (bl_fs_read(path, 1 << 16, &text, NULL, NULL) != BL_OK)
        return otherwise;
    const char *at = key ? strstr(text, key) : text;
    if (at) {
        at += key ? strlen(key) : 0;
        uint64_t n = strtoull(at, &end, 10);
        value = end != at ? n : otherwise;
    }
    free(text);
    return value;
}

/* What may still be taken: of the machine, and of the control group where it is the root of what is seen here. */
static uint64_t available_memory(void)
{
    uint64_t machine = number_in("/proc/meminfo", "MemAvailable:", UINT64_MAX >> 10) << 10;
    uint64_t limit = number_in("/sys/fs/cgroup/memory.max", NULL, UINT64_MAX);
    uint64_t used = number_in("/sys/fs/cgroup/memory.current", NULL, 0);
    if (limit == UINT64_MAX) {
        limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", NULL, UINT64_MAX);
        used = number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes", NULL, 0);
    }
    uint64_t left = limit > used ? limit - used : 0;
    return machine < left ? machine : left;
}

static int make_entries(bl_cache_split *split, int64_t n, bl_error *err)
{
    split->n = n;
    split->entries = bl_calloc((size_t)n, sizeof *split->entries);
    return split->entries ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory to keep %lld images", (long long)n);
}

/* How many bytes of files: asked of the file system, which is quicker than reading them only to find no room. */
static uint64_t count_file_bytes(const bl_dataset *dataset, const bl_cache_options *o)
{
    uint64_t sum = 0;
    for (int s = 0; s < 2; s++)
        for (int64_t i = 0; o->splits[s] && i < dataset->count[s]; i++) {
            char path[4096];
            struct stat info;
            dataset->kind->path(dataset, (bl_split)s, i, path, sizeof path);
            if (stat(path, &info) == 0 && info.st_size > 0)
                sum += (uint64_t)info.st_size;
        }
    return sum;
}

static bl_cache_filling filling_of(const bl_dataset *dataset, const bl_cache_options *o, bl_split split, bl_error *err)
{
    return (bl_cache_filling){
        .dataset = dataset, .options = o, .split = split, .n_threads = o->n_threads > 0 ? o->n_threads : 1, .err = err};
}

/* *fits false: more than the limit, and nothing is kept. */
static int fill_memory(const bl_dataset *dataset, const bl_cache_options *o, bool decoded, uint64_t limit_b,
                       struct bl_cache *cache, bool *fits, bl_cache_report *report, bl_error *err)
{
    int code = BL_OK;
    uint64_t bytes = 0;
    int64_t images = 0;
    *fits = true;
    for (int s = 0; s < 2 && code == BL_OK && *fits; s++) {
        if (!o->splits[s] || dataset->count[s] == 0)
            continue;
        bl_cache_filling f = filling_of(dataset, o, (bl_split)s, err);
        f.decoded = decoded;
        f.keep = keep_in_memory;
        f.context = &cache->splits[s];
        f.limit_b = limit_b;
        atomic_store(&f.bytes, bytes);
        code = make_entries(&cache->splits[s], dataset->count[s], err);
        if (code == BL_OK)
            code = bl_cache_go_through(&f);
        *fits = !bl_cache_exceeded(&f);
        bytes = atomic_load(&f.bytes);
        images += atomic_load(&f.kept);
    }
    /* An allocation that failed is a limit too. */
    if (code == BL_ERR_NOMEM) {
        *fits = false;
        code = BL_OK;
        bl_error_clear(err);
    }
    for (int s = 0; s < 2 && !(code == BL_OK && *fits); s++)
        clear_split(&cache->splits[s]);
    report->bytes = *fits ? bytes : 0;
    report->images = *fits ? images : 0;
    return code;
}

#define MIB(bytes) ((double)(bytes) / (1 << 20))

static int fill_ram(const bl_dataset *dataset, const bl_cache_options *o, struct bl_cache *cache,
                    bl_cache_report *report, bl_error *err)
{
    uint64_t limit = o->limit_b > 0 ? o->limit_b : available_memory() / 2;
    bool fits = false;
    int code = BL_OK;
    if (o->mode == BL_CACHE_RAM) {
        code = fill_memory(dataset, o, true, limit, cache, &fits, report, err);
        if (code == BL_OK && !fits)
            snprintf(report->why, sizeof report->why,
                     "decoded images need more than the %.0f MiB they may take: the files' bytes are kept instead",
                     MIB(limit));
        report->mode = fits ? BL_CACHE_RAM : BL_CACHE_RAM_ENCODED;
    }
    if (code != BL_OK || fits)
        return code;
    uint64_t files = count_file_bytes(dataset, o);
    if (files <= limit)
        code = fill_memory(dataset, o, false, limit, cache, &fits, report, err);
    if (code == BL_OK && !fits) {
        snprintf(report->why, sizeof report->why,
                 "the images' files have %.0f MiB, and %.0f MiB is what they may take: none is kept", MIB(files),
                 MIB(limit));
        report->mode = BL_CACHE_NONE;
    }
    return code;
}

static int fill_disk(const bl_dataset *dataset, const bl_cache_options *o, struct bl_cache *cache,
                     bl_cache_report *report, bl_error *err)
{
    int code = BL_OK;
    bool fits = true;
    uint64_t bytes = 0;
    report->reused = true;
    for (int s = 0; s < 2 && code == BL_OK && fits; s++) {
        if (!o->splits[s] || dataset->count[s] == 0)
            continue;
        bool reused = false;
        bl_cache_filling f = filling_of(dataset, o, (bl_split)s, err);
        f.limit_b = o->limit_b;
        atomic_store(&f.bytes, bytes);
        code = make_entries(&cache->splits[s], dataset->count[s], err);
        if (code == BL_OK)
            code = bl_cache_file_open(&f, &cache->splits[s], &reused, &fits, report);
        bytes = atomic_load(&f.bytes);
        report->images += atomic_load(&f.kept);
        report->reused = report->reused && reused;
    }
    if (code != BL_OK || !fits) {
        for (int s = 0; s < 2; s++)
            clear_split(&cache->splits[s]);
        report->mode = BL_CACHE_NONE;
        report->images = 0;
        report->reused = false;
        bytes = 0;
    }
    report->bytes = bytes;
    return code;
}

int bl_cache_fill(bl_dataset *dataset, const bl_cache_options *o, bl_cache_report *report, bl_error *err)
{
    bl_error own = {0};
    err = err ? err : &own;
    *report = (bl_cache_report){.mode = o->mode};
    if (o->mode == BL_CACHE_NONE)
        return BL_OK;
    if (!dataset->kind->path) {
        BL_FAIL(err, BL_ERR_USAGE, "a cache keeps images that are files; these data are none");
        bl_error_remedy(err, "without a cache");
        return BL_ERR_USAGE;
    }
    struct bl_cache *cache = bl_calloc(1, sizeof *cache);
    if (!cache)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a cache");
    int code =
        o->mode == BL_CACHE_DISK ? fill_disk(dataset, o, cache, report, err) : fill_ram(dataset, o, cache, report, err);
    cache->mode = report->mode;
    if (code != BL_OK || cache->mode == BL_CACHE_NONE) {
        bl_cache_free(cache);
        return code;
    }
    bl_cache_free(dataset->cache);
    dataset->cache = cache;
    return BL_OK;
}
