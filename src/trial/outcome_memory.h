/* What a trial's limit of memory tells of its end. Of use inside this room. */
#ifndef BL_TRIAL_OUTCOME_MEMORY_H
#define BL_TRIAL_OUTCOME_MEMORY_H

#include "trial/outcome.h"

/* It had nearly all the memory that RLIMIT_DATA leaves one process: what it wanted next was likely refused. */
bool bl_memory_near_limit(const bl_ending_memory *memory);

void bl_memory_note_kills(const bl_ending_memory *memory, bool decided, bl_evidence *evidence);
void bl_memory_note_near(const bl_ending_memory *memory, bl_evidence *evidence);
void bl_memory_note_over(const bl_ending_memory *memory, bl_evidence *evidence);
/* How the limit was held. Nothing where there was none. */
void bl_memory_note_limit(const bl_ending_memory *memory, bl_evidence *evidence);

#endif
