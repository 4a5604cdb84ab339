#include "trial/turns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "telemetry/process_tree.h"
#include "telemetry/procfs_text.h"
#include "telemetry/sysfile.h"
#include "trial/running.h"
#include "trial/steps.h"

/* A stop falls into one step, or between a step's look at the clock and its mark: then the next one holds the stop. */
#define CUT_STEPS    2
#define MEMORY_SHARE 0.95 /* of what is available may be taken by the second one */

typedef struct pair {
    bl_launcher *const *launchers;
    const bl_trial_spec *specs;
    const bl_turns *turns;
    bl_trial_result *results;
    bl_running running[2];
    bool begun[2];
    size_t held_at[2];   /* steps when it was stopped */
    int64_t began_ns[2]; /* when the lab first saw it train: a program's own clock may be another; 0: not yet */
} pair;

static bool is_alive(const pair *p, int i)
{
    return p->begun[i] && !p->running[i].ended;
}

/* Both, or the one that has begun, train on. */
static bool goes_on(const pair *p)
{
    for (int i = 0; i < 2; i++)
        if (p->begun[i] && (p->running[i].ended || p->running[i].cause != BL_END_NONE))
            return false;
    return true;
}

static double trained_s(const pair *p, int i)
{
    const bl_running *r = &p->running[i];
    int64_t now_ns = r->held_from_ns > 0 ? r->held_from_ns : bl_clock_ns();
    return p->began_ns[i] > 0 ? (double)(now_ns - r->held_ns - p->began_ns[i]) / BL_NS_PER_S : 0;
}

static int not_in_turn(bl_error *err)
{
    bl_error_remedy(err, "leave out --interleave: processes one after the other are valid everywhere");
    return err ? (int)err->code : BL_ERR_ENV;
}

/* ---- what makes it invalid ---- */

static const char *proc_of(const pair *p, int i, char *path, size_t size)
{
    const char *root = p->launchers[i]->root;
    snprintf(path, size, "%s/proc", root ? root : "");
    return path;
}

static int check_device(const pair *p, int i, bl_error *err)
{
    char proc[BL_SYSFILE_PATH_MAX], device[256];
    bl_process_tree tree;
    bl_process_tree_init(&tree, proc_of(p, i, proc, sizeof proc));
    int code = bl_process_tree_scan(&tree, p->launchers[i]->pid, err);
    if (code == BL_OK && bl_process_tree_device(&tree, device, sizeof device)) {
        BL_FAIL(err, BL_ERR_ENV, "'%s' has %s open: an accelerator's work goes on while its program is stopped",
                p->specs[i].argv[0], device);
        code = not_in_turn(err);
    }
    bl_process_tree_clear(&tree);
    return code;
}

/* The second will hold about as much as the first does. Where nothing tells how much is left, nothing is forbidden. */
static int check_memory(const pair *p, int i, bl_error *err)
{
    char proc[BL_SYSFILE_PATH_MAX], path[BL_SYSFILE_PATH_MAX], text[4096];
    int64_t kib;
    bl_tree_memory memory = {0};
    bl_process_tree tree;
    bl_process_tree_init(&tree, proc_of(p, i, proc, sizeof proc));
    int code = bl_process_tree_scan(&tree, p->launchers[i]->pid, err);
    if (code == BL_OK)
        bl_process_tree_memory(&tree, &memory);
    bl_process_tree_clear(&tree);
    if (code != BL_OK || !bl_sysfile_path(path, sizeof path, proc, "/meminfo") ||
        bl_sysfile_read(path, text, sizeof text) <= 0 || !bl_text_field(text, "MemAvailable", &kib))
        return code;
    if ((double)memory.resident_b <= MEMORY_SHARE * 1024 * (double)kib)
        return BL_OK;
    BL_FAIL(err, BL_ERR_ENV, "two of these do not fit side by side: one holds %lld MiB, and %lld MiB are left",
            (long long)(memory.resident_b >> 20), (long long)(kib >> 10));
    return not_in_turn(err);
}

static int check_awake(const pair *p, int i, uint32_t awake, const char *what, bl_error *err)
{
    if (awake == 0)
        return BL_OK;
    BL_FAIL(err, BL_ERR_ENV, "%u process%s of '%s' %s", awake, awake == 1 ? "" : "es", p->specs[i].argv[0], what);
    return not_in_turn(err);
}

static int check_still(const pair *p, int i, bl_error *err)
{
    if (!is_alive(p, i) || p->running[i].held_from_ns == 0 || p->running[i].cause != BL_END_NONE ||
        p->running[i].killed || p->results[i].n_steps <= p->held_at[i])
        return BL_OK;
    BL_FAIL(err, BL_ERR_ENV, "'%s' marks steps while all its processes are stopped: something else trains for it",
            p->specs[i].argv[0]);
    return not_in_turn(err);
}

/* A whole run is no turn. */
static int check_steps(const pair *p, int i, bl_error *err)
{
    const bl_running *r = &p->running[i];
    if (!r->ended || r->cause != BL_END_NONE || r->end.wait_status != 0 || p->results[i].n_steps > 0)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "'%s' tells no steps, so it cannot train in turns", p->specs[i].argv[0]);
    return not_in_turn(err);
}

/* ---- running ---- */

static int serve(pair *p, bl_error *err)
{
    struct pollfd fds[2 * BL_RUNNING_FDS];
    for (int i = 0; i < 2; i++) {
        if (is_alive(p, i))
            bl_running_fds(&p->running[i], fds + i * BL_RUNNING_FDS);
        for (int k = 0; !is_alive(p, i) && k < BL_RUNNING_FDS; k++)
            fds[i * BL_RUNNING_FDS + k] = (struct pollfd){.fd = -1};
    }
    if (poll(fds, 2 * BL_RUNNING_FDS, BL_RUNNING_POLL_MS) < 0 && errno != EINTR)
        return BL_FAIL(err, BL_ERR_IO, "waiting for the trials failed: %s", strerror(errno));
    int code = BL_OK;
    for (int i = 0; i < 2 && code == BL_OK; i++) {
        if (!is_alive(p, i))
            continue;
        code = bl_running_serve(&p->running[i], fds + i * BL_RUNNING_FDS, err);
        if (p->began_ns[i] == 0 && (p->results[i].markers.ready || p->results[i].n_steps > 0))
            p->began_ns[i] = bl_clock_ns();
        if (code == BL_OK)
            code = check_still(p, i, err);
    }
    return code;
}

static int begin_turn(pair *p, int i, bl_error *err)
{
    uint32_t awake = 0;
    int code = BL_OK;
    if (p->begun[i]) {
        code = bl_running_release(&p->running[i], &awake, err);
        return code == BL_OK ? check_awake(p, i, awake, "went on while it was to stand still", err) : code;
    }
    if (p->begun[1 - i])
        code = check_memory(p, 1 - i, err);
    if (code == BL_OK) {
        p->begun[i] = true;
        code = bl_running_begin(&p->running[i], p->launchers[i], &p->specs[i], &p->results[i], err);
        p->running[i].ended = code != BL_OK; /* there is none to wait for */
    }
    return code;
}

static int end_turn(pair *p, int i, bl_error *err)
{
    bl_running *r = &p->running[i];
    uint32_t awake = 0;
    int code = BL_OK;
    if (!r->ended && r->cause == BL_END_NONE)
        code = bl_running_hold(r, &awake, err);
    p->held_at[i] = p->results[i].n_steps;
    return code == BL_OK ? check_awake(p, i, awake, "cannot be stopped", err) : code;
}

static int take_turn(pair *p, int i, bl_error *err)
{
    bool first = !p->begun[i];
    int64_t from_ns = bl_clock_ns();
    int code = begin_turn(p, i, err);
    bl_running *r = &p->running[i];
    size_t from = first ? 0 : p->held_at[i], wanted = (size_t)p->turns->steps + (first ? 0 : CUT_STEPS);
    while (code == BL_OK && goes_on(p)) {
        double turn_s = first ? trained_s(p, i) : (double)(bl_clock_ns() - from_ns) / BL_NS_PER_S;
        if (p->results[i].n_steps >= from + wanted && turn_s >= p->turns->turn_s)
            break;
        code = serve(p, err);
    }
    if (code == BL_OK)
        code = end_turn(p, i, err);
    if (code == BL_OK && !first)
        bl_steps_forget_times(&p->results[i], from, from + CUT_STEPS);
    if (code == BL_OK && first && !r->ended)
        code = check_device(p, i, err);
    return code == BL_OK ? check_steps(p, i, err) : code;
}

/* Why the pair is to end; BL_END_NONE: it is not. */
static bl_end_cause is_enough(const pair *p, size_t rounds)
{
    const bl_turns *t = p->turns;
    for (int i = 0; t->time_s > 0 && i < 2; i++)
        if (is_alive(p, i) && trained_s(p, i) >= t->time_s)
            return BL_END_TIME;
    for (int i = 0; i < 2; i++)
        if (is_alive(p, i) && (t->max_steps == 0 || p->results[i].steps_done < t->max_steps))
            return BL_END_NONE;
    return rounds >= t->min_rounds ? BL_END_STEPS : BL_END_NONE;
}

/* Its partner came to nothing, but it is a trial that was asked for. */
static int run_alone(pair *p, int i, bl_error *err)
{
    bl_end_cause cause = BL_END_NONE;
    int code = begin_turn(p, i, err);
    while (code == BL_OK && !p->running[i].ended && p->running[i].cause == BL_END_NONE && cause == BL_END_NONE) {
        code = serve(p, err);
        cause = is_enough(p, SIZE_MAX);
    }
    p->held_at[i] = SIZE_MAX;
    return code;
}

/* All that has begun ends: well, or at once. */
static int end_both(pair *p, bl_end_cause cause, int code, bl_error *err)
{
    /* An interrupt that came between two looks is one of the pair's. */
    for (int i = 0; i < 2; i++)
        if (p->begun[i] && p->running[i].cause == BL_END_INTERRUPT)
            cause = BL_END_INTERRUPT;
    for (int i = 0; i < 2; i++)
        if (is_alive(p, i)) {
            if (code == BL_OK)
                bl_running_stop_for(&p->running[i], cause);
            else
                bl_running_kill(&p->running[i]);
        }
    bl_error ignored = {0};
    while (is_alive(p, 0) || is_alive(p, 1)) {
        int served = serve(p, code == BL_OK ? err : &ignored);
        if (served != BL_OK) { /* its launcher has gone, and the trial with it */
            code = code == BL_OK ? served : code;
            p->running[0].ended = p->running[1].ended = true;
        }
    }
    return code;
}

int bl_launcher_start_beside(bl_launcher *first, bl_launcher *second, bl_error *err)
{
    bl_room_prepare(first); /* the second is to be where the first is */
    int code = bl_launcher_start(second, err);
    second->root = first->root;
    second->groups = first->groups;
    second->groups_tried = second->groups_borrowed = true;
    return code;
}

int bl_turns_run(bl_launcher *const *launchers, const bl_trial_spec *specs, const bl_turns *turns,
                 bl_trial_result *results, bool *ran, bl_error *err)
{
    pair p = {.launchers = launchers, .specs = specs, .turns = turns, .results = results};
    bl_end_cause cause = BL_END_NONE;
    int code = BL_OK;
    for (int i = 0; i < 2; i++)
        bl_trial_result_init(&results[i]);
    for (size_t round = 0; code == BL_OK && goes_on(&p) && cause == BL_END_NONE; round++) {
        int second_first = (int)(turns->order >> (round % 64) & 1);
        for (int turn = 0; turn < 2 && code == BL_OK && goes_on(&p); turn++)
            code = take_turn(&p, turn ^ second_first, err);
        cause = is_enough(&p, round + 1);
    }
    for (int i = 0; i < 2 && code == BL_OK; i++)
        if (!p.begun[i] && p.running[1 - i].cause != BL_END_INTERRUPT)
            code = run_alone(&p, i, err);
    code = end_both(&p, cause == BL_END_TIME ? BL_END_TIME : BL_END_STEPS, code, err);
    for (int i = 0; i < 2; i++) {
        ran[i] = p.begun[i] && code == BL_OK;
        if (!p.begun[i])
            continue;
        bl_running_finish(&p.running[i], code);
        /* Marked after it was let go on to end, beside the other. */
        bl_steps_forget_times(&results[i], p.held_at[i], SIZE_MAX);
    }
    return code;
}
