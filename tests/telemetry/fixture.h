/* A folder with copies of /proc and /sys as some machine shows them, and telemetry that reads it. */
#ifndef BL_TESTS_TELEMETRY_FIXTURE_H
#define BL_TESTS_TELEMETRY_FIXTURE_H

#include "../base/testing.h"

#include "telemetry/telemetry.h"

#define SECOND 1000000000LL

typedef struct fixture {
    char *root;
    bl_telemetry *telemetry;
    int64_t now_ns; /* of the last look */
} fixture;

int fixture_set_up(void **state);
int fixture_tear_down(void **state);
void fixture_write(const fixture *f, const char *path, const char *text);
void fixture_remove(const fixture *f, const char *path);
/* Opens telemetry of the tree; `spec` may be NULL. */
void fixture_open(fixture *f, const bl_telemetry_spec *spec);
/* A look this many seconds after the last one. */
void fixture_look(fixture *f, double after_s);
/* NULL where there is none. scope: its beginning. */
const bl_series *fixture_series(const fixture *f, const char *source, bl_metric metric, const char *scope);
/* Its value at the last look; fails where there is no such series. */
double fixture_value(const fixture *f, const char *source, bl_metric metric, const char *scope);
/* It has no value, and the reason holds this text. */
void fixture_missing(const fixture *f, const char *source, bl_metric metric, const char *scope, const char *reason);
const bl_source_state *fixture_source(const fixture *f, const char *source);
void fixture_absent(const fixture *f, const char *source, const char *reason);

#endif
