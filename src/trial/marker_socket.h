/* The second way for markers: a named socket, for programs that do not inherit the descriptor, because a launcher of
 * ranks (mpirun, srun) or a language closes what it does not know. Of use inside this room. */
#ifndef BL_TRIAL_MARKER_SOCKET_H
#define BL_TRIAL_MARKER_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "trial/markers.h"

#define BL_MARKER_CONNECTIONS_MAX 32
/* What one trial may be polled for here. */
#define BL_MARKER_SOCKET_POLLS (BL_MARKER_CONNECTIONS_MAX + 1)

typedef struct bl_marker_connection {
    int fd; /* -1: free */
    bl_marker_stream stream;
} bl_marker_connection;

typedef struct bl_marker_socket {
    int listener;  /* -1: none */
    char name[64]; /* for BATCHLAB_SOCKET: '@' and a name that lies in no folder; "" where there is none */
    bl_marker_connection connections[BL_MARKER_CONNECTIONS_MAX];
} bl_marker_socket;

/* Listens under a name that nobody guesses. Never fails: without it there is still the descriptor. */
void bl_marker_socket_open(bl_marker_socket *s);
/* Unread lines are lost. */
void bl_marker_socket_close(bl_marker_socket *s);
/* Fills fds with what to wait for; returns how many of the BL_MARKER_SOCKET_POLLS. */
size_t bl_marker_socket_polls(const bl_marker_socket *s, struct pollfd *fds);
/* Takes who connected (processes of this user, or root's) and what came. False where nothing did. */
bool bl_marker_socket_serve(bl_marker_socket *s, bl_markers *markers);

#endif
