#include "trial/marker_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64
#define READ_B  16384
/* What one connection may be read from before the others have their turn. */
#define READS_A_TURN 16

void bl_marker_socket_open(bl_marker_socket *s)
{
    *s = (bl_marker_socket){.listener = -1};
    for (size_t i = 0; i < BL_MARKER_CONNECTIONS_MAX; i++)
        s->connections[i].fd = -1;
    uint64_t name[2];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (getrandom(name, sizeof name, 0) != (ssize_t)sizeof name)
        return;
    int n = snprintf(s->name, sizeof s->name, "@batchlab-%016" PRIx64 "%016" PRIx64, name[0], name[1]);
    /* A leading zero byte: the name lies in no folder, so nothing stays behind however the lab ends. */
    memcpy(address.sun_path + 1, s->name + 1, (size_t)n - 1);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener >= 0 && bind(s->listener, (struct sockaddr *)&address, size) == 0 &&
        listen(s->listener, BACKLOG) == 0)
        return;
    bl_marker_socket_close(s);
}

void bl_marker_socket_close(bl_marker_socket *s)
{
    for (size_t i = 0; i < BL_MARKER_CONNECTIONS_MAX; i++) {
        if (s->connections[i].fd >= 0)
            close(s->connections[i].fd);
        s->connections[i].fd = -1;
        bl_marker_stream_clear(&s->connections[i].stream);
    }
    if (s->listener >= 0)
        close(s->listener);
    s->listener = -1;
    s->name[0] = '\0';
}

size_t bl_marker_socket_polls(const bl_marker_socket *s, struct pollfd *fds)
{
    size_t n = 0;
    if (s->listener >= 0)
        fds[n++] = (struct pollfd){.fd = s->listener, .events = POLLIN};
    for (size_t i = 0; i < BL_MARKER_CONNECTIONS_MAX; i++)
        if (s->connections[i].fd >= 0)
            fds[n++] = (struct pollfd){.fd = s->connections[i].fd, .events = POLLIN};
    return n;
}

/* The name can be seen by all users of the machine. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static bool take_connections(bl_marker_socket *s)
{
    bool any = false;
    for (int fd; s->listener >= 0; any = true) {
        fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            break; /* a broken off one is looked for in the next turn */
        size_t i = 0;
        while (i < BL_MARKER_CONNECTIONS_MAX && s->connections[i].fd >= 0)
            i++;
        if (i == BL_MARKER_CONNECTIONS_MAX || !is_ours(fd)) {
            close(fd);
            continue;
        }
        shutdown(fd, SHUT_WR);
        s->connections[i].fd = fd;
        bl_marker_stream_init(&s->connections[i].stream);
    }
    return any;
}

static bool read_connection(bl_marker_connection *c, bl_markers *markers)
{
    char bytes[READ_B];
    bool any = false;
    for (int i = 0; i < READS_A_TURN; i++) {
        ssize_t n = read(c->fd, bytes, sizeof bytes);
        if (n > 0) {
            any = true;
            bl_marker_stream_feed(&c->stream, markers, bytes, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            bl_marker_stream_end(&c->stream, markers);
            bl_marker_stream_clear(&c->stream);
            close(c->fd);
            c->fd = -1;
            return true;
        } else {
            break;
        }
    }
    return any;
}

bool bl_marker_socket_serve(bl_marker_socket *s, bl_markers *markers)
{
    bool any = take_connections(s);
    for (size_t i = 0; i < BL_MARKER_CONNECTIONS_MAX; i++)
        if (s->connections[i].fd >= 0)
            any |= read_connection(&s->connections[i], markers);
    return any;
}
