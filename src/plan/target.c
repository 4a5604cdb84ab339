#include "plan/target.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"

#define SHARE        10
#define WINDOW_LEAST 5
#define FAR          1e6

static bool ends_in_loss(const char *name)
{
    size_t n = strlen(name);
    return n >= 4 && strcmp(name + n - 4, "loss") == 0;
}

bool bl_target_parse(const char *text, bl_target *out)
{
    bl_error ignored = {0};
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    *out = (bl_target){.value = NAN};
    if (n == 0 || n >= sizeof out->name || bl_parse_f64(equals + 1, "--target", &out->value, &ignored) != BL_OK ||
        !isfinite(out->value))
        return false;
    memcpy(out->name, text, n);
    out->falls = ends_in_loss(out->name);
    return true;
}

bool bl_target_is_loss(const bl_target *target)
{
    return strcmp(target->name, "loss") == 0;
}

void bl_target_watch_init(bl_target_watch *watch, const bl_target *target)
{
    bl_target kept = *target; /* it may be the watch's own */
    *watch = (bl_target_watch){.target = kept, .last_steps = NAN, .last_value = NAN, .steps = NAN};
}

/* ---- the loss ---- */

static void count_in(bl_target_watch *w, double loss, int sign)
{
    if (!isfinite(loss))
        return;
    w->sum += sign * fmin(loss, FAR * (fabs(w->target.value) + 1));
    w->count = sign > 0 ? w->count + 1 : w->count - 1;
}

static double steps_until(const bl_target_series *s, size_t n)
{
    double samples = 0;
    if (!(s->batch > 0))
        return (double)n;
    for (size_t i = 0; i < n; i++)
        samples += s->samples_at(s->steps, i);
    return fmax(samples / s->batch, 1);
}

static void watch_loss(bl_target_watch *w, const bl_target_series *s)
{
    while (!w->reached && w->done < s->n_steps) {
        count_in(w, s->loss_at(s->steps, w->done++), 1);
        size_t window = w->done / SHARE > WINDOW_LEAST ? w->done / SHARE : WINDOW_LEAST;
        while (w->first + window < w->done)
            count_in(w, s->loss_at(s->steps, w->first++), -1);
        w->reached = w->done >= WINDOW_LEAST && w->count > 0 && w->sum / (double)w->count <= w->target.value;
        if (w->reached)
            w->steps = steps_until(s, w->done);
    }
}

/* ---- a metric ---- */

static void watch_metric(bl_target_watch *w, const bl_target_series *s)
{
    double after, value, target = w->target.value;
    for (; !w->reached && w->done_points < s->n_points; w->done_points++) {
        if (!s->point_at(s->points, w->done_points, w->target.name, &after, &value) || !isfinite(value))
            continue;
        w->reached = w->target.falls ? value <= target : value >= target;
        if (w->reached) {
            double share = isnan(w->last_value) ? 1 : (target - w->last_value) / (value - w->last_value);
            w->steps = share < 1 ? w->last_steps + share * (after - w->last_steps) : after;
            w->steps = fmax(w->steps, 1);
        }
        w->last_steps = after;
        w->last_value = value;
    }
}

bool bl_target_watch_take(bl_target_watch *w, const bl_target_series *s)
{
    if (s->n_steps < w->done || s->n_points < w->done_points)
        bl_target_watch_init(w, &w->target);
    if (bl_target_is_loss(&w->target))
        watch_loss(w, s);
    else
        watch_metric(w, s);
    return w->reached;
}
