#include "trial/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* Ranks that print the same counter are this far apart at most. */
#define STALE_MAX 8
/* Printed and measured rates are compared from so many steps on; smoothing makes up for less than this factor. */
#define COMPARED_MIN 5
#define DISAGREE     2.0
/* More steps than this at one moment: the output came in blocks. */
#define BLOCK_STEPS 20

void bl_progress_init(bl_progress *p, const bl_progress_formats *formats, int64_t batch)
{
    memset(p, 0, sizeof *p);
    p->formats = formats;
    p->batch = batch > 0 ? batch : 1;
    p->summary_steps_per_s = NAN;
    p->phase = "";
    bl_terminal_init(&p->terminal);
}

void bl_progress_clear(bl_progress *p)
{
    for (size_t i = 0; i < p->n_tracks; i++)
        free(p->tracks[i].records);
    bl_progress_init(p, p->formats, p->batch);
}

/* ---- records ---- */

static bool add_record(bl_progress *p, bl_progress_track *t, const bl_step *step)
{
    if (p->n_records >= BL_PROGRESS_RECORDS_MAX)
        return false;
    if (t->n_records == t->cap_records) {
        size_t cap = t->cap_records ? t->cap_records * 2 : 64;
        bl_step *records = bl_realloc(t->records, cap, sizeof *records);
        if (!records)
            return false;
        t->records = records;
        t->cap_records = cap;
    }
    t->records[t->n_records++] = *step;
    p->n_records++;
    return true;
}

static int64_t samples_of(const bl_progress *p, const bl_progress_track *t, const bl_progress_line *line, int64_t delta)
{
    if (line->samples >= 0 && t->samples >= 0)
        return line->samples - t->samples;
    return line->counts_samples ? delta : delta > INT64_MAX / p->batch ? INT64_MAX : delta * p->batch;
}

static void compare_rates(bl_progress_track *t, const bl_progress_line *line, int64_t delta, int64_t time_ns)
{
    if (!isfinite(line->steps_per_s))
        return;
    t->printed_s += (double)delta / line->steps_per_s;
    t->clock_s += (double)time_ns / BL_NS_PER_S;
    t->n_compared++;
}

/* The counter rose by delta since last_ns. */
static void advance(bl_progress *p, bl_progress_track *t, const bl_progress_line *line, int64_t t_ns)
{
    int64_t delta = line->done - t->done;
    int64_t samples = samples_of(p, t, line, delta);
    t->steps += delta;
    if (t_ns <= t->last_ns) {
        /* At the very moment of the line before: its steps came with that one, however long they took. */
        bl_step *last = t->n_records > 0 ? &t->records[t->n_records - 1] : NULL;
        if (last && last->end_ns == t_ns && samples > 0 && !t->broken) {
            last->samples += samples;
            t->record_samples += samples;
            t->timed_steps += delta;
        }
        return;
    }
    t->moments++;
    if (t->broken || samples <= 0)
        return;
    int64_t time_ns = t_ns - t->last_ns;
    bl_step step = {.samples = samples, .end_ns = t_ns, .time_ns = time_ns, .wait_ns = -1, .loss = NAN};
    if (!add_record(p, t, &step)) {
        p->n_lost++;
        return;
    }
    t->record_samples += samples;
    t->timed_steps += delta;
    compare_rates(t, line, delta, time_ns);
}

/* ---- tracks ---- */

static bl_progress_track *find_track(bl_progress *p, const bl_progress_line *line)
{
    for (size_t i = 0; i < p->n_tracks; i++) {
        const bl_progress_line *first = &p->tracks[i].first;
        if (first->format == line->format && first->total == line->total && first->kind == line->kind)
            return &p->tracks[i];
    }
    return NULL;
}

static void begin_track(bl_progress *p, const bl_progress_line *line, int64_t t_ns)
{
    if (p->n_tracks == BL_PROGRESS_TRACKS) {
        p->n_lost++;
        return;
    }
    p->tracks[p->n_tracks++] = (bl_progress_track){.first = *line,
                                                   .done = line->done,
                                                   .samples = line->samples,
                                                   .start_ns = t_ns,
                                                   .last_ns = t_ns,
                                                   .granule = line->granule};
}

/* Another rank's line, a little behind. A new epoch begins near 0. */
static bool is_stale(const bl_progress_track *t, const bl_progress_line *line)
{
    return line->done > 0 && line->done < t->done && (t->first.total == 0 || t->done < t->first.total) &&
           t->done - line->done <= STALE_MAX && line->done > t->done / 2;
}

static void move_track(bl_progress *p, bl_progress_track *t, const bl_progress_line *line, int64_t t_ns)
{
    if (line->done == t->done || is_stale(t, line))
        return;
    if (line->granule > t->granule)
        t->granule = line->granule;
    if (line->done > t->done)
        advance(p, t, line, t_ns);
    /* Below: an epoch begins. When, is not known, so that no time is taken from there. */
    t->done = line->done;
    t->samples = line->samples;
    t->last_ns = t_ns;
    t->broken = false;
}

static void take_line(void *context, const char *text, size_t n, int64_t t_ns)
{
    bl_progress *p = context;
    bl_progress_line line;
    if (!bl_progress_parse(p->formats, text, n, &line))
        return;
    p->n_lines++;
    if (line.done < 0) {
        p->summary_steps_per_s = line.steps_per_s;
        return;
    }
    bool eval = line.kind == BL_PROGRESS_EVAL;
    p->phase = eval ? "eval" : line.kind == BL_PROGRESS_SETUP ? "set-up" : "train";
    for (size_t i = 0; eval && i < p->n_tracks; i++)
        p->tracks[i].broken = true;
    bl_progress_track *t = find_track(p, &line);
    if (t)
        move_track(p, t, &line, t_ns);
    else
        begin_track(p, &line, t_ns);
}

void bl_progress_feed(bl_progress *p, const char *bytes, size_t n, int64_t now_ns)
{
    if (p->formats)
        bl_terminal_feed(&p->terminal, bytes, n, now_ns, take_line, p);
}

void bl_progress_end(bl_progress *p)
{
    if (p->formats)
        bl_terminal_end(&p->terminal, take_line, p);
}

/* ---- what it comes to ---- */

/* Training by its words before what may be; what surely is progress before what may be a word in a line; then whichever
 * moved more: an outer bar counts epochs, an inner one steps. */
static int64_t rank(const bl_progress_track *t)
{
    int64_t moved = t->steps > INT32_MAX ? INT32_MAX : t->steps;
    return moved + (moved > 0 && t->first.kind == BL_PROGRESS_TRAIN ? INT64_C(1) << 34 : 0) +
           (moved > 0 && !t->first.weak ? INT64_C(1) << 33 : 0);
}

const bl_progress_track *bl_progress_training(const bl_progress *p)
{
    const bl_progress_track *best = NULL;
    for (size_t i = 0; i < p->n_tracks; i++) {
        const bl_progress_track *t = &p->tracks[i];
        if (t->first.kind == BL_PROGRESS_EVAL || t->first.kind == BL_PROGRESS_SETUP)
            continue;
        if (!best || rank(t) > rank(best))
            best = t;
    }
    return best;
}

bool bl_progress_usable(const bl_progress_track *t)
{
    return t->n_records >= BL_PROGRESS_TIMED_MIN;
}

bool bl_progress_idle(const bl_progress *p)
{
    const bl_progress_track *t = bl_progress_training(p);
    return t && t->steps == 0 && !t->first.weak && t->done < (t->first.total > 0 ? t->first.total : 1);
}

static void note_rates(const bl_progress *p, const bl_progress_track *t, bl_str *out)
{
    double printed = t->n_compared >= COMPARED_MIN ? t->printed_s / t->clock_s : 1;
    if (printed > DISAGREE || printed < 1 / DISAGREE)
        bl_str_printf(out, "; the rates that it printed do not fit its counter: %.3g s for what took %.3g s",
                      t->printed_s, t->clock_s);
    double steps_per_s = t->clock_s > 0 ? (double)t->timed_steps / t->clock_s : NAN;
    double ratio = p->summary_steps_per_s / steps_per_s;
    if (t->n_compared >= COMPARED_MIN && (ratio > DISAGREE || ratio < 1 / DISAGREE))
        bl_str_printf(out, "; at its end it printed %.3g steps/s, its counter says %.3g", p->summary_steps_per_s,
                      steps_per_s);
}

void bl_progress_note(const bl_progress *p, bl_str *out)
{
    const bl_progress_track *t = bl_progress_training(p);
    if (!t)
        return;
    const char *unit = t->first.counts_samples ? "samples" : "steps";
    if (!bl_progress_usable(t)) {
        bl_str_printf(
            out, "progress lines (%s) counted %" PRId64 " %s, but at %" PRId64 " moments only, which tells no speed",
            t->first.name, t->steps, unit, t->moments);
        if (t->steps > BL_PROGRESS_TIMED_MIN)
            bl_str_append(out,
                          ": the program keeps its output back until it is much, or it ends; --pty makes most programs "
                          "write at once");
        return;
    }
    bl_str_printf(out, "progress lines (%s): %" PRId64 " %s at %" PRId64 " moments", t->first.name, t->steps, unit,
                  t->moments);
    if (t->granule > 1)
        bl_str_printf(out, "; its counter is rounded to %" PRId64, t->granule);
    if (!t->first.counts_samples && t->moments > 0 && t->steps / t->moments > BLOCK_STEPS)
        bl_str_append(out, "; many steps at each moment: step times are means over these");
    note_rates(p, t, out);
    if (p->n_lost > 0)
        bl_str_printf(out, "; %" PRId64 " lines more than are kept", p->n_lost);
}
