/* YOLOv7, its small and its large sibling (Wang, Bochkovskiy and Liao, CVPR 2023) as they are trained, with parameters
 * named, ordered, shaped and initialised as in the public state dicts: 37 622 682 learnt numbers of YOLOv7 at COCO's 80
 * classes. Numbers in comments are those of the layers in the state dict. */
#include "model/yolov7_parts.h"

static yolo_elan_args backbone_elan(int width, int out)
{
    return (yolo_elan_args){.width = width, .inner = width, .depth = 4, .every = 2, .out = out};
}

static yolo_elan_args neck_elan(int width)
{
    return (yolo_elan_args){.width = width, .inner = width / 2, .depth = 4, .every = 1, .out = width};
}

static yolo_elan_args tiny_elan(int width)
{
    return (yolo_elan_args){.width = width, .inner = width, .depth = 2, .every = 1, .out = 2 * width};
}

static void build_yolov7(bl_graph *graph, bl_value x, int n_classes, bl_detector_heads *out)
{
    yolo net = {.graph = graph, .act = BL_ACT_SILU};
    out->spec = (bl_detect_spec){.n_classes = n_classes,
                                 .n_levels = 3,
                                 .stride = {8, 16, 32},
                                 .anchor = {{{12, 16}, {19, 36}, {40, 28}},
                                            {{36, 75}, {76, 55}, {72, 146}},
                                            {{142, 110}, {192, 243}, {459, 401}}}};
    x = yolo_conv(&net, x, 32, 3, 1);
    x = yolo_conv(&net, x, 64, 3, 2);
    x = yolo_conv(&net, x, 64, 3, 1);
    x = yolo_conv(&net, x, 128, 3, 2);
    x = yolo_elan(&net, x, backbone_elan(64, 256)); /* 11 */
    x = yolo_down(&net, x, 128, BL_NO_VALUE);
    bl_value fine = yolo_elan(&net, x, backbone_elan(128, 512)); /* 24 */
    x = yolo_down(&net, fine, 256, BL_NO_VALUE);
    bl_value middle = yolo_elan(&net, x, backbone_elan(256, 1024)); /* 37 */
    x = yolo_down(&net, middle, 512, BL_NO_VALUE);
    x = yolo_elan(&net, x, backbone_elan(256, 1024)); /* 50 */

    bl_value coarse = yolo_sppcspc(&net, x, 512);                                   /* 51 */
    middle = yolo_elan(&net, yolo_up(&net, coarse, middle, 256), neck_elan(256));   /* 63 */
    fine = yolo_elan(&net, yolo_up(&net, middle, fine, 128), neck_elan(128));       /* 75 */
    middle = yolo_elan(&net, yolo_down(&net, fine, 128, middle), neck_elan(256));   /* 88 */
    coarse = yolo_elan(&net, yolo_down(&net, middle, 256, coarse), neck_elan(512)); /* 101 */
    fine = yolo_rep_conv(&net, fine, 256);
    middle = yolo_rep_conv(&net, middle, 512);
    coarse = yolo_rep_conv(&net, coarse, 1024);
    yolo_detect(&net, (bl_value[]){fine, middle, coarse}, NULL, out); /* 105 */
}

/* Two 1x1's, one of them pooled at four sizes, joined again. */
static bl_value tiny_pyramid(yolo *net, bl_value x)
{
    bl_value plain = yolo_conv(net, x, 256, 1, 1), pooled[4];
    yolo_pyramid(net, yolo_conv(net, x, 256, 1, 1), pooled);
    net->next += 3; /* layers 31 to 33 are the pools */
    x = yolo_concat(net, (bl_value[]){pooled[3], pooled[2], pooled[1], pooled[0]}, 4);
    x = yolo_conv(net, x, 256, 1, 1);
    return yolo_conv(net, yolo_concat(net, (bl_value[]){x, plain}, 2), 256, 1, 1);
}

/* Joined to what the other path had at this size, then aggregated. */
static bl_value tiny_down(yolo *net, bl_value x, int channels, bl_value other)
{
    x = yolo_conv(net, x, channels, 3, 2);
    return yolo_elan(net, yolo_concat(net, (bl_value[]){x, other}, 2), tiny_elan(channels / 2));
}

static void build_tiny(bl_graph *graph, bl_value x, int n_classes, bl_detector_heads *out)
{
    yolo net = {.graph = graph, .act = BL_ACT_LEAKY};
    out->spec = (bl_detect_spec){.n_classes = n_classes,
                                 .n_levels = 3,
                                 .stride = {8, 16, 32},
                                 .anchor = {{{10, 13}, {16, 30}, {33, 23}},
                                            {{30, 61}, {62, 45}, {59, 119}},
                                            {{116, 90}, {156, 198}, {373, 326}}}};
    x = yolo_conv(&net, x, 32, 3, 2);
    x = yolo_conv(&net, x, 64, 3, 2);
    x = yolo_elan(&net, x, tiny_elan(32));                                          /* 7 */
    bl_value fine = yolo_elan(&net, yolo_max_pool(&net, x), tiny_elan(64));         /* 14 */
    bl_value middle = yolo_elan(&net, yolo_max_pool(&net, fine), tiny_elan(128));   /* 21 */
    bl_value coarse = yolo_elan(&net, yolo_max_pool(&net, middle), tiny_elan(256)); /* 28 */

    coarse = tiny_pyramid(&net, coarse);                                         /* 37 */
    middle = yolo_elan(&net, yolo_up(&net, coarse, middle, 128), tiny_elan(64)); /* 47 */
    fine = yolo_elan(&net, yolo_up(&net, middle, fine, 64), tiny_elan(32));      /* 57 */
    middle = tiny_down(&net, fine, 128, middle);                                 /* 65 */
    coarse = tiny_down(&net, middle, 256, coarse);                               /* 73 */
    fine = yolo_conv(&net, fine, 128, 3, 1);
    middle = yolo_conv(&net, middle, 256, 3, 1);
    coarse = yolo_conv(&net, coarse, 512, 3, 1);
    yolo_detect(&net, (bl_value[]){fine, middle, coarse}, NULL, out); /* 77 */
}

static bl_value w6_down(yolo *net, bl_value x, int channels, bl_value other)
{
    x = yolo_conv(net, x, channels, 3, 2);
    return yolo_elan(net, yolo_concat(net, (bl_value[]){x, other}, 2), neck_elan(channels));
}

static void build_w6(bl_graph *graph, bl_value x, int n_classes, bl_detector_heads *out)
{
    static const int width[] = {256, 512, 768, 1024}, narrow[] = {128, 256, 384, 512}; /* of levels 8 to 64 */
    yolo net = {.graph = graph, .act = BL_ACT_SILU, .next = 1};                        /* layer 0 is ReOrg */
    out->spec = (bl_detect_spec){.n_classes = n_classes,
                                 .n_levels = 4,
                                 .auxiliary = true,
                                 .stride = {8, 16, 32, 64},
                                 .anchor = {{{19, 27}, {44, 40}, {38, 94}},
                                            {{96, 68}, {86, 152}, {180, 137}},
                                            {{140, 301}, {303, 264}, {238, 542}},
                                            {{436, 615}, {739, 380}, {925, 792}}}};
    bl_value backbone[4], inner[4], outer[4], head[4], aux[4];
    x = yolo_conv(&net, bl_build_space_to_depth(graph, x), 64, 3, 1);
    x = yolo_elan(&net, yolo_conv(&net, x, 128, 3, 2), backbone_elan(64, 128)); /* 10 */
    for (int i = 0; i < 4; i++) {                                               /* 19, 28, 37, 46 */
        x = yolo_conv(&net, x, width[i], 3, 2);
        x = backbone[i] = yolo_elan(&net, x, backbone_elan(width[i] / 2, width[i]));
    }
    inner[3] = yolo_sppcspc(&net, x, narrow[3]); /* 47 */
    for (int i = 2; i >= 0; i--)                 /* 59, 71, 83 */
        inner[i] = yolo_elan(&net, yolo_up(&net, inner[i + 1], backbone[i], narrow[i]), neck_elan(narrow[i]));
    outer[0] = inner[0];
    for (int i = 1; i < 4; i++) /* 93, 103, 113 */
        outer[i] = w6_down(&net, outer[i - 1], narrow[i], inner[i]);
    for (int i = 0; i < 4; i++)
        head[i] = yolo_conv(&net, outer[i], width[i], 3, 1);
    for (int i = 0; i < 4; i++)
        aux[i] = yolo_conv(&net, inner[i], 320 * (i + 1), 3, 1);
    yolo_detect(&net, head, aux, out); /* 122 */
}

const bl_model bl_model_yolov7 = {.name = "yolov7",
                                  .summary = "YOLOv7",
                                  .task = BL_TASK_DETECT,
                                  .image_size = 640,
                                  .min_image_size = 32,
                                  .image_step = 32,
                                  .build_detector = build_yolov7};
const bl_model bl_model_yolov7_tiny = {.name = "yolov7_tiny",
                                       .summary = "YOLOv7-tiny",
                                       .task = BL_TASK_DETECT,
                                       .image_size = 640,
                                       .min_image_size = 32,
                                       .image_step = 32,
                                       .build_detector = build_tiny};
const bl_model bl_model_yolov7_w6 = {.name = "yolov7_w6",
                                     .summary = "YOLOv7-W6 with auxiliary heads",
                                     .task = BL_TASK_DETECT,
                                     .image_size = 1280,
                                     .min_image_size = 64,
                                     .image_step = 64,
                                     .build_detector = build_w6};
