#include "lab/show.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "lab/driving.h"
#include "lab/max_report.h"

/* Not setlocale: numbers must keep their point. */
static bool locale_is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8;
}

bl_report_style bl_show_style(int fd)
{
    bl_report_style style = {.utf8 = locale_is_utf8(), .width = 80};
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    struct winsize size;
    if (!isatty(fd))
        return style;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        style.width = size.ws_col < 120 ? size.ws_col : 120;
    style.color = !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
    return style;
}

static void append_title(const bl_experiment *e, const bl_report_style *style, bl_str *out)
{
    bl_str_append(out, style->color ? "\x1b[1m" : "");
    bl_str_printf(out, "Experiment %lld", (long long)e->id);
    if (e->name)
        bl_str_printf(out, " (%s)", e->name);
    bl_str_printf(out, ": %s", e->workload);
    bl_str_append(out, style->color ? "\x1b[0m\n\n" : "\n\n");
}

int bl_show_print(const bl_analysis *a, bl_show_form form, const bl_report_style *style, bl_str *out, bl_error *err)
{
    switch (form) {
    case BL_SHOW_JSON:
    case BL_SHOW_JSON_STEPS:
        return bl_report_json(a, form == BL_SHOW_JSON_STEPS, out, err);
    case BL_SHOW_CSV:
        bl_report_csv_trials(a, out);
        break;
    case BL_SHOW_CSV_STEPS:
        bl_report_csv_steps(a, out);
        break;
    case BL_SHOW_CSV_TELEMETRY:
        bl_report_csv_telemetry(a, out);
        break;
    case BL_SHOW_MARKDOWN:
        bl_report_markdown(a, out);
        break;
    default:
        append_title(a->experiment, style, out);
        bl_report_text(a, style, out);
        if (form == BL_SHOW_DETAILS) {
            bl_str_append(out, "\nSettings\n");
            bl_report_details(a, style, out);
        }
        break;
    }
    return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the report") : BL_OK;
}

/* A search for the largest batch has another answer than a table of speeds. */
static int print_search(const bl_analysis *a, bl_show_form form, const bl_report_style *style, bl_str *out,
                        bl_error *err)
{
    if (form != BL_SHOW_JSON)
        append_title(a->experiment, style, out);
    int code = bl_max_report(a->experiment, form == BL_SHOW_JSON, style, out, err);
    if (code == BL_OK && form == BL_SHOW_DETAILS) {
        bl_str_append(out, "\nSettings\n");
        bl_report_details(a, style, out);
    }
    return code;
}

int bl_show_make(bl_store *store, int64_t id, bl_show_form form, const bl_report_style *style, bl_str *out,
                 bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment experiment, fresh;
    bl_analysis analysis = {0}, confirmation = {0};
    int64_t confirmed_by = 0;
    int code = bl_store_load(store, id, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&experiment, &arena, &analysis, err);
    if (code == BL_OK)
        code = bl_store_confirmation(store, id, &confirmed_by, err);
    if (code == BL_OK && confirmed_by > 0)
        code = bl_store_load(store, confirmed_by, true, &arena, &fresh, err);
    if (code == BL_OK && confirmed_by > 0) {
        code = bl_analysis_compute(&fresh, &arena, &confirmation, err);
        analysis.confirmed_by = &confirmation;
    }
    if (code == BL_OK)
        code = bl_driving_is_search(experiment.driving) &&
                       (form == BL_SHOW_TEXT || form == BL_SHOW_JSON || form == BL_SHOW_DETAILS)
                   ? print_search(&analysis, form, style, out, err)
                   : bl_show_print(&analysis, form, style, out, err);
    bl_analysis_clear(&confirmation);
    bl_analysis_clear(&analysis);
    bl_arena_clear(&arena);
    return code;
}

int bl_show_parse_id(bl_store *store, const char *text, int64_t *id, bl_error *err)
{
    if (strcmp(text, "latest") == 0)
        return bl_store_latest(store, false, id, err);
    int code = bl_parse_i64(text, "the experiment's number", 1, INT64_MAX, id, err);
    if (code != BL_OK)
        bl_error_remedy(err, "batchlab list gives the numbers; 'latest' is the newest one");
    return code;
}
