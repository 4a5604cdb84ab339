#include "plan/target.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"

#define SHARE        10
#define WINDOW_LEAST 5

bool bl_target_parse(const char *text, double *loss)
{
    bl_error ignored = {0};
    return strncmp(text, "loss=", 5) == 0 && bl_parse_f64(text + 5, "--target", loss, &ignored) == BL_OK &&
           isfinite(*loss);
}

size_t bl_steps_to_loss(const double *loss, size_t n, double target)
{
    for (size_t done = WINDOW_LEAST, first = 0, count = 0; done <= n; done++) {
        size_t window = done / SHARE > WINDOW_LEAST ? done / SHARE : WINDOW_LEAST;
        double sum = 0;
        for (first = done - window, count = 0; first < done; first++)
            if (isfinite(loss[first])) {
                sum += loss[first];
                count++;
            }
        if (count > 0 && sum / (double)count <= target)
            return done;
    }
    return 0;
}
