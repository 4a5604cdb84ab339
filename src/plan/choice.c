#include "plan/choice.h"

#include <math.h>

#include "stats/best_batch.h"

#define REACH      2     /* the line is believed so far beyond the sizes measured */
#define CANDIDATES 20000 /* all whole sizes where there are fewer, else so many in equal ratios */
#define J_PER_KWH  3.6e6
#define S_PER_HOUR 3600

typedef enum aim { AIM_TIME, AIM_COST } aim;

typedef struct search {
    const bl_choice_question *question;
    const bl_choice *choice;
    aim aim;
} search;

/* ---- one size ---- */

static double step_cost(const search *s, double batch, double step_s)
{
    if (s->aim == AIM_TIME)
        return step_s;
    const bl_choice_question *q = s->question;
    double energy_j = q->price_kwh > 0 ? bl_size_model_at(&s->choice->energy, batch) : 0;
    return q->price_hour * step_s / S_PER_HOUR + q->price_kwh * energy_j / J_PER_KWH;
}

/* `accumulate` batches of `batch` a step. */
static void fill_row(const bl_choice_question *q, const bl_choice *c, double batch, int accumulate, bl_choice_row *out)
{
    double all = batch * accumulate, step_s = accumulate * bl_size_model_at(&c->time, batch);
    double steps = bl_steps_at(&q->steps->curve, all);
    bool priced = q->price_hour > 0 || q->price_kwh > 0;
    search costs = {q, c, AIM_COST};
    double low, high;
    bl_steps_interval(q->steps, all, &low, &high);
    *out = (bl_choice_row){.batch = all,
                           .steps = steps,
                           .steps_low = low,
                           .steps_high = high,
                           .samples = steps * all,
                           .time_s = steps * step_s,
                           .time_low_s = low * step_s,
                           .time_high_s = high * step_s,
                           .energy_j = steps * accumulate * bl_size_model_at(&c->energy, batch),
                           .cost = priced ? steps * accumulate * step_cost(&costs, batch, step_s / accumulate) : NAN,
                           .memory_b = c->memory.intercept + c->memory.slope * batch,
                           .efficiency = bl_sample_efficiency(all, q->steps->curve.critical),
                           .accumulate = accumulate};
}

void bl_choice_row_at(const bl_choice_question *question, const bl_choice *choice, double batch, bl_choice_row *out)
{
    fill_row(question, choice, batch, 1, out);
}

/* ---- the best size ---- */

static double objective(const search *s, const bl_steps_curve *curve, double batch)
{
    return bl_steps_at(curve, batch) * step_cost(s, batch, bl_size_model_at(&s->choice->time, batch));
}

static double candidate(const bl_choice *c, size_t i, size_t n)
{
    if (c->largest - c->least < CANDIDATES)
        return c->least + (double)i;
    return floor(c->least * pow(c->largest / c->least, (double)i / (double)(n - 1)));
}

static double minimum(const search *s, const bl_steps_curve *curve)
{
    const bl_choice *c = s->choice;
    size_t n = c->largest - c->least < CANDIDATES ? (size_t)(c->largest - c->least) + 1 : CANDIDATES;
    double best = NAN, least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double batch = candidate(c, i, n), value = objective(s, curve, batch);
        if (value < least) {
            least = value;
            best = batch;
        }
    }
    return best;
}

static void mark_ends(const bl_choice *c, double wanted, bl_pick *out)
{
    out->at_memory = wanted >= c->largest && c->memory_binds;
    out->at_range = (wanted >= c->largest && !c->memory_binds) || (wanted <= c->least && c->least > 1);
}

static const bl_pick no_pick = {.row = {.batch = NAN, .accumulate = 1}, .low = NAN, .high = NAN, .regret = NAN};

static void pick_best(const search *s, bl_pick *out)
{
    const bl_steps_fit *steps = s->question->steps;
    double best = minimum(s, &steps->curve);
    *out = no_pick;
    if (isnan(best))
        return;
    fill_row(s->question, s->choice, best, 1, &out->row);
    mark_ends(s->choice, best, out);
    if (!steps->has_interval)
        return;
    double at_low = minimum(s, &steps->low), at_high = minimum(s, &steps->high);
    out->low = fmin(best, fmin(at_low, at_high));
    out->high = fmax(best, fmax(at_low, at_high));
    out->regret = fmax(objective(s, &steps->low, best) / objective(s, &steps->low, at_low),
                       objective(s, &steps->high, best) / objective(s, &steps->high, at_high)) -
                  1;
}

/* Below every size that is considered it is taken as it is: the efficiency was asked for, the time is then unknown
 * where only a curve through the measurements is. */
static double large_within(const bl_choice *c, double efficiency, double critical)
{
    double wanted = bl_batch_of_efficiency(efficiency, critical);
    return fmin(c->largest, fmax(1, floor(wanted * (1 + 1e-9)))); /* a whole size that rounding made a hair smaller */
}

static void pick_large(const bl_choice_question *q, const bl_choice *c, bl_pick *out)
{
    const bl_steps_fit *steps = q->steps;
    double wanted = bl_batch_of_efficiency(q->efficiency, steps->curve.critical);
    double batch = large_within(c, q->efficiency, steps->curve.critical);
    *out = no_pick;
    if (isnan(wanted)) /* full efficiency of an endless critical size: any size */
        return;
    /* As many whole batches as the efficiency allows; no fewer samples than one batch has. */
    double times = c->memory_binds && isfinite(wanted) ? floor(wanted * (1 + 1e-9) / c->largest) : 1;
    fill_row(q, c, batch, times > 1 && times < 1e6 ? (int)times : 1, &out->row);
    mark_ends(c, wanted, out);
    out->at_range = out->at_range && wanted >= c->largest;
    if (!steps->has_interval)
        return;
    out->low = large_within(c, q->efficiency, steps->low.critical);
    out->high = large_within(c, q->efficiency, steps->high.critical);
}

/* ---- what is considered ---- */

static int check(const bl_choice_question *q, bl_error *err)
{
    for (size_t i = 0; i < q->n_sizes; i++) {
        if (!(q->sizes[i].batch >= 1) || (i > 0 && !(q->sizes[i].batch > q->sizes[i - 1].batch)))
            return BL_FAIL(err, BL_ERR_USAGE, "batch size %g: the sizes must ascend from 1", q->sizes[i].batch);
    }
    if (q->n_sizes > BL_SIZES_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "%zu batch sizes are more than %d", q->n_sizes, BL_SIZES_MAX);
    if (q->steps->shape == BL_STEPS_NO_FIT)
        return BL_FAIL(err, BL_ERR_USAGE, "how many steps a batch size takes is known of fewer than two sizes");
    if (!(q->efficiency > 0 && q->efficiency <= 1))
        return BL_FAIL(err, BL_ERR_USAGE, "an efficiency of %g does not lie above 0 and up to 1", q->efficiency);
    if (!(q->price_hour >= 0 && q->price_kwh >= 0))
        return BL_FAIL(err, BL_ERR_USAGE, "a price must not be negative");
    return BL_OK;
}

static int make_models(const bl_choice_question *q, bl_choice *c, bl_error *err)
{
    double batch[BL_SIZES_MAX], values[3][BL_SIZES_MAX], memory[BL_SIZES_MAX], memory_batch[BL_SIZES_MAX];
    size_t n_memory = 0;
    for (size_t i = 0; i < q->n_sizes; i++) {
        const bl_size_cost *size = &q->sizes[i];
        batch[i] = size->batch;
        values[0][i] = size->step_s;
        values[1][i] = size->step_j;
        if (!isnan(size->memory_b)) {
            memory_batch[n_memory] = size->batch;
            memory[n_memory++] = size->memory_b;
        }
    }
    int code = bl_size_model_make(batch, values[0], q->n_sizes, &c->time, err);
    if (code == BL_OK)
        code = bl_size_model_make(batch, values[1], q->n_sizes, &c->energy, err);
    if (code == BL_OK)
        code = bl_fit_theil_sen(memory_batch, memory, n_memory, &c->memory, err);
    if (code == BL_OK && c->time.n == 0)
        code = BL_FAIL(err, BL_ERR_USAGE, "a step's time is known of fewer than two batch sizes");
    if (code == BL_OK && q->price_kwh > 0 && c->energy.n == 0)
        code = BL_FAIL(err, BL_ERR_USAGE, "energy has a price, but was measured at fewer than two batch sizes");
    return code;
}

/* The largest size whose memory is allowed, by the line and by the sizes measured. */
static double memory_allows(const bl_choice_question *q, const bl_choice *c)
{
    double most = q->batch_max;
    if (isinf(q->memory_limit_b))
        return most;
    if (c->memory.slope > 0)
        most = fmin(most, (q->memory_limit_b - c->memory.intercept) / c->memory.slope);
    for (size_t i = q->n_sizes; i-- > 0;)
        if (q->sizes[i].memory_b > q->memory_limit_b)
            most = fmin(most, q->sizes[i].batch - 1);
    return most;
}

static int find_range(const bl_choice_question *q, bl_choice *c, bl_error *err)
{
    const bl_size_model *time = &c->time;
    double first = time->batch[0], last = time->batch[time->n - 1];
    c->least = time->table ? ceil(first) : fmax(1, ceil(first / REACH));
    c->largest = floor(time->table ? last : last * REACH);
    double most = floor(memory_allows(q, c));
    c->memory_binds = most < c->largest;
    c->largest = fmin(c->largest, most);
    if (!(c->largest >= c->least))
        return BL_FAIL(err, BL_ERR_USAGE, "no batch size from %g fits: at most %g does", c->least, most);
    return BL_OK;
}

int bl_choice_make(const bl_choice_question *q, bl_choice *c, bl_error *err)
{
    *c = (bl_choice){.best = NAN, .soonest = no_pick, .cheapest = no_pick, .large = no_pick};
    int code = check(q, err);
    if (code == BL_OK)
        code = make_models(q, c, err);
    if (code == BL_OK)
        code = find_range(q, c, err);
    if (code != BL_OK)
        return code;
    if (!c->time.table)
        c->best =
            bl_best_batch(&(bl_step_cost){c->time.line.fixed_s, c->time.line.per_sample_s}, q->steps->curve.critical);
    pick_best(&(search){q, c, AIM_TIME}, &c->soonest);
    if (q->price_hour > 0 || q->price_kwh > 0)
        pick_best(&(search){q, c, AIM_COST}, &c->cheapest);
    pick_large(q, c, &c->large);
    return BL_OK;
}
