/* Decoded images in one file: a header, a table, the pixels. Written under no name and named when it is whole, so that
 * a kill leaves the old file or none. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/str.h"
#include "data/cache_parts.h"
#include "data/files.h"

enum { ALIGN_B = 64 };
#define MAGIC                                                                                                          \
    UINT64_C(0x3145484341434C42) /* "BLCACHE1" where the lowest byte comes first: elsewhere it is no cache             \
                                  */

typedef struct header {
    uint64_t magic;
    uint64_t fingerprint; /* of the images' paths, sizes and times, and how they are decoded */
    uint64_t n;           /* images */
    uint64_t file_b;      /* the whole file */
    uint64_t table_sum;   /* of the table and the numbers above */
} header;

typedef struct row {
    uint64_t at, len; /* in the file; len 0: not in it */
    int32_t width, height;
    uint64_t sum;
} row;

typedef struct building {
    int fd;
    row *rows;
    atomic_ullong end; /* where the next image goes */
} building;

/* ---- names ---- */

/* One file a data set, split and decoded size. */
static char *file_name(const bl_cache_filling *f, const char *folder, int least)
{
    char path[4096];
    f->dataset->kind->path(f->dataset, f->split, 0, path, sizeof path);
    char *real = realpath(path, NULL);
    const char *known = real ? real : path;
    uint64_t hash = bl_cache_hash((uint64_t)f->split + 1, known, strlen(known));
    bl_str name;
    bl_str_init(&name);
    bl_str_printf(&name, "%s/%016" PRIx64 "-%d.pixels", folder, hash, least);
    free(real);
    return bl_str_take(&name);
}

static uint64_t fingerprint(const bl_cache_filling *f, int least)
{
    uint64_t hash = bl_cache_hash(MAGIC, &least, sizeof least);
    for (int64_t i = 0; i < f->dataset->count[f->split]; i++) {
        char path[4096];
        struct stat info = {0};
        f->dataset->kind->path(f->dataset, f->split, i, path, sizeof path);
        hash = bl_cache_hash(hash, path, strlen(path));
        if (stat(path, &info) != 0)
            info.st_size = -1;
        const int64_t facts[3] = {(int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec, (int64_t)info.st_mtim.tv_nsec};
        hash = bl_cache_hash(hash, facts, sizeof facts);
    }
    return hash;
}

static uint64_t table_sum(const header *h, const row *rows)
{
    uint64_t sum = bl_cache_hash(0, h, offsetof(header, table_sum));
    return bl_cache_hash(sum, rows, (size_t)h->n * sizeof *rows);
}

static size_t table_end(uint64_t n)
{
    return (sizeof(header) + (size_t)n * sizeof(row) + ALIGN_B - 1) / ALIGN_B * ALIGN_B;
}

/* ---- reading ---- */

/* Whether the mapped bytes are a cache of these images: all that is believed later is checked here. */
static bool is_whole(const uint8_t *map, size_t len, uint64_t print, int64_t n)
{
    const header *h = (const header *)map;
    const row *rows = (const row *)(map + sizeof *h);
    if (len < table_end((uint64_t)n) || h->magic != MAGIC || h->fingerprint != print || h->n != (uint64_t)n ||
        h->file_b != len || h->table_sum != table_sum(h, rows))
        return false;
    for (int64_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        if (r->len == 0)
            continue;
        if (r->width <= 0 || r->height <= 0 || r->width > BL_IMAGE_SIDE_MAX || r->height > BL_IMAGE_SIDE_MAX ||
            r->len != 3 * (uint64_t)r->width * (uint64_t)r->height || r->at > len || r->len > len - r->at)
            return false;
    }
    return true;
}

/* BL_OK and split->map NULL: no such file, or none of these images. */
static int map_file(const char *path, uint64_t print, bl_cache_split *split, bl_cache_filling *f)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return BL_OK;
    void *map = MAP_FAILED;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= (off_t)sizeof(header))
        map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return BL_OK;
    size_t len = (size_t)info.st_size;
    if (!is_whole(map, len, print, split->n)) {
        munmap(map, len);
        return BL_OK;
    }
    split->map = map;
    split->map_b = len;
    uint64_t *sums = bl_calloc((size_t)split->n, sizeof *sums);
    split->sums = sums;
    split->checked = bl_calloc((size_t)split->n, sizeof *split->checked);
    if (!split->sums || !split->checked)
        return BL_FAIL(f->err, BL_ERR_NOMEM, "no memory to keep images");
    const row *rows = (const row *)((const uint8_t *)map + sizeof(header));
    uint64_t bytes = 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < split->n; i++) {
        const row *r = &rows[i];
        sums[i] = r->sum;
        if (r->len == 0)
            continue;
        split->entries[i] = (bl_cache_entry){
            .data = (const uint8_t *)map + r->at, .len = r->len, .width = r->width, .height = r->height};
        bytes += r->len;
        kept++;
    }
    atomic_fetch_add(&f->bytes, bytes);
    atomic_store(&f->kept, kept);
    return BL_OK;
}

void bl_cache_file_close(bl_cache_split *split)
{
    munmap(split->map, split->map_b);
    free((void *)split->sums);
    free(split->checked);
}

/* ---- building ---- */

static int write_at(int fd, const void *data, size_t len, uint64_t at, bl_error *err)
{
    const uint8_t *bytes = data;
    while (len > 0) {
        ssize_t n = pwrite(fd, bytes, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return BL_FAIL(err, BL_ERR_IO, "the file of decoded images cannot be written: %s", strerror(errno));
        bytes += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return BL_OK;
}

static int keep_in_file(bl_cache_filling *f, int64_t index, const bl_picture *picture, const uint8_t *data, size_t len,
                        bl_error *err)
{
    building *b = f->context;
    uint64_t bytes = 3 * (uint64_t)picture->width * (uint64_t)picture->height;
    uint64_t at = atomic_fetch_add(&b->end, (bytes + ALIGN_B - 1) / ALIGN_B * ALIGN_B);
    b->rows[index] = (row){.at = at,
                           .len = bytes,
                           .width = picture->width,
                           .height = picture->height,
                           .sum = bl_cache_hash(0, picture->pixels, (size_t)bytes)};
    return write_at(b->fd, picture->pixels, (size_t)bytes, at, err);
}

/* A nameless file where the file system has such, else one that is removed when something fails. */
static int open_new(const char *folder, const char *temporary, bool *named)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    *named = fd < 0;
    return fd >= 0 ? fd : open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

static int give_name(int fd, bool named, const char *temporary, const char *path, const char *folder, bl_error *err)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    bool ok = fsync(fd) == 0;
    if (ok && !named) {
        unlink(temporary); /* of a process that had this number and was killed */
        ok = linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0;
    }
    ok = ok && rename(temporary, path) == 0;
    int dir = ok ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir >= 0) {
        fsync(dir);
        close(dir);
    }
    return ok ? BL_OK : BL_FAIL(err, BL_ERR_IO, "'%s' cannot be written: %s", path, strerror(errno));
}

static int write_all(bl_cache_filling *f, int fd, uint64_t print)
{
    int64_t n = f->dataset->count[f->split];
    building b = {.fd = fd, .rows = bl_calloc((size_t)n, sizeof(row))};
    if (!b.rows)
        return BL_FAIL(f->err, BL_ERR_NOMEM, "no memory to keep images");
    atomic_store(&b.end, table_end((uint64_t)n));
    f->decoded = true;
    f->keep = keep_in_file;
    f->context = &b;
    int code = bl_cache_go_through(f);
    header h = {.magic = MAGIC, .fingerprint = print, .n = (uint64_t)n, .file_b = atomic_load(&b.end)};
    h.table_sum = table_sum(&h, b.rows);
    if (code == BL_OK && ftruncate(fd, (off_t)h.file_b) != 0)
        code = BL_FAIL(f->err, BL_ERR_IO, "the file of decoded images cannot be written: %s", strerror(errno));
    if (code == BL_OK)
        code = write_at(fd, b.rows, (size_t)n * sizeof *b.rows, sizeof h, f->err);
    if (code == BL_OK)
        code = write_at(fd, &h, sizeof h, 0, f->err);
    free(b.rows);
    return code;
}

static int build(bl_cache_filling *f, const char *folder, const char *path, uint64_t print)
{
    bl_str temporary;
    bl_str_init(&temporary);
    bl_str_printf(&temporary, "%s.%ld", path, (long)getpid());
    bool named;
    int fd = open_new(folder, bl_str_text(&temporary), &named);
    int code = fd >= 0 ? BL_OK : BL_FAIL(f->err, BL_ERR_IO, "cannot write in '%s': %s", folder, strerror(errno));
    if (code == BL_OK)
        code = write_all(f, fd, print);
    bool whole = code == BL_OK && !bl_cache_exceeded(f);
    if (whole)
        code = give_name(fd, named, bl_str_text(&temporary), path, folder, f->err);
    if (fd >= 0)
        close(fd);
    if (named && fd >= 0 && !(whole && code == BL_OK))
        unlink(bl_str_text(&temporary));
    bl_str_clear(&temporary);
    return code;
}

static uint64_t free_space(const char *folder)
{
    struct statvfs info;
    return statvfs(folder, &info) == 0 ? (uint64_t)info.f_bavail * (uint64_t)info.f_frsize : 0;
}

/* A disk that is full or cannot be written ends no training: it goes on without. */
static bool only_no_room(bl_cache_filling *f, int code, bl_cache_report *report)
{
    if (code != BL_ERR_IO && code != BL_ERR_ENV)
        return false;
    snprintf(report->why, sizeof report->why, "%s: no image is kept", f->err->message);
    bl_error_clear(f->err);
    return true;
}

int bl_cache_file_open(bl_cache_filling *f, bl_cache_split *split, bool *reused, bool *fits, bl_cache_report *report)
{
    int least = f->dataset->kind->least(&f->options->views[f->split]);
    char *folder = f->options->folder ? bl_strdup(f->options->folder) : bl_files_cache_folder();
    char *path = folder ? file_name(f, folder, least) : NULL;
    *fits = *reused = false;
    int code = BL_OK;
    if (!folder)
        code = BL_FAIL(f->err, BL_ERR_ENV, "neither XDG_CACHE_HOME nor HOME says where caches lie");
    else if (!path)
        code = BL_FAIL(f->err, BL_ERR_NOMEM, "no memory for a path");
    if (code == BL_OK)
        code = bl_fs_mkdirs(folder, f->err);
    uint64_t print = code == BL_OK ? fingerprint(f, least) : 0;
    if (code == BL_OK)
        code = map_file(path, print, split, f);
    *reused = split->map != NULL;
    if (code == BL_OK && !split->map) {
        uint64_t before = atomic_load(&f->bytes);
        if (f->limit_b == 0)
            f->limit_b = before + free_space(folder) / 2;
        code = build(f, folder, path, print);
        if (code == BL_OK && bl_cache_exceeded(f))
            snprintf(report->why, sizeof report->why,
                     "decoded images need more than the %.0f MiB they may take in '%s'", (double)f->limit_b / (1 << 20),
                     folder);
        atomic_store(&f->bytes, before);
        if (code == BL_OK && !report->why[0])
            code = map_file(path, print, split, f);
        if (code == BL_OK && !report->why[0] && !split->map)
            snprintf(report->why, sizeof report->why, "'%s' changed while it was made: no image is kept", path);
    }
    *fits = code == BL_OK && split->map;
    if (only_no_room(f, code, report))
        code = BL_OK;
    free(folder);
    free(path);
    return code;
}
