#include "lab/page_file.h"

#include <string.h>

#include "base/fs.h"
#include "lab/gnuplot_run.h"
#include "report/gnuplot.h"
#include "report/page.h"
#include "report/svg.h"

/* Experiments with their figures. */
typedef struct loaded {
    bl_arena arena;
    bl_analysis *analyses;
    const bl_analysis **list;
    size_t n;
} loaded;

static int load(bl_store *store, const int64_t *ids, size_t n, const bl_target *target, loaded *out, bl_error *err)
{
    *out = (loaded){0};
    bl_arena_init(&out->arena);
    bl_experiment *experiments = bl_arena_alloc(&out->arena, n, sizeof *experiments);
    out->analyses = bl_arena_alloc(&out->arena, n, sizeof *out->analyses);
    out->list = bl_arena_alloc(&out->arena, n, sizeof *out->list);
    if (!experiments || !out->analyses || !out->list)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu experiments", n);
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        code = bl_store_load(store, ids[i], true, &out->arena, &experiments[i], err);
        if (code == BL_OK) {
            out->list[i] = &out->analyses[i];
            out->n++; /* to be cleared from now on */
            code = bl_analysis_compute(&experiments[i], &out->arena, &out->analyses[i], err);
            out->analyses[i].target = target;
        }
    }
    return code;
}

static void unload(loaded *l)
{
    for (size_t i = 0; i < l->n; i++)
        bl_analysis_clear(&l->analyses[i]);
    bl_arena_clear(&l->arena);
}

int bl_page_file_write(bl_store *store, const int64_t *ids, size_t n, int refresh_s, const bl_target *target,
                       const char *path, bl_error *err)
{
    loaded l;
    bl_str text;
    bl_str_init(&text);
    int code = load(store, ids, n, target, &l, err);
    if (code == BL_OK)
        code = bl_report_page(l.list, l.n, refresh_s, &text, err);
    if (code == BL_OK)
        code = bl_fs_replace(path, bl_str_text(&text), text.len, err);
    bl_str_clear(&text);
    unload(&l);
    return code;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* SVG, unless the file's name says PNG or PDF. */
static int draw_chart(const bl_chart *chart, const char *path, bl_str *out, bl_error *err)
{
    bool pdf = ends_with(path, ".pdf");
    if (!pdf && !ends_with(path, ".png")) {
        bl_svg_chart(chart, true, out);
        return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the picture") : BL_OK;
    }
    bl_str script;
    bl_str_init(&script);
    bl_gnuplot_chart(chart, pdf, &script);
    int code =
        script.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the picture") : bl_gnuplot_run(&script, out, err);
    bl_str_clear(&script);
    return code;
}

static int draw(const loaded *l, const char *picture, const char *path, bl_arena *arena, bl_str *out, bl_error *err)
{
    bl_chart charts[BL_CHARTS_MAX];
    size_t n = 0;
    int code = bl_charts_make(l->list, l->n, arena, charts, &n, err);
    for (size_t i = 0; code == BL_OK && i < n; i++)
        if (strcmp(charts[i].id, picture) == 0)
            return draw_chart(&charts[i], path, out, err);
    if (code != BL_OK)
        return code;
    BL_FAIL(err, BL_ERR_USAGE, "there is no picture '%s', or no data for it", picture);
    bl_error_remedy(err, "%s; all from verdicts on want one experiment", BL_PICTURES);
    return BL_ERR_USAGE;
}

int bl_picture_file_write(bl_store *store, const int64_t *ids, size_t n, const char *picture, const bl_target *target,
                          const char *path, bl_error *err)
{
    loaded l;
    bl_str text;
    bl_str_init(&text);
    int code = load(store, ids, n, target, &l, err);
    if (code == BL_OK)
        code = draw(&l, picture, path, &l.arena, &text, err);
    if (code == BL_OK)
        code = bl_fs_replace(path, bl_str_text(&text), text.len, err);
    bl_str_clear(&text);
    unload(&l);
    return code;
}
