#include "plan/target.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"

#define SHARE        10
#define WINDOW_LEAST 5
#define FAR          1e6

bool bl_target_parse(const char *text, double *loss)
{
    bl_error ignored = {0};
    return strncmp(text, "loss=", 5) == 0 && bl_parse_f64(text + 5, "--target", loss, &ignored) == BL_OK &&
           isfinite(*loss);
}

void bl_target_watch_init(bl_target_watch *watch, double target)
{
    *watch = (bl_target_watch){.target = target};
}

static void count_in(bl_target_watch *w, double loss, int sign)
{
    if (!isfinite(loss))
        return;
    w->sum += sign * fmin(loss, FAR * (fabs(w->target) + 1));
    w->count = sign > 0 ? w->count + 1 : w->count - 1;
}

bool bl_target_watch_take(bl_target_watch *w, double (*loss_at)(const void *steps, size_t i), const void *steps,
                          size_t n)
{
    if (n < w->done)
        bl_target_watch_init(w, w->target);
    while (!w->reached && w->done < n) {
        count_in(w, loss_at(steps, w->done++), 1);
        size_t window = w->done / SHARE > WINDOW_LEAST ? w->done / SHARE : WINDOW_LEAST;
        while (w->first + window < w->done)
            count_in(w, loss_at(steps, w->first++), -1);
        w->reached = w->done >= WINDOW_LEAST && w->count > 0 && w->sum / (double)w->count <= w->target;
    }
    return w->reached;
}
