/* What telemetry costs: build/bench/telemetry [PROCESSES [HZ [SECONDS]]] makes a tree of processes that wake twenty
 * times a second, every tenth of them taking and giving back memory, looks at it, and prints the processor time of the
 * looks as a share of one core. Exit status: 0 below 1 %, 1 not. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "telemetry/recording.h"

#define LIMIT 0.01

static void live(int index)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        char *block = index % 10 == 0 ? malloc(1 << 20) : NULL;
        if (block)
            memset(block, 1, 1 << 20);
        usleep(50000);
        free(block);
    }
}

static double number(int argc, char **argv, int at, double otherwise)
{
    return argc > at ? strtod(argv[at], NULL) : otherwise;
}

int main(int argc, char **argv)
{
    int n = (int)number(argc, argv, 1, 200);
    double hz = number(argc, argv, 2, 10), seconds = number(argc, argv, 3, 20);
    setpgid(0, 0); /* those that are ended together at the end */
    for (int i = 0; i < n; i++)
        if (fork() == 0)
            live(i);
    bl_telemetry_spec spec = {.root = "", .tree_root = getpid()};
    bl_telemetry *telemetry = NULL;
    bl_sampler *sampler = NULL;
    bl_error err = {0};
    bl_recording r;
    if (bl_telemetry_new(&spec, &telemetry, &err) != BL_OK ||
        bl_sampler_start(telemetry, hz, BL_RECORDING_LOOKS_MAX, &sampler, &err) != BL_OK) {
        fprintf(stderr, "telemetry: %s\n", err.message);
        return 3;
    }
    int64_t before_ns = bl_clock_ns();
    usleep((useconds_t)(seconds * 1e6));
    bl_sampler_stop(sampler, &r);
    double wall_s = (double)(bl_clock_ns() - before_ns) / 1e9, share = r.cost_s / wall_s;
    double seen = 0;
    for (size_t i = 0; i < r.n_series; i++)
        if (r.series[i].about.metric == BL_METRIC_PROCESSES && r.n > 1)
            seen = r.series[i].values[r.n - 1];
    printf("%.0f processes, %zu looks in %.1f s, %zu series: %.3f s of processor time, %.2f %% of one core\n", seen,
           r.n, wall_s, r.n_series, r.cost_s, 100 * share);
    bl_recording_clear(&r);
    bl_telemetry_free(telemetry);
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM); /* the others: this one ignores it */
    while (wait(NULL) > 0)
        ;
    return share < LIMIT && seen >= n ? 0 : 1;
}
