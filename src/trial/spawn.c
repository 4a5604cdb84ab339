#include "trial/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void report_and_leave(int report_fd, bl_start_stage stage)
{
    bl_start_failure failure = {.stage = stage, .error = errno};
    ssize_t n;
    do
        n = write(report_fd, &failure, sizeof failure);
    while (n < 0 && errno == EINTR);
    _exit(127);
}

static void restore_signals(void)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++)
        if (s != SIGKILL && s != SIGSTOP)
            sigaction(s, &by_default, NULL); /* fails for numbers the C library keeps for itself */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* dup2 onto itself would leave the close-on-exec flag standing. */
static bool place_fd(int fd, int wanted)
{
    return fd == wanted ? fcntl(fd, F_SETFD, 0) == 0 : dup2(fd, wanted) == wanted;
}

/* Before the program starts, so that nothing of it is ever outside. */
static bool enter_group(const char *group)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/cgroup.procs", group) >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644); /* created in a fixture only */
    if (fd < 0)
        return false;
    bool entered = write(fd, "0", 1) == 1;
    int error = errno;
    close(fd);
    errno = error;
    return entered;
}

static bool limit_data(uint64_t limit_b)
{
    struct rlimit limit = {.rlim_cur = limit_b, .rlim_max = limit_b}, now;
    if (getrlimit(RLIMIT_DATA, &now) == 0 && now.rlim_max < limit_b)
        return true; /* bound more tightly already */
    return setrlimit(RLIMIT_DATA, &limit) == 0;
}

static void run_child(const bl_spawn *spawn, int report_fd, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(127);
    setsid();
    restore_signals();
    report_fd = fcntl(report_fd, F_DUPFD_CLOEXEC, BL_SPAWN_MARKER_FD + 1); /* out of the way of those below */
    int null_fd = open("/dev/null", O_RDONLY);
    if (null_fd < 0 || !place_fd(null_fd, STDIN_FILENO) || !place_fd(spawn->output_fd, STDOUT_FILENO) ||
        !place_fd(spawn->output_fd, STDERR_FILENO) || !place_fd(spawn->marker_fd, BL_SPAWN_MARKER_FD))
        report_and_leave(report_fd, BL_START_SETUP);
    if (null_fd > STDERR_FILENO)
        close(null_fd);
    if (isatty(STDOUT_FILENO)) /* its own terminal, as the session's leader */
        ioctl(STDOUT_FILENO, TIOCSCTTY, 0);
    if (spawn->cwd[0] && chdir(spawn->cwd) != 0)
        report_and_leave(report_fd, BL_START_CHDIR);
    if (spawn->group[0] && !enter_group(spawn->group))
        report_and_leave(report_fd, BL_START_GROUP);
    if (spawn->data_limit_b > 0 && !limit_data(spawn->data_limit_b))
        report_and_leave(report_fd, BL_START_LIMIT);
    environ = spawn->env; /* execvp searches the new PATH */
    execvp(spawn->argv[0], spawn->argv);
    report_and_leave(report_fd, BL_START_EXEC);
}

pid_t bl_spawn_start(const bl_spawn *spawn, bl_start_failure *failure)
{
    *failure = (bl_start_failure){.stage = BL_START_FORK};
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        failure->error = errno;
        return -1;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        run_child(spawn, report[1], parent);
    failure->error = errno;
    close(report[1]);
    if (pid > 0) {
        /* The exec closes the pipe: nothing to read means that the program runs. */
        ssize_t n;
        do
            n = read(report[0], failure, sizeof *failure);
        while (n < 0 && errno == EINTR);
        if (n == (ssize_t)sizeof *failure) {
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
            pid = -1;
        }
    }
    close(report[0]);
    return pid;
}
