#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trial/markers.h"

static void add_point(bl_markers *m, const bl_marker_point *point)
{
    if (m->n_points >= BL_MARKER_POINTS_MAX) {
        m->n_ignored++;
        return;
    }
    if (m->n_points == m->cap_points) {
        size_t cap = m->cap_points ? m->cap_points * 2 : 32;
        bl_marker_point *grown = bl_realloc(m->points, cap, sizeof *grown);
        if (!grown) {
            m->failed = true;
            return;
        }
        m->points = grown;
        m->cap_points = cap;
    }
    m->points[m->n_points++] = *point;
}

void bl_markers_metric(bl_markers *m, const char *name, const bl_marker_point *point)
{
    size_t i = 0;
    while (i < m->n_metrics && strcmp(m->metrics[i].name, name) != 0)
        i++;
    if (i == BL_MARKER_KINDS_MAX || strlen(name) >= sizeof m->metrics[0].name) {
        m->n_ignored++;
        return;
    }
    if (i == m->n_metrics) {
        snprintf(m->metrics[i].name, sizeof m->metrics[i].name, "%s", name);
        m->n_metrics++;
    }
    m->metrics[i].value = point->value;
    m->metrics[i].t_ns = point->t_ns;
    bl_marker_point kept = *point;
    kept.metric = i;
    add_point(m, &kept);
}
