/* dump_view FILE SIZE AUGMENT DRAW [least]: decodes an image and makes a view of it, for compare_with_pillow.py. Prints
 * "x y width height mirror columns rows" of the view's region and the image, then all pixels as bytes, then the view's
 * floats. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/parse.h"
#include "data/picture.h"

static int dump(const uint8_t *data, size_t len, const bl_view *view, int least, const char *name, bl_error *err)
{
    bl_scratch scratch = {0};
    bl_picture picture;
    bl_want want = {.least = least};
    size_t floats = 3 * (size_t)view->size * (size_t)view->size;
    float *out = malloc(floats * sizeof *out);
    int code = out ? bl_picture_decode(data, len, &want, name, &scratch, &picture, err)
                   : BL_FAIL(err, BL_ERR_NOMEM, "no memory");
    if (code == BL_OK)
        code = bl_view_make(view, &picture, &scratch, out, err);
    if (code == BL_OK) {
        bl_region r = bl_view_region(view, picture.width, picture.height);
        printf("%.17g %.17g %.17g %.17g %d %d %d\n", r.x, r.y, r.width, r.height, r.mirror, picture.width,
               picture.height);
        fwrite(picture.pixels, 3, (size_t)picture.width * (size_t)picture.height, stdout);
        fwrite(out, sizeof *out, floats, stdout);
    }
    bl_scratch_clear(&scratch);
    free(out);
    return code;
}

int main(int argc, char **argv)
{
    bl_error err = {0};
    int64_t size, draw, least = 0;
    bl_view view = {0};
    char *data = NULL;
    size_t len;
    if (argc < 5 || argc > 6 || bl_parse_i64(argv[2], "SIZE", 1, BL_VIEW_SIZE_MAX, &size, &err) != BL_OK ||
        !bl_augment_from_name(argv[3], &view.augment) ||
        bl_parse_i64(argv[4], "DRAW", 0, INT64_MAX, &draw, &err) != BL_OK ||
        (argc == 6 && bl_parse_i64(argv[5], "least", 0, BL_VIEW_SIZE_MAX, &least, &err) != BL_OK)) {
        fprintf(stderr, "dump_view FILE SIZE AUGMENT DRAW [least]\n");
        return 2;
    }
    view.size = (int)size;
    view.draw = (uint64_t)draw;
    int code = bl_fs_read(argv[1], (size_t)1 << 28, &data, &len, &err);
    if (code == BL_OK)
        code = dump((const uint8_t *)data, len, &view, (int)least, argv[1], &err);
    free(data);
    if (code != BL_OK)
        fprintf(stderr, "dump_view: %s\n", err.message);
    return bl_error_exit_status((bl_code)code);
}
