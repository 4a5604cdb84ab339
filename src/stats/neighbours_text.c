#include "stats/neighbours_text.h"

#include <math.h>
#include <stdio.h>

#include "base/str.h"

#define NAMES_MAX 6

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

void bl_sizes_append(const int64_t *sizes, size_t n, size_t total, bl_str *s)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            bl_str_append(s, i + 1 == n && n == total ? " and " : ", ");
        bl_str_printf(s, "%lld", (long long)sizes[i]);
    }
    if (n < total)
        bl_str_printf(s, " and %zu more", total - n);
}

static void append_subject(bl_str *s, const bl_neighbours *out)
{
    int64_t powers[NAMES_MAX];
    const bl_neighbour_contrast *last = NULL;
    size_t n = 0;
    for (size_t i = 0; i < out->len; i++) {
        if (!out->items[i].in_overall)
            continue;
        last = &out->items[i];
        if (n < NAMES_MAX)
            powers[n] = last->power;
        n++;
    }
    if (n == 1) {
        size_t shown = last->n_neighbours < NAMES_MAX ? last->n_neighbours : NAMES_MAX;
        bl_sizes_append(last->neighbours, shown, last->n_neighbours, s);
        bl_str_printf(s, " against %lld", (long long)last->power);
        return;
    }
    bl_str_append(s, "the neighbours of ");
    bl_sizes_append(powers, n < NAMES_MAX ? n : NAMES_MAX, n, s);
    bl_str_append(s, " against these, taken together");
}

/* With its sign, but no sign where it rounds to nothing. */
static void append_percent(bl_str *s, double value, int digits)
{
    bool nothing = fabs(value) < 0.5 * pow(10, -digits);
    if (nothing)
        bl_str_printf(s, "%.*f", digits, 0.0);
    else
        bl_str_printf(s, "%+.*f", digits, value);
}

/* "+0.31 % time per sample (interval -0.20 to +0.82 %, level 95.1 %, 10 blocks)" */
static void append_interval(bl_str *s, const bl_contrast *contrast)
{
    const bl_interval *i = &contrast->log_ratio;
    double low = percent(i->low);
    double high = percent(i->high);
    int digits = high - low > 2 ? 1 : 2;
    append_percent(s, percent(i->estimate), digits);
    bl_str_append(s, " % time per sample (interval ");
    append_percent(s, low, digits);
    bl_str_append(s, " to ");
    append_percent(s, high, digits);
    bl_str_printf(s, " %%, level %.1f %%, %zu blocks)", 100 * i->level, contrast->n_pairs);
}

static void append_more(bl_str *s, size_t had, size_t more_blocks, double level, double margin)
{
    if (more_blocks > 0)
        bl_str_printf(s, "; about %zu more block%s would decide", more_blocks, more_blocks == 1 ? "" : "s");
    else if (had < 2)
        bl_str_printf(s, "; run at least %zu blocks", bl_signed_rank_min_n(level));
    else
        bl_str_printf(s, "; it lies too near %g %% for more blocks to decide soon", 100 * margin);
}

static bool one_sided(const bl_neighbours *out)
{
    for (size_t i = 0; i < out->len; i++)
        if (out->items[i].in_overall && !out->items[i].two_sided)
            return true;
    return false;
}

void bl_claim_append(bl_claim claim, const bl_contrast *contrast, size_t more_blocks, double level, double margin,
                     bl_str *s)
{
    double m = 100 * margin;
    switch (claim) {
    case BL_CLAIM_NONE:
        break;
    case BL_CLAIM_DIFFER:
        bl_str_printf(s, "they differ by more than %g %%: ", m);
        append_interval(s, contrast);
        break;
    case BL_CLAIM_DIFFER_SOME:
        bl_str_append(s, "they differ: ");
        append_interval(s, contrast);
        bl_str_printf(s, "; whether by more than %g %% stays open", m);
        append_more(s, contrast->n_pairs, more_blocks, level, margin);
        break;
    case BL_CLAIM_NO_DIFFERENCE:
        bl_str_printf(s, "no difference above %g %%: ", m);
        append_interval(s, contrast);
        break;
    case BL_CLAIM_SMALL:
        bl_str_printf(s, "a small but real difference, below %g %%: ", m);
        append_interval(s, contrast);
        break;
    case BL_CLAIM_CANNOT_TELL:
        bl_str_append(s, "cannot tell: ");
        if (contrast->log_ratio.has_interval)
            append_interval(s, contrast);
        else
            bl_str_append(s, "one block gives no interval");
        append_more(s, contrast->n_pairs, more_blocks, level, margin);
        break;
    }
}

void bl_neighbours_write_sentence(bl_neighbours *out, double level, double margin)
{
    bl_str s;
    bl_str_init(&s);
    if (out->len == 0) {
        bl_str_append(&s, "No power of two was tested together with sizes next to it, so nothing is said about powers "
                          "of two (try -b 127,128,129).");
    } else if (out->claim == BL_CLAIM_NONE) {
        bl_str_append(&s, "No block holds figures of a power of two and of sizes next to it, so nothing is said about "
                          "powers of two.");
    } else {
        bl_str_append(&s, "Powers of two: ");
        append_subject(&s, out);
        bl_str_append(&s, ": ");
        bl_claim_append(out->claim, &out->overall, out->more_blocks, level, margin, &s);
        if (one_sided(out))
            bl_str_append(&s, "; with neighbours on one side only, the ordinary slope over batch size is part of it");
        bl_str_append(&s, ".");
    }
    /* An exhausted memory leaves a shorter sentence, never a false one: better none. */
    snprintf(out->sentence, sizeof(out->sentence), "%s",
             s.failed ? "No memory to write the sentence." : bl_str_text(&s));
    bl_str_clear(&s);
}
