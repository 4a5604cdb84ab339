/* The sentence about special sizes. */
#include "stats/neighbours_text.h"
#include "stats/special.h"

static void append_one(const bl_special *one, const char *name, double level, double margin, bl_str *out)
{
    size_t shown = one->n_sizes < BL_SPECIAL_SHOWN ? one->n_sizes : BL_SPECIAL_SHOWN;
    bl_str_printf(out, "%s (", name);
    bl_sizes_append(one->sizes, shown, one->n_sizes, out);
    bl_str_append(out, "): ");
    bl_claim_append(one->claim, &one->contrast, one->more_blocks, level, margin, out);
}

/* Both lists ascend, so equal starts and numbers of powers of two and of multiples of 8 mean equal sizes, as far as
 * they are kept; further powers of two are multiples of 8 in any case. */
static bool same_sizes(const bl_special *a, const bl_special *b)
{
    bool same = a->n_sizes == b->n_sizes;
    for (size_t i = 0; same && i < a->n_sizes && i < BL_SPECIAL_SHOWN; i++)
        same = a->sizes[i] == b->sizes[i];
    return same && a->n_curve == b->n_curve;
}

void bl_special_sentence(const bl_special *powers, const bl_special *eights, double level, double margin, bl_str *out)
{
    bool same = same_sizes(powers, eights);
    if (powers->n_sizes == 0 && eights->n_sizes == 0)
        return;
    bl_str_append(out, "Against a smooth curve through the other sizes: ");
    if (powers->n_sizes > 0)
        append_one(powers, same ? "powers of two, here the multiples of 8 too" : "powers of two", level, margin, out);
    if (powers->n_sizes > 0 && eights->n_sizes > 0 && !same)
        bl_str_append(out, "; ");
    if (eights->n_sizes > 0 && !same)
        append_one(eights, "multiples of 8", level, margin, out);
    bl_str_append_c(out, '.');
}
