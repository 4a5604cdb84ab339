#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/options.h"
#include "lab/checks.h"
#include "lab/commands.h"
#include "lab/telemetry_setup.h"

/* ---- for people ---- */

static void print_sources(const bl_telemetry *t)
{
    printf("Telemetry\n");
    for (size_t i = 0; i < bl_telemetry_n_sources(t); i++) {
        const bl_source_state *s = bl_telemetry_source(t, i);
        printf("  %-16s %-9s %s\n", s->name, s->available ? "works" : "not here", s->available ? s->found : s->reason);
        if (!s->available && s->remedy[0])
            printf("  %-16s %-9s try: %s\n", "", "", s->remedy);
    }
}

static void print_checks(const bl_checks *checks)
{
    printf("\nThe machine\n");
    for (size_t i = 0; i < checks->n; i++) {
        const bl_check *c = &checks->items[i];
        if (c->state == BL_CHECK_UNKNOWN) {
            printf("  %-16s %-9s %s\n", c->name, "unknown", c->why);
            continue;
        }
        printf("  %-16s %-9s %s\n", c->name, bl_check_state_name(c->state), c->value);
        if (c->state == BL_CHECK_DOUBTFUL) {
            printf("  %-16s %-9s %s\n", "", "", c->why);
            if (c->remedy)
                printf("  %-16s %-9s try: %s\n", "", "", c->remedy);
        }
    }
}

/* ---- for programs ---- */

static void set(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name, text && text[0] ? json_string(text) ?: json_null() : json_null());
}

static json_t *series_of(const bl_telemetry *t, const char *source)
{
    json_t *array = json_array();
    for (size_t i = 0; i < bl_telemetry_n_series(t); i++) {
        const bl_series *s = bl_telemetry_series(t, i);
        if (strcmp(s->source, source) != 0)
            continue;
        json_t *o = json_object();
        set(o, "metric", bl_metric_get(s->metric)->name);
        set(o, "unit", bl_metric_get(s->metric)->unit);
        set(o, "scope", s->scope);
        json_object_set_new(o, "value", isfinite(s->value) ? json_real(s->value) : json_null());
        set(o, "reason", s->reason);
        json_array_append_new(array, o);
    }
    return array;
}

static int print_json(const bl_telemetry *t, const bl_checks *checks, bl_error *err)
{
    json_t *all = json_object(), *sources = json_array(), *machine = json_array();
    for (size_t i = 0; i < bl_telemetry_n_sources(t); i++) {
        const bl_source_state *s = bl_telemetry_source(t, i);
        json_t *o = json_object();
        set(o, "name", s->name);
        json_object_set_new(o, "available", json_boolean(s->available));
        set(o, "found", s->found);
        set(o, "reason", s->reason);
        set(o, "remedy", s->remedy);
        json_object_set_new(o, "series", series_of(t, s->name));
        json_array_append_new(sources, o);
    }
    for (size_t i = 0; i < checks->n; i++) {
        const bl_check *c = &checks->items[i];
        json_t *o = json_object();
        set(o, "name", c->name);
        set(o, "state", bl_check_state_name(c->state));
        set(o, "value", c->value);
        set(o, "why", c->why);
        set(o, "remedy", c->remedy);
        json_array_append_new(machine, o);
    }
    json_object_set_new(all, "telemetry", sources);
    json_object_set_new(all, "machine", machine);
    char *text = json_dumps(all, JSON_INDENT(2));
    json_decref(all);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the answer");
    puts(text);
    free(text);
    return BL_OK;
}

int bl_cmd_doctor(bl_lab *lab, int argc, char **argv)
{
    const char *root = NULL;
    bool json = false;
    const bl_option options[] = {
        {BL_OPT_FLAG, 0, "json", NULL, "As JSON, with every value that can be read now.", &json, 0, 0},
        {BL_OPT_STRING, 0, "root", "DIR", "Read /proc and /sys below this folder, such as a copy of another machine's.",
         &root, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "doctor",
        .summary = "Says what can be measured here, what cannot and why, and what makes figures doubtful.",
        .usage = "[options]",
        .details = "Source by source: whether it works, why not, and how to get it. Then what of the machine lets "
                   "figures vary: clocks, load, memory, limits. Changes nothing.",
        .examples = "  batchlab doctor\n"
                    "  batchlab doctor --json | jq '.telemetry[] | select(.available | not)'\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_error err = {0};
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, &err);
    if (code != BL_OK)
        return bl_log_error(&err);
    if (result.help) {
        bl_options_print_help(&command, stdout);
        bl_options_result_clear(&result);
        return 0;
    }
    if (result.operands.len > 0)
        code = BL_FAIL(&err, BL_ERR_USAGE, "doctor takes no '%s'", result.operands.items[0]);
    else if (root && !bl_fs_is_dir(root))
        code = BL_FAIL(&err, BL_ERR_ENV, "there is no folder '%s'", root);
    bl_options_result_clear(&result);
    bl_telemetry *telemetry = NULL;
    bl_telemetry_spec spec = bl_telemetry_setup(root, getpid());
    if (code == BL_OK)
        code = bl_telemetry_new(&spec, &telemetry, &err);
    if (code == BL_OK) {
        bl_checks checks;
        bl_telemetry_begin(telemetry);
        bl_telemetry_look(telemetry, bl_clock_ns());
        bl_checks_run(spec.root, &checks);
        if (json)
            code = print_json(telemetry, &checks, &err);
        else {
            print_sources(telemetry);
            print_checks(&checks);
        }
    }
    bl_telemetry_free(telemetry);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
