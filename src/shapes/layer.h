/* Layers by their sizes, and the matrix products that training them takes. The batch stands among the columns of the
 * result (N) in the forward pass and in the gradient of the input, and in the inner dimension (K) in the gradient of
 * the weights (NVIDIA, "Linear/Fully-Connected Layers User's Guide"; convolutions as implicit products: "Convolutional
 * Layers User's Guide"). */
#ifndef BL_SHAPES_LAYER_H
#define BL_SHAPES_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* `count` products of M x K by K x N, all alike. */
typedef struct bl_product {
    double m, n, k, count;
    double flop;     /* of all: 2 M N K each, less where a convolution's padding or stride leaves some out */
    double elements; /* read and written, each once: images are not counted as the matrices that they stand for */
    bool tiled;      /* false: no matrix product (depthwise convolutions), done by ordinary units */
} bl_product;

bl_product bl_product_make(double m, double n, double k); /* one plain product */
/* "8192x128x8192": M, N, K. BL_ERR_USAGE otherwise. */
int bl_product_parse(const char *text, bl_product *out, bl_error *err);

typedef enum bl_role { BL_ROLE_FORWARD, BL_ROLE_INPUT_GRADIENT, BL_ROLE_WEIGHT_GRADIENT, BL_N_ROLES } bl_role;
const char *bl_role_name(bl_role role);
const char *bl_role_word(bl_role role); /* in command lines: "forward", "input", "weights" */
bool bl_role_from_word(const char *word, bl_role *out);

typedef enum bl_layer_kind { BL_LAYER_LINEAR, BL_LAYER_CONV, BL_LAYER_ATTENTION } bl_layer_kind;

typedef struct bl_layer {
    bl_layer_kind kind;
    int64_t in, out; /* features or channels; of attention's heads, the width of one */
    int64_t rows;    /* linear, attention: rows (tokens) a sample */
    int64_t heads;
    int64_t height, width; /* of the image that comes in */
    int64_t kernel[2], stride, pad, dilation, groups;
    bool bias;  /* a number is added to each output */
    bool first; /* nothing asks for its input's gradient */
} bl_layer;

/* Words joined by colons, those in brackets optional:
 *   linear:IN:oOUT[:rROWS][:bias][:first]                     ROWS a sample: tokens (1)
 *   conv:CxHxW:oOUT:kK or kKxK[:sSTRIDE][:pPAD][:dDILATION][:gGROUPS][:bias][:first]
 *                                                             stride 1, pad K/2, dilation 1, groups 1
 *   attention:tTOKENS:hHEADS:wWIDTH                           the products of each head: WIDTH features
 * BL_ERR_USAGE with the word at fault. */
int bl_layer_parse(const char *text, bl_layer *out, bl_error *err);
/* The same, with "@" and a role's word behind it; forward where there is none. BL_ERR_USAGE too where the layer has no
 * such role. */
int bl_layer_role_parse(const char *text, bl_layer *out, bl_role *role, bl_error *err);
/* One layer a line; blank lines and what follows a blank after a layer are passed over. The caller frees *out. */
int bl_layers_parse(const char *text, bl_layer **out, size_t *n, bl_error *err);
void bl_layer_format(const bl_layer *layer, bl_str *out);

#define BL_LAYER_PRODUCTS 4
/* The products of a role at a batch size; how many are written to out. */
int bl_layer_products(const bl_layer *layer, double batch, bl_role role, bl_product out[BL_LAYER_PRODUCTS]);

/* Every product of every role of every layer, one after another. */
typedef struct bl_layers_walk {
    const bl_layer *layers;
    size_t n;
    double batch;
    /* Where it stands, once bl_layers_next was true: */
    const bl_layer *layer;
    bl_role role;
    bl_product product;
    /* How it goes on: */
    size_t place;
    int next, found;
    bl_product products[BL_LAYER_PRODUCTS];
} bl_layers_walk;

bl_layers_walk bl_layers_begin(const bl_layer *layers, size_t n, double batch);
bool bl_layers_next(bl_layers_walk *walk); /* false behind the last */

#endif
