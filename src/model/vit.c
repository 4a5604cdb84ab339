/* Vision transformers. DeiT (Touvron et al., "Training data-efficient image transformers & distillation through
 * attention", ICML 2021), without distillation, its parameters named, ordered and initialised as in timm's state dict:
 * 5 717 416 of DeiT-Tiny, 22 050 664 of DeiT-Small at 1000 classes. ViT-B/16 (Dosovitskiy et al., "An image is worth
 * 16x16 words", ICLR 2021) as in torchvision's: 86 567 656.
 *
 * Of the last block's result only the class token is read, so after that block's attention the others go no further:
 * logits and gradients are what they would be, and a sixteenth of the work is saved. */
#include <math.h>
#include <stdio.h>

#include "model/model.h"

#define PATCH     16
#define DEPTH     12
#define EPS       1e-6f
#define DROP_PATH 0.1f /* DeiT's, of the last block; it rises linearly from 0 */

typedef struct names {
    const char *class_token, *position_module, *position, *patches;
    const char *block; /* the block's number follows */
    const char *norm1, *qkv_weight, *qkv_bias, *out, *norm2, *fc1, *fc2;
    const char *norm, *head;
} names;

static const names timm = {
    "cls_token",     NULL,        "pos_embed", "patch_embed.proj", "blocks.", "norm1", "attn.qkv.weight",
    "attn.qkv.bias", "attn.proj", "norm2",     "mlp.fc1",          "mlp.fc2", "norm",  "head"};
static const names torchvision = {"class_token",
                                  "encoder",
                                  "pos_embedding",
                                  "conv_proj",
                                  "encoder.layers.encoder_layer_",
                                  "ln_1",
                                  "self_attention.in_proj_weight",
                                  "self_attention.in_proj_bias",
                                  "self_attention.out_proj",
                                  "ln_2",
                                  "mlp.0",
                                  "mlp.3",
                                  "encoder.ln",
                                  "heads.head"};

typedef struct vit {
    const names *names;
    int width, heads;
    float drop;
} vit;

static const bl_init zeros = {.kind = BL_INIT_ZEROS};

static bool is_deit(const vit *v)
{
    return v->names == &timm;
}

/* Xavier's (Glorot & Bengio 2010, eq. 16) in torchvision's, a narrow normal distribution in DeiT. */
static bl_init weights_of(const vit *v, int inputs, int outputs)
{
    if (is_deit(v))
        return (bl_init){.kind = BL_INIT_TRUNC_NORMAL, .a = 0.02};
    return (bl_init){.kind = BL_INIT_UNIFORM, .a = sqrt(6.0 / (inputs + outputs))};
}

static bl_value linear(bl_graph *graph, const vit *v, const char *prefix, const char *leaf, bl_value x, int inputs,
                       int outputs)
{
    char name[96];
    bl_linear_args args = {
        .outputs = outputs, .bias = true, .init = weights_of(v, inputs, outputs), .init_set = true, .bias_init = zeros};
    if (!is_deit(v) && leaf == v->names->out)
        args.init = (bl_init){.kind = BL_INIT_FAN_IN_UNIFORM};
    else if (!is_deit(v))
        args.bias_init = (bl_init){.kind = BL_INIT_NORMAL, .a = 1e-6};
    snprintf(name, sizeof name, "%s.%s", prefix, leaf);
    return bl_build_linear(graph, name, x, args);
}

static bl_value norm(bl_graph *graph, const char *prefix, const char *leaf, bl_value x)
{
    char name[96];
    snprintf(name, sizeof name, "%s.%s", prefix, leaf);
    return bl_build_layer_norm(graph, name, x, EPS);
}

static bl_value attention(bl_graph *graph, const vit *v, const char *prefix, bl_value x)
{
    char name[96];
    int c = v->width;
    bl_value w = bl_build_parameter(graph, prefix, v->names->qkv_weight, BL_SHAPE2(3 * c, c), BL_SHAPE2(3 * c, c),
                                    weights_of(v, c, 3 * c));
    bl_value bias = bl_build_parameter(graph, prefix, v->names->qkv_bias, BL_SHAPE1(3 * c), BL_SHAPE1(3 * c), zeros);
    snprintf(name, sizeof name, "%s.qkv", prefix);
    return bl_build_attention(graph, bl_build_linear_with(graph, name, x, w, bias), v->heads);
}

static bl_value block(bl_graph *graph, const vit *v, int i, bl_value x)
{
    char prefix[64];
    int c = v->width;
    float drop = v->drop * (float)i / (DEPTH - 1);
    snprintf(prefix, sizeof prefix, "%s%d", v->names->block, i);
    bl_value y = attention(graph, v, prefix, norm(graph, prefix, v->names->norm1, x));
    if (i == DEPTH - 1) {
        y = bl_build_first_token(graph, y);
        x = bl_build_first_token(graph, x);
    }
    y = linear(graph, v, prefix, v->names->out, y, c, c);
    x = bl_build_add(graph, bl_build_drop_path(graph, y, drop), x);
    y = norm(graph, prefix, v->names->norm2, x);
    y = bl_build_activation(graph, linear(graph, v, prefix, v->names->fc1, y, c, 4 * c), BL_ACT_GELU);
    y = linear(graph, v, prefix, v->names->fc2, y, 4 * c, c);
    return bl_build_add(graph, bl_build_drop_path(graph, y, drop), x);
}

/* The patches with class token and positions; the parameters in the order of each state dict. */
static bl_value embed(bl_graph *graph, const vit *v, bl_value x)
{
    bl_shape image = bl_build_shape(graph, x);
    int64_t c = v->width, n_tokens = 1 + image.dim[2] / PATCH * (image.dim[3] / PATCH), fan_in = 3 * PATCH * PATCH;
    bl_init narrow = {.kind = BL_INIT_TRUNC_NORMAL, .a = 0.02}, patch = {.kind = BL_INIT_FAN_IN_UNIFORM},
            patch_bias = {.kind = BL_INIT_FAN_IN_UNIFORM, .a = (double)fan_in},
            wide = {.kind = BL_INIT_NORMAL, .a = 0.02};
    if (!is_deit(v)) {
        patch = (bl_init){.kind = BL_INIT_TRUNC_NORMAL, .a = sqrt(1.0 / (double)fan_in)};
        patch_bias = zeros;
    }
    const names *n = v->names;
    bl_value position = BL_NO_VALUE, class_token = bl_build_parameter(graph, NULL, n->class_token, BL_SHAPE3(1, 1, c),
                                                                      BL_SHAPE1(c), is_deit(v) ? narrow : zeros);
    if (is_deit(v))
        position = bl_build_parameter(graph, n->position_module, n->position, BL_SHAPE3(1, n_tokens, c),
                                      BL_SHAPE2(n_tokens, c), narrow);
    /* A convolution whose windows do not overlap is a linear layer on patches. */
    char name[48];
    snprintf(name, sizeof name, "%s.weight", n->patches);
    bl_value w = bl_build_parameter(graph, NULL, name, BL_SHAPE4(c, 3, PATCH, PATCH), BL_SHAPE2(c, fan_in), patch);
    snprintf(name, sizeof name, "%s.bias", n->patches);
    bl_value bias = bl_build_parameter(graph, NULL, name, BL_SHAPE1(c), BL_SHAPE1(c), patch_bias);
    x = bl_build_linear_with(graph, n->patches, bl_build_patches(graph, x, PATCH), w, bias);
    if (!is_deit(v))
        position = bl_build_parameter(graph, n->position_module, n->position, BL_SHAPE3(1, n_tokens, c),
                                      BL_SHAPE2(n_tokens, c), wide);
    return bl_build_tokens(graph, x, class_token, position);
}

static bl_value build(bl_graph *graph, const vit *v, bl_value x, int n_classes)
{
    x = embed(graph, v, x);
    for (int i = 0; i < DEPTH; i++)
        x = block(graph, v, i, x);
    x = bl_build_layer_norm(graph, v->names->norm, x, EPS);
    bl_init head = is_deit(v) ? weights_of(v, v->width, n_classes) : zeros;
    return bl_build_linear(
        graph, v->names->head, x,
        (bl_linear_args){.outputs = n_classes, .bias = true, .init = head, .init_set = true, .bias_init = zeros});
}

static bl_value build_tiny(bl_graph *graph, bl_value x, int n_classes)
{
    return build(graph, &(vit){&timm, 192, 3, DROP_PATH}, x, n_classes);
}

static bl_value build_small(bl_graph *graph, bl_value x, int n_classes)
{
    return build(graph, &(vit){&timm, 384, 6, DROP_PATH}, x, n_classes);
}

static bl_value build_base(bl_graph *graph, bl_value x, int n_classes)
{
    return build(graph, &(vit){&torchvision, 768, 12, 0}, x, n_classes);
}

const bl_model bl_model_deit_tiny = {
    .name = "deit_tiny", .summary = "DeiT-Tiny", .image_size = 224, .min_image_size = PATCH, .build = build_tiny};
const bl_model bl_model_deit_small = {
    .name = "deit_small", .summary = "DeiT-Small", .image_size = 224, .min_image_size = PATCH, .build = build_small};
const bl_model bl_model_vit_b_16 = {
    .name = "vit_b_16", .summary = "ViT-B/16", .image_size = 224, .min_image_size = PATCH, .build = build_base};
