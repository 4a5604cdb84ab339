#include "lab/gemm_layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "lab/model_layers.h"

/* One more of a layer in a role; nothing where the layer has no such role. */
static int add(const bl_layer *layer, bl_role role, bl_gemm_layers *layers, bl_error *err)
{
    bl_product products[BL_LAYER_PRODUCTS];
    if (bl_layer_products(layer, 1, role, products) == 0)
        return BL_OK;
    bl_str text;
    bl_str_init(&text);
    bl_layer_format(layer, &text);
    bl_str_printf(&text, "@%s", bl_role_word(role));
    for (size_t i = 0; i < layers->len; i++)
        if (strcmp(layers->items[i].text, bl_str_text(&text)) == 0) {
            layers->items[i].count++;
            bl_str_clear(&text);
            return BL_OK;
        }
    bl_gemm_layer *items = bl_realloc(layers->items, layers->len + 1, sizeof *items);
    if (items)
        layers->items = items;
    char *taken = bl_str_take(&text);
    if (!items || !taken) {
        free(taken);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for layers");
    }
    items[layers->len++] = (bl_gemm_layer){.layer = *layer, .role = role, .text = taken, .count = 1};
    return BL_OK;
}

static int add_all_roles(const bl_layer *layer, bl_gemm_layers *layers, bl_error *err)
{
    int code = BL_OK;
    for (int role = 0; code == BL_OK && role < BL_N_ROLES; role++)
        code = add(layer, (bl_role)role, layers, err);
    return code;
}

int bl_gemm_layers_from_words(const bl_strv *texts, bl_gemm_layers *layers, bl_error *err)
{
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < texts->len; i++) {
        bl_layer layer;
        bl_role role;
        code = bl_layer_role_parse(texts->items[i], &layer, &role, err);
        if (code == BL_OK)
            code = strchr(texts->items[i], '@') ? add(&layer, role, layers, err) : add_all_roles(&layer, layers, err);
    }
    return code;
}

int bl_gemm_layers_from_model(const char *program, const char *model, int64_t image_size, bl_gemm_layers *layers,
                              bl_error *err)
{
    bl_layer *list = NULL;
    size_t n = 0;
    bl_str text;
    bl_str_init(&text);
    int code = bl_model_layers(program, model, image_size, &text, err);
    if (code == BL_OK)
        code = bl_layers_parse(bl_str_text(&text), &list, &n, err);
    for (size_t i = 0; code == BL_OK && i < n; i++)
        code = add_all_roles(&list[i], layers, err);
    free(list);
    bl_str_clear(&text);
    return code;
}

void bl_gemm_layers_clear(bl_gemm_layers *layers)
{
    for (size_t i = 0; i < layers->len; i++)
        free(layers->items[i].text);
    free(layers->items);
    *layers = (bl_gemm_layers){0};
}

void bl_gemm_layer_work(const bl_gemm_layer *layer, double batch, double *flop, double *elements)
{
    bl_product products[BL_LAYER_PRODUCTS];
    int n = bl_layer_products(&layer->layer, batch, layer->role, products);
    *flop = *elements = 0;
    for (int i = 0; i < n; i++) {
        *flop += products[i].flop;
        *elements += products[i].elements;
    }
}
