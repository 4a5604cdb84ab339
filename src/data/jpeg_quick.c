/* Which JPEGs are decoded by the project's own code, and the way through it. */
#include <string.h>

#include "data/jpeg_codes.h"
#include "tensor/shape.h"

enum { PLANE_AFTER_B = 64 };

/* The codes up to the first marker, without the zeros that keep 0xFF from being one. */
static bool unstuff(const struct jpeg_decompress_struct *info, bl_scratch *scratch, bl_jpeg_codes *d)
{
    const uint8_t *from = info->src->next_input_byte, *end = from + info->src->bytes_in_buffer;
    uint8_t *out = bl_scratch_room(scratch, BL_SCRATCH_CODES, info->src->bytes_in_buffer + BL_JPEG_AFTER_B);
    if (!out)
        return false;
    d->codes = out;
    while (from < end) {
        const uint8_t *mark = memchr(from, 0xFF, (size_t)(end - from));
        size_t n = (size_t)((mark ? mark : end) - from);
        memcpy(out, from, n);
        out += n;
        if (!mark || mark + 1 == end || mark[1] != 0)
            break;
        *out++ = 0xFF;
        from = mark + 2;
    }
    memset(out, 0, BL_JPEG_AFTER_B);
    d->codes_b = (size_t)(out - d->codes);
    d->bits = (bl_jpeg_bits){.next = d->codes};
    return true;
}

static bool is_common(const struct jpeg_decompress_struct *info)
{
    const jpeg_component_info *c = info->comp_info;
    if (info->progressive_mode || info->arith_code || info->restart_interval || info->data_precision != 8 ||
        info->jpeg_color_space != JCS_YCbCr || info->num_components != 3 || info->comps_in_scan != 3 || info->Ss != 0 ||
        info->Se != 63 || info->Ah != 0 || info->Al != 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (info->cur_comp_info[i] != &c[i] || !info->quant_tbl_ptrs[c[i].quant_tbl_no & 3] ||
            (i > 0 && (c[i].h_samp_factor != 1 || c[i].v_samp_factor != 1)))
            return false;
    int h = c[0].h_samp_factor, v = c[0].v_samp_factor;
    /* Narrower ones libjpeg interpolates otherwise. */
    return ((h == 1 && v == 1) || (h == 2 && v <= 2)) && info->image_width > 8;
}

typedef struct tables {
    bl_jpeg_table dc[3], ac[3];
} tables;

/* Components often share theirs. */
static bool use_tables(const struct jpeg_decompress_struct *info, tables *t, bl_jpeg_codes *d)
{
    for (int i = 0; i < 3; i++) {
        const jpeg_component_info *c = &info->comp_info[i], *last = i > 0 ? c - 1 : NULL;
        bl_jpeg_component *to = &d->component[i];
        bool shared = last && last->dc_tbl_no == c->dc_tbl_no && last->ac_tbl_no == c->ac_tbl_no;
        if (!shared && !(bl_jpeg_table_make(info->dc_huff_tbl_ptrs[c->dc_tbl_no & 3], false, &t->dc[i]) &&
                         bl_jpeg_table_make(info->ac_huff_tbl_ptrs[c->ac_tbl_no & 3], true, &t->ac[i])))
            return false;
        to->dc = shared ? to[-1].dc : &t->dc[i];
        to->ac = shared ? to[-1].ac : &t->ac[i];
        to->across = c->h_samp_factor;
        to->down = c->v_samp_factor;
        const UINT16 *quantiser = info->quant_tbl_ptrs[c->quant_tbl_no & 3]->quantval;
        for (int k = 0; k < 64; k++) {
            to->quantiser[k] = quantiser[bl_jpeg_natural[k]];
            if (to->quantiser[k] == 0 || to->quantiser[k] > BL_JPEG_QUANTISER_MAX)
                return false;
        }
    }
    return true;
}

/* MCUs [*first, *end) of `size` pixels each along one axis for pixels [from, to) of `all`, and for the samples of
 * chrominance beside those where two pixels share one. */
static void reach(int from, int to, int all, int shared, int *first, int *end)
{
    int low = from / shared, high = (to - 1) / shared, last = (all - 1) / shared;
    if (shared > 1) {
        low = low > 0 ? low - 1 : 0;
        high = high < last ? high + 1 : last;
    }
    *first = low / 8;
    *end = high / 8 + 1;
}

/* Room for the planes and lines, one after the other. */
static bool place_planes(const bl_part *part, int rows, bl_scratch *scratch, bl_jpeg_codes *d, bl_jpeg_planes *planes)
{
    size_t sums_b = ((size_t)part->columns / 2 + 64) * sizeof(uint16_t), line_b = (size_t)part->columns + 128;
    size_t bytes[3], total = sums_b + 2 * line_b;
    for (int i = 0; i < 3; i++) {
        bl_jpeg_component *c = &d->component[i];
        c->stride = 8 * (size_t)c->across * (size_t)(d->end - d->first);
        if (!bl_size_mul(c->stride, 8 * (size_t)c->down * (size_t)rows, &bytes[i]))
            return false;
        bytes[i] += PLANE_AFTER_B;
        total += bytes[i];
    }
    uint8_t *at = bl_scratch_room(scratch, BL_SCRATCH_PLANES, total);
    if (!at)
        return false;
    planes->sums = (uint16_t *)(void *)at;
    planes->line[0] = at + sums_b;
    planes->line[1] = planes->line[0] + line_b;
    at = planes->line[1] + line_b;
    for (int i = 0; i < 3; at += bytes[i], i++) {
        bl_jpeg_component *c = &d->component[i];
        c->plane = at;
        memset(at + bytes[i] - PLANE_AFTER_B, 0, PLANE_AFTER_B);
        planes->plane[i] = at;
        planes->stride[i] = c->stride;
        planes->left[i] = 8 * c->across * d->first;
        planes->top[i] = 8 * c->down * d->top;
    }
    return true;
}

bool bl_jpeg_quick(const struct jpeg_decompress_struct *info, bl_part part, bl_scratch *scratch, bl_picture *out)
{
    bl_jpeg_codes d = {0};
    tables t;
    if (part.columns <= 0 || part.rows <= 0 || !is_common(info) || !use_tables(info, &t, &d) ||
        !unstuff(info, scratch, &d))
        return false;
    int width = (int)info->image_width, height = (int)info->image_height, bottom;
    int across = d.component[0].across, down = d.component[0].down;
    bl_jpeg_planes planes = {
        .across = across, .down = down, .width = (width + across - 1) / across, .height = (height + down - 1) / down};
    reach(part.left, part.left + part.columns, width, across, &d.first, &d.end);
    reach(part.top, part.top + part.rows, height, down, &d.top, &bottom);
    size_t bytes;
    if (!bl_size_mul(3 * (size_t)part.columns, (size_t)part.rows, &bytes) ||
        !place_planes(&part, bottom - d.top, scratch, &d, &planes) ||
        !bl_jpeg_codes_read(&d, (width + 8 * across - 1) / (8 * across), bottom))
        return false;
    uint8_t *pixels = bl_scratch_room(scratch, BL_SCRATCH_PIXELS, bytes + PLANE_AFTER_B);
    if (!pixels)
        return false;
    bl_jpeg_colour(&planes, &part, pixels);
    *out = (bl_picture){.pixels = pixels, .width = width, .height = height, .part = part};
    return true;
}
