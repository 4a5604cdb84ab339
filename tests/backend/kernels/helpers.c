#include "helpers.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 1024

static void *blocks[MAX_BLOCKS];
static int n_blocks;
static uint64_t digest;
static const char *current;

static void fold(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ byte[i]) * 1099511628211u; /* FNV-1a */
}

static void free_blocks(void)
{
    while (n_blocks > 0)
        free(blocks[--n_blocks]);
}

static uint64_t run(void (*check)(const void *argument), const void *argument, int threads)
{
    omp_set_num_threads(threads);
    digest = 14695981039346656037u;
    free_blocks(); /* of a check that failed */
    check(argument);
    free_blocks();
    return digest;
}

void kt_each(const char *name, void (*check)(const void *argument), const void *argument)
{
    bl_k_isa before = bl_k_active();
    int threads = omp_get_max_threads();
    current = name;
    for (int isa = 0; isa < BL_K_N_ISA; isa++) {
        if (!bl_k_select((bl_k_isa)isa))
            continue;
        uint64_t one = run(check, argument, 1), two = run(check, argument, 2), again = run(check, argument, 2);
        if (one != two)
            fail_msg("%s (%s): two threads give other bits than one", name, bl_k_isa_name((bl_k_isa)isa));
        if (two != again)
            fail_msg("%s (%s): a second run gives other bits", name, bl_k_isa_name((bl_k_isa)isa));
    }
    omp_set_num_threads(threads);
    bl_k_select(before);
}

void *kt_memory(size_t bytes)
{
    assert_true(n_blocks < MAX_BLOCKS);
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, bytes > 0 ? bytes : 1), 0);
    memset(memory, 0xff, bytes);
    return blocks[n_blocks++] = memory;
}

float *kt_floats(size_t count)
{
    return kt_memory(count * sizeof(float));
}

double *kt_doubles(size_t count)
{
    return kt_memory(count * sizeof(double));
}

float *kt_random(size_t count, double low, double high, uint64_t seed)
{
    float *data = kt_floats(count);
    uint64_t state = seed * 2654435769u + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator; the high bits serve */
        data[i] = (float)(low + (high - low) * (double)(state >> 40) / 16777216.0);
    }
    return data;
}

size_t kt_plain_count(const bl_k_shape *s)
{
    return (size_t)s->n * (size_t)s->c * (size_t)s->h * (size_t)s->w;
}

bool kt_place(const bl_k_shape *s, size_t i, size_t *plain)
{
    size_t block = (size_t)s->block, pixels = (size_t)(s->h * s->w);
    size_t n_channel_blocks = ((size_t)s->c + block - 1) / block;
    size_t inner = i % block, pixel = i / block % pixels, tile = i / block / pixels;
    size_t channel = tile % n_channel_blocks * block + inner, image = tile / n_channel_blocks;
    *plain = (image * (size_t)s->c + channel) * pixels + pixel;
    return channel < (size_t)s->c;
}

float *kt_blocked(const bl_k_shape *shape, const float *plain)
{
    size_t count = bl_k_count(shape), at;
    float *blocked = kt_floats(count);
    for (size_t i = 0; i < count; i++)
        blocked[i] = kt_place(shape, i, &at) ? plain[at] : 0;
    return blocked;
}

double kt_dot(const bl_k_shape *shape, const float *blocked, const float *plain)
{
    double sum = 0;
    size_t at;
    for (size_t i = 0; i < bl_k_count(shape); i++)
        if (kt_place(shape, i, &at))
            sum += (double)blocked[i] * (double)plain[at];
    return sum;
}

static double largest(const double *values, size_t count)
{
    double top = 0;
    for (size_t i = 0; i < count; i++)
        top = fmax(top, fabs(values[i]));
    return top;
}

static void same_value(const char *what, size_t i, float got, double expected, double allowed)
{
    if (!(fabs((double)got - expected) <= allowed))
        fail_msg("%s (%s, %d threads): %s[%zu] is %.9g, not %.9g", current, bl_k_isa_name(bl_k_active()),
                 omp_get_max_threads(), what, i, (double)got, expected);
}

void kt_same_blocked(const char *what, const bl_k_shape *shape, const float *got, const double *expected,
                     double tolerance)
{
    double allowed = tolerance * largest(expected, kt_plain_count(shape));
    size_t at, count = bl_k_count(shape);
    for (size_t i = 0; i < count; i++) {
        bool there = kt_place(shape, i, &at);
        same_value(what, i, got[i], there ? expected[at] : 0, there ? allowed : 0);
    }
    fold(got, count * sizeof *got);
}

void kt_same(const char *what, size_t count, const float *got, const double *expected, double tolerance)
{
    double allowed = tolerance * largest(expected, count);
    for (size_t i = 0; i < count; i++)
        same_value(what, i, got[i], expected[i], allowed);
    fold(got, count * sizeof *got);
}

void kt_differences(const char *what, const bl_k_shape *shape, float *x, size_t count, const float *gradient,
                    double step, double tolerance, double (*loss)(void *context), void *context)
{
    double top = 0;
    for (size_t i = 0; i < count; i++)
        top = fmax(top, fabs((double)gradient[i]));
    size_t stride = count / 12 + 1, at;
    for (size_t i = stride / 2; i < count; i += stride) {
        if (shape && !kt_place(shape, i, &at))
            continue;
        float before = x[i];
        x[i] = (float)((double)before + step);
        double up = (double)x[i], loss_up = loss(context);
        x[i] = (float)((double)before - step);
        double down = (double)x[i], loss_down = loss(context);
        x[i] = before;
        same_value(what, i, gradient[i], (loss_up - loss_down) / (up - down), tolerance * top);
    }
}
