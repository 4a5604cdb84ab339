#include "trial/trial.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "trial/start.h"
#include "trial/steps.h"
#include "trial/wire.h"

#define GRACE_S     5.0
#define POLL_MS     100
#define PROGRESS_NS 200000000LL
#define READ_B      65536
/* What one descriptor may be read from before the other has its turn. */
#define READS_A_TURN 16
/* What was printed before this many steps ended cannot be why the program ended: it went on. More than one, since
 * several processes of one program do not stop at the same moment. */
#define COPED_STEPS 3

/* Why the lab ends a trial. */
typedef enum end_cause { END_NONE, END_STEPS, END_TIME, END_SETUP, END_SILENCE, END_INTERRUPT, END_ENOUGH } end_cause;

typedef struct run {
    bl_launcher *launcher;
    const bl_trial_spec *spec;
    bl_trial_result *result;
    int markers, output;     /* read ends; -1 once at their end */
    bl_marker_socket socket; /* markers of processes that did not inherit the other end */
    bl_str tail;             /* up to twice BL_OUTPUT_TAIL_B, cut back now and then */
    end_cause cause;
    int64_t kill_ns; /* when SIGTERM's grace ends, 0 before it was sent */
    bool killed;
    bl_metric_lines metrics;
    int64_t progress_ns;           /* next call of on_progress */
    int64_t before_b[COPED_STEPS]; /* bytes printed before each of the last steps, the newest first */
    int64_t turn_b;                /* bytes printed before the last turn */
    int64_t heard_ns;              /* when something was last printed or marked */
    bl_oom_events oom_before;
    bl_room room;
    bool ended;
    bl_wire_ended end;
} run;

/* ---- while it runs ---- */

/* A metric that a line tells. A training loss belongs to the newest step, if that tells none itself. */
static void take_metric(void *context, const char *name, double value, int64_t step)
{
    bl_trial_result *result = ((run *)context)->result;
    bl_steps_choose(result);
    bl_marker_point point = {
        .after_steps = step >= 0 ? step : result->steps_done, .value = value, .t_ns = bl_clock_ns()};
    bl_markers_metric(&result->markers, name, &point);
    if (strcmp(name, "loss") == 0)
        bl_steps_set_loss(result, value);
}

static void read_lines(run *r, const char *bytes, size_t n)
{
    if (!r->result->markers.any)
        bl_progress_feed(&r->result->progress, bytes, n, bl_clock_ns());
    if (r->spec->metrics)
        bl_metric_lines_feed(&r->metrics, bytes, n, take_metric, r);
}

static void take_output(run *r, const char *bytes, size_t n)
{
    r->result->output_b += (int64_t)n;
    for (size_t from = 0, len; from < n; from += len) { /* line by line: metrics belong to the steps before them */
        const char *end = r->spec->metrics ? memchr(bytes + from, '\n', n - from) : NULL;
        len = end ? (size_t)(end - bytes) + 1 - from : n - from;
        read_lines(r, bytes + from, len);
    }
    for (size_t done = 0; r->spec->log_fd >= 0 && done < n;) {
        ssize_t w = write(r->spec->log_fd, bytes + done, n - done);
        if (w < 0 && errno != EINTR)
            break; /* a log that cannot be written must not end the trial */
        done += w > 0 ? (size_t)w : 0;
    }
    if (r->tail.len + n > 2 * BL_OUTPUT_TAIL_B && r->tail.len > BL_OUTPUT_TAIL_B) {
        memmove(r->tail.data, r->tail.data + r->tail.len - BL_OUTPUT_TAIL_B, BL_OUTPUT_TAIL_B);
        r->tail.len = BL_OUTPUT_TAIL_B;
    }
    bl_str_append_n(&r->tail, bytes, n);
    r->tail.failed = false; /* then a piece of the tail is missing, no more */
}

/* Reads what is there. Closes the descriptor at its end. */
static void read_some(run *r, int *fd, bool is_markers)
{
    char bytes[READ_B];
    for (int i = 0; i < READS_A_TURN && *fd >= 0; i++) {
        ssize_t n = read(*fd, bytes, sizeof bytes);
        if (n > 0)
            r->heard_ns = bl_clock_ns();
        if (n > 0 && is_markers)
            bl_markers_feed(&r->result->markers, bytes, (size_t)n);
        else if (n > 0)
            take_output(r, bytes, (size_t)n);
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            bl_start_close_fd(fd);
        else
            return;
    }
}

static void send_signal(const run *r, bl_wire_kind kind, int number)
{
    bl_wire_signal packet = {.kind = kind, .signal = number};
    ssize_t n;
    do
        n = send(r->launcher->socket, &packet, sizeof packet, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
}

static void end_trial(run *r, end_cause cause)
{
    if (r->cause != END_NONE)
        return;
    r->cause = cause;
    double grace_s = r->spec->grace_s > 0 ? r->spec->grace_s : GRACE_S;
    r->kill_ns = bl_clock_ns() + (int64_t)(grace_s * BL_NS_PER_S);
    send_signal(r, BL_WIRE_SIGNAL, SIGTERM);
}

static void kill_trial(run *r)
{
    if (!r->killed)
        send_signal(r, BL_WIRE_KILL, SIGKILL);
    r->killed = true;
}

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / BL_NS_PER_S;
}

static void watch_budgets(run *r, int64_t now_ns)
{
    const bl_trial_spec *spec = r->spec;
    int interrupt = spec->interrupt ? *spec->interrupt - spec->interrupts_before : 0;
    int64_t began_ns = bl_steps_start_ns(r->result), n_steps = r->result->steps_done;
    if (interrupt > 0)
        end_trial(r, END_INTERRUPT);
    else if (spec->max_steps > 0 && n_steps >= spec->max_steps)
        end_trial(r, END_STEPS);
    else if (spec->time_s > 0 && began_ns > 0 && seconds_between(began_ns, now_ns) >= spec->time_s)
        end_trial(r, END_TIME);
    else if (spec->setup_s > 0 && n_steps == 0 && began_ns == 0 &&
             seconds_between(r->result->started_ns, now_ns) >= spec->setup_s)
        end_trial(r, END_SETUP);
    else if (spec->silence_s > 0 && seconds_between(r->heard_ns, now_ns) >= spec->silence_s)
        end_trial(r, END_SILENCE);
    if (interrupt > 1 || (r->kill_ns > 0 && now_ns >= r->kill_ns))
        kill_trial(r);
}

static void report_progress(run *r, int64_t now_ns)
{
    const bl_trial_result *result = r->result;
    if (!r->spec->on_progress)
        return;
    const char *phase = result->phase[0] ? result->phase : result->markers.any ? "set-up" : "running";
    bl_trial_progress progress = {.n_steps = result->steps_done,
                                  .samples = result->samples,
                                  .samples_per_s = bl_steps_recent_rate(result),
                                  .elapsed_s = seconds_between(result->started_ns, now_ns),
                                  .phase = phase};
    r->spec->on_progress(r->spec->context, &progress);
    r->progress_ns = now_ns + PROGRESS_NS;
}

/* A step read in this turn may have been said before what was read of the output in the last turn (markers are read
 * first), but not before what was read earlier than that. */
static void note_steps(run *r, int64_t n_before)
{
    for (int64_t i = n_before; i < r->result->steps_done && i < n_before + COPED_STEPS; i++) {
        memmove(r->before_b + 1, r->before_b, sizeof r->before_b - sizeof r->before_b[0]);
        r->before_b[0] = r->turn_b;
    }
}

static int run_once(run *r, bl_error *err)
{
    struct pollfd fds[3 + BL_MARKER_SOCKET_POLLS] = {{.fd = r->launcher->socket, .events = POLLIN},
                                                     {.fd = r->markers, .events = POLLIN},
                                                     {.fd = r->output, .events = POLLIN}};
    size_t n_named = bl_marker_socket_polls(&r->socket, fds + 3);
    if (poll(fds, 3 + n_named, POLL_MS) < 0 && errno != EINTR)
        return BL_FAIL(err, BL_ERR_IO, "waiting for the trial failed: %s", strerror(errno));
    int64_t steps_before = r->result->steps_done;
    size_t points_before = r->result->markers.n_points;
    int64_t turn_b = r->result->output_b;
    if (fds[1].revents)
        read_some(r, &r->markers, true);
    if (bl_marker_socket_serve(&r->socket, &r->result->markers))
        r->heard_ns = bl_clock_ns();
    if (fds[2].revents)
        read_some(r, &r->output, false);
    if (fds[0].revents) {
        if (bl_start_receive(r->launcher, &r->end, sizeof r->end) == 0)
            return bl_start_lost_launcher(err);
        r->ended = r->end.kind == BL_WIRE_ENDED;
    }
    bl_steps_choose(r->result);
    note_steps(r, steps_before);
    r->turn_b = turn_b;
    int64_t now_ns = bl_clock_ns();
    bool more = r->result->steps_done > steps_before;
    if ((more || r->result->markers.n_points > points_before) && r->spec->enough &&
        r->spec->enough(r->spec->enough_context, r->result))
        end_trial(r, END_ENOUGH);
    if (more || now_ns >= r->progress_ns)
        report_progress(r, now_ns);
    watch_budgets(r, now_ns);
    return BL_OK;
}

/* ---- when it has ended ---- */

/* All writers are dead, so what is left lies in the buffers. */
static void drain(run *r)
{
    struct pollfd fd = {.events = POLLIN};
    for (fd.fd = r->markers; fd.fd >= 0 && poll(&fd, 1, 0) > 0; fd.fd = r->markers)
        read_some(r, &r->markers, true);
    for (fd.fd = r->output; fd.fd >= 0 && poll(&fd, 1, 0) > 0; fd.fd = r->output)
        read_some(r, &r->output, false);
    while (bl_marker_socket_serve(&r->socket, &r->result->markers))
        ;
    bl_markers_end(&r->result->markers);
    if (!r->result->markers.any)
        bl_progress_end(&r->result->progress);
    if (r->spec->metrics)
        bl_metric_lines_end(&r->metrics, take_metric, r);
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

static void cut_tail(run *r)
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
static size_t coped_b(const run *r)
{
    int64_t dropped_b = r->result->output_b - (int64_t)r->result->output_tail.len; /* of all that was printed */
    int64_t coped_b = r->before_b[COPED_STEPS - 1] - dropped_b;
    return coped_b > 0 ? (size_t)coped_b : 0;
}

/* Of the limit that ended it, where one did. */
static double limit_s(const run *r)
{
    return r->cause == END_SETUP ? r->spec->setup_s : r->cause == END_SILENCE ? r->spec->silence_s : r->spec->time_s;
}

static void fill_result(run *r)
{
    bl_group_memory counted;
    bool grouped = r->room.group.path[0];
    bl_room_end(&r->room, &counted);
    bl_trial_result *result = r->result;
    const bl_wire_ended *end = &r->end;
    result->exit_status = WIFEXITED(end->wait_status) ? WEXITSTATUS(end->wait_status) : -1;
    result->exit_signal = WIFSIGNALED(end->wait_status) ? WTERMSIG(end->wait_status) : 0;
    result->wall_s = seconds_between(result->started_ns, end->ended_ns);
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
                        .step_budget = r->cause == END_STEPS || r->cause == END_ENOUGH,
                        .time_budget = r->cause == END_TIME,
                        .setup_limit = r->cause == END_SETUP,
                        .silence = r->cause == END_SILENCE,
                        .interrupted = r->cause == END_INTERRUPT,
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

int bl_trial_run(bl_launcher *launcher, const bl_trial_spec *spec, bl_trial_result *result, bl_error *err)
{
    bl_trial_result_init(result);
    bl_progress_init(&result->progress, spec->formats, spec->batch);
    bl_steps_choose(result);
    run r = {.launcher = launcher, .spec = spec, .result = result, .markers = -1, .output = -1};
    bl_str_init(&r.tail);
    bl_metric_lines_init(&r.metrics, spec->metrics);
    bl_started started = {.markers = -1, .output = -1};
    bl_oom_events_read("", &r.oom_before);
    bl_room_begin(launcher, spec->memory_limit_b, &r.room);
    bl_marker_socket_open(&r.socket);
    int code = bl_start_trial(launcher, spec, &r.room, &r.socket, &started, err);
    r.markers = started.markers;
    r.output = started.output;
    result->started_ns = started.started_ns;
    result->started_wall_ns = started.started_wall_ns;
    r.heard_ns = started.started_ns;
    bl_sampler *sampler = NULL; /* a trial without it is better than none */
    if (code == BL_OK && spec->telemetry)
        bl_sampler_start(spec->telemetry, spec->telemetry_hz, BL_RECORDING_LOOKS_MAX, &sampler, NULL);
    while (code == BL_OK && !r.ended)
        code = run_once(&r, err);
    bl_sampler_stop(sampler, &result->telemetry);
    if (code == BL_OK) {
        drain(&r);
        fill_result(&r);
    } else {
        bl_group_memory unread;
        bl_room_end(&r.room, &unread);
    }
    bl_start_close_fd(&r.markers);
    bl_start_close_fd(&r.output);
    bl_marker_socket_close(&r.socket);
    bl_str_clear(&r.tail);
    bl_metric_lines_clear(&r.metrics);
    return code;
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
