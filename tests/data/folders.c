#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "folders.h"
#include "pictures.h"

int folders_make(void **state)
{
    *state = test_make_folder();
    char *cache = test_path(*state, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    free(cache);
    return 0;
}

int folders_remove(void **state)
{
    test_remove_folder(*state);
    return 0;
}

void put(const char *top, const char *name, const void *data, size_t len)
{
    char *path = test_path(top, name), *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(bl_fs_mkdirs(path, NULL), BL_OK);
    *slash = '/';
    test_write_file(path, data, len);
    free(path);
}

void put_text(const char *top, const char *name, const char *text)
{
    put(top, name, text, strlen(text));
}

void put_picture(const char *top, const char *name)
{
    picture_file file = strstr(name, ".png") ? picture_png(PICTURE_RGB, 20, 20) : picture_jpeg(PICTURE_RGB, 24, 20);
    put(top, name, file.data, file.len);
    picture_clear(&file);
}

bl_dataset *data_opened(const bl_data_options *options)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    if (bl_data_open(options, &dataset, &err) != BL_OK)
        fail_msg("%s", err.message);
    return dataset;
}

void data_refused(const bl_data_options *options, int code, const char *word)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    assert_int_equal(bl_data_open(options, &dataset, &err), code);
    assert_null(dataset);
    if (!strstr(err.message, word) && !strstr(err.remedy, word))
        fail_msg("'%s' ('%s') does not say '%s'", err.message, err.remedy, word);
    bl_error_clear(&err);
}
