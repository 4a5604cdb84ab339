/* `batchlab-train time MxNxK|LAYER|MODEL|stream`: one product of matrices or layer, run over and over, its steps marked
 * for the lab; the nodes of a model one by one; memory. */
#ifndef BL_TIMING_TIMING_H
#define BL_TIMING_TIMING_H

/* argv[0] is "time". Prints its own errors; returns the exit status. */
int bl_timing_main(int argc, char **argv);

#endif
