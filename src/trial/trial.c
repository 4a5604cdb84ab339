#include "trial/trial.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "trial/running.h"
#include "trial/start.h"
#include "trial/steps.h"

/* All writers are dead, so what is left lies in the buffers. */
static void drain(bl_running *r)
{
    bl_running_take_rest(r);
    bl_markers_end(&r->result->markers);
    if (!r->result->markers.any)
        bl_progress_end(&r->result->progress);
    bl_running_end_metrics(r);
    bl_steps_choose(r->result);
}

static bl_measured peak_memory(const bl_wire_ended *end, const bl_group_memory *counted)
{
    if (counted->peak_b > 0)
        return (bl_measured){
            .known = true, .value = (double)counted->peak_b, .source = "control group, page cache included"};
    if (end->sampled_peak_b <= 0 && end->single_peak_b <= 0)
        return (bl_measured){.reason = "the process ended before its memory could be read"};
    bool sampled = end->sampled_peak_b >= end->single_peak_b;
    return (bl_measured){.known = true,
                         .value = (double)(sampled ? end->sampled_peak_b : end->single_peak_b),
                         .source = sampled ? "process tree, sampled" : "process peak"};
}

static void cut_tail(bl_running *r)
{
    size_t drop = r->tail.len > BL_OUTPUT_TAIL_B ? r->tail.len - BL_OUTPUT_TAIL_B : 0;
    if (r->tail.len > 0)
        bl_str_append_n(&r->result->output_tail, r->tail.data + drop, r->tail.len - drop);
    /* Programs may write zero bytes; the tail is read as text. */
    for (size_t i = 0; i < r->result->output_tail.len; i++)
        if (r->result->output_tail.data[i] == '\0')
            r->result->output_tail.data[i] = ' ';
}

/* How much of the tail was printed before the program had gone on. */
static size_t coped_b(const bl_running *r)
{
    int64_t dropped_b = r->result->output_b - (int64_t)r->result->output_tail.len; /* of all that was printed */
    int64_t coped_b = r->before_b[BL_COPED_STEPS - 1] - dropped_b;
    return coped_b > 0 ? (size_t)coped_b : 0;
}

/* Of the limit that ended it, where one did. */
static double limit_s(const bl_running *r)
{
    return r->cause == BL_END_SETUP     ? r->spec->setup_s
           : r->cause == BL_END_SILENCE ? r->spec->silence_s
                                        : r->spec->time_s;
}

static void fill_result(bl_running *r)
{
    bl_group_memory counted;
    bool grouped = r->room.group.path[0];
    bl_room_end(&r->room, &counted);
    bl_trial_result *result = r->result;
    const bl_wire_ended *end = &r->end;
    result->exit_status = WIFEXITED(end->wait_status) ? WEXITSTATUS(end->wait_status) : -1;
    result->exit_signal = WIFSIGNALED(end->wait_status) ? WTERMSIG(end->wait_status) : 0;
    int64_t held_ns = r->held_ns + (r->held_from_ns > 0 ? end->ended_ns - r->held_from_ns : 0);
    result->wall_s = (double)(end->ended_ns - result->started_ns - held_ns) / BL_NS_PER_S;
    result->user_s = (bl_measured){.known = true, .value = (double)end->user_us / 1e6, .source = "wait4"};
    result->system_s = (bl_measured){.known = true, .value = (double)end->system_us / 1e6, .source = "wait4"};
    if (end->n_left_behind > 0)
        result->user_s.reason = result->system_s.reason = "a process did not end: its part is missing";
    result->peak_memory_b = peak_memory(end, &counted);
    if (!result->markers.any)
        bl_progress_note(&result->progress, &result->step_note);
    cut_tail(r);
    bl_ending ending = {.exit_status = result->exit_status,
                        .exit_signal = result->exit_signal,
                        .step_budget = r->cause == BL_END_STEPS || r->cause == BL_END_ENOUGH,
                        .time_budget = r->cause == BL_END_TIME,
                        .setup_limit = r->cause == BL_END_SETUP,
                        .silence = r->cause == BL_END_SILENCE,
                        .interrupted = r->cause == BL_END_INTERRUPT,
                        .limit_s = limit_s(r),
                        .batch = r->spec->batch,
                        .before = r->oom_before,
                        .memory = {.limit_b = r->room.limit_b,
                                   .grouped = grouped,
                                   .no_group = r->room.reason,
                                   .group_kills = counted.oom_kills,
                                   .over_limit_b = end->over_limit_b,
                                   .over_limit_rank = end->over_limit_rank,
                                   .over_limit_rank_b = end->over_limit_rank_b,
                                   .data_peak_b = end->data_peak_b},
                        .phase = result->phase,
                        .n_steps = result->steps_done,
                        .progress_idle = !result->markers.any && bl_progress_idle(&result->progress),
                        .progress_note = bl_str_text(&result->step_note)};
    bl_oom_events_read("", &ending.after);
    result->ended_by_budget = ending.step_budget || ending.time_budget;
    size_t from = coped_b(r);
    bl_outcome_decide(&ending, &result->markers, r->spec->rules, bl_str_text(&result->output_tail) + from,
                      result->output_tail.len - from, &result->decision);
}

void bl_trial_result_init(bl_trial_result *result)
{
    *result = (bl_trial_result){.exit_status = -1};
    bl_decision_init(&result->decision);
    result->decision.outcome = BL_OUTCOME_CRASHED;
    bl_str_init(&result->output_tail);
    bl_str_init(&result->step_note);
    bl_markers_init(&result->markers);
}

int bl_running_finish(bl_running *r, int code)
{
    bl_sampler_stop(r->sampler, &r->result->telemetry);
    if (code == BL_OK) {
        drain(r);
        fill_result(r);
    } else {
        bl_group_memory unread;
        bl_room_end(&r->room, &unread);
    }
    bl_start_close_fd(&r->markers);
    bl_start_close_fd(&r->output);
    bl_marker_socket_close(&r->socket);
    bl_str_clear(&r->tail);
    bl_metric_lines_clear(&r->metrics);
    return code;
}

int bl_trial_run(bl_launcher *launcher, const bl_trial_spec *spec, bl_trial_result *result, bl_error *err)
{
    bl_running r;
    int code = bl_running_begin(&r, launcher, spec, result, err);
    while (code == BL_OK && !r.ended) {
        struct pollfd fds[BL_RUNNING_FDS];
        bl_running_fds(&r, fds);
        if (poll(fds, BL_RUNNING_FDS, BL_RUNNING_POLL_MS) < 0 && errno != EINTR)
            code = BL_FAIL(err, BL_ERR_IO, "waiting for the trial failed: %s", strerror(errno));
        else
            code = bl_running_serve(&r, fds, err);
    }
    return bl_running_finish(&r, code);
}

void bl_trial_result_clear(bl_trial_result *result)
{
    bl_decision_clear(&result->decision);
    bl_str_clear(&result->output_tail);
    bl_str_clear(&result->step_note);
    bl_markers_clear(&result->markers);
    bl_progress_clear(&result->progress);
    bl_recording_clear(&result->telemetry);
}
