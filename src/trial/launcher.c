#include "trial/launcher.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trial/launcher_main.h"

int bl_launcher_start(bl_launcher *launcher, bl_error *err)
{
    *launcher = (bl_launcher){.socket = -1};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return BL_FAIL(err, BL_ERR_ENV, "no socket for the launcher: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return BL_FAIL(err, BL_ERR_ENV, "the launcher cannot be forked: %s", strerror(error));
    }
    if (pid == 0) {
        close(ends[0]);
        bl_launcher_main(ends[1]);
        _exit(0); /* not exit: what the lab had buffered is the lab's to write */
    }
    close(ends[1]);
    launcher->socket = ends[0];
    launcher->pid = pid;
    return BL_OK;
}

void bl_launcher_stop(bl_launcher *launcher)
{
    if (launcher->socket >= 0)
        close(launcher->socket);
    if (launcher->groups_tried && !launcher->groups_borrowed)
        bl_groups_close(&launcher->groups);
    if (launcher->pid > 0)
        while (waitpid(launcher->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    *launcher = (bl_launcher){.socket = -1};
}
