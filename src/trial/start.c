#include "trial/start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/str.h"
#include "trial/spawn.h"
#include "trial/wire.h"

extern char **environ;

#define PIPE_SIZE_B (1 << 20) /* a program's flood of output waits for nobody */

void bl_start_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- what to run, as a file of strings ---- */

static bool has_name(const char *assignment, const char *other)
{
    size_t n = strcspn(assignment, "=");
    return strncmp(assignment, other, n) == 0 && (other[n] == '=' || other[n] == '\0');
}

/* Libraries think that such a terminal can do nothing, and show no progress. */
static bool lacks_term(const bl_trial_spec *spec)
{
    const char *term = getenv("TERM");
    return spec->pty && !(term && term[0] && strcmp(term, "dumb") != 0);
}

static bool is_overridden(const bl_trial_spec *spec, const char *assignment)
{
    static const char *const ours[] = {"BATCHLAB_FD",    "BATCHLAB_FD_INODE", "BATCHLAB_SOCKET",
                                       "BATCHLAB_BATCH", "BATCHLAB_TRIAL",    "PYTHONUNBUFFERED"};
    for (size_t i = 0; i < BL_ARRAY_LEN(ours); i++)
        if (has_name(assignment, ours[i]))
            return true;
    if (lacks_term(spec) && has_name(assignment, "TERM"))
        return true;
    for (size_t i = 0; spec->env && spec->env[i]; i++)
        if (has_name(assignment, spec->env[i]))
            return true;
    return false;
}

static void append_string(bl_str *out, const char *text)
{
    bl_str_append_n(out, text, strlen(text) + 1);
}

/* Where the markers go. The inode tells the descriptor from another file that got its number after a launcher of ranks
 * had closed it. */
static void append_marker_channels(const bl_marker_socket *socket, int marker_fd, bl_str *out, uint32_t *count)
{
    char text[128];
    struct stat at;
    snprintf(text, sizeof text, "BATCHLAB_FD=%d", BL_SPAWN_MARKER_FD);
    append_string(out, text);
    ++*count;
    if (fstat(marker_fd, &at) == 0) {
        snprintf(text, sizeof text, "BATCHLAB_FD_INODE=%ju", (uintmax_t)at.st_ino);
        append_string(out, text);
        ++*count;
    }
    if (socket->name[0]) {
        snprintf(text, sizeof text, "BATCHLAB_SOCKET=%s", socket->name);
        append_string(out, text);
        ++*count;
    }
}

static void append_environment(const bl_trial_spec *spec, bl_str *out, uint32_t *count)
{
    for (char **e = environ; *e; e++)
        if (!is_overridden(spec, *e)) {
            append_string(out, *e);
            ++*count;
        }
    for (size_t i = 0; spec->env && spec->env[i]; i++, ++*count)
        append_string(out, spec->env[i]);
    char text[64];
    if (spec->batch > 0) {
        snprintf(text, sizeof text, "BATCHLAB_BATCH=%" PRId64, spec->batch);
        append_string(out, text);
        ++*count;
    }
    snprintf(text, sizeof text, "BATCHLAB_TRIAL=%" PRId64, spec->trial);
    append_string(out, text);
    if (lacks_term(spec)) {
        append_string(out, "TERM=xterm-256color");
        ++*count;
    }
    append_string(out, "PYTHONUNBUFFERED=1"); /* else Python keeps a pipe's output back until it is much */
    *count += 2;
}

/* Returns a memory file, or -1 with the error set. */
static int make_spec_file(const bl_trial_spec *spec, const bl_room *room, const bl_marker_socket *socket, int marker_fd,
                          bl_wire_start *start, bl_error *err)
{
    bl_str text;
    bl_str_init(&text);
    for (size_t i = 0; spec->argv[i]; i++, start->n_argv++)
        append_string(&text, spec->argv[i]);
    append_marker_channels(socket, marker_fd, &text, &start->n_env);
    append_environment(spec, &text, &start->n_env);
    append_string(&text, spec->cwd ? spec->cwd : "");
    append_string(&text, room->group.path);
    start->spec_b = text.len;
    int fd = -1;
    if (text.failed)
        BL_FAIL(err, BL_ERR_NOMEM, "no memory for the command's arguments");
    else if ((fd = memfd_create("batchlab-spec", MFD_CLOEXEC)) < 0)
        BL_FAIL(err, BL_ERR_ENV, "no file for the command's arguments: %s", strerror(errno));
    for (size_t done = 0; fd >= 0 && done < text.len;) {
        ssize_t n = write(fd, text.data + done, text.len - done);
        if (n < 0 && errno != EINTR) {
            BL_FAIL(err, BL_ERR_IO, "the command's arguments cannot be written: %s", strerror(errno));
            bl_start_close_fd(&fd);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    bl_str_clear(&text);
    return fd;
}

/* ---- starting ---- */

int bl_start_lost_launcher(bl_error *err)
{
    BL_FAIL(err, BL_ERR_INTERNAL, "the launcher process has ended unexpectedly");
    bl_error_remedy(err, "was it killed? start the sweep again with --resume");
    return err ? (int)err->code : BL_ERR_INTERNAL;
}

static int send_start(const bl_launcher *launcher, const bl_wire_start *start, const int *fds, bl_error *err)
{
    union {
        char bytes[CMSG_SPACE(BL_WIRE_FDS * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec piece = {.iov_base = (void *)start, .iov_len = sizeof *start};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(BL_WIRE_FDS * sizeof(int));
    memcpy(CMSG_DATA(c), fds, BL_WIRE_FDS * sizeof(int));
    ssize_t n;
    do
        n = sendmsg(launcher->socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? bl_start_lost_launcher(err) : BL_OK;
}

static int start_error(const bl_trial_spec *spec, const bl_start_failure *failure, bl_error *err)
{
    const char *command = spec->argv[0], *why = strerror(failure->error);
    switch (failure->stage) {
    case BL_START_CHDIR:
        BL_FAIL(err, BL_ERR_ENV, "cannot enter the folder '%s': %s", spec->cwd ? spec->cwd : "", why);
        break;
    case BL_START_GROUP:
        BL_FAIL(err, BL_ERR_ENV, "'%s' cannot enter its control group: %s", command, why);
        break;
    case BL_START_LIMIT:
        BL_FAIL(err, BL_ERR_ENV, "the memory of '%s' cannot be limited: %s", command, why);
        break;
    case BL_START_EXEC:
        if (failure->error == ENOENT && !strchr(command, '/')) {
            BL_FAIL(err, BL_ERR_ENV, "command not found: '%s'", command);
            bl_error_remedy(err, "is it spelt right, and its folder on PATH? the command stands after --");
        } else if (failure->error == ENOENT) {
            BL_FAIL(err, BL_ERR_ENV, "cannot run '%s': it, or the interpreter of its first line, is not there",
                    command);
        } else if (failure->error == EACCES) {
            BL_FAIL(err, BL_ERR_ENV, "cannot run '%s': it is not executable", command);
            bl_error_remedy(err, "chmod +x, or name the interpreter: -- python3 %s ...", command);
        } else if (failure->error == ENOEXEC) {
            BL_FAIL(err, BL_ERR_ENV, "cannot run '%s': it is no program and its first line names no interpreter",
                    command);
            bl_error_remedy(err, "name the interpreter: -- sh %s ...", command);
        } else {
            BL_FAIL(err, BL_ERR_ENV, "cannot run '%s': %s", command, why);
        }
        break;
    default:
        BL_FAIL(err, BL_ERR_ENV, "cannot make a process for '%s': %s", command, why);
        break;
    }
    return err ? (int)err->code : BL_ERR_ENV;
}

ssize_t bl_start_receive(const bl_launcher *launcher, void *packet, size_t size)
{
    ssize_t n;
    do
        n = recv(launcher->socket, packet, size, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 ? 0 : n;
}

static int await_start(const bl_launcher *launcher, const bl_trial_spec *spec, bl_started *out, bl_error *err)
{
    union {
        bl_wire_kind kind;
        bl_wire_started started;
        bl_wire_not_started not_started;
    } packet;
    if (bl_start_receive(launcher, &packet, sizeof packet) == 0)
        return bl_start_lost_launcher(err);
    if (packet.kind == BL_WIRE_NOT_STARTED)
        return start_error(spec, &packet.not_started.failure, err);
    if (packet.kind != BL_WIRE_STARTED)
        return BL_FAIL(err, BL_ERR_INTERNAL, "the launcher said %d out of turn", (int)packet.kind);
    out->started_ns = packet.started.started_ns;
    out->started_wall_ns = packet.started.started_wall_ns;
    return BL_OK;
}

/* Plain: what is written comes out as it was written, and nothing is echoed. As wide as bars like it. */
static int make_terminal(int *output, bl_error *err)
{
    struct termios plain;
    struct winsize size = {.ws_row = 50, .ws_col = 160};
    memset(&plain, 0, sizeof plain);
    cfmakeraw(&plain);
    plain.c_cflag |= CREAD | CS8;
    if (openpty(&output[0], &output[1], NULL, &plain, &size) != 0)
        return BL_FAIL(err, BL_ERR_ENV, "no terminal for the output: %s", strerror(errno));
    fcntl(output[0], F_SETFD, FD_CLOEXEC);
    fcntl(output[1], F_SETFD, FD_CLOEXEC);
    return BL_OK;
}

static int make_channels(bool pty, int *markers, int *output, bl_error *err)
{
    /* A socket for the markers: a program that writes to one whose reader is gone can say that it wants no signal. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, markers) != 0)
        return BL_FAIL(err, BL_ERR_ENV, "no channel for the markers: %s", strerror(errno));
    shutdown(markers[0], SHUT_WR);
    if (pty)
        return make_terminal(output, err);
    if (pipe2(output, O_CLOEXEC) != 0)
        return BL_FAIL(err, BL_ERR_ENV, "no pipe for the output: %s", strerror(errno));
    fcntl(output[1], F_SETPIPE_SZ, PIPE_SIZE_B); /* refused where the user's pipes are limited: then a smaller one */
    return BL_OK;
}

int bl_start_trial(const bl_launcher *launcher, const bl_trial_spec *spec, const bl_room *room,
                   const bl_marker_socket *socket, bl_started *out, bl_error *err)
{
    int markers[2] = {-1, -1}, output[2] = {-1, -1};
    bl_wire_start packet = {.kind = BL_WIRE_START, .limit_b = bl_room_held_by_launcher_b(room)};
    int file = -1;
    int code = make_channels(spec->pty, markers, output, err);
    if (code == BL_OK && (file = make_spec_file(spec, room, socket, markers[1], &packet, err)) < 0)
        code = BL_ERR_ENV;
    if (code == BL_OK) {
        int fds[BL_WIRE_FDS];
        fds[BL_WIRE_FD_SPEC] = file;
        fds[BL_WIRE_FD_MARKERS] = markers[1];
        fds[BL_WIRE_FD_OUTPUT] = output[1];
        code = send_start(launcher, &packet, fds, err);
    }
    if (code == BL_OK)
        code = await_start(launcher, spec, out, err);
    bl_start_close_fd(&file);
    bl_start_close_fd(&markers[1]);
    bl_start_close_fd(&output[1]);
    out->markers = markers[0];
    out->output = output[0];
    if (code == BL_OK) {
        fcntl(out->markers, F_SETFL, O_NONBLOCK);
        fcntl(out->output, F_SETFL, O_NONBLOCK);
    }
    return code;
}
