/* The search for the largest batch size that fits: what has been probed goes in, the next probe or the answer comes
 * out. It keeps nothing between calls, so that a search may be broken off and gone on with. Sizes are multiples of
 * `multiple`. */
#ifndef BL_PLAN_LARGEST_H
#define BL_PLAN_LARGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_PROBES_MAX 1000
/* A size at which a sample takes so many times as long as at the best one runs, but by spilling into slower memory. It
 * is run again before that is believed. */
#define BL_LARGEST_SLOW 8.0
/* Memory that grew by this share from a run to one of twice the steps will go on growing. */
#define BL_LARGEST_GROWTH 0.02

typedef struct bl_largest_limits {
    int64_t min, max, multiple; /* 1 <= min <= max, multiple >= 1; multiples of it within [min, max] are tried */
    double budget_b;            /* the memory there is; NaN where that is not known */
    double headroom;            /* share of budget_b that must stay free, 0 to below 1 */
} bl_largest_limits;

/* Why a size does not do, or BL_SIZE_FITS. */
typedef enum bl_size_verdict {
    BL_SIZE_FITS,
    BL_SIZE_MEMORY,   /* out of memory */
    BL_SIZE_LIMIT,    /* one that the program cannot take, for another reason than memory */
    BL_SIZE_FAILED,   /* it failed for a reason that is not known */
    BL_SIZE_SLOW,     /* it ran, but see BL_LARGEST_SLOW; found here, not said by the caller */
    BL_SIZE_HEADROOM, /* it ran, but with less free than asked for; found here */
    BL_SIZE_UNTRIED
} bl_size_verdict;

typedef struct bl_probe {
    int64_t batch;
    bl_size_verdict verdict; /* FITS, MEMORY, LIMIT or FAILED */
    double memory_b;         /* its peak, where it ran; NaN where not known */
    double sample_s;         /* seconds a sample; NaN where not known */
    bool longer;             /* it ran twice the steps: a confirmation */
} bl_probe;

typedef enum bl_largest_kind {
    BL_LARGEST_PROBE,   /* run `batch` */
    BL_LARGEST_CONFIRM, /* run `batch`, the answer so far, once more, and twice as long */
    BL_LARGEST_FOUND,   /* `batch` ran twice, and `above`, the next one, did not do, for the reason `why_above` */
    BL_LARGEST_CAP,     /* `batch` ran twice and is the largest that was allowed */
    BL_LARGEST_NOTHING  /* not even the smallest ones do: `batch` for the reason `why_above` */
} bl_largest_kind;

/* Memory over batch size, c + k B, and how far the measurements are from it. */
typedef struct bl_memory_line {
    bool known;
    double fixed_b, per_sample_b;
    double worst_b;     /* the largest distance of a measurement from the line, with its sign */
    int64_t worst_at;   /* and where */
    double worst_share; /* of what was measured there */
} bl_memory_line;

typedef struct bl_largest_step {
    bl_largest_kind kind;
    int64_t batch;
    bool longer;   /* run it twice the steps: a confirmation has failed, so that shorter runs do not tell enough */
    int64_t above; /* 0 where there is none */
    bl_size_verdict why_above;
    double predicted_b; /* of `batch`, by the line; NaN */
    bl_memory_line line;
    int64_t hole;          /* a size below the answer that does not do; 0: none was met */
    int64_t failed_longer; /* the smallest size that failed when it ran longer; 0: none did */
    double growth;         /* of the answer's memory, from its run to the one twice as long: 0.1 = 10 %; NaN */
} bl_largest_step;

/* BL_ERR_USAGE: limits that hold no size, or more than BL_PROBES_MAX probes. */
int bl_largest_next(const bl_largest_limits *limits, const bl_probe *probes, size_t n, bl_largest_step *out,
                    bl_error *err);
/* The first size of the limits, 0 where they hold none. */
int64_t bl_largest_first(const bl_largest_limits *limits);
/* What the probes of one size say together: one that did not do decides. */
bl_size_verdict bl_largest_verdict(const bl_largest_limits *limits, const bl_probe *probes, size_t n, int64_t batch);
/* "fits", "out of memory", ... */
const char *bl_size_verdict_words(bl_size_verdict verdict);

#endif
