#include "timing/operands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "timing/samples.h"

enum { HUGE_B = 2 << 20, SETS_MAX = 4096 };

static size_t whole(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* From row to row: the width, or more. */
static int apart_of(int width, int least)
{
    return width > least ? width : least;
}

/* Floats of rows x width where rows lie so far apart, whole cache lines. */
static size_t floats_of(int rows, int apart)
{
    return whole((size_t)rows * (size_t)apart, 16);
}

/* Whether huge pages lie in the mapping, by what the kernel says of it. */
static bool has_huge_pages(const void *memory)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[256], wanted[40];
    bool inside = false, found = false;
    if (!file)
        return false;
    snprintf(wanted, sizeof wanted, "%lx-", (unsigned long)memory);
    while (!found && fgets(line, sizeof line, file)) {
        if (strchr(line, '-') && strspn(line, "0123456789abcdef") == (size_t)(strchr(line, '-') - line))
            inside = strncmp(line, wanted, strlen(wanted)) == 0;
        else if (inside && strncmp(line, "AnonHugePages:", 14) == 0)
            found = strtol(line + 14, NULL, 10) > 0;
    }
    fclose(file);
    return found;
}

static int map(bl_operands *o, size_t bytes, bl_page_kind pages, bl_error *err)
{
    o->mapped_b = whole(bytes, HUGE_B) + HUGE_B;
    o->memory = mmap(NULL, o->mapped_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (o->memory == MAP_FAILED) {
        o->memory = NULL;
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu MiB of matrices", bytes >> 20);
    }
    if (pages != BL_PAGES_SYSTEM &&
        madvise(o->memory, o->mapped_b, pages == BL_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0)
        return BL_FAIL(err, BL_ERR_ENV, "this kernel does not let the size of pages be chosen");
    return BL_OK;
}

int bl_operands_make(const bl_operands_options *p, bl_operands *out, bl_error *err)
{
    *out = (bl_operands){0};
    const int a_rows = p->turn_a ? p->k : p->m, b_rows = p->turn_b ? p->n : p->k;
    const int a_apart = apart_of(p->turn_a ? p->m : p->k, p->apart),
              b_apart = apart_of(p->turn_b ? p->k : p->n, p->apart);
    const int c_apart = apart_of(p->n, p->apart);
    size_t a = floats_of(a_rows, a_apart), b = floats_of(b_rows, b_apart), c = floats_of(p->m, c_apart);
    if (a > INT_MAX || b > INT_MAX || c > INT_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "a matrix has more than %d elements", INT_MAX);
    size_t set_b = (a + b + c) * sizeof(float), sets = p->cold ? BL_COLD_B / set_b + 1 : 1;
    out->n_products = sets > SETS_MAX ? SETS_MAX : sets < 2 && p->cold ? 2 : sets;
    out->products = bl_calloc(out->n_products, sizeof *out->products);
    if (!out->products)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for products");
    int code = map(out, set_b * out->n_products, p->pages, err);
    if (code != BL_OK)
        return code;
    float *at = (float *)whole((size_t)out->memory, HUGE_B);
    bl_samples_fill(at, (a + b + c) * out->n_products);
    for (size_t i = 0; i < out->n_products; i++, at += a + b + c)
        out->products[i] = (bl_dnnl_product){.turn_a = p->turn_a,
                                             .turn_b = p->turn_b,
                                             .m = p->m,
                                             .n = p->n,
                                             .k = p->k,
                                             .a = at,
                                             .b = at + a,
                                             .c = at + a + b,
                                             .a_apart = a_apart,
                                             .b_apart = b_apart,
                                             .c_apart = c_apart,
                                             .scale = 1};
    out->huge = has_huge_pages(out->memory);
    return BL_OK;
}

void bl_operands_clear(bl_operands *o)
{
    if (o->memory)
        munmap(o->memory, o->mapped_b);
    free(o->products);
    *o = (bl_operands){0};
}
