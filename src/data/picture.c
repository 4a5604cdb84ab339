#include "data/picture.h"

#include "data/cache.h"
#include "data/files.h"

int bl_picture_decode(const uint8_t *data, size_t len, const bl_want *want, const char *name, bl_scratch *scratch,
                      bl_picture *out, bl_error *err)
{
    bool taken = false;
    if (len >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF) {
        int code = bl_jpeg_decode_part(data, len, want, name, scratch, out, &taken, err);
        if (code != BL_OK || taken)
            return code;
    }
    bl_image image;
    int code = bl_image_decode(data, len, want->least, name, &image, err);
    if (code != BL_OK)
        return code;
    *out = bl_picture_whole(&image);
    bl_scratch_adopt(scratch, BL_SCRATCH_PIXELS, image.pixels, 3 * (size_t)image.width * (size_t)image.height);
    if (want->part)
        want->part(want->context, image.width, image.height);
    return BL_OK;
}

int bl_picture_read(const bl_dataset *dataset, bl_split split, int64_t index, const bl_want *want, bl_scratch *scratch,
                    bl_picture *out, bl_error *err)
{
    bl_kept kept = bl_cache_find(dataset->cache, split, index);
    if (kept.picture.pixels) {
        *out = kept.picture;
        if (want->part)
            want->part(want->context, out->width, out->height);
        return BL_OK;
    }
    char path[4096];
    dataset->kind->path(dataset, split, index, path, sizeof path);
    const uint8_t *data = kept.data;
    size_t len = kept.len;
    int code = data ? BL_OK : bl_files_read(path, scratch, &data, &len, err);
    return code == BL_OK ? bl_picture_decode(data, len, want, path, scratch, out, err) : code;
}

static bl_part part_of_view(void *context, int width, int height)
{
    return bl_view_part(context, width, height);
}

int bl_picture_view(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                    bl_error *err)
{
    bl_scratch own = {0}, *scratch = view->scratch ? view->scratch : &own;
    bl_view wanted = *view;
    bl_want want = {.least = bl_view_least(view), .part = part_of_view, .context = &wanted};
    bl_picture picture;
    int code = bl_picture_read(dataset, split, index, &want, scratch, &picture, err);
    if (code == BL_OK)
        code = bl_view_make(view, &picture, scratch, out, err);
    bl_scratch_clear(&own);
    return code;
}
