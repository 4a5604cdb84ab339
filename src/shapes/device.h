/* What processors can do at best, by their makers' documents. Rates follow from units, clocks and multiply-adds a
 * clock, so that they can be checked; the tests hold them against the rates that the documents print. */
#ifndef BL_SHAPES_DEVICE_H
#define BL_SHAPES_DEVICE_H

#include <stdbool.h>

/* What factors are stored in. half: float16 or bfloat16, which all devices here multiply equally fast. */
typedef enum bl_number { BL_DOUBLE, BL_FLOAT32, BL_TF32, BL_HALF, BL_INT8, BL_N_NUMBERS } bl_number;

const char *bl_number_name(bl_number type);                 /* "double", "float32", "tf32", "half", "int8" */
bool bl_number_from_name(const char *name, bl_number *out); /* also "float16" and "bfloat16" */
int bl_number_b(bl_number type);                            /* bytes; tf32 is stored as float32 */

typedef struct bl_device {
    const char *name;           /* "a100", as options say it */
    const char *title;          /* "A100 SXM 40 GB" */
    int units;                  /* streaming multiprocessors, or cores */
    double clock_mhz;           /* boost; of processors, base */
    double tensor_clock_mhz;    /* where tensor cores run at another; else 0 */
    double madds[BL_N_NUMBERS]; /* multiply-adds a clock and unit, dense, the fastest way; 0: not at all */
    unsigned char tensor;       /* bit of each type that tensor cores multiply */
    double bandwidth_gb_s;      /* of memory, 10^9 bytes a second */
    int tile[2];                /* rows and columns of a result that a unit makes at a time; 0: no such units */
    int alignment_b;            /* that rows should begin at multiples of */
    const char *source;
} bl_device;

extern const bl_device bl_devices[];
extern const int bl_n_devices;
const bl_device *bl_device_find(const char *name); /* NULL: no such */

/* Floating-point operations a second, two for a multiply-add; 0 where the device has none of the type. */
double bl_device_flops(const bl_device *device, bl_number type);
/* Operations that it can do in the time of moving a byte. */
double bl_device_ops_per_byte(const bl_device *device, bl_number type);
/* Elements that a dimension should be a multiple of. */
int bl_device_alignment(const bl_device *device, bl_number type);

#endif
