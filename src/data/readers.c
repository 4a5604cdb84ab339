#include "data/reader.h"

#include "base/fs.h"
#include "base/str.h"
#include "data/cache.h"

#define READER_POINTER(name) &bl_reader_##name,
static const bl_reader *const readers[] = {BL_READERS(READER_POINTER) NULL};

static int recognise_none(const bl_data_options *o, bl_error *err)
{
    bl_str list;
    bl_str_init(&list);
    for (const bl_reader *const *r = readers; *r; r++)
        if ((*r)->boxes == o->boxes)
            bl_str_printf(&list, "%s%s (%s)", list.len > 0 ? ", " : "", (*r)->looks_for, (*r)->name);
    BL_FAIL(err, BL_ERR_ENV, "'%s' holds no data set that is known", o->path);
    bl_error_remedy(err, "looked for: %s", bl_str_text(&list));
    bl_str_clear(&list);
    return BL_ERR_ENV;
}

static int draw(const bl_data_options *o, bl_dataset **out, bl_error *err)
{
    return o->boxes ? bl_synthetic_boxes_open(o->n_classes, o->n_train, o->n_test, o->seed, out, err)
                    : bl_synthetic_open(o->n_classes, o->n_train, o->n_test, o->seed, out, err);
}

int bl_data_open(const bl_data_options *options, bl_dataset **out, bl_error *err)
{
    if (!options->path)
        return draw(options, out, err);
    if (!bl_fs_exists(options->path))
        return BL_FAIL(err, BL_ERR_ENV, "there is no folder '%s'", options->path);
    const bl_reader *const *r = readers;
    while (*r && !(*r)->recognises(options->path))
        r++;
    if (!*r)
        return recognise_none(options, err);
    if ((*r)->boxes == options->boxes)
        return (*r)->open(options, out, err);
    BL_FAIL(err, BL_ERR_USAGE, "'%s' is a data set of the kind %s (%s), which %s", options->path, (*r)->name,
            (*r)->looks_for, options->boxes ? "has no boxes" : "is for detectors");
    bl_error_remedy(err, "%s", options->boxes ? "a classifier, such as resnet18" : "a detector, such as yolov7_tiny");
    return BL_ERR_USAGE;
}

void bl_dataset_free(bl_dataset *dataset)
{
    if (!dataset)
        return;
    bl_cache_free(dataset->cache);
    bl_strv_clear(&dataset->left_out);
    bl_strv_clear(&dataset->remarks);
    dataset->kind->free(dataset);
}
