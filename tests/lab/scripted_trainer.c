/* A training program that only pretends: it marks steps by a clock of its own, so that what a test sees does not depend
 * on the machine. A sample takes 0.1 ms; each run has its luck (0.5 %), each step its own (1 %), the first ones are a
 * warm-up, and from run to run the machine drifts by 0.1 %.
 *
 *     scripted_trainer BATCH EFFECT SEED [STEPS]       EFFECT: per cent slower */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stats/rng.h"

static double number_at(int argc, char **argv, int i, double otherwise)
{
    return argc > i ? strtod(argv[i], NULL) : otherwise;
}

static void say(int fd, const char *line)
{
    size_t n = strlen(line);
    while (n > 0) {
        ssize_t sent = write(fd, line, n);
        if (sent <= 0)
            exit(4);
        line += sent;
        n -= (size_t)sent;
    }
}

int main(int argc, char **argv)
{
    const char *fd_text = getenv("BATCHLAB_FD"), *trial_text = getenv("BATCHLAB_TRIAL");
    if (argc < 4 || !fd_text || !trial_text)
        return 2;
    int fd = (int)strtol(fd_text, NULL, 10);
    double trial = strtod(trial_text, NULL);
    double batch = number_at(argc, argv, 1, 1), effect = number_at(argc, argv, 2, 0);
    int steps = (int)number_at(argc, argv, 4, 40);
    bl_rng rng;
    bl_rng_init(&rng, (uint64_t)number_at(argc, argv, 3, 1), (uint64_t)trial);
    double run = 1e-4 * batch * (1 + effect / 100) * exp(0.005 * bl_rng_normal(&rng) + 0.001 * trial);
    double clock_ns = 1e15;
    char line[200];
    snprintf(line, sizeof line, "{\"type\":\"hello\",\"version\":1,\"program\":\"scripted\",\"batch\":%.0f}\n", batch);
    say(fd, line);
    snprintf(line, sizeof line, "{\"type\":\"ready\",\"t_ns\":%.0f}\n", clock_ns);
    say(fd, line);
    for (int i = 0; i < steps; i++) {
        clock_ns += 1e9 * run * exp(0.01 * bl_rng_normal(&rng)) * (1 + 0.5 * exp(-i));
        snprintf(line, sizeof line, "{\"type\":\"step\",\"samples\":%.0f,\"t_ns\":%.0f}\n", batch, clock_ns);
        say(fd, line);
    }
    say(fd, "{\"type\":\"done\"}\n");
    return 0;
}
