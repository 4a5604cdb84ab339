/* Boxes, and how well two of them agree. */
#ifndef BL_DETECT_BOX_H
#define BL_DETECT_BOX_H

typedef struct bl_box {
    double x, y, w, h; /* centre and size, in any unit */
} bl_box;

/* Intersection over union; 0 for boxes without area, and where a number is NaN. */
double bl_box_iou(const bl_box *a, const bl_box *b);

typedef struct bl_ciou {
    double value;
    double d[4];  /* its derivatives by box->x, y, w, h, alpha taken as a constant */
    double alpha; /* the weight of the aspect ratio */
} bl_ciou;

/* Complete IoU (Zheng et al. 2020, "Distance-IoU Loss", eq. 10 and 11): IoU less the squared distance of the centres
 * over the squared diagonal of the smallest box around both, less alpha times the difference of aspect ratios. With
 * YOLOv7's 1e-7 added to heights, areas and diagonals. */
bl_ciou bl_box_ciou(const bl_box *box, const bl_box *truth);

#endif
