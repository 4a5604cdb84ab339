/* What the trainer shows people: a line that is redrawn on a terminal, plain lines now and then elsewhere. */
#ifndef BL_TRAIN_PROGRESS_H
#define BL_TRAIN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bl_progress {
    bool quiet, terminal, drawn;
    int64_t last_ns;        /* of the last drawing */
    int64_t start_ns;       /* of the counting below */
    int64_t samples, steps; /* since then */
    const double *parts;    /* a detector's, of the loss: shown too; NULL: none */
} bl_progress;

void bl_progress_init(bl_progress *progress, bool quiet);
/* Counting starts anew: set-up and evaluations are not training. */
void bl_progress_start(bl_progress *progress);
void bl_progress_step(bl_progress *progress, int64_t epoch, int64_t step, int64_t total_steps, int n, double loss);
double bl_progress_rate(const bl_progress *progress); /* samples a second since the start; NaN before the first step */
/* A bar while files are looked at; on a terminal alone. */
void bl_progress_scan(bl_progress *progress, int64_t done, int64_t total);
void bl_progress_erase(bl_progress *progress);

#endif
