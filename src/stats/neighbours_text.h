/* The sentence about neighbours of powers of two, and its parts. Of use inside this room. */
#ifndef BL_STATS_NEIGHBOURS_TEXT_H
#define BL_STATS_NEIGHBOURS_TEXT_H

#include "base/str.h"
#include "stats/neighbours.h"

/* Fills out->sentence from all other members. `margin` and `level` are those asked for. */
void bl_neighbours_write_sentence(bl_neighbours *out, double level, double margin);

/* "4, 8 and 16"; "4, 8, 16 and 3 more" where total is above n. */
void bl_sizes_append(const int64_t *sizes, size_t n, size_t total, bl_str *out);
/* "no difference above 1 %: +0.31 % time per sample (interval ...)" and the like; nothing for BL_CLAIM_NONE. */
void bl_claim_append(bl_claim claim, const bl_contrast *contrast, size_t more_blocks, double level, double margin,
                     bl_str *out);

#endif
