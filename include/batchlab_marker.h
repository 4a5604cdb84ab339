/* batchlab_marker.h - tells batchlab what a training program is doing (marker protocol, version 1).
 *
 * One header, C99 and C++, nothing to link. Copy it or install it. Where the program does not run under batchlab
 * (neither BATCHLAB_FD nor BATCHLAB_SOCKET is set), or batchlab has gone, every call does nothing. No call fails the
 * training or blocks it
 * for more than BATCHLAB_MARKER_PATIENCE_MS, once until batchlab reads again; no memory is allocated. A batchlab_marker
 * is for one thread at a time.
 *
 *     batchlab_marker marker;
 *     batchlab_marker_open(&marker);
 *     batchlab_marker_hello(&marker, "my trainer", "1.0", "f32", 1, batch_size);
 *     ... load data, build the model ...
 *     batchlab_marker_ready(&marker);
 *     for (...) {
 *         ... one training step ...
 *         batchlab_marker_step(&marker, batch_size, loss, -1);
 *     }
 *     batchlab_marker_done(&marker);
 *     batchlab_marker_close(&marker);
 *
 * Where launchers of ranks (mpirun, srun, torchrun) start the program, only rank 0 speaks, or the one that
 * BATCHLAB_RANK names; open the marker before MPI opens files of its own.
 *
 * Under batchlab a program is ended with SIGTERM once enough was measured; it may simply die of it.
 *
 * Copyright the batchlab authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BATCHLAB_MARKER_H
#define BATCHLAB_MARKER_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime, poll; define it (or _GNU_SOURCE) first where you include others */
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATCHLAB_MARKER_VERSION     1
#define BATCHLAB_MARKER_PATIENCE_MS 200
#define BATCHLAB_MARKER_LINE_MAX_B  512

#if defined(__GNUC__)
#define BATCHLAB_MARKER_API static __inline__ __attribute__((unused))
#else
#define BATCHLAB_MARKER_API static
#endif

typedef struct batchlab_marker {
    int fd;      /* -1: nobody listens */
    int own;     /* it was connected here, and is closed with the marker */
    int in_line; /* a line was broken off: the next one starts with a newline */
    int stuck;   /* the last line found no reader in time: the next one does not wait */
} batchlab_marker;

/* CLOCK_MONOTONIC in nanoseconds: every time in the protocol. */
BATCHLAB_MARKER_API int64_t batchlab_marker_now_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A whole number from the environment, or `missing`. */
BATCHLAB_MARKER_API long long batchlab_marker_env_(const char *name, long long missing)
{
    const char *text = getenv(name);
    char *end = NULL;
    long long value = text && *text ? strtoll(text, &end, 10) : -1;
    return end && *end == '\0' && value >= 0 ? value : missing;
}

/* The descriptor that batchlab gave, or -1: a launcher may have closed it, and another file may have its number now. */
BATCHLAB_MARKER_API int batchlab_marker_inherited_(void)
{
    long long fd = batchlab_marker_env_("BATCHLAB_FD", -1), inode = batchlab_marker_env_("BATCHLAB_FD_INODE", -1);
    struct stat at;
    if (fd < 0 || fd > 1 << 20 || fstat((int)fd, &at) != 0)
        return -1;
    return inode < 0 || (S_ISSOCK(at.st_mode) && (long long)at.st_ino == inode) ? (int)fd : -1;
}

/* The number of this process among those of one training, as its launcher tells; 0 where none does. */
BATCHLAB_MARKER_API long long batchlab_marker_rank_(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"};
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        long long rank = batchlab_marker_env_(names[i], -1);
        if (rank >= 0)
            return rank;
    }
    return 0;
}

/* A connection to the socket that BATCHLAB_SOCKET names, in the file system or ("@NAME") beside it. -1: nobody listens.
 */
BATCHLAB_MARKER_API int batchlab_marker_connect_(void)
{
    const char *name = getenv("BATCHLAB_SOCKET");
    size_t n = name ? strlen(name) : 0;
    struct sockaddr_un address;
    int fd;
    if (n < 2 || n >= sizeof address.sun_path || batchlab_marker_rank_() != batchlab_marker_env_("BATCHLAB_RANK", 0))
        return -1;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, name, n);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK); /* connecting waits for nobody either */
    if (connect(fd, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (name[0] != '@'))) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

BATCHLAB_MARKER_API void batchlab_marker_open(batchlab_marker *marker)
{
    int saved_errno = errno;
    marker->fd = batchlab_marker_inherited_();
    marker->own = 0;
    marker->in_line = 0;
    marker->stuck = 0;
    if (marker->fd < 0) {
        marker->fd = batchlab_marker_connect_();
        marker->own = marker->fd >= 0;
    }
    errno = saved_errno;
}

/* A descriptor that was inherited is the process's: it is not closed. */
BATCHLAB_MARKER_API void batchlab_marker_close(batchlab_marker *marker)
{
    if (marker->own)
        close(marker->fd);
    marker->fd = -1;
    marker->own = 0;
}

BATCHLAB_MARKER_API int batchlab_marker_listening(const batchlab_marker *marker)
{
    return marker->fd >= 0;
}

/* batchlab gives a socket, on which a reader that went away raises no signal if one asks so. Anything else is
 * written to as it is. */
BATCHLAB_MARKER_API ssize_t batchlab_marker_write_some_(int fd, const char *bytes, size_t n)
{
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == ENOTSOCK) {
        struct pollfd ready;
        ready.fd = fd;
        ready.events = POLLOUT;
        if (poll(&ready, 1, 0) <= 0) {
            errno = EAGAIN;
            return -1;
        }
        if (ready.revents & (POLLERR | POLLNVAL)) { /* writing would raise SIGPIPE */
            errno = EPIPE;
            return -1;
        }
        sent = write(fd, bytes, n);
    }
    return sent;
}

BATCHLAB_MARKER_API void batchlab_marker_send_(batchlab_marker *marker, const char *line, size_t n)
{
    int saved_errno = errno;
    int64_t give_up_ns = 0;
    size_t done = 0;
    while (marker->fd >= 0 && done < n) {
        ssize_t sent = batchlab_marker_write_some_(marker->fd, line + done, n - done);
        if (sent > 0) {
            done += (size_t)sent;
        } else if (sent < 0 && errno == EINTR) {
            continue;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd ready;
            int64_t now_ns = batchlab_marker_now_ns();
            if (give_up_ns == 0)
                give_up_ns = now_ns + (marker->stuck ? 0 : (int64_t)BATCHLAB_MARKER_PATIENCE_MS * 1000000);
            if (now_ns >= give_up_ns) /* this line is lost, training goes on */
                break;
            ready.fd = marker->fd;
            ready.events = POLLOUT;
            poll(&ready, 1, (int)((give_up_ns - now_ns) / 1000000) + 1);
        } else {
            batchlab_marker_close(marker); /* nobody listens any more */
        }
    }
    marker->in_line = done > 0 ? done < n : marker->in_line;
    marker->stuck = done < n;
    errno = saved_errno;
}

/* Appends text as the inside of a JSON string. Returns the new length; what does not fit is left out. */
BATCHLAB_MARKER_API size_t batchlab_marker_escape_(char *out, size_t len, size_t size, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    for (; text && *text && len + 7 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            out[len++] = '\\';
            out[len++] = (char)c;
        } else if (c < 0x20 || c == 0x7f) {
            out[len++] = '\\';
            out[len++] = 'u';
            out[len++] = '0';
            out[len++] = '0';
            out[len++] = hex[c >> 4];
            out[len++] = hex[c & 15];
        } else {
            out[len++] = (char)c;
        }
    }
    out[len] = '\0';
    return len;
}

/* A number as JSON has it, whatever the locale; NaN and infinities, which JSON lacks, become null. */
BATCHLAB_MARKER_API void batchlab_marker_number_(char *out, size_t size, double value)
{
    char *c;
    if (value - value != 0) {
        snprintf(out, size, "null");
        return;
    }
    snprintf(out, size, "%.9g", value);
    for (c = out; *c; c++)
        if (*c == ',')
            *c = '.';
}

BATCHLAB_MARKER_API void batchlab_marker_line_(batchlab_marker *marker, const char *line, int n)
{
    if (n <= 0 || n >= BATCHLAB_MARKER_LINE_MAX_B)
        return;
    if (marker->in_line) {
        batchlab_marker_send_(marker, "\n", 1);
        if (marker->in_line || marker->fd < 0)
            return;
    }
    batchlab_marker_send_(marker, line, (size_t)n);
}

/* First of all. Texts may be NULL; ranks and batch 0 where they are not known. `batch` is checked against the one
 * that batchlab asked for, so say what one step really trains (over all ranks). */
BATCHLAB_MARKER_API void batchlab_marker_hello(batchlab_marker *marker, const char *program, const char *version,
                                               const char *precision, int ranks, int64_t batch)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B], a[100], b[100], c[60];
    if (marker->fd < 0)
        return;
    batchlab_marker_escape_(a, 0, sizeof a, program);
    batchlab_marker_escape_(b, 0, sizeof b, version);
    batchlab_marker_escape_(c, 0, sizeof c, precision);
    batchlab_marker_line_(
        marker, line,
        snprintf(
            line, sizeof line,
            "{\"type\":\"hello\",\"version\":%d,\"program\":\"%s\",\"program_version\":\"%s\",\"precision\":\"%s\","
            "\"ranks\":%d,\"batch\":%lld}\n",
            BATCHLAB_MARKER_VERSION, a, b, c, ranks, (long long)batch));
}

BATCHLAB_MARKER_API void batchlab_marker_plain_(batchlab_marker *marker, const char *type)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B];
    if (marker->fd < 0)
        return;
    batchlab_marker_line_(
        marker, line,
        snprintf(line, sizeof line, "{\"type\":\"%s\",\"t_ns\":%lld}\n", type, (long long)batchlab_marker_now_ns()));
}

/* Set-up is over, the first training step begins. */
BATCHLAB_MARKER_API void batchlab_marker_ready(batchlab_marker *marker)
{
    batchlab_marker_plain_(marker, "ready");
}

/* A training step has just ended. `loss` may be NAN. `wait_ns` is the part of the step spent waiting for data, -1
 * where it is not known. On an accelerator wait for the step to be really done first (say every tenth step, with the
 * samples of all ten), or the times are those of queueing. */
BATCHLAB_MARKER_API void batchlab_marker_step(batchlab_marker *marker, int64_t samples, double loss, int64_t wait_ns)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B], number[40], wait[40] = "";
    int64_t now_ns;
    if (marker->fd < 0)
        return;
    now_ns = batchlab_marker_now_ns();
    batchlab_marker_number_(number, sizeof number, loss);
    if (wait_ns >= 0)
        snprintf(wait, sizeof wait, ",\"wait_ns\":%lld", (long long)wait_ns);
    batchlab_marker_line_(marker, line,
                          snprintf(line, sizeof line,
                                   "{\"type\":\"step\",\"samples\":%lld,\"t_ns\":%lld,\"loss\":%s%s}\n",
                                   (long long)samples, (long long)now_ns, number, wait));
}

/* "eval", "checkpoint", ...: steps in there do not count; "train" goes back. */
BATCHLAB_MARKER_API void batchlab_marker_phase(batchlab_marker *marker, const char *name)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B], text[100];
    if (marker->fd < 0)
        return;
    batchlab_marker_escape_(text, 0, sizeof text, name);
    batchlab_marker_line_(marker, line,
                          snprintf(line, sizeof line, "{\"type\":\"phase\",\"name\":\"%s\",\"t_ns\":%lld}\n", text,
                                   (long long)batchlab_marker_now_ns()));
}

/* Memory of a kind the program itself knows: "device allocated", "device reserved", "activations". */
BATCHLAB_MARKER_API void batchlab_marker_memory(batchlab_marker *marker, const char *kind, int64_t bytes)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B], text[100];
    if (marker->fd < 0)
        return;
    batchlab_marker_escape_(text, 0, sizeof text, kind);
    batchlab_marker_line_(
        marker, line,
        snprintf(line, sizeof line, "{\"type\":\"memory\",\"kind\":\"%s\",\"bytes\":%lld}\n", text, (long long)bytes));
}

/* "top1", "val_loss", "mAP": a value that is no number is not sent. */
BATCHLAB_MARKER_API void batchlab_marker_metric(batchlab_marker *marker, const char *name, double value)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B], text[100], number[40];
    if (marker->fd < 0 || value - value != 0)
        return;
    batchlab_marker_escape_(text, 0, sizeof text, name);
    batchlab_marker_number_(number, sizeof number, value);
    batchlab_marker_line_(marker, line,
                          snprintf(line, sizeof line,
                                   "{\"type\":\"metric\",\"name\":\"%s\",\"value\":%s,\"t_ns\":%lld}\n", text, number,
                                   (long long)batchlab_marker_now_ns()));
}

/* How noisy the gradient is, the weights held: the mean of the squared norms of several gradients over `small` samples
 * each, and the squared norm of their mean, over `big` samples. Say it for a few of these in a row, between two steps.
 * `scaled` is 1 where both are g' P g with what an optimizer such as Adam multiplies gradients by, 1 / (sqrt(v) + eps).
 */
BATCHLAB_MARKER_API void batchlab_marker_noise(batchlab_marker *marker, int64_t small, int64_t big, double small_sq,
                                               double big_sq, int scaled)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B], a[40], b[40];
    if (marker->fd < 0 || small_sq - small_sq != 0 || big_sq - big_sq != 0)
        return;
    batchlab_marker_number_(a, sizeof a, small_sq);
    batchlab_marker_number_(b, sizeof b, big_sq);
    batchlab_marker_line_(marker, line,
                          snprintf(line, sizeof line,
                                   "{\"type\":\"noise\",\"small\":%lld,\"big\":%lld,\"small_sq\":%s,\"big_sq\":%s,"
                                   "\"scaled\":%s,\"t_ns\":%lld}\n",
                                   (long long)small, (long long)big, a, b, scaled ? "true" : "false",
                                   (long long)batchlab_marker_now_ns()));
}

/* Memory ran out; `bytes` were asked for, 0 where that is not known. Then the program should end. */
BATCHLAB_MARKER_API void batchlab_marker_oom(batchlab_marker *marker, int64_t bytes)
{
    char line[BATCHLAB_MARKER_LINE_MAX_B];
    if (marker->fd < 0)
        return;
    batchlab_marker_line_(marker, line,
                          snprintf(line, sizeof line, "{\"type\":\"oom\",\"bytes\":%lld}\n", (long long)bytes));
}

/* All is done. */
BATCHLAB_MARKER_API void batchlab_marker_done(batchlab_marker *marker)
{
    batchlab_marker_plain_(marker, "done");
}

#ifdef __cplusplus
}
#endif

#endif
