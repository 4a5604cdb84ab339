#include "train/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "train/weights.h"

#define VERSION_KEY "batchlab_checkpoint"
#define FACT_KEY    "run: "

/* ---- writing ---- */

static const char *number_text(bl_arena *arena, const bl_checkpoint_number *number)
{
    return number->whole ? bl_arena_printf(arena, "%lld", (long long)*number->whole)
                         : bl_arena_printf(arena, "%.17g", *number->real);
}

static int make_texts(const bl_checkpoint *c, bl_arena *arena, bl_st_text **out, int *out_n, bl_error *err)
{
    bl_st_text *texts = bl_arena_alloc(arena, (size_t)(1 + c->n_numbers + c->n_facts), sizeof *texts);
    int n = 0;
    bool ok = texts != NULL;
    if (ok)
        texts[n++] = (bl_st_text){VERSION_KEY, BL_CHECKPOINT_VERSION};
    for (int i = 0; ok && i < c->n_numbers; i++) {
        if (c->numbers[i].real && !isfinite(*c->numbers[i].real))
            return BL_FAIL(err, BL_ERR_INTERNAL, "'%s' of a checkpoint is no number", c->numbers[i].name);
        texts[n] = (bl_st_text){c->numbers[i].name, number_text(arena, &c->numbers[i])};
        ok = texts[n++].value != NULL;
    }
    for (int i = 0; ok && i < c->n_facts; i++) {
        texts[n] = (bl_st_text){bl_arena_printf(arena, FACT_KEY "%s", c->facts[i].name), c->facts[i].value};
        ok = texts[n++].key != NULL;
    }
    *out = texts;
    *out_n = n;
    return ok ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a checkpoint's header");
}

int bl_checkpoint_write(const bl_checkpoint *c, const char *path, bl_error *err)
{
    bl_tensor_list list;
    bl_st_text *texts = NULL;
    int n_texts = 0;
    bl_tensor_list_init(&list);
    int code = bl_tensor_list_add(&list, c->params, "", bl_params_value_slab(c->params), INT64_MAX, err);
    for (int i = 0; code == BL_OK && i < c->n_arrays; i++) {
        const char *prefix = bl_arena_printf(&list.arena, BL_STATE_PREFIX "%s/", c->arrays[i].name);
        code = prefix ? bl_tensor_list_add(&list, c->params, prefix, c->arrays[i].slab, c->arrays[i].count, err)
                      : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a checkpoint's header");
    }
    if (code == BL_OK)
        code = make_texts(c, &list.arena, &texts, &n_texts, err);
    if (code == BL_OK)
        code = bl_safetensors_write(path, list.items, list.n, texts, n_texts, err);
    bl_tensor_list_clear(&list);
    return code;
}

/* ---- reading ---- */

static int check_version(const bl_safetensors *file, const char *path, bl_error *err)
{
    const char *version = bl_safetensors_text(file, VERSION_KEY);
    if (!version) {
        BL_FAIL(err, BL_ERR_FORMAT, "'%s' is no checkpoint", path);
        bl_error_remedy(err, "--weights starts from a file of weights");
        return BL_ERR_FORMAT;
    }
    if (strcmp(version, BL_CHECKPOINT_VERSION) != 0)
        return BL_FAIL(err, BL_ERR_FORMAT,
                       "'%s' is a checkpoint of version '%.20s', this program reads " BL_CHECKPOINT_VERSION, path,
                       version);
    return BL_OK;
}

/* Appends "--lr was 0.1, is 0.05". */
static void tell(bl_str *text, const char *name, const char *was, const char *is)
{
    bl_str_printf(text, "%s%.60s was %.60s, is %.60s", text->len > 0 ? "; " : "", name, *was ? was : "not given",
                  *is ? is : "not given");
}

static const bl_checkpoint_fact *find_fact(const bl_checkpoint *c, const char *name)
{
    for (int i = 0; i < c->n_facts; i++)
        if (strcmp(c->facts[i].name, name) == 0)
            return &c->facts[i];
    return NULL;
}

static int compare_facts(const bl_checkpoint *c, const bl_safetensors *file, const char *path, bl_str *differences,
                         bl_error *err)
{
    bl_str fatal;
    bl_str_init(&fatal);
    for (int i = 0; i < c->n_facts; i++) {
        const bl_checkpoint_fact *fact = &c->facts[i];
        char key[128];
        snprintf(key, sizeof key, FACT_KEY "%s", fact->name);
        const char *was = bl_safetensors_text(file, key);
        if (!was || strcmp(was, fact->value) != 0)
            tell(fact->fixed ? &fatal : differences, fact->name, was ? was : "unknown", fact->value);
    }
    for (int i = 0; i < bl_safetensors_text_count(file); i++) {
        const bl_st_text *text = bl_safetensors_text_at(file, i);
        if (strncmp(text->key, FACT_KEY, strlen(FACT_KEY)) == 0 && !find_fact(c, text->key + strlen(FACT_KEY)))
            tell(differences, text->key + strlen(FACT_KEY), text->value, "unknown");
    }
    int code = BL_OK;
    if (fatal.len > 0) {
        code = BL_FAIL(err, BL_ERR_USAGE, "'%s' is of another training: %s", path, bl_str_text(&fatal));
        bl_error_remedy(err, "resume with the same options, or name another --checkpoint");
    } else if (fatal.failed || differences->failed) {
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to compare '%s' with the options", path);
    }
    bl_str_clear(&fatal);
    return code;
}

static int read_number(const bl_safetensors *file, const bl_checkpoint_number *number, bl_error *err)
{
    const char *text = bl_safetensors_text(file, number->name);
    bl_error why = {0};
    int code = !text           ? BL_ERR_FORMAT
               : number->whole ? bl_parse_i64(text, number->name, 0, INT64_MAX, number->whole, &why)
                               : bl_parse_f64(text, number->name, number->real, &why);
    return code == BL_OK ? BL_OK : BL_FAIL(err, BL_ERR_FORMAT, "its '%s' is no number", number->name);
}

/* One tensor for each entry within `count` floats, and how many that were. */
static int read_slab(const bl_checkpoint *c, const bl_safetensors *file, const char *prefix, float *slab, int64_t count,
                     int *n, bl_error *err)
{
    bl_str name;
    bl_str_init(&name);
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < bl_params_count(c->params); i++) {
        const bl_param *p = bl_params_at(c->params, i);
        if (p->offset + p->count > count)
            continue;
        bl_str_reset(&name);
        bl_str_printf(&name, "%s%s", prefix, p->name);
        const bl_st_tensor *t = name.failed ? NULL : bl_safetensors_find(file, bl_str_text(&name));
        if (name.failed)
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to read a checkpoint");
        else if (!t)
            code = BL_FAIL(err, BL_ERR_FORMAT, "it lacks the tensor '%s'", bl_str_text(&name));
        else if (t->type != (p->integer ? BL_ST_I64 : BL_ST_F32))
            code = BL_FAIL(err, BL_ERR_FORMAT, "its tensor '%s' is of another type", bl_str_text(&name));
        else
            code = bl_weights_read(file, t, p, slab + p->offset, err);
        ++*n;
    }
    bl_str_clear(&name);
    return code;
}

static int read_state(const bl_checkpoint *c, const bl_safetensors *file, bl_error *err)
{
    int code = BL_OK, n = 0;
    for (int i = 0; code == BL_OK && i < c->n_numbers; i++)
        code = read_number(file, &c->numbers[i], err);
    if (code == BL_OK)
        code = read_slab(c, file, "", bl_params_value_slab(c->params), INT64_MAX, &n, err);
    for (int i = 0; code == BL_OK && i < c->n_arrays; i++) {
        char prefix[128];
        snprintf(prefix, sizeof prefix, BL_STATE_PREFIX "%s/", c->arrays[i].name);
        code = read_slab(c, file, prefix, c->arrays[i].slab, c->arrays[i].count, &n, err);
    }
    if (code == BL_OK && n != bl_safetensors_count(file))
        code = BL_FAIL(err, BL_ERR_FORMAT, "it holds %d tensors, the training has %d", bl_safetensors_count(file), n);
    bl_params_touch(c->params);
    return code;
}

int bl_checkpoint_read(const bl_checkpoint *c, const char *path, bl_str *differences, bl_error *err)
{
    bl_safetensors *file;
    int code = bl_safetensors_open(path, &file, err);
    if (code != BL_OK)
        return code;
    code = check_version(file, path, err);
    if (code == BL_OK)
        code = compare_facts(c, file, path, differences, err);
    if (code == BL_OK && (code = read_state(c, file, err)) != BL_OK) {
        bl_error_context(err, "checkpoint '%s'", path);
        bl_error_remedy(err, "the model or the optimizer is another one; or remove the file to start anew");
    }
    bl_safetensors_close(file);
    return code;
}
