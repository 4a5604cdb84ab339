#include <stdlib.h>
#include <string.h>

#include "backend/cpu/kernels/tiles.h"

static const char *const isa_names[BL_K_N_ISA] = {"portable", "avx2", "avx512"};
static const bl_k_tiles *const tables[BL_K_N_ISA] = {
    &bl_k_tiles_portable,
#ifdef BL_K_X86
    &bl_k_tiles_avx2,
    &bl_k_tiles_avx512,
#endif
};

static int active = -1; /* written before kernels run on several threads */

int bl_k_padded_c(const bl_k_shape *shape)
{
    return (shape->c + shape->block - 1) / shape->block * shape->block;
}

size_t bl_k_count(const bl_k_shape *shape)
{
    return (size_t)shape->n * (size_t)bl_k_padded_c(shape) * (size_t)shape->h * (size_t)shape->w;
}

const char *bl_k_isa_name(bl_k_isa isa)
{
    return isa_names[isa];
}

bool bl_k_isa_available(bl_k_isa isa)
{
    if (!tables[isa])
        return false;
#ifdef BL_K_X86
    __builtin_cpu_init();
    if (isa == BL_K_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == BL_K_AVX512)
        return __builtin_cpu_supports("avx512f");
#endif
    return true;
}

static bl_k_isa choose(void)
{
    const char *wanted = getenv("BATCHLAB_KERNELS");
    for (int isa = 0; wanted && isa < BL_K_N_ISA; isa++)
        if (strcmp(wanted, isa_names[isa]) == 0 && bl_k_isa_available((bl_k_isa)isa))
            return (bl_k_isa)isa;
    int best = BL_K_N_ISA - 1;
    while (!bl_k_isa_available((bl_k_isa)best))
        best--;
    return (bl_k_isa)best;
}

bl_k_isa bl_k_active(void)
{
    if (active < 0)
        active = (int)choose();
    return (bl_k_isa)active;
}

bool bl_k_select(bl_k_isa isa)
{
    if (!bl_k_isa_available(isa))
        return false;
    active = (int)isa;
    return true;
}

const bl_k_tiles *bl_k_tiles_for(int block)
{
    int isa = (int)bl_k_active();
    while (isa > 0 && (!bl_k_isa_available((bl_k_isa)isa) || block % tables[isa]->v != 0))
        isa--;
    return tables[isa];
}
