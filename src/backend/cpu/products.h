/* Products of float32 matrices by different libraries, to be measured against each other. A library that the trainer
 * does not use is loaded when it is asked for, so that nobody pays for it otherwise. */
#ifndef BL_BACKEND_CPU_PRODUCTS_H
#define BL_BACKEND_CPU_PRODUCTS_H

#include "backend/cpu/dnnl_adapter.h"

typedef struct bl_products {
    const char *name; /* "onednn", "openblas", "plain" */
    /* Makes it ready for so many threads. BL_ERR_ENV where the library is not there. */
    int (*open)(int threads, bl_error *err);
    int (*multiply)(const bl_dnnl_product *product, bl_error *err);
    const char *(*describe)(void); /* its version; static storage; after open */
} bl_products;

/* NULL: no such. */
const bl_products *bl_products_find(const char *name);
/* "onednn, openblas, plain": what there is. */
const char *bl_products_names(void);

#endif
