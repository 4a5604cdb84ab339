#include "backend/cpu/products.h"

#include <dlfcn.h>
#include <omp.h>
#include <string.h>

#include "base/attributes.h"

/* ---- oneDNN ---- */

static int open_onednn(int threads, bl_error *err)
{
    omp_set_num_threads(threads);
    return BL_OK;
}

/* ---- OpenBLAS, by its C interface (cblas.h): row-major 101, as it is 111, turned 112 ---- */

typedef void sgemm_function(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float *a,
                            int a_apart, const float *b, int b_apart, float beta, float *c, int c_apart);

static struct {
    void *library;
    sgemm_function *sgemm;
    char *(*config)(void);
} openblas;

static int open_openblas(int threads, bl_error *err)
{
    void (*set_threads)(int) = NULL;
    /* Never closed: its threads live until the end. */
    openblas.library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (openblas.library) {
        *(void **)&openblas.sgemm = dlsym(openblas.library, "cblas_sgemm");
        *(void **)&openblas.config = dlsym(openblas.library, "openblas_get_config");
        *(void **)&set_threads = dlsym(openblas.library, "openblas_set_num_threads");
    }
    if (!openblas.sgemm || !set_threads) {
        BL_FAIL(err, BL_ERR_ENV, "OpenBLAS cannot be used: %s", openblas.library ? "functions are missing" : dlerror());
        bl_error_remedy(err, "apt-get install libopenblas0-pthread, or --backend onednn");
        return BL_ERR_ENV;
    }
    set_threads(threads);
    return BL_OK;
}

static int multiply_openblas(const bl_dnnl_product *p, bl_error *err)
{
    openblas.sgemm(101, p->turn_a ? 112 : 111, p->turn_b ? 112 : 111, p->m, p->n, p->k, p->scale, p->a, p->a_apart,
                   p->b, p->b_apart, p->add ? 1.0f : 0.0f, p->c, p->c_apart);
    return BL_OK;
}

static const char *describe_openblas(void)
{
    return openblas.config ? openblas.config() : "OpenBLAS";
}

/* ---- the definition, for tests and as a floor ---- */

static int multiply_plain(const bl_dnnl_product *p, bl_error *err)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            double sum = 0;
            for (int k = 0; k < p->k; k++) {
                size_t a =
                    p->turn_a ? (size_t)k * (size_t)p->a_apart + (size_t)i : (size_t)i * (size_t)p->a_apart + (size_t)k;
                size_t b =
                    p->turn_b ? (size_t)j * (size_t)p->b_apart + (size_t)k : (size_t)k * (size_t)p->b_apart + (size_t)j;
                sum += (double)p->a[a] * (double)p->b[b];
            }
            float *c = &p->c[(size_t)i * (size_t)p->c_apart + (size_t)j];
            *c = (float)((double)p->scale * sum + (p->add ? (double)*c : 0));
        }
    return BL_OK;
}

static const char *describe_plain(void)
{
    return "three loops";
}

static const bl_products all[] = {
    {"onednn", open_onednn, bl_dnnl_multiply, bl_dnnl_version},
    {"openblas", open_openblas, multiply_openblas, describe_openblas},
    {"plain", open_onednn, multiply_plain, describe_plain},
};

const bl_products *bl_products_find(const char *name)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(all); i++)
        if (strcmp(name, all[i].name) == 0)
            return &all[i];
    return NULL;
}

const char *bl_products_names(void)
{
    return "onednn, openblas, plain";
}
