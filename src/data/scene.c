#include "data/scene.h"

#include <math.h>

#include "data/canvas.h"

enum { NINE = 9 };

const bl_scene_style bl_scene_yolov7 = {.nine = 0.2,
                                        .mixup = 0.15,
                                        .scale_min = 0.1,
                                        .scale_max = 2.0,
                                        .translate = 0.2,
                                        .hue = 0.015,
                                        .saturation = 0.7,
                                        .value = 0.4,
                                        .mirror = 0.5};

/* From the sheet that pictures are laid on to the canvas: zoom * x + dx. */
typedef struct transform {
    double zoom, dx, dy;
} transform;

typedef struct scene {
    const bl_scene_source *source;
    bl_canvas *canvas;
    bl_objects *boxes;
    bl_scratch *scratch;
    transform to_canvas;
    double sheet; /* its side */
    bool filter;  /* boxes of which little is left go */
    int least;
    bl_error *err;
} scene;

static double between(bl_draws *draws, double low, double high)
{
    return low + (high - low) * bl_draw_uniform(draws);
}

static int64_t any_picture(bl_draws *draws, int64_t count)
{
    return (int64_t)(bl_draw_uniform(draws) * (double)count);
}

/* Beta(8, 8) is how the 8th smallest of 15 uniform numbers is distributed. */
static double draw_share(bl_draws *draws)
{
    double sorted[15];
    for (int n = 0; n < 15; n++) {
        double x = bl_draw_uniform(draws);
        int i = n;
        for (; i > 0 && sorted[i - 1] > x; i--)
            sorted[i] = sorted[i - 1];
        sorted[i] = x;
    }
    return sorted[7];
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static bl_rect transformed(const transform *t, bl_rect r)
{
    return (bl_rect){t->zoom * r.left + t->dx, t->zoom * r.top + t->dy, t->zoom * r.right + t->dx,
                     t->zoom * r.bottom + t->dy};
}

static bl_rect clipped(bl_rect r, double side)
{
    return (bl_rect){clamp(r.left, 0, side), clamp(r.top, 0, side), clamp(r.right, 0, side), clamp(r.bottom, 0, side)};
}

/* before: at the canvas's scale, but not yet cut off at its edges. */
static bool worth_keeping(const bl_rect *before, const bl_rect *after)
{
    double w1 = before->right - before->left, h1 = before->bottom - before->top;
    double w2 = after->right - after->left, h2 = after->bottom - after->top;
    return w2 > 2 && h2 > 2 && w2 * h2 > 0.1 * w1 * h1 && w2 < 20 * h2 && h2 < 20 * w2;
}

/* The boxes of a picture that lies at `where` on the sheet. */
static int add_boxes(const scene *s, int64_t index, const bl_rect *where)
{
    size_t n;
    const bl_object *boxes = s->source->boxes(s->source->context, index, &n);
    double width = where->right - where->left, height = where->bottom - where->top, side = s->canvas->size;
    for (size_t i = 0; i < n; i++) {
        const bl_object *b = &boxes[i];
        bl_rect on_sheet = {where->left + width * ((double)b->x - (double)b->width / 2),
                            where->top + height * ((double)b->y - (double)b->height / 2),
                            where->left + width * ((double)b->x + (double)b->width / 2),
                            where->top + height * ((double)b->y + (double)b->height / 2)};
        on_sheet = clipped(on_sheet, s->sheet);
        bl_rect before = transformed(&s->to_canvas, on_sheet), after = clipped(before, side);
        if (s->filter && !worth_keeping(&before, &after))
            continue;
        bl_object out = {.label = b->label,
                         .x = (float)((after.left + after.right) / 2 / side),
                         .y = (float)((after.top + after.bottom) / 2 / side),
                         .width = (float)((after.right - after.left) / side),
                         .height = (float)((after.bottom - after.top) / side)};
        int code = bl_objects_push(s->boxes, &out, s->err);
        if (code != BL_OK)
            return code;
    }
    return BL_OK;
}

/* A picture's sides where its longer one is `side`. */
static void fit(int width, int height, double side, double out[2])
{
    double ratio = side / fmax(width, height);
    out[0] = width * ratio;
    out[1] = height * ratio;
}

/* One picture's way to its place, which depends on its sides, and those are known once its file is open. */
typedef struct layout {
    const scene *scene;
    int i; /* of how many: 1, 4 or 9 */
    int many;
    double x, y; /* the point they lie around */
    double first[2], previous[2], sides[2];
    bl_rect where; /* on the sheet */
} layout;

/* Pictures around the point (x, y): left above, right above, left below, right below. */
static bl_rect place_of_four(int i, double x, double y, double w, double h)
{
    double left = i % 2 == 0 ? x - w : x, top = i < 2 ? y - h : y;
    return (bl_rect){left, top, left + w, top + h};
}

/* Pictures around the first: above it, then clockwise. (x, y): the first's upper left corner, with sides w0 and h0;
 * each next one touches the one before, with sides wp and hp. */
static bl_rect place_of_nine(int i, double x, double y, const double first[2], const double previous[2], double w,
                             double h)
{
    double w0 = first[0], h0 = first[1], wp = previous[0], hp = previous[1];
    const double corners[NINE][2] = {{0, 0},       {0, -h},           {wp, -h},     {w0, 0},          {w0, hp},
                                     {w0 - w, h0}, {w0 - wp - w, h0}, {-w, h0 - h}, {-w, h0 - hp - h}};
    double left = x + corners[i][0], top = y + corners[i][1];
    return (bl_rect){left, top, left + w, top + h};
}

static bl_rect window_of(const scene *s)
{
    return transformed(&s->to_canvas, (bl_rect){0, 0, s->sheet, s->sheet});
}

/* Finds the picture's place, and which part of it will be seen there. */
static bl_part lay_out(void *context, int width, int height)
{
    layout *l = context;
    const scene *s = l->scene;
    double side = s->canvas->size;
    fit(width, height, side, l->sides);
    double w = l->sides[0], h = l->sides[1];
    if (l->i == 0) {
        l->first[0] = w;
        l->first[1] = h;
    }
    if (l->many == NINE)
        l->where = place_of_nine(l->i, l->x, l->y, l->first, l->previous, w, h);
    else if (l->many > 1)
        l->where = place_of_four(l->i, l->x, l->y, w, h);
    else
        l->where = (bl_rect){(side - w) / 2, (side - h) / 2, (side + w) / 2, (side + h) / 2};
    l->previous[0] = w;
    l->previous[1] = h;
    bl_rect on_canvas = transformed(&s->to_canvas, l->where), window = window_of(s);
    return bl_canvas_part(s->canvas, width, height, &on_canvas, &window);
}

static int add_picture(const scene *s, int64_t index, layout *l)
{
    bl_picture picture;
    bl_want want = {.least = s->least, .part = lay_out, .context = l};
    int code = s->source->picture(s->source->context, index, &want, s->scratch, &picture, s->err);
    if (code != BL_OK)
        return code;
    bl_rect on_canvas = transformed(&s->to_canvas, l->where), window = window_of(s);
    code = bl_canvas_draw(s->canvas, &picture, &on_canvas, &window, s->scratch, s->err);
    return code == BL_OK ? add_boxes(s, index, &l->where) : code;
}

static int make_mosaic(scene *s, int64_t index, const bl_scene_style *style, bl_draws *draws)
{
    double side = s->canvas->size;
    bool nine = bl_draw_uniform(draws) < style->nine;
    /* Four meet at (x, y); the first of nine has its corner there. */
    double x = nine ? between(draws, 0, side) : between(draws, side / 2, 3 * side / 2);
    double y = nine ? between(draws, 0, side) : between(draws, side / 2, 3 * side / 2);
    double zoom = between(draws, style->scale_min, style->scale_max);
    s->sheet = 2 * side;
    s->filter = true;
    s->to_canvas.zoom = zoom; /* around the sheet's middle, which comes near the canvas's */
    s->to_canvas.dx = side * between(draws, 0.5 - style->translate, 0.5 + style->translate) - zoom * side;
    s->to_canvas.dy = side * between(draws, 0.5 - style->translate, 0.5 + style->translate) - zoom * side;
    bl_canvas_fill(s->canvas, BL_CANVAS_GREY);
    layout l = {.scene = s, .many = nine ? NINE : 4, .x = x, .y = y};
    int code = BL_OK;
    for (; l.i < l.many && code == BL_OK; l.i++)
        code = add_picture(s, l.i == 0 ? index : any_picture(draws, s->source->count), &l);
    return code;
}

static int mix_another(scene *s, const bl_scene_style *style, bl_draws *draws)
{
    bl_canvas *canvas = s->canvas, other = {.size = canvas->size};
    size_t side = (size_t)other.size;
    other.planes = bl_scratch_room(s->scratch, BL_SCRATCH_CANVAS, 3 * side * side * sizeof *other.planes);
    if (!other.planes)
        return BL_FAIL(s->err, BL_ERR_NOMEM, "no memory to blend images");
    s->canvas = &other;
    int code = make_mosaic(s, any_picture(draws, s->source->count), style, draws);
    s->canvas = canvas;
    if (code == BL_OK)
        bl_canvas_blend(canvas, &other, (float)draw_share(draws));
    return code;
}

static void mirror(scene *s, size_t from)
{
    bl_canvas_mirror(s->canvas);
    for (size_t i = from; i < s->boxes->len; i++)
        s->boxes->items[i].x = 1 - s->boxes->items[i].x;
}

static int make_rich(scene *s, int64_t index, const bl_scene_style *style, bl_draws *draws)
{
    size_t from = s->boxes->len;
    int code = make_mosaic(s, index, style, draws);
    if (code == BL_OK && bl_draw_uniform(draws) < style->mixup)
        code = mix_another(s, style, draws);
    const double reach[3] = {style->hue, style->saturation, style->value};
    float gains[3];
    for (int c = 0; c < 3; c++)
        gains[c] = (float)between(draws, 1 - reach[c], 1 + reach[c]);
    if (code == BL_OK)
        bl_canvas_recolor(s->canvas, gains);
    if (bl_draw_uniform(draws) < style->mirror && code == BL_OK)
        mirror(s, from);
    return code;
}

/* One picture in the middle. */
static int make_plain(scene *s, int64_t index, bool augment, bl_draws *draws, float frame[4])
{
    double side = s->canvas->size, reach = augment ? side / 8 : 0;
    size_t from = s->boxes->len;
    layout l = {.scene = s, .many = 1};
    s->sheet = side;
    s->filter = augment;
    s->to_canvas.zoom = 1;
    s->to_canvas.dx = between(draws, -reach, reach);
    s->to_canvas.dy = between(draws, -reach, reach);
    bl_canvas_fill(s->canvas, BL_CANVAS_GREY);
    int code = add_picture(s, index, &l);
    if (code != BL_OK)
        return code;
    bl_rect r = clipped(transformed(&s->to_canvas, l.where), side);
    bool turned = augment && bl_draw_uniform(draws) < 0.5;
    if (turned)
        mirror(s, from);
    frame[0] = (float)(turned ? side - r.right : r.left);
    frame[1] = (float)r.top;
    frame[2] = (float)(turned ? side - r.left : r.right);
    frame[3] = (float)r.bottom;
    return BL_OK;
}

int bl_scene_least(const bl_view *view)
{
    return view->augment == BL_AUGMENT_NONE ? 0 : view->size;
}

int bl_scene_make(const bl_scene_source *source, int64_t index, const bl_view *view, const bl_scene_style *style,
                  float *out, bl_objects *boxes, float frame[4], bl_error *err)
{
    bl_canvas canvas = {.planes = out, .size = view->size};
    bl_draws draws = {.state = view->draw};
    bl_scratch own = {0};
    scene s = {.source = source,
               .canvas = &canvas,
               .boxes = boxes,
               .scratch = view->scratch ? view->scratch : &own,
               .least = bl_scene_least(view),
               .err = err};
    int code = BL_OK;
    frame[0] = frame[1] = 0;
    frame[2] = frame[3] = (float)view->size;
    if (view->augment == BL_AUGMENT_MOSAIC)
        code = make_rich(&s, index, style, &draws);
    else
        code = make_plain(&s, index, view->augment == BL_AUGMENT_FLIP, &draws, frame);
    bl_scratch_clear(&own);
    size_t n = 3 * (size_t)view->size * (size_t)view->size;
    for (size_t i = 0; code == BL_OK && i < n; i++)
        out[i] /= 255;
    return code;
}
