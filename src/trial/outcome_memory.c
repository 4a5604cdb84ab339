#include "trial/outcome_memory.h"

#include <inttypes.h>

#define NEAR_SHARE 0.9

static double mib(double bytes)
{
    return bytes / (1 << 20);
}

bool bl_memory_near_limit(const bl_ending_memory *m)
{
    return m->limit_b > 0 && !m->grouped && (double)m->data_peak_b >= NEAR_SHARE * (double)m->limit_b;
}

void bl_memory_note_kills(const bl_ending_memory *m, bool decided, bl_evidence *evidence)
{
    if (m->grouped && m->group_kills >= 0)
        bl_evidence_add(evidence, "kernel", decided, "%" PRId64 " out-of-memory kills in the trial's own control group",
                        m->group_kills);
}

void bl_memory_note_near(const bl_ending_memory *m, bl_evidence *evidence)
{
    bl_evidence_add(evidence, "kernel", true, "one of its processes had %.1f MiB reserved, of %.1f MiB allowed",
                    mib((double)m->data_peak_b), mib((double)m->limit_b));
}

void bl_memory_note_over(const bl_ending_memory *m, bl_evidence *evidence)
{
    bl_evidence_add(evidence, "lab", true,
                    "killed by the lab: its processes together held %.1f MiB, above the limit of %.1f MiB",
                    mib((double)m->over_limit_b), mib((double)m->limit_b));
    if (m->over_limit_rank_b > 0)
        bl_evidence_add(evidence, "lab", false, "rank %" PRId64 " had held the most of one rank: %.1f MiB",
                        m->over_limit_rank, mib((double)m->over_limit_rank_b));
}

void bl_memory_note_limit(const bl_ending_memory *m, bl_evidence *evidence)
{
    if (m->limit_b == 0)
        return;
    if (m->grouped)
        bl_evidence_add(evidence, "lab", false, "memory limit %.1f MiB for all processes, held by a control group",
                        mib((double)m->limit_b));
    else
        bl_evidence_add(evidence, "lab", false,
                        "memory limit %.1f MiB, held by RLIMIT_DATA, which binds each process alone and counts memory "
                        "when it is reserved, and by sampling them together; no control group: %.80s",
                        mib((double)m->limit_b), m->no_group && m->no_group[0] ? m->no_group : "not known why");
}
