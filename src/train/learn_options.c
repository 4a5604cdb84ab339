#include "train/learn_options.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"

void bl_learn_options_init(bl_train_options *o, bl_learn_raw *r)
{
    o->lr = NAN;
    o->accumulate = 1;
    *r = (bl_learn_raw){.lr_gamma = NAN,
                        .momentum = NAN,
                        .clip_norm = NAN,
                        .min_lr = NAN,
                        .warmup_factor = NAN,
                        .mixup = NAN,
                        .cutmix = NAN,
                        .ema = NAN};
}

int bl_learn_options_rows(bl_train_options *o, bl_learn_raw *r, bl_option *out)
{
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "How to learn", NULL, 0, 0},
        {BL_OPT_STRING, 0, "optimizer", "NAME", "sgd, adam or adamw (default: sgd).", &r->optimizer, 0, 0},
        {BL_OPT_FLOAT, 0, "lr", "RATE",
         "Learning rate (default: 0.05 for sgd, 0.01 for detectors by sgd, 0.001 for the others).", &o->lr, 0, 0},
        {BL_OPT_INT, 0, "lr-base-batch", "N",
         "The samples a step that the rate is meant for; with more or fewer it is scaled (default: it never is).",
         &o->lr_base_batch, 1, 1 << 30},
        {BL_OPT_STRING, 0, "lr-scaling", "HOW",
         "linear or sqrt: in proportion to the samples a step, or to their square root (default: linear).",
         &r->lr_scaling, 0, 0},
        {BL_OPT_FLOAT, 0, "momentum", "M", "Of sgd (default: 0.9).", &r->momentum, 0, 0},
        {BL_OPT_FLAG, 0, "nesterov", NULL, "Nesterov's momentum.", &o->optim.nesterov, 0, 0},
        {BL_OPT_FLOAT, 0, "weight-decay", "D", "Of the weights of convolutions and linear layers (default: 0).",
         &o->optim.weight_decay, 0, 0},
        {BL_OPT_FLAG, 0, "decay-all", NULL,
         "Let normalisations, biases, tokens and positions decay too, as torch.optim does if not told otherwise.",
         &o->optim.decay_all, 0, 0},
        {BL_OPT_FLOAT, 0, "clip-norm", "LENGTH",
         "Shorten the gradient of all parameters together to this norm (default: never).", &r->clip_norm, 0, 0},
        {BL_OPT_STRING, 0, "schedule", "NAME",
         "constant, cosine, linear (both fall until the end), or step (falls at the epochs told) (default: constant).",
         &r->schedule, 0, 0},
        {BL_OPT_FLOAT, 0, "min-lr", "RATE", "Where cosine and linear end, and step falls no lower (default: 0).",
         &r->min_lr, 0, 0},
        {BL_OPT_INT, 0, "lr-step-epochs", "N", "Of step: the rate falls after every N epochs.", &o->lr_step_epochs, 1,
         1000000},
        {BL_OPT_STRING, 0, "lr-milestones", "LIST", "Of step: the rate falls after these epochs, such as 30,60,80.",
         &r->milestones, 0, 0},
        {BL_OPT_FLOAT, 0, "lr-gamma", "F", "Of step: what the rate is multiplied by (default: 0.1).", &r->lr_gamma, 0,
         0},
        {BL_OPT_INT, 0, "warmup-steps", "N", "Steps in which the rate rises to its peak (default: 0).",
         &o->warmup_steps, 0, INT64_MAX},
        {BL_OPT_INT, 0, "warmup-epochs", "N", "The same in epochs.", &o->warmup_epochs, 1, 1000000},
        {BL_OPT_FLOAT, 0, "warmup-factor", "F", "Share of the peak that the rate rises from (default: 0).",
         &r->warmup_factor, 0, 0},
        {BL_OPT_INT, 0, "nominal-batch", "N",
         "Detectors: sum gradients over batches until they are of about N samples, and warm up as YOLOv7 does, whose N "
         "is 64; a step is a batch still (default: every batch updates the weights, so that batch sizes compare).",
         &o->nominal_batch, 1, 1 << 20},
        {BL_OPT_FLOAT, 0, "label-smoothing", "E", "Share of the target spread over all classes (default: 0).",
         &o->label_smoothing, 0, 0},
        {BL_OPT_FLOAT, 0, "mixup", "ALPHA",
         "Mix each image with another, in shares from Beta(ALPHA, ALPHA); with --cutmix, half of the batches.",
         &r->mixup, 0, 0},
        {BL_OPT_FLOAT, 0, "cutmix", "ALPHA",
         "Replace a rectangle of each image by another's, of a share of the area from Beta(ALPHA, ALPHA).", &r->cutmix,
         0, 0},
        {BL_OPT_FLOAT, 0, "ema", "DECAY",
         "Test with an average of the weights over the steps, in which a step's share fades by DECAY a step.", &r->ema,
         0, 0},
        {BL_OPT_INT, 0, "ema-ramp", "N",
         "Let DECAY rise from 0 with 1 - exp(-step / N), so that the first weights fade soon (default: 0, no rise).",
         &o->ema_ramp, 0, INT64_MAX},
    };
    _Static_assert(sizeof rows / sizeof rows[0] <= BL_LEARN_ROWS_MAX, "raise BL_LEARN_ROWS_MAX");
    memcpy(out, rows, sizeof rows);
    return (int)BL_ARRAY_LEN(rows);
}

int bl_options_no_such(const char *option, const char *given, const char *known, bl_error *err)
{
    BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is not known", option, given);
    bl_error_remedy(err, "one of: %s", known);
    return BL_ERR_USAGE;
}

static int take_words(bl_train_options *o, bl_learn_raw *r, bl_error *err)
{
    r->optimizer = r->optimizer ? r->optimizer : "sgd";
    r->schedule = r->schedule ? r->schedule : "constant";
    if (!bl_optim_kind_from_name(r->optimizer, &o->optim.kind))
        return bl_options_no_such("--optimizer", r->optimizer, "sgd, adam, adamw", err);
    if (!bl_schedule_kind_from_name(r->schedule, &o->schedule))
        return bl_options_no_such("--schedule", r->schedule, "constant, cosine, linear, step", err);
    if (r->lr_scaling && !bl_rate_scaling_from_name(r->lr_scaling, &o->lr_scaling))
        return bl_options_no_such("--lr-scaling", r->lr_scaling, "linear, sqrt", err);
    return BL_OK;
}

/* "30,60,80": rising. */
static int take_milestones(bl_train_options *o, const char *text, bl_error *err)
{
    while (text) {
        char piece[24];
        const char *comma = strchr(text, ',');
        size_t length = comma ? (size_t)(comma - text) : strlen(text);
        int64_t before = o->n_milestones > 0 ? o->milestones[o->n_milestones - 1] : 0, epoch;
        if (o->n_milestones == BL_MILESTONES_MAX)
            return BL_FAIL(err, BL_ERR_USAGE, "--lr-milestones names more than %d epochs", BL_MILESTONES_MAX);
        if (length >= sizeof piece)
            length = sizeof piece - 1;
        memcpy(piece, text, length);
        piece[length] = '\0';
        int code = bl_parse_i64(piece, "--lr-milestones", 1, 1000000, &epoch, err);
        if (code != BL_OK)
            return code;
        if (epoch <= before)
            return BL_FAIL(err, BL_ERR_USAGE, "--lr-milestones: epoch %lld does not come after %lld", (long long)epoch,
                           (long long)before);
        o->milestones[o->n_milestones++] = epoch;
        text = comma ? comma + 1 : NULL;
    }
    return BL_OK;
}

/* Takes a number that may not have been given; `good` is whether it lies where it has to. */
static int take(double *to, double given, double otherwise, bool good, const char *option, const char *where,
                bl_error *err)
{
    *to = isnan(given) ? otherwise : given;
    if (isnan(given) || good)
        return BL_OK;
    return BL_FAIL(err, BL_ERR_USAGE, "%s %g does not lie %s", option, given, where);
}

static int take_numbers(bl_train_options *o, const bl_learn_raw *r, bl_error *err)
{
    bool sgd = o->optim.kind == BL_OPTIM_SGD;
    if (isnan(o->lr))
        o->lr = !sgd ? 0.001 : o->model->task == BL_TASK_DETECT ? 0.01 : 0.05;
    if (!(o->lr >= 0) || !(o->optim.weight_decay >= 0) || isinf(o->lr))
        return BL_FAIL(err, BL_ERR_USAGE, "--lr and --weight-decay must not be negative");
    if (!(o->label_smoothing >= 0 && o->label_smoothing < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "--label-smoothing %g does not lie in [0, 1)", o->label_smoothing);
    int code = take(&o->optim.momentum, r->momentum, sgd ? 0.9 : 0, r->momentum >= 0 && r->momentum < 1, "--momentum",
                    "in [0, 1)", err);
    if (code == BL_OK)
        code = take(&o->optim.clip_norm, r->clip_norm, 0, r->clip_norm > 0, "--clip-norm", "above 0", err);
    if (code == BL_OK)
        code = take(&o->min_lr, r->min_lr, 0, r->min_lr >= 0, "--min-lr", "at 0 or above", err);
    if (code == BL_OK)
        code = take(&o->lr_gamma, r->lr_gamma, 0.1, r->lr_gamma > 0 && r->lr_gamma < 1, "--lr-gamma", "in (0, 1)", err);
    if (code == BL_OK)
        code = take(&o->warmup_factor, r->warmup_factor, 0, r->warmup_factor >= 0 && r->warmup_factor <= 1,
                    "--warmup-factor", "in [0, 1]", err);
    if (code == BL_OK)
        code = take(&o->mixup, r->mixup, 0, r->mixup > 0 && r->mixup <= 1000, "--mixup", "in (0, 1000]", err);
    if (code == BL_OK)
        code = take(&o->cutmix, r->cutmix, 0, r->cutmix > 0 && r->cutmix <= 1000, "--cutmix", "in (0, 1000]", err);
    if (code == BL_OK)
        code = take(&o->ema_decay, r->ema, 0, r->ema > 0 && r->ema < 1, "--ema", "in (0, 1)", err);
    return code;
}

/* An option that another one makes meaningless, or that wants another one. */
static int check_company(const bl_train_options *o, const bl_learn_raw *r, bl_error *err)
{
    bool sgd = o->optim.kind == BL_OPTIM_SGD, step = o->schedule == BL_SCHEDULE_STEP;
    bool drops = o->lr_step_epochs > 0 || o->n_milestones > 0, mixes = o->mixup > 0 || o->cutmix > 0;
    bool detects = o->model->task == BL_TASK_DETECT, nominal = o->nominal_batch > 0;
    const struct {
        bool wrong;
        const char *what, *remedy;
    } rules[] = {
        {!sgd && !isnan(r->momentum), "--momentum is for sgd alone", "--optimizer sgd"},
        {!sgd && o->optim.nesterov, "--nesterov is for sgd alone", "--optimizer sgd"},
        {o->optim.nesterov && o->optim.momentum == 0, "--nesterov wants a momentum", "--momentum 0.9"},
        {o->optim.decay_all && o->optim.weight_decay == 0, "--decay-all wants a decay", "--weight-decay 1e-4"},
        {r->lr_scaling && o->lr_base_batch == 0, "--lr-scaling wants the batch size that the rate is meant for",
         "--lr-base-batch 256"},
        {!isnan(r->min_lr) && o->schedule == BL_SCHEDULE_CONSTANT, "--min-lr wants a rate that falls",
         "--schedule cosine"},
        {step && !drops, "--schedule step wants the epochs after which the rate falls", "--lr-step-epochs 30"},
        {!step && (drops || !isnan(r->lr_gamma)),
         "--lr-step-epochs, --lr-milestones and --lr-gamma are for --schedule step alone", "--schedule step"},
        {o->lr_step_epochs > 0 && o->n_milestones > 0, "--lr-step-epochs and --lr-milestones say the same thing",
         "one of them"},
        {o->warmup_steps > 0 && o->warmup_epochs > 0, "--warmup-steps and --warmup-epochs say the same thing",
         "one of them"},
        {!isnan(r->warmup_factor) && o->warmup_steps == 0 && o->warmup_epochs == 0, "--warmup-factor wants a warm-up",
         "--warmup-epochs 5"},
        {mixes && detects, "--mixup and --cutmix are for classifiers", "--augment mosaic"},
        {nominal && o->accumulate > 1, "--accumulate and --nominal-batch say the same thing", "one of them"},
        {nominal && o->lr_base_batch > 0, "--nominal-batch makes up for the batch size, as --lr-base-batch does",
         "one of them"},
        {nominal && !isnan(r->warmup_factor), "--nominal-batch has a warm-up of its own, from 0",
         "--warmup-steps alone"},
        {mixes && o->batch < 2, "--mixup and --cutmix want batches of two or more", "--batch-size 2"},
        {o->ema_ramp > 0 && o->ema_decay == 0, "--ema-ramp wants an average", "--ema 0.9999"},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(rules); i++)
        if (rules[i].wrong) {
            BL_FAIL(err, BL_ERR_USAGE, "%s", rules[i].what);
            bl_error_remedy(err, "%s", rules[i].remedy);
            return BL_ERR_USAGE;
        }
    double peak = bl_train_options_peak_rate(o);
    if (o->min_lr > peak)
        return BL_FAIL(err, BL_ERR_USAGE, "--min-lr %g is above the learning rate, %g", o->min_lr, peak);
    return BL_OK;
}

int bl_learn_options_take(bl_train_options *o, bl_learn_raw *r, bl_error *err)
{
    int code = take_words(o, r, err);
    if (code == BL_OK)
        code = take_milestones(o, r->milestones, err);
    if (code == BL_OK)
        code = take_numbers(o, r, err);
    if (code == BL_OK)
        code = check_company(o, r, err);
    /* Defaults are written down too: a checkpoint compares them with what is given. */
    r->lr_scaling = r->lr_scaling ? r->lr_scaling : "linear";
    r->momentum = o->optim.momentum;
    r->lr_gamma = o->lr_gamma;
    r->min_lr = o->min_lr;
    r->warmup_factor = o->warmup_factor;
    return code;
}

double bl_train_options_peak_rate(const bl_train_options *o)
{
    if (o->lr_base_batch == 0)
        return o->lr;
    return bl_rate_scaled(o->lr, o->lr_scaling, (double)o->global_batch * (double)o->accumulate,
                          (double)o->lr_base_batch);
}
