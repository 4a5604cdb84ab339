#include "data/jpeg_guard.h"

#include "data/image.h"

/* libjpeg ends in error_exit, which must not come back. */
static void leave(j_common_ptr info)
{
    bl_jpeg_guard *guard = (bl_jpeg_guard *)info->err;
    guard->base.format_message(info, guard->message);
    longjmp(guard->out, 1);
}

/* A truncated or damaged file is only a warning to libjpeg, which fills in grey: no image to learn from. */
static void note(j_common_ptr info, int level)
{
    if (level < 0)
        leave(info);
}

/* Apart from bl_jpeg_run, whose variables a leap would leave undefined. */
static void attempt(bl_jpeg_guard *guard, void (*decode)(void *context), void *context)
{
    if (setjmp(guard->out) != 0)
        return;
    jpeg_create_decompress(&guard->info);
    decode(context);
}

int bl_jpeg_run(bl_jpeg_guard *guard, void (*decode)(void *context), void *context, const char *name, bl_error *err)
{
    guard->message[0] = '\0';
    guard->too_large = guard->no_memory = false;
    guard->info.err = jpeg_std_error(&guard->base);
    guard->base.error_exit = leave;
    guard->base.emit_message = note;
    attempt(guard, decode, context);
    if (guard->message[0]) {
        BL_FAIL(err, BL_ERR_FORMAT, "'%s' is a damaged JPEG image: %s", name, guard->message);
        bl_error_remedy(err, "remove or replace the file");
        return BL_ERR_FORMAT;
    }
    if (guard->too_large)
        return bl_image_refuse_size(name, guard->info.image_width, guard->info.image_height, err);
    return guard->no_memory ? BL_FAIL(err, BL_ERR_NOMEM, "no memory to decode '%s'", name) : BL_OK;
}
