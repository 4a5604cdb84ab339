#include "model/yolov7_parts.h"

#include <math.h>
#include <stdio.h>

#define EPS      1e-3f
#define MOMENTUM 0.03f

enum { NAME_MAX_B = 64, ELAN_DEPTH_MAX = 6 };

static bl_value normalised(yolo *net, const char *conv_name, const char *norm_name, bl_value x, int channels,
                           int kernel, int stride)
{
    x = bl_build_conv2d(
        net->graph, conv_name, x,
        (bl_conv2d_args){.out_channels = channels, .kernel = kernel, .stride = stride, .pad = kernel / 2});
    return bl_build_batch_norm(net->graph, norm_name, x, EPS, MOMENTUM);
}

static bl_value conv_named(yolo *net, const char *prefix, bl_value x, int channels, int kernel, int stride)
{
    char conv_name[NAME_MAX_B], norm_name[NAME_MAX_B];
    snprintf(conv_name, sizeof conv_name, "%s.conv", prefix);
    snprintf(norm_name, sizeof norm_name, "%s.bn", prefix);
    return bl_build_activation(net->graph, normalised(net, conv_name, norm_name, x, channels, kernel, stride),
                               net->act);
}

bl_value yolo_conv(yolo *net, bl_value x, int channels, int kernel, int stride)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "model.%d", net->next++);
    return conv_named(net, prefix, x, channels, kernel, stride);
}

bl_value yolo_max_pool(yolo *net, bl_value x)
{
    net->next++;
    return bl_build_max_pool(net->graph, x, 2, 2, 0);
}

bl_value yolo_concat(yolo *net, const bl_value *parts, int n)
{
    net->next++;
    return bl_build_concat(net->graph, parts, n);
}

bl_value yolo_elan(yolo *net, bl_value x, yolo_elan_args args)
{
    bl_value chain[ELAN_DEPTH_MAX + 1], parts[ELAN_DEPTH_MAX + 2], first = yolo_conv(net, x, args.width, 1, 1);
    int n = 0;
    chain[0] = yolo_conv(net, x, args.width, 1, 1);
    for (int i = 1; i <= args.depth; i++)
        chain[i] = yolo_conv(net, chain[i - 1], args.inner, 3, 1);
    for (int i = args.depth; i >= 0; i -= args.every)
        parts[n++] = chain[i];
    parts[n++] = first;
    return yolo_conv(net, yolo_concat(net, parts, n), args.out, 1, 1);
}

bl_value yolo_down(yolo *net, bl_value x, int channels, bl_value also)
{
    bl_value pooled = yolo_conv(net, yolo_max_pool(net, x), channels, 1, 1);
    bl_value strided = yolo_conv(net, x, channels, 1, 1);
    strided = yolo_conv(net, strided, channels, 3, 2);
    return yolo_concat(net, (bl_value[]){strided, pooled, also}, also < 0 ? 2 : 3);
}

bl_value yolo_up(yolo *net, bl_value x, bl_value route, int channels)
{
    x = bl_build_upsample(net->graph, yolo_conv(net, x, channels, 1, 1));
    net->next++;
    route = yolo_conv(net, route, channels, 1, 1);
    return yolo_concat(net, (bl_value[]){route, x}, 2);
}

void yolo_pyramid(yolo *net, bl_value x, bl_value out[4])
{
    out[0] = x;
    /* The largest of 9x9 is the largest of the 5x5's largest, and so on: a chain takes a quarter of the comparisons. */
    for (int i = 1; i < 4; i++)
        out[i] = bl_build_max_pool(net->graph, out[i - 1], 5, 1, 2);
}

bl_value yolo_sppcspc(yolo *net, bl_value x, int channels)
{
    char prefix[7][32];
    for (int i = 0; i < 7; i++)
        snprintf(prefix[i], sizeof prefix[i], "model.%d.cv%d", net->next, i + 1);
    net->next++;
    bl_value pooled[4], a = conv_named(net, prefix[0], x, channels, 1, 1);
    bl_value b = conv_named(net, prefix[1], x, channels, 1, 1);
    a = conv_named(net, prefix[2], a, channels, 3, 1);
    a = conv_named(net, prefix[3], a, channels, 1, 1);
    yolo_pyramid(net, a, pooled);
    a = conv_named(net, prefix[4], bl_build_concat(net->graph, pooled, 4), channels, 1, 1);
    a = conv_named(net, prefix[5], a, channels, 3, 1);
    return conv_named(net, prefix[6], bl_build_concat(net->graph, (bl_value[]){a, b}, 2), channels, 1, 1);
}

bl_value yolo_rep_conv(yolo *net, bl_value x, int channels)
{
    char conv_name[NAME_MAX_B], norm_name[NAME_MAX_B];
    bl_value branch[2];
    for (int i = 0; i < 2; i++) {
        const char *which = i == 0 ? "rbr_dense" : "rbr_1x1";
        snprintf(conv_name, sizeof conv_name, "model.%d.%s.0", net->next, which);
        snprintf(norm_name, sizeof norm_name, "model.%d.%s.1", net->next, which);
        branch[i] = normalised(net, conv_name, norm_name, x, channels, i == 0 ? 3 : 1, 1);
    }
    net->next++;
    return bl_build_activation(net->graph, bl_build_add(net->graph, branch[0], branch[1]), net->act);
}

/* ---- heads ---- */

static void declare_anchors(yolo *net, const char *module, const bl_detect_spec *spec)
{
    float cells[BL_DETECT_MAX_LEVELS * BL_DETECT_ANCHORS * 2], pixels[BL_ARRAY_LEN(cells)];
    for (int i = 0; i < (int)BL_ARRAY_LEN(cells); i++) {
        int level = i / (2 * BL_DETECT_ANCHORS);
        pixels[i] = (&spec->anchor[0][0][0])[i];
        cells[i] = level < spec->n_levels ? pixels[i] / (float)spec->stride[level] : 0;
    }
    bl_shape wide = {.n_dims = 6, .dim = {spec->n_levels, 1, BL_DETECT_ANCHORS, 1, 1, 2}};
    bl_build_buffer(net->graph, module, "anchors", BL_SHAPE3(spec->n_levels, BL_DETECT_ANCHORS, 2), cells);
    bl_build_buffer(net->graph, module, "anchor_grid", wide, pixels);
}

/* The state dict has all convolutions before all implicit numbers, the network has them in turns. So all are declared
 * here, in order, and found again by name when they are used. */
static void declare_convs(yolo *net, const char *list, const bl_value *x, const bl_detect_spec *spec)
{
    int outputs = BL_DETECT_ANCHORS * (5 + spec->n_classes);
    for (int i = 0; i < spec->n_levels; i++) {
        char name[NAME_MAX_B];
        int64_t inputs = bl_build_shape(net->graph, x[i]).dim[1];
        double cells = 640.0 / spec->stride[i];
        bl_shape filter = BL_SHAPE4(outputs, inputs, 1, 1), row = BL_SHAPE1(outputs);
        /* So many objects and cells are in a picture of 640 pixels, and so likely is each class of an object. */
        bl_init bias = {.kind = BL_INIT_DETECTOR_BIAS,
                        .a = (double)inputs,
                        .group = 5 + spec->n_classes,
                        .p_object = 8 / (cells * cells),
                        .p_class = 0.6 / (spec->n_classes - 0.99)};
        snprintf(name, sizeof name, "%s.%d", list, i);
        bl_build_parameter(net->graph, name, "weight", filter, filter, (bl_init){.kind = BL_INIT_FAN_IN_UNIFORM});
        bl_build_parameter(net->graph, name, "bias", row, row, bias);
    }
}

static void implicit(yolo *net, const char *list, double mean, int n, const bl_value *x, int channels, bl_value *out)
{
    for (int i = 0; i < n; i++) {
        char name[NAME_MAX_B];
        int64_t c = x ? bl_build_shape(net->graph, x[i]).dim[1] : channels;
        snprintf(name, sizeof name, "%s.%d", list, i);
        out[i] = bl_build_parameter(net->graph, name, "implicit", BL_SHAPE4(1, c, 1, 1), BL_SHAPE1(c),
                                    (bl_init){.kind = BL_INIT_NORMAL, .mean = mean, .a = 0.02});
    }
}

static bl_value head(yolo *net, const char *list, int level, bl_value x, int outputs)
{
    char name[NAME_MAX_B];
    snprintf(name, sizeof name, "%s.%d", list, level);
    return bl_build_conv2d(net->graph, name, x, (bl_conv2d_args){.out_channels = outputs, .kernel = 1, .bias = true});
}

void yolo_detect(yolo *net, const bl_value *x, const bl_value *aux, bl_detector_heads *out)
{
    const bl_detect_spec *spec = &out->spec;
    int outputs = BL_DETECT_ANCHORS * (5 + spec->n_classes), n = spec->n_levels;
    char module[16], m[24], m2[24], ia[24], im[24];
    bl_value shift[BL_DETECT_MAX_LEVELS], scale[BL_DETECT_MAX_LEVELS];
    snprintf(module, sizeof module, "model.%d", net->next++);
    snprintf(m, sizeof m, "%s.m", module);
    snprintf(m2, sizeof m2, "%s.m2", module);
    snprintf(ia, sizeof ia, "%s.ia", module);
    snprintf(im, sizeof im, "%s.im", module);
    declare_anchors(net, module, spec);
    declare_convs(net, m, x, spec);
    if (aux)
        declare_convs(net, m2, aux, spec);
    implicit(net, ia, 0, n, x, 0, shift);
    implicit(net, im, 1, n, NULL, outputs, scale);
    for (int i = 0; i < BL_DETECT_MAX_LEVELS; i++) {
        out->head[i] = out->aux[i] = BL_NO_VALUE;
        if (i >= n)
            continue;
        bl_value y = head(net, m, i, bl_build_channel_shift(net->graph, x[i], shift[i]), outputs);
        out->head[i] = bl_build_channel_scale(net->graph, y, scale[i]);
        if (aux)
            out->aux[i] = head(net, m2, i, aux[i], outputs);
    }
}
