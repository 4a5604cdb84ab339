#include "shapes/device.h"

#include <string.h>

#include "base/attributes.h"

#define BIT(type) (1u << (type))
#define TENSOR    (BIT(BL_TF32) | BIT(BL_HALF) | BIT(BL_INT8))

static const struct {
    const char *name;
    int bytes;
} numbers[BL_N_NUMBERS] = {{"double", 8}, {"float32", 4}, {"tf32", 4}, {"half", 2}, {"int8", 1}};

/* madds: double, float32, tf32, half, int8. Tiles: the largest that NVIDIA's "Matrix Multiplication Background" names
 * as cuBLAS's most efficient, 256 x 128; devices without tensor cores 128 x 128. Alignment: the same guide, "Tensor
 * Core Requirements": 16 bytes, on A100 128; newer ones as A100. Processors: rows of whole vectors. */
/* clang-format off */
const bl_device bl_devices[] = {
    {"p40", "Tesla P40", 30, 1531, 0, {4, 128, 0, 2, 512}, 0, 346, {128, 128}, 16,
     "NVIDIA Tesla P40 data sheet (2016); units and clock: Pascal GP102, compute capability 6.1"},
    {"p100", "Tesla P100 SXM2", 56, 1480, 0, {32, 64, 0, 128, 0}, 0, 732, {128, 128}, 16,
     "NVIDIA Tesla P100 whitepaper WP-08019-001 (2016)"},
    {"v100", "Tesla V100 SXM2", 80, 1530, 0, {32, 64, 0, 512, 256}, BIT(BL_HALF), 900, {256, 128}, 16,
     "NVIDIA Tesla V100 GPU Architecture whitepaper WP-08608-001 (2017)"},
    {"t4", "Tesla T4", 40, 1590, 0, {2, 64, 0, 512, 1024}, BIT(BL_HALF) | BIT(BL_INT8), 320, {256, 128}, 16,
     "NVIDIA Turing GPU Architecture whitepaper WP-09183-001 and T4 data sheet (2018)"},
    {"a4000", "RTX A4000", 48, 1560, 0, {2, 128, 256, 512, 1024}, TENSOR, 448, {256, 128}, 16,
     "NVIDIA RTX A4000 data sheet (2021), whose tensor figure is of sparse products: half of it here"},
    {"a100", "A100 SXM 40 GB", 108, 1410, 0, {64, 64, 512, 1024, 2048}, TENSOR | BIT(BL_DOUBLE), 1555, {256, 128}, 128,
     "NVIDIA A100 Tensor Core GPU Architecture whitepaper (2020)"},
    {"h100", "H100 SXM 80 GB", 132, 1980, 1830, {128, 128, 1024, 2048, 4096}, TENSOR, 3350, {256, 128}, 128,
     "NVIDIA H100 Tensor Core GPU Architecture whitepaper (2022), and its data sheet"},
    {"h200", "H200 SXM 141 GB", 132, 1980, 1830, {128, 128, 1024, 2048, 4096}, TENSOR, 4800, {256, 128}, 128,
     "NVIDIA H200 Tensor Core GPU data sheet (2023)"},
    {"b200", "HGX B200", 148, 1980, 1860, {64, 128, 2048, 4096, 8192}, TENSOR, 7700, {256, 128}, 128,
     "NVIDIA Blackwell data sheet (2024), HGX B200"},
    {"epyc-7763", "AMD EPYC 7763", 64, 2450, 0, {8, 16, 0, 0, 0}, 0, 204.8, {0, 0}, 32,
     "AMD EPYC 7003 data sheet (2021): base clock, two 256-bit multiply-adds a clock, eight channels of DDR4-3200"},
    {"xeon-8380", "Intel Xeon Platinum 8380", 40, 2300, 0, {16, 32, 0, 0, 128}, 0, 204.8, {0, 0}, 64,
     "Intel ARK (2021): base clock, two 512-bit multiply-adds a clock, eight channels of DDR4-3200"},
    {"xeon-8480", "Intel Xeon Platinum 8480+", 56, 2000, 0, {16, 32, 0, 1024, 2048}, BIT(BL_HALF) | BIT(BL_INT8), 307.2,
     {0, 0}, 64, "Intel ARK (2023): base clock, AMX, eight channels of DDR5-4800"},
};
/* clang-format on */

const int bl_n_devices = BL_ARRAY_LEN(bl_devices);

const char *bl_number_name(bl_number type)
{
    return numbers[type].name;
}

bool bl_number_from_name(const char *name, bl_number *out)
{
    if (strcmp(name, "float16") == 0 || strcmp(name, "bfloat16") == 0)
        name = "half";
    for (int i = 0; i < BL_N_NUMBERS; i++)
        if (strcmp(name, numbers[i].name) == 0) {
            *out = (bl_number)i;
            return true;
        }
    return false;
}

int bl_number_b(bl_number type)
{
    return numbers[type].bytes;
}

const bl_device *bl_device_find(const char *name)
{
    for (int i = 0; i < bl_n_devices; i++)
        if (strcmp(name, bl_devices[i].name) == 0)
            return &bl_devices[i];
    return NULL;
}

double bl_device_flops(const bl_device *d, bl_number type)
{
    bool tensor = d->tensor & BIT(type);
    double clock_mhz = tensor && d->tensor_clock_mhz > 0 ? d->tensor_clock_mhz : d->clock_mhz;
    return 2 * d->units * d->madds[type] * clock_mhz * 1e6;
}

double bl_device_ops_per_byte(const bl_device *d, bl_number type)
{
    return bl_device_flops(d, type) / (d->bandwidth_gb_s * 1e9);
}

int bl_device_alignment(const bl_device *d, bl_number type)
{
    int elements = d->alignment_b / bl_number_b(type);
    return elements > 1 ? elements : 1;
}
