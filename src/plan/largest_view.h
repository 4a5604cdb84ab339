/* What the probes of a search for the largest batch say together: the sizes, the edges between those that do and those
 * that do not, and what memory is to be expected beyond. Sizes are in multiples of `limits->multiple` here. */
#ifndef BL_PLAN_LARGEST_VIEW_H
#define BL_PLAN_LARGEST_VIEW_H

#include "plan/largest.h"

/* One size that was tried. */
typedef struct bl_size {
    int64_t at; /* batch / multiple */
    bl_size_verdict verdict;
    size_t runs, longer_runs;
    double memory_b, longer_b; /* NaN where not known */
} bl_size;

typedef struct bl_largest_view {
    const bl_largest_limits *limits;
    const bl_probe *probes; /* borrowed */
    size_t n_probes;
    bl_size sizes[BL_PROBES_MAX]; /* ascending */
    size_t n;
    int64_t min, max;
    const bl_size *top;    /* the largest that does; NULL: none */
    const bl_size *bad;    /* the smallest above `top` that does not; NULL: none */
    size_t n_above;        /* that do not, above `top` */
    int64_t failed_longer; /* the smallest size that failed when it ran longer; 0: none */
    double slope_b;        /* of memory near the top; NaN, or not above 0, where nothing can be predicted */
    double bend_b;         /* of memory over sizes squared, where it is bent upwards; 0: it is not */
    int64_t bent_from;     /* the parabola's other size, beside the top */
    double margin;         /* the largest share of a measurement by which the line is off it */
} bl_largest_view;

/* `view` points into itself: it must stay where it is. BL_ERR_NOMEM. */
int bl_largest_look(const bl_largest_limits *limits, const bl_probe *probes, size_t n, bl_largest_view *view,
                    bl_memory_line *line, bl_error *err);

/* Peak of the ordinary runs, or of the longer ones where there is no other; NaN where not known. */
double bl_size_memory(const bl_size *size);
/* What may be used: the budget without the headroom. NaN where not known. */
double bl_largest_free_b(const bl_largest_view *view);

/* Can memory beyond the top be predicted? The functions below are for views of which this holds. */
bool bl_largest_predicts(const bl_largest_view *view);
double bl_largest_predicted_b(const bl_largest_view *view, int64_t at);
/* The largest size, from the top to the cap, whose predicted memory and this share of it are within the budget. */
int64_t bl_largest_predicted(const bl_largest_view *view, double margin);

#endif
