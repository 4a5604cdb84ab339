/* The sentence about neighbours of powers of two. Of use inside this room. */
#ifndef BL_STATS_NEIGHBOURS_TEXT_H
#define BL_STATS_NEIGHBOURS_TEXT_H

#include "stats/neighbours.h"

/* Fills out->sentence from all other members. `margin` and `level` are those asked for. */
void bl_neighbours_write_sentence(bl_neighbours *out, double level, double margin);

#endif
