#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

int fixture_set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->root = test_make_folder();
    f->now_ns = 1000 * SECOND;
    *state = f;
    return 0;
}

int fixture_tear_down(void **state)
{
    fixture *f = *state;
    bl_telemetry_free(f->telemetry);
    test_remove_folder(f->root);
    free(f);
    return 0;
}

void fixture_write(const fixture *f, const char *name, const char *text)
{
    char *path = test_path(f->root, name + (name[0] == '/')), *folder = strdup(path);
    assert_non_null(folder);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(bl_fs_mkdirs(folder, NULL), BL_OK);
    test_write_file(path, text, strlen(text));
    free(folder);
    free(path);
}

void fixture_remove(const fixture *f, const char *name)
{
    char *path = test_path(f->root, name + (name[0] == '/'));
    assert_int_equal(unlink(path), 0);
    free(path);
}

void fixture_open(fixture *f, const bl_telemetry_spec *spec)
{
    bl_telemetry_spec own = {.root = f->root, .nvml = "/no/such/library"};
    bl_telemetry_free(f->telemetry);
    assert_int_equal(bl_telemetry_new(spec ? spec : &own, &f->telemetry, NULL), BL_OK);
    bl_telemetry_begin(f->telemetry);
}

void fixture_look(fixture *f, double after_s)
{
    f->now_ns += (int64_t)(after_s * (double)SECOND);
    bl_telemetry_look(f->telemetry, f->now_ns);
}

const bl_series *fixture_series(const fixture *f, const char *source, bl_metric metric, const char *scope)
{
    for (size_t i = 0; i < bl_telemetry_n_series(f->telemetry); i++) {
        const bl_series *series = bl_telemetry_series(f->telemetry, i);
        if (series->metric == metric && strcmp(series->source, source) == 0 &&
            strncmp(series->scope, scope, strlen(scope)) == 0)
            return series;
    }
    return NULL;
}

static const bl_series *must(const fixture *f, const char *source, bl_metric metric, const char *scope)
{
    const bl_series *series = fixture_series(f, source, metric, scope);
    if (!series)
        fail_msg("%s has no series %s of '%s'", source, bl_metric_get(metric)->name, scope);
    return series;
}

double fixture_value(const fixture *f, const char *source, bl_metric metric, const char *scope)
{
    return must(f, source, metric, scope)->value;
}

void fixture_missing(const fixture *f, const char *source, bl_metric metric, const char *scope, const char *reason)
{
    const bl_series *series = must(f, source, metric, scope);
    if (!isnan(series->value) || !strstr(series->reason, reason))
        fail_msg("%s of %s is %g, '%s', not missing for '%s'", bl_metric_get(metric)->name, scope, series->value,
                 series->reason, reason);
}

const bl_source_state *fixture_source(const fixture *f, const char *source)
{
    for (size_t i = 0; i < bl_telemetry_n_sources(f->telemetry); i++)
        if (strcmp(bl_telemetry_source(f->telemetry, i)->name, source) == 0)
            return bl_telemetry_source(f->telemetry, i);
    fail_msg("there is no source '%s'", source);
    return NULL;
}

void fixture_absent(const fixture *f, const char *source, const char *reason)
{
    const bl_source_state *state = fixture_source(f, source);
    if (state->available || !strstr(state->reason, reason))
        fail_msg("%s: available %d, '%s', not absent for '%s'", source, state->available, state->reason, reason);
    for (size_t i = 0; i < bl_telemetry_n_series(f->telemetry); i++)
        assert_string_not_equal(bl_telemetry_series(f->telemetry, i)->source, source);
}
