#include "lab/thermal_gate.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "lab/interrupt.h"

#define MARGIN_C      2.0
#define PATIENCE_S    60.0 /* where nobody said how cool it must be */
#define MAX_WAIT_S    120.0
#define LOOK_AGAIN_MS 1000

/* Of all that is hot; NaN where nothing tells. */
static double hottest_c(bl_telemetry *t)
{
    double hottest = NAN;
    bl_telemetry_begin(t); /* all are due */
    bl_telemetry_look(t, bl_clock_ns());
    for (size_t i = 0; i < bl_telemetry_n_series(t); i++) {
        const bl_series *s = bl_telemetry_series(t, i);
        if (s->metric == BL_METRIC_TEMPERATURE && !isnan(s->value) && !(hottest >= s->value))
            hottest = s->value;
    }
    return hottest;
}

void bl_gate_init(bl_gate *gate, bl_telemetry *telemetry, double max_c)
{
    *gate = (bl_gate){.telemetry = telemetry, .limit_c = max_c, .start_c = NAN, .waited_s = NAN};
}

void bl_gate_wait(bl_gate *gate, bl_live *live)
{
    gate->waited_s = NAN;
    gate->note[0] = '\0';
    if (!gate->telemetry)
        return;
    double now_c = hottest_c(gate->telemetry);
    if (isnan(now_c)) {
        snprintf(gate->note, sizeof gate->note, "no temperature can be read");
        return;
    }
    if (isnan(gate->start_c))
        gate->start_c = now_c;
    bool given = !isnan(gate->limit_c);
    double limit_c = given ? gate->limit_c : gate->start_c + MARGIN_C, patience_s = given ? MAX_WAIT_S : PATIENCE_S;
    double first_c = now_c;
    int64_t from_ns = bl_clock_ns();
    gate->waited_s = 0;
    if (now_c > limit_c) {
        char line[160];
        snprintf(line, sizeof line, "waiting until %.0f degrees have become %.0f, for %.0f s at most", now_c, limit_c,
                 patience_s);
        bl_live_say(live, line);
    }
    while (now_c > limit_c && gate->waited_s < patience_s && bl_interrupt_count == 0) {
        poll(NULL, 0, LOOK_AGAIN_MS);
        now_c = hottest_c(gate->telemetry);
        gate->waited_s = (double)(bl_clock_ns() - from_ns) / 1e9;
    }
    if (now_c > limit_c)
        snprintf(gate->note, sizeof gate->note, "given up at %.1f degrees, not %.1f", now_c, limit_c);
    else
        snprintf(gate->note, sizeof gate->note, "from %.1f to %.1f degrees, of %.1f", first_c, now_c, limit_c);
}
