#include "data/probe.h"

#include <stdbool.h>
#include <string.h>

#include "data/files.h"

enum { WINDOW_B = 4096, SOS = 0xDA, EOI = 0xD9 };

typedef struct reading {
    const bl_blob *blob;
    uint8_t window[WINDOW_B];
    int64_t start;
    size_t n;
    bl_error *err;
    int code;
} reading;

/* n bytes (at most a window) at an offset; NULL past the file's end, or with r->code set. */
static const uint8_t *look(reading *r, int64_t at, size_t n)
{
    if (r->code != BL_OK || at < 0 || at > r->blob->len || (int64_t)n > r->blob->len - at)
        return NULL;
    if (at < r->start || at + (int64_t)n > r->start + (int64_t)r->n) {
        int64_t left = r->blob->len - at;
        r->start = at;
        r->n = left < WINDOW_B ? (size_t)left : WINDOW_B;
        r->code = bl_blob_read(r->blob, at, r->window, r->n, r->err);
        if (r->code != BL_OK)
            return NULL;
    }
    return r->window + (at - r->start);
}

static uint32_t big_endian(const uint8_t *p, int n)
{
    uint32_t value = 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | p[i];
    return value;
}

/* Whether FF D9 stands anywhere from `at` on. In a scan's data it is nothing but the end. */
static bool has_end(reading *r, int64_t at)
{
    for (const uint8_t *p; (p = look(r, at, 2)); at++) {
        size_t n = (size_t)(r->start + (int64_t)r->n - at);
        const uint8_t *found = memchr(p, 0xFF, n - 1);
        if (!found) {
            at += (int64_t)n - 2;
            continue;
        }
        if (found[1] == EOI)
            return true;
        at += found - p;
    }
    return false;
}

static bl_probe find_end(reading *r, int64_t data_at)
{
    int64_t tail = r->blob->len - WINDOW_B;
    if (has_end(r, tail > data_at ? tail : data_at))
        return BL_PROBE_GOOD;
    return has_end(r, data_at) ? BL_PROBE_GOOD : BL_PROBE_CUT;
}

static bl_probe probe_size(uint32_t width, uint32_t height)
{
    if (width == 0 || height == 0)
        return BL_PROBE_HEADER;
    return bl_image_too_large(width, height) ? BL_PROBE_TOO_LARGE : BL_PROBE_GOOD;
}

static bool is_frame(uint8_t marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

static bl_probe probe_jpeg(reading *r)
{
    bool framed = false;
    for (int64_t at = 2;;) {
        const uint8_t *p = look(r, at, 2);
        if (!p)
            return BL_PROBE_CUT;
        uint8_t marker = p[1];
        if (p[0] != 0xFF || marker == 0 || marker == EOI)
            return BL_PROBE_HEADER;
        if (marker == 0xFF) { /* filling */
            at++;
            continue;
        }
        if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7)) { /* these have nothing behind them */
            at += 2;
            continue;
        }
        if (!(p = look(r, at + 2, 2)))
            return BL_PROBE_CUT;
        uint32_t segment = big_endian(p, 2);
        if (segment < 2 || (is_frame(marker) && segment < 8))
            return BL_PROBE_HEADER;
        if (marker == SOS)
            return framed ? find_end(r, at + 2 + segment) : BL_PROBE_HEADER;
        if (is_frame(marker)) {
            if (!(p = look(r, at + 4, 5)))
                return BL_PROBE_CUT;
            bl_probe state = probe_size(big_endian(p + 3, 2), big_endian(p + 1, 2));
            if (state != BL_PROBE_GOOD)
                return state;
            framed = true;
        }
        at += 2 + (int64_t)segment;
    }
}

static bl_probe probe_png(reading *r)
{
    const uint8_t *p = look(r, 8, 25); /* the first chunk: length, name, 13 bytes, checksum */
    if (!p)
        return BL_PROBE_CUT;
    if (big_endian(p, 4) != 13 || memcmp(p + 4, "IHDR", 4) != 0)
        return BL_PROBE_HEADER;
    bl_probe state = probe_size(big_endian(p + 8, 4), big_endian(p + 12, 4));
    for (int64_t at = 33; state == BL_PROBE_GOOD;) {
        if (!(p = look(r, at, 12))) /* length, name, and the checksum of an empty one */
            return BL_PROBE_CUT;
        if (memcmp(p + 4, "IEND", 4) == 0)
            return BL_PROBE_GOOD;
        at += 12 + (int64_t)big_endian(p, 4);
    }
    return state;
}

int bl_probe_image(const bl_blob *blob, bl_probe *out, bl_error *err)
{
    static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    reading r = {.blob = blob, .err = err};
    const uint8_t *p;
    if (blob->len == 0)
        *out = BL_PROBE_EMPTY;
    else if (blob->len > BL_FILES_MAX_B)
        *out = BL_PROBE_LARGE_FILE;
    else if ((p = look(&r, 0, sizeof png)) && memcmp(p, png, sizeof png) == 0)
        *out = probe_png(&r);
    else if ((p = look(&r, 0, 3)) && memcmp(p, "\xFF\xD8\xFF", 3) == 0)
        *out = probe_jpeg(&r);
    else
        *out = BL_PROBE_NO_IMAGE;
    return r.code;
}

const char *bl_probe_words(bl_probe state)
{
    static const char *const words[BL_PROBE_STATES] = {
        [BL_PROBE_GOOD] = "a whole image",
        [BL_PROBE_EMPTY] = "an empty file",
        [BL_PROBE_NO_IMAGE] = "neither JPEG nor PNG",
        [BL_PROBE_HEADER] = "its header is damaged",
        [BL_PROBE_TOO_LARGE] = "it claims more pixels than are allowed",
        [BL_PROBE_CUT] = "it ends too early",
        [BL_PROBE_DAMAGED] = "it cannot be decoded",
        [BL_PROBE_LARGE_FILE] = "a file of more than 256 MiB",
    };
    return words[state];
}
