/* The parameter table: what a network learns (parameters) and keeps (buffers), by the names, order and
 * shapes of the public state dicts. Values, and gradients where asked for, each lie in one slab, so that an
 * optimizer updates one long array. Several graphs (training, evaluation, other batch sizes) share a table:
 * the first one declares its entries, later ones find them by name. */
#ifndef BL_GRAPH_PARAMS_H
#define BL_GRAPH_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/shape.h"

typedef enum bl_init_kind {
    BL_INIT_ZEROS,
    BL_INIT_ONES,
    BL_INIT_NORMAL,          /* mean `mean`, standard deviation a */
    BL_INIT_UNIFORM,         /* in [-a, a) */
    BL_INIT_KAIMING_FAN_OUT, /* normal, std = sqrt(2 / fan_out) (He et al. 2015, eq. 14); fan_out = dim0 * kh * kw */
    BL_INIT_FAN_IN_UNIFORM,  /* in [-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's default of conv and linear weights;
                                fan_in is `a` where a > 0 (biases), else the product of the dims after the first */
    BL_INIT_TRUNC_NORMAL,    /* normal with std a, redrawn outside +-2 */
    BL_INIT_CONSTANT,        /* a */
    BL_INIT_NUMBERS,         /* `numbers`, as many as there are elements; the table keeps a copy */
    BL_INIT_DETECTOR_BIAS /* as BL_INIT_FAN_IN_UNIFORM with fan_in a; then of every `group` numbers (an anchor's: x, y,
                             w, h, objectness, classes) the fifth is raised by log(p_object), those after it by
                             log(p_class): Lin et al. 2017, "Focal loss", section 3.3 */
} bl_init_kind;

typedef struct bl_init {
    bl_init_kind kind;
    double a, mean;
    const float *numbers;
    int group;
    double p_object, p_class;
} bl_init;

typedef struct bl_param {
    const char *name; /* "features.0.0.weight" */
    bl_shape shape;
    bl_init init;
    bool buffer;    /* running statistics: not learnt, no gradient */
    bool integer;   /* num_batches_tracked: an int64 scalar in state dicts, held here as a float */
    int64_t count;  /* elements */
    int64_t offset; /* floats from the slab's start; a multiple of 16 (64 bytes) */
} bl_param;

typedef struct bl_params bl_params;

int bl_params_new(bl_params **out, bl_error *err);
void bl_params_free(bl_params *params);

/* Finds the entry or declares it. BL_ERR_INTERNAL where the name exists with another shape or kind, or
 * where a new name comes after bl_params_alloc. The index goes to *out. */
int bl_params_declare(bl_params *params, const char *name, const bl_shape *shape, bl_init init, bool buffer,
                      bool integer, int *out, bl_error *err);
/* Allocates the slabs (zeroed), parameters first, then buffers. Gradients only `with_grads`. A second call
 * does nothing but add missing gradients. */
int bl_params_alloc(bl_params *params, bool with_grads, bl_error *err);
/* Draws every value from its initialiser; the same seed gives the same bits on every machine. */
int bl_params_init(bl_params *params, uint64_t seed, bl_error *err);

int bl_params_count(const bl_params *params);                     /* entries, buffers included */
const bl_param *bl_params_at(const bl_params *params, int index); /* in state-dict order */
int bl_params_find(const bl_params *params, const char *name);    /* -1 where there is none */
int64_t bl_params_learnt(const bl_params *params);                /* learnt numbers: 5 483 032 for MobileNetV3-Large */

/* Plain (row-major) data of an entry; NULL before bl_params_alloc. */
float *bl_params_value(bl_params *params, int index);
float *bl_params_grad(bl_params *params, int index); /* NULL for buffers and without gradients */

/* The whole slabs for optimizers: `bl_params_slab_count` floats of learnt values (padding between entries is
 * zero and stays so with zero gradients), and the gradients at the same offsets. Buffers lie behind. */
int64_t bl_params_slab_count(const bl_params *params);
int64_t bl_params_whole_count(const bl_params *params); /* of the value slab, buffers included */
float *bl_params_value_slab(bl_params *params);
float *bl_params_grad_slab(bl_params *params);
/* Bytes of both slabs. */
size_t bl_params_bytes(const bl_params *params);

/* To be called after values changed (optimizer step, loading): cached reordered weights are then renewed. */
void bl_params_touch(bl_params *params);
uint64_t bl_params_version(const bl_params *params);

#endif
