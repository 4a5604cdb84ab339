#include "trial/running.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "trial/start.h"
#include "trial/steps.h"

#define GRACE_S     5.0
#define PROGRESS_NS 200000000LL
#define READ_B      65536
/* What one descriptor may be read from before the other has its turn. */
#define READS_A_TURN 16

/* A metric that a line tells. A training loss belongs to the newest step, if that tells none itself. */
static void take_metric(void *context, const char *name, double value, int64_t step)
{
    bl_trial_result *result = ((bl_running *)context)->result;
    bl_steps_choose(result);
    bl_marker_point point = {
        .after_steps = step >= 0 ? step : result->steps_done, .value = value, .t_ns = bl_clock_ns()};
    bl_markers_metric(&result->markers, name, &point);
    if (strcmp(name, "loss") == 0)
        bl_steps_set_loss(result, value);
}

void bl_running_end_metrics(bl_running *r)
{
    if (r->spec->metrics)
        bl_metric_lines_end(&r->metrics, take_metric, r);
}

static void read_lines(bl_running *r, const char *bytes, size_t n)
{
    if (!r->result->markers.any)
        bl_progress_feed(&r->result->progress, bytes, n, bl_clock_ns());
    if (r->spec->metrics)
        bl_metric_lines_feed(&r->metrics, bytes, n, take_metric, r);
}

static void take_output(bl_running *r, const char *bytes, size_t n)
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
static void read_some(bl_running *r, int *fd, bool is_markers)
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

static void send_signal(const bl_running *r, bl_wire_kind kind, int number)
{
    bl_wire_signal packet = {.kind = kind, .signal = number};
    ssize_t n;
    do
        n = send(r->launcher->socket, &packet, sizeof packet, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
}

void bl_running_stop_for(bl_running *r, bl_end_cause cause)
{
    if (r->cause != BL_END_NONE)
        return;
    r->cause = cause;
    double grace_s = r->spec->grace_s > 0 ? r->spec->grace_s : GRACE_S;
    if (r->held_from_ns > 0) /* the launcher lets it go on with the signal */
        r->held_ns += bl_clock_ns() - r->held_from_ns;
    r->held_from_ns = 0;
    r->kill_ns = bl_clock_ns() + (int64_t)(grace_s * BL_NS_PER_S);
    send_signal(r, BL_WIRE_SIGNAL, SIGTERM);
}

void bl_running_kill(bl_running *r)
{
    if (!r->killed)
        send_signal(r, BL_WIRE_KILL, SIGKILL);
    r->killed = true;
}

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / BL_NS_PER_S;
}

static double trained_s(const bl_running *r)
{
    int64_t began_ns = bl_steps_start_ns(r->result), now_ns = r->held_from_ns > 0 ? r->held_from_ns : bl_clock_ns();
    return began_ns > 0 ? seconds_between(began_ns, now_ns - r->held_ns) : 0;
}

static void watch_budgets(bl_running *r, int64_t now_ns)
{
    const bl_trial_spec *spec = r->spec;
    int interrupt = spec->interrupt ? *spec->interrupt - spec->interrupts_before : 0;
    int64_t began_ns = bl_steps_start_ns(r->result), n_steps = r->result->steps_done;
    if (interrupt > 0)
        bl_running_stop_for(r, BL_END_INTERRUPT);
    else if (r->held_from_ns > 0)
        ; /* what does not run uses nothing up */
    else if (spec->max_steps > 0 && n_steps >= spec->max_steps)
        bl_running_stop_for(r, BL_END_STEPS);
    else if (spec->time_s > 0 && trained_s(r) >= spec->time_s)
        bl_running_stop_for(r, BL_END_TIME);
    else if (spec->setup_s > 0 && n_steps == 0 && began_ns == 0 &&
             seconds_between(r->result->started_ns, now_ns) >= spec->setup_s)
        bl_running_stop_for(r, BL_END_SETUP);
    else if (spec->silence_s > 0 && seconds_between(r->heard_ns, now_ns) >= spec->silence_s)
        bl_running_stop_for(r, BL_END_SILENCE);
    if (interrupt > 1 || (r->kill_ns > 0 && now_ns >= r->kill_ns))
        bl_running_kill(r);
}

static void report_progress(bl_running *r, int64_t now_ns)
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
static void note_steps(bl_running *r, int64_t n_before)
{
    for (int64_t i = n_before; i < r->result->steps_done && i < n_before + BL_COPED_STEPS; i++) {
        memmove(r->before_b + 1, r->before_b, sizeof r->before_b - sizeof r->before_b[0]);
        r->before_b[0] = r->turn_b;
    }
}

void bl_running_fds(const bl_running *r, struct pollfd fds[BL_RUNNING_FDS])
{
    fds[0] = (struct pollfd){.fd = r->ended ? -1 : r->launcher->socket, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = r->markers, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = r->output, .events = POLLIN};
    for (size_t i = 3 + bl_marker_socket_polls(&r->socket, fds + 3); i < BL_RUNNING_FDS; i++)
        fds[i] = (struct pollfd){.fd = -1};
}

int bl_running_serve(bl_running *r, const struct pollfd fds[BL_RUNNING_FDS], bl_error *err)
{
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
        bl_running_stop_for(r, BL_END_ENOUGH);
    if (more || now_ns >= r->progress_ns)
        report_progress(r, now_ns);
    watch_budgets(r, now_ns);
    return BL_OK;
}

/* ---- stopping and going on ---- */

/* Asks, and waits for the answer; 0 awake where the trial ended instead. */
static int ask_held(bl_running *r, bl_wire_kind kind, bl_wire_kind answer, uint32_t *awake, bl_error *err)
{
    union {
        bl_wire_kind kind;
        bl_wire_held held;
        bl_wire_ended ended;
    } packet;
    *awake = 0;
    send_signal(r, kind, 0);
    for (;;) {
        if (bl_start_receive(r->launcher, &packet, sizeof packet) == 0)
            return bl_start_lost_launcher(err);
        if (packet.kind == BL_WIRE_ENDED) {
            r->end = packet.ended;
            r->ended = true;
            return BL_OK;
        }
        if (packet.kind == answer) {
            *awake = packet.held.n_awake;
            return BL_OK;
        }
    }
}

int bl_running_hold(bl_running *r, uint32_t *awake, bl_error *err)
{
    int code = ask_held(r, BL_WIRE_HOLD, BL_WIRE_HELD, awake, err);
    if (code == BL_OK && !r->ended)
        r->held_from_ns = bl_clock_ns();
    bl_running_take_rest(r);
    return code;
}

int bl_running_release(bl_running *r, uint32_t *awake, bl_error *err)
{
    int64_t now_ns = bl_clock_ns();
    if (r->held_from_ns > 0)
        r->held_ns += now_ns - r->held_from_ns;
    r->held_from_ns = 0;
    r->heard_ns = now_ns; /* it could not say anything */
    return ask_held(r, BL_WIRE_RELEASE, BL_WIRE_RELEASED, awake, err);
}

void bl_running_take_rest(bl_running *r)
{
    struct pollfd fd = {.events = POLLIN};
    for (fd.fd = r->markers; fd.fd >= 0 && poll(&fd, 1, 0) > 0; fd.fd = r->markers)
        read_some(r, &r->markers, true);
    for (fd.fd = r->output; fd.fd >= 0 && poll(&fd, 1, 0) > 0; fd.fd = r->output)
        read_some(r, &r->output, false);
    while (bl_marker_socket_serve(&r->socket, &r->result->markers))
        ;
    bl_steps_choose(r->result);
}

/* ---- its beginning ---- */

int bl_running_begin(bl_running *r, bl_launcher *launcher, const bl_trial_spec *spec, bl_trial_result *result,
                     bl_error *err)
{
    bl_trial_result_init(result);
    bl_progress_init(&result->progress, spec->formats, spec->batch);
    bl_steps_choose(result);
    *r = (bl_running){.launcher = launcher, .spec = spec, .result = result, .markers = -1, .output = -1};
    bl_str_init(&r->tail);
    bl_metric_lines_init(&r->metrics, spec->metrics);
    bl_started started = {.markers = -1, .output = -1};
    bl_oom_events_read("", &r->oom_before);
    bl_room_begin(launcher, spec->memory_limit_b, &r->room);
    bl_marker_socket_open(&r->socket);
    int code = bl_start_trial(launcher, spec, &r->room, &r->socket, &started, err);
    r->markers = started.markers;
    r->output = started.output;
    result->started_ns = started.started_ns;
    result->started_wall_ns = started.started_wall_ns;
    r->heard_ns = started.started_ns;
    /* A trial without telemetry is better than none. */
    if (code == BL_OK && spec->telemetry)
        bl_sampler_start(spec->telemetry, spec->telemetry_hz, BL_RECORDING_LOOKS_MAX, &r->sampler, NULL);
    return code;
}
