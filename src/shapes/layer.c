#include "shapes/layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"

enum { WORD_MAX = 64, SIZE_MAX_WORD = 100000000, LAYERS_MAX = 100000 };

bl_product bl_product_make(double m, double n, double k)
{
    return (bl_product){
        .m = m, .n = n, .k = k, .count = 1, .flop = 2 * m * n * k, .elements = m * k + k * n + m * n, .tiled = true};
}

const char *bl_role_name(bl_role role)
{
    static const char *const names[] = {"forward", "input gradient", "weight gradient"};
    return names[role];
}

const char *bl_role_word(bl_role role)
{
    static const char *const words[] = {"forward", "input", "weights"};
    return words[role];
}

bool bl_role_from_word(const char *word, bl_role *out)
{
    for (bl_role role = BL_ROLE_FORWARD; role < BL_N_ROLES; role++)
        if (strcmp(word, bl_role_word(role)) == 0) {
            *out = role;
            return true;
        }
    return false;
}

/* ---- reading ---- */

/* The text up to `end`, or its end, without it; false where it is too long for a number. */
static bool next_word(const char **at, char end, char word[WORD_MAX])
{
    size_t n = strcspn(*at, (char[]){end, '\0'});
    if (n >= WORD_MAX)
        return false;
    memcpy(word, *at, n);
    word[n] = '\0';
    *at += n + ((*at)[n] == end && end != '\0');
    return true;
}

/* "64x56x56": exactly n sizes. */
static int parse_sizes(const char *text, int n, int64_t *out, bl_error *err)
{
    const char *at = text;
    for (int i = 0; i < n; i++) {
        char word[WORD_MAX];
        if (!next_word(&at, 'x', word))
            return BL_FAIL(err, BL_ERR_USAGE, "'%.40s...' is too long for a size", text);
        int code = bl_parse_i64(word, "size", 1, SIZE_MAX_WORD, &out[i], err);
        if (code != BL_OK)
            return code;
    }
    if (*at != '\0' || (n > 1 && text[strlen(text) - 1] == 'x'))
        return BL_FAIL(err, BL_ERR_USAGE, "'%s' has more than %d sizes", text, n);
    return BL_OK;
}

int bl_product_parse(const char *text, bl_product *out, bl_error *err)
{
    int64_t size[3];
    int code = parse_sizes(text, 3, size, err);
    if (code != BL_OK) {
        bl_error_context(err, "product '%.60s'", text);
        bl_error_remedy(err, "M x N x K without blanks, such as 8192x128x8192");
        return code;
    }
    *out = bl_product_make((double)size[0], (double)size[1], (double)size[2]);
    return BL_OK;
}

/* A word behind the first two: a letter and a number, "k3" or "k3x1", or "bias", or "first". */
static int take_word(bl_layer *l, const char *word, bl_error *err)
{
    if (strcmp(word, "first") == 0) {
        l->first = true;
        return BL_OK;
    }
    if (strcmp(word, "bias") == 0) {
        l->bias = true;
        return BL_OK;
    }
    static const char letters[] = "orhwsdg";
    int64_t *const targets[] = {&l->out, &l->rows, &l->heads, &l->in, &l->stride, &l->dilation, &l->groups};
    if (word[0] == 'k' && strchr(word, 'x'))
        return parse_sizes(word + 1, 2, l->kernel, err);
    if (word[0] == 'k') {
        int code = parse_sizes(word + 1, 1, l->kernel, err);
        l->kernel[1] = l->kernel[0];
        return code;
    }
    if (word[0] == 'p')
        return bl_parse_i64(word + 1, "padding", 0, SIZE_MAX_WORD, &l->pad, err);
    const char *letter = word[0] != '\0' ? strchr(letters, word[0]) : NULL;
    if (!letter)
        return BL_FAIL(err, BL_ERR_USAGE, "'%s' is no word of a layer", word);
    return parse_sizes(word + 1, 1, targets[letter - letters], err);
}

static int64_t out_side(const bl_layer *l, int axis)
{
    int64_t side = axis == 0 ? l->height : l->width;
    return (side + 2 * l->pad - l->dilation * (l->kernel[axis] - 1) - 1) / l->stride + 1;
}

static int check_layer(bl_layer *l, bl_error *err)
{
    bool conv = l->kind == BL_LAYER_CONV;
    if (l->out == 0 && l->kind != BL_LAYER_ATTENTION)
        return BL_FAIL(err, BL_ERR_USAGE, "the outputs (o...) are missing");
    if (conv && l->kernel[0] == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "the kernel (k...) is missing");
    if (l->kind == BL_LAYER_ATTENTION && (l->rows == 0 || l->heads == 0 || l->in == 0))
        return BL_FAIL(err, BL_ERR_USAGE, "tokens (t...), heads (h...) or width (w...) are missing");
    if (!conv)
        return BL_OK;
    if (l->pad < 0)
        l->pad = l->dilation * (l->kernel[0] - 1) / 2;
    if (l->in % l->groups != 0 || l->out % l->groups != 0)
        return BL_FAIL(err, BL_ERR_USAGE, "the channels cannot be divided into the groups");
    for (int axis = 0; axis < 2; axis++)
        if ((axis == 0 ? l->height : l->width) + 2 * l->pad < l->dilation * (l->kernel[axis] - 1) + 1)
            return BL_FAIL(err, BL_ERR_USAGE, "the kernel is larger than the padded image");
    return BL_OK;
}

static int parse_words(const char *text, bl_layer *l, bl_error *err)
{
    const char *at = text;
    char kind[WORD_MAX], word[WORD_MAX];
    if (!next_word(&at, ':', kind))
        kind[0] = '\0';
    int code = BL_OK;
    *l = (bl_layer){.rows = 1, .stride = 1, .pad = -1, .dilation = 1, .groups = 1};
    if (strcmp(kind, "attention") == 0) {
        l->kind = BL_LAYER_ATTENTION;
        l->rows = 0;
    } else if (strcmp(kind, "linear") == 0 || strcmp(kind, "conv") == 0) {
        bool conv = kind[0] == 'c';
        int64_t sizes[3] = {0};
        l->kind = conv ? BL_LAYER_CONV : BL_LAYER_LINEAR;
        if (!next_word(&at, ':', word))
            return BL_FAIL(err, BL_ERR_USAGE, "a word is too long");
        code = parse_sizes(word, conv ? 3 : 1, sizes, err);
        l->in = sizes[0];
        l->height = sizes[1];
        l->width = sizes[2];
    } else {
        return BL_FAIL(err, BL_ERR_USAGE, "'%s' is no kind of layer", kind);
    }
    while (code == BL_OK && *at != '\0') {
        if (!next_word(&at, ':', word))
            return BL_FAIL(err, BL_ERR_USAGE, "a word is too long");
        if (l->kind == BL_LAYER_ATTENTION && word[0] == 't')
            code = parse_sizes(word + 1, 1, &l->rows, err);
        else
            code = take_word(l, word, err);
    }
    return code == BL_OK ? check_layer(l, err) : code;
}

int bl_layer_parse(const char *text, bl_layer *out, bl_error *err)
{
    int code = parse_words(text, out, err);
    if (code == BL_ERR_USAGE) {
        bl_error_context(err, "layer '%.100s'", text);
        bl_error_remedy(err,
                        "linear:IN:oOUT, conv:CxHxW:oOUT:kK:sSTRIDE:pPAD:gGROUPS or attention:tTOKENS:hHEADS:wWIDTH");
    }
    return code;
}

int bl_layer_role_parse(const char *text, bl_layer *out, bl_role *role, bl_error *err)
{
    char words[256];
    bl_product products[BL_LAYER_PRODUCTS];
    size_t n = strcspn(text, "@");
    if (n >= sizeof words)
        return BL_FAIL(err, BL_ERR_USAGE, "layer '%.40s...' is too long", text);
    memcpy(words, text, n);
    words[n] = '\0';
    *role = BL_ROLE_FORWARD;
    int code = bl_layer_parse(words, out, err);
    if (code != BL_OK)
        return code;
    if (text[n] == '@' && !bl_role_from_word(text + n + 1, role))
        return BL_FAIL(err, BL_ERR_USAGE, "'%.40s' is no role: it is one of forward, input, weights", text + n + 1);
    if (bl_layer_products(out, 1, *role, products) == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "%s has no %s", words, bl_role_name(*role));
    return BL_OK;
}

int bl_layers_parse(const char *text, bl_layer **out, size_t *n, bl_error *err)
{
    size_t room = 0;
    *out = NULL;
    *n = 0;
    for (int line = 1; *text; line++) {
        size_t length = strcspn(text, "\n"), used = strcspn(text, " \t\r\n");
        if (used > 0) {
            char word[256];
            if (*n == LAYERS_MAX || used >= sizeof word)
                return BL_FAIL(err, BL_ERR_USAGE, "line %d: %s", line,
                               used >= sizeof word ? "too long" : "too many layers");
            memcpy(word, text, used);
            word[used] = '\0';
            if (*n == room) {
                bl_layer *more = bl_realloc(*out, room = room * 2 + 16, sizeof **out);
                if (!more)
                    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for layers");
                *out = more;
            }
            int code = bl_layer_parse(word, &(*out)[*n], err);
            if (code != BL_OK) {
                bl_error_context(err, "line %d", line);
                return code;
            }
            (*n)++;
        }
        text += length + (text[length] == '\n');
    }
    return *n > 0 ? BL_OK : BL_FAIL(err, BL_ERR_USAGE, "there are no layers");
}

void bl_layer_format(const bl_layer *l, bl_str *out)
{
    switch (l->kind) {
    case BL_LAYER_LINEAR:
        bl_str_printf(out, "linear:%lld:o%lld", (long long)l->in, (long long)l->out);
        if (l->rows > 1)
            bl_str_printf(out, ":r%lld", (long long)l->rows);
        break;
    case BL_LAYER_CONV:
        bl_str_printf(out, "conv:%lldx%lldx%lld:o%lld:k%lld", (long long)l->in, (long long)l->height,
                      (long long)l->width, (long long)l->out, (long long)l->kernel[0]);
        if (l->kernel[1] != l->kernel[0])
            bl_str_printf(out, "x%lld", (long long)l->kernel[1]);
        bl_str_printf(out, ":s%lld:p%lld", (long long)l->stride, (long long)l->pad);
        if (l->dilation > 1)
            bl_str_printf(out, ":d%lld", (long long)l->dilation);
        if (l->groups > 1)
            bl_str_printf(out, ":g%lld", (long long)l->groups);
        break;
    case BL_LAYER_ATTENTION:
        bl_str_printf(out, "attention:t%lld:h%lld:w%lld", (long long)l->rows, (long long)l->heads, (long long)l->in);
        break;
    }
    if (l->bias)
        bl_str_append(out, ":bias");
    if (l->first)
        bl_str_append(out, ":first");
}

/* ---- products ---- */

static bl_product many(bl_product p, double count)
{
    p.count = count;
    p.flop *= count;
    p.elements *= count;
    return p;
}

static bl_product linear_product(const bl_layer *l, double rows, bl_role role)
{
    double in = (double)l->in, out = (double)l->out;
    return role == BL_ROLE_FORWARD          ? bl_product_make(out, rows, in)
           : role == BL_ROLE_INPUT_GRADIENT ? bl_product_make(in, rows, out)
                                            : bl_product_make(out, in, rows);
}

static bl_product conv_product(const bl_layer *l, double batch, bl_role role)
{
    double groups = (double)l->groups, in = (double)l->in / groups, out = (double)l->out / groups;
    double taps = (double)(l->kernel[0] * l->kernel[1]);
    double pixels_in = batch * (double)l->height * (double)l->width;
    double pixels_out = batch * (double)out_side(l, 0) * (double)out_side(l, 1);
    bl_product p;
    if (role == BL_ROLE_FORWARD)
        p = bl_product_make(out, pixels_out, in * taps);
    else if (role == BL_ROLE_INPUT_GRADIENT)
        /* With a stride, each pixel of the input meets only one tap in stride^2 of them. */
        p = bl_product_make(in, pixels_in, ceil(out * taps / (double)(l->stride * l->stride)));
    else
        p = bl_product_make(out, in * taps, pixels_out);
    p.count = groups;
    p.flop = 2 * groups * out * in * taps * pixels_out;
    p.elements = groups * (in * pixels_in + out * in * taps + out * pixels_out);
    p.tiled = l->groups == 1 || (in > 1 && out > 1);
    return p;
}

/* For each head: the scores and the weighted sum; going back, the gradients of both factors of both. */
static int attention_products(const bl_layer *l, double batch, bl_role role, bl_product *out)
{
    double tokens = (double)l->rows, width = (double)l->in, count = batch * (double)l->heads;
    const bl_product scores = many(bl_product_make(tokens, tokens, width), count);
    const bl_product sum = many(bl_product_make(width, tokens, tokens), count);
    if (role == BL_ROLE_WEIGHT_GRADIENT)
        return 0;
    out[0] = scores;
    out[1] = sum;
    if (role == BL_ROLE_FORWARD)
        return 2;
    out[2] = sum;
    out[3] = sum;
    return 4;
}

int bl_layer_products(const bl_layer *l, double batch, bl_role role, bl_product out[BL_LAYER_PRODUCTS])
{
    if (l->first && role == BL_ROLE_INPUT_GRADIENT)
        return 0;
    if (l->kind == BL_LAYER_ATTENTION)
        return attention_products(l, batch, role, out);
    out[0] =
        l->kind == BL_LAYER_LINEAR ? linear_product(l, batch * (double)l->rows, role) : conv_product(l, batch, role);
    return 1;
}

bl_layers_walk bl_layers_begin(const bl_layer *layers, size_t n, double batch)
{
    return (bl_layers_walk){.layers = layers, .n = n, .batch = batch};
}

bool bl_layers_next(bl_layers_walk *w)
{
    while (w->next == w->found) {
        if (w->place == w->n * BL_N_ROLES)
            return false;
        w->layer = &w->layers[w->place / BL_N_ROLES];
        w->role = (bl_role)(w->place % BL_N_ROLES);
        w->found = bl_layer_products(w->layer, w->batch, w->role, w->products);
        w->next = 0;
        w->place++;
    }
    w->product = w->products[w->next++];
    return true;
}
