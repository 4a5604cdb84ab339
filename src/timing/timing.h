/* `batchlab-train time MxNxK`: one product of matrices, run over and over, its steps marked for the lab. */
#ifndef BL_TIMING_TIMING_H
#define BL_TIMING_TIMING_H

/* argv[0] is "time". Prints its own errors; returns the exit status. */
int bl_timing_main(int argc, char **argv);

#endif
