#include "graph/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "tensor/layout.h"

#define ALIGN_FLOATS (BL_ALIGN_B / (int64_t)sizeof(float))

struct bl_params {
    bl_param *items;
    int len, cap;
    int *slots; /* open hash table of indices + 1 */
    int n_slots;
    float *values, *grads;
    int64_t learnt_floats, all_floats; /* of the slabs, padding included */
    uint64_t version;
};

int bl_params_new(bl_params **out, bl_error *err)
{
    *out = bl_calloc(1, sizeof **out);
    return *out ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a parameter table");
}

void bl_params_free(bl_params *params)
{
    if (!params)
        return;
    for (int i = 0; i < params->len; i++) {
        free((char *)params->items[i].name);
        free((float *)params->items[i].init.numbers);
    }
    free(params->items);
    free(params->slots);
    free(params->values);
    free(params->grads);
    free(params);
}

/* FNV-1a */
static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

int bl_params_find(const bl_params *params, const char *name)
{
    if (params->n_slots == 0)
        return -1;
    uint32_t mask = (uint32_t)params->n_slots - 1;
    for (uint32_t at = hash(name) & mask; params->slots[at] != 0; at = (at + 1) & mask)
        if (strcmp(params->items[params->slots[at] - 1].name, name) == 0)
            return params->slots[at] - 1;
    return -1;
}

static void put_slot(bl_params *params, int index)
{
    uint32_t mask = (uint32_t)params->n_slots - 1, at = hash(params->items[index].name) & mask;
    while (params->slots[at] != 0)
        at = (at + 1) & mask;
    params->slots[at] = index + 1;
}

static int grow(bl_params *params)
{
    if (params->len == params->cap) {
        int cap = params->cap ? params->cap * 2 : 64;
        bl_param *items = bl_realloc(params->items, (size_t)cap, sizeof *items);
        if (!items)
            return BL_ERR_NOMEM;
        params->items = items;
        params->cap = cap;
    }
    if ((params->len + 1) * 2 > params->n_slots) {
        int n_slots = params->n_slots ? params->n_slots * 2 : 256;
        int *slots = bl_calloc((size_t)n_slots, sizeof *slots);
        if (!slots)
            return BL_ERR_NOMEM;
        free(params->slots);
        params->slots = slots;
        params->n_slots = n_slots;
        for (int i = 0; i < params->len; i++)
            put_slot(params, i);
    }
    return BL_OK;
}

int bl_params_declare(bl_params *params, const char *name, const bl_shape *shape, bl_init init, bool buffer,
                      bool integer, int *out, bl_error *err)
{
    int at = bl_params_find(params, name);
    if (at >= 0) {
        const bl_param *have = &params->items[at];
        *out = at;
        if (!bl_shape_equal(&have->shape, shape) || have->buffer != buffer)
            return BL_FAIL(err, BL_ERR_INTERNAL, "parameter '%s' is declared twice, differently", name);
        return BL_OK;
    }
    if (params->values)
        return BL_FAIL(err, BL_ERR_INTERNAL, "parameter '%s' is new, but the table is in use", name);
    int code = bl_shape_check(shape, err);
    if (code != BL_OK)
        return code;
    int64_t count = bl_shape_count(shape);
    char *copy = bl_strdup(name);
    float *numbers = init.kind == BL_INIT_NUMBERS ? bl_calloc((size_t)count, sizeof *numbers) : NULL;
    if (!copy || (init.kind == BL_INIT_NUMBERS && !numbers) || grow(params) != BL_OK) {
        free(copy);
        free(numbers);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for parameter '%s'", name);
    }
    for (int64_t i = 0; numbers && i < count; i++)
        numbers[i] = init.numbers[i];
    init.numbers = numbers;
    params->items[params->len] =
        (bl_param){.name = copy, .shape = *shape, .init = init, .buffer = buffer, .integer = integer, .count = count};
    put_slot(params, params->len);
    *out = params->len++;
    return BL_OK;
}

static int64_t place(bl_params *params, bool buffers, int64_t offset)
{
    for (int i = 0; i < params->len; i++) {
        bl_param *p = &params->items[i];
        if (p->buffer != buffers)
            continue;
        p->offset = offset;
        offset += (p->count + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
    }
    return offset;
}

static float *zeroed_floats(int64_t count)
{
    size_t bytes;
    if (!bl_size_mul((size_t)(count > 0 ? count : 1), sizeof(float), &bytes))
        return NULL;
    float *block = bl_aligned_alloc(BL_ALIGN_B, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

int bl_params_alloc(bl_params *params, bool with_grads, bl_error *err)
{
    if (!params->values) {
        params->learnt_floats = place(params, false, 0);
        params->all_floats = place(params, true, params->learnt_floats);
        params->values = zeroed_floats(params->all_floats);
    }
    if (with_grads && params->values && !params->grads)
        params->grads = zeroed_floats(params->learnt_floats);
    if (!params->values || (with_grads && !params->grads))
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %lld parameters", (long long)params->learnt_floats);
    return BL_OK;
}

/* ---- initial values ---- */

typedef struct draw {
    uint64_t state;
    double spare;
    bool has_spare;
} draw;

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double uniform(draw *d)
{
    return (double)(splitmix(&d->state) >> 11) * 0x1p-53;
}

/* The sum of twelve uniforms would do without libm, whose last bits may differ between machines; but its tails end at
 * six. Polar method instead: log and sqrt of IEEE doubles, rounded to float afterwards, differ nowhere that was seen.
 */
static double normal(draw *d)
{
    if (d->has_spare) {
        d->has_spare = false;
        return d->spare;
    }
    for (;;) {
        double u = 2 * uniform(d) - 1, v = 2 * uniform(d) - 1, s = u * u + v * v;
        if (s >= 1 || s == 0)
            continue;
        double scale = sqrt(-2 * log(s) / s);
        d->spare = v * scale;
        d->has_spare = true;
        return u * scale;
    }
}

static double fan_in(const bl_param *p)
{
    double fan = 1;
    for (int i = 1; i < p->shape.n_dims; i++)
        fan *= (double)p->shape.dim[i];
    return p->init.a > 0 ? p->init.a : fan;
}

static double fan_out(const bl_param *p)
{
    double fan = p->shape.n_dims > 0 ? (double)p->shape.dim[0] : 1;
    for (int i = 2; i < p->shape.n_dims; i++)
        fan *= (double)p->shape.dim[i];
    return fan;
}

/* Element k. */
static double draw_value(const bl_param *p, int64_t k, draw *d)
{
    double bound;
    switch (p->init.kind) {
    case BL_INIT_ONES:
        return 1;
    case BL_INIT_CONSTANT:
        return p->init.a;
    case BL_INIT_NORMAL:
        return p->init.mean + p->init.a * normal(d);
    case BL_INIT_UNIFORM:
        return p->init.a * (2 * uniform(d) - 1);
    case BL_INIT_KAIMING_FAN_OUT:
        return sqrt(2 / fan_out(p)) * normal(d);
    case BL_INIT_FAN_IN_UNIFORM:
        bound = 1 / sqrt(fan_in(p));
        return bound * (2 * uniform(d) - 1);
    case BL_INIT_TRUNC_NORMAL:
        for (;;) {
            double value = p->init.a * normal(d);
            if (fabs(value) <= 2)
                return value;
        }
    case BL_INIT_NUMBERS:
        return (double)p->init.numbers[k];
    case BL_INIT_DETECTOR_BIAS:
        bound = (2 * uniform(d) - 1) / sqrt(fan_in(p));
        k %= p->init.group;
        return bound + (k == 4 ? log(p->init.p_object) : k > 4 ? log(p->init.p_class) : 0);
    default:
        return 0;
    }
}

int bl_params_init(bl_params *params, uint64_t seed, bl_error *err)
{
    if (!params->values)
        return BL_FAIL(err, BL_ERR_INTERNAL, "the parameter table has no memory yet");
    for (int i = 0; i < params->len; i++) {
        const bl_param *p = &params->items[i];
        uint64_t stream = seed;
        draw d = {.state = splitmix(&stream) ^ ((uint64_t)(i + 1) * 0xD1342543DE82EF95u)};
        for (int64_t k = 0; k < p->count; k++)
            params->values[p->offset + k] = (float)draw_value(p, k, &d);
    }
    bl_params_touch(params);
    return BL_OK;
}

int bl_params_count(const bl_params *params)
{
    return params->len;
}

const bl_param *bl_params_at(const bl_params *params, int index)
{
    return &params->items[index];
}

int64_t bl_params_learnt(const bl_params *params)
{
    int64_t n = 0;
    for (int i = 0; i < params->len; i++)
        n += params->items[i].buffer ? 0 : params->items[i].count;
    return n;
}

float *bl_params_value(bl_params *params, int index)
{
    return params->values ? params->values + params->items[index].offset : NULL;
}

float *bl_params_grad(bl_params *params, int index)
{
    return params->grads && !params->items[index].buffer ? params->grads + params->items[index].offset : NULL;
}

int64_t bl_params_slab_count(const bl_params *params)
{
    return params->learnt_floats;
}

int64_t bl_params_whole_count(const bl_params *params)
{
    return params->all_floats;
}

float *bl_params_value_slab(bl_params *params)
{
    return params->values;
}

float *bl_params_grad_slab(bl_params *params)
{
    return params->grads;
}

size_t bl_params_bytes(const bl_params *params)
{
    size_t floats =
        (params->values ? (size_t)params->all_floats : 0) + (params->grads ? (size_t)params->learnt_floats : 0);
    return floats * sizeof(float);
}

void bl_params_touch(bl_params *params)
{
    params->version++;
}

uint64_t bl_params_version(const bl_params *params)
{
    return params->version;
}
