#include "lab/gnuplot_run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The script as a file that is gone with its descriptor; -1 with the error set. */
static int script_file(const bl_str *script, bl_error *err)
{
    int fd = memfd_create("gnuplot", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < script->len) {
        ssize_t n = write(fd, script->data + done, script->len - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && done == script->len && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    BL_FAIL(err, BL_ERR_IO, "a script for gnuplot cannot be kept: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static int start(int script, int output, pid_t *pid, bl_error *err)
{
    char program[] = "gnuplot", input[] = "-", *argv[] = {program, input, NULL};
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (failure == 0)
        failure = posix_spawnp(pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure == 0)
        return BL_OK;
    if (failure == ENOENT)
        BL_FAIL(err, BL_ERR_ENV, "PNG and PDF are made by gnuplot, which is not installed");
    else
        BL_FAIL(err, BL_ERR_ENV, "gnuplot cannot be run: %s", strerror(failure));
    bl_error_remedy(err, "apt-get install gnuplot-nox, or write SVG: -o picture.svg");
    return BL_ERR_ENV;
}

static int read_all(int fd, bl_str *out, bl_error *err)
{
    char buffer[65536];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return BL_FAIL(err, BL_ERR_IO, "what gnuplot writes cannot be read: %s", strerror(errno));
        bl_str_append_n(out, buffer, (size_t)n);
    }
    return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the picture") : BL_OK;
}

int bl_gnuplot_run(const bl_str *script, bl_str *out, bl_error *err)
{
    int ends[2], status = 0, fd = script_file(script, err);
    pid_t pid = -1;
    if (fd < 0)
        return BL_ERR_IO;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(fd);
        return BL_FAIL(err, BL_ERR_IO, "no pipe for gnuplot: %s", strerror(errno));
    }
    int code = start(fd, ends[1], &pid, err);
    close(fd);
    close(ends[1]);
    if (code == BL_OK) {
        code = read_all(ends[0], out, err);
        close(ends[0]);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (code == BL_OK && (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || out->len == 0))
            code = BL_FAIL(err, BL_ERR_ENV, "gnuplot made no picture");
    } else {
        close(ends[0]);
    }
    return code;
}
