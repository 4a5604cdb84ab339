/* A program that uses the public C header as its users do. */
#include "batchlab_marker.h"

#include <math.h>
#include <string.h>

int main(int argc, char **argv)
{
    int64_t batch = argc > 1 ? strtoll(argv[1], NULL, 10) : 4;
    long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 6;
    batchlab_marker marker;
    batchlab_marker_open(&marker);
    batchlab_marker_hello(&marker, "c \"trainer\"\n", "1.2", "f32", 2, batch);
    batchlab_marker_ready(&marker);
    for (long i = 0; i < steps; i++) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
        batchlab_marker_step(&marker, batch, i == 1 ? (double)NAN : 2.5 / (double)(i + 1), i * 1000);
    }
    batchlab_marker_phase(&marker, "eval");
    batchlab_marker_step(&marker, batch, 1, -1);
    batchlab_marker_phase(&marker, "train");
    batchlab_marker_memory(&marker, "activations", 1000);
    batchlab_marker_memory(&marker, "activations", 3000);
    batchlab_marker_metric(&marker, "top1", 0.625);
    batchlab_marker_metric(&marker, "nothing", (double)INFINITY);
    batchlab_marker_noise(&marker, 8, 128, 0.5, 0.125, 0);
    batchlab_marker_noise(&marker, 8, 128, (double)NAN, 0.125, 0);
    batchlab_marker_noise(&marker, 1, 64, 3, 2, 1);
    batchlab_marker_done(&marker);
    batchlab_marker_close(&marker);
    return batchlab_marker_listening(&marker);
}
