#include "lab/model_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/sweep_spec.h"

enum { ANSWER_MAX_B = 4 << 20 };

static int read_all(int fd, bl_str *out)
{
    char piece[4096];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 && !out->failed && out->len <= ANSWER_MAX_B ? BL_OK : BL_ERR_IO;
        if (out->len <= ANSWER_MAX_B)
            bl_str_append_n(out, piece, (size_t)n);
    }
}

int bl_trainer_ask(char *const *argv, bl_str *out, bl_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return BL_FAIL(err, BL_ERR_ENV, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    int code = error == 0 ? read_all(ends[0], out) : BL_OK, status = -1;
    close(ends[0]);
    if (error != 0) {
        BL_FAIL(err, BL_ERR_ENV, "%s could not be started: %s", argv[0], strerror(error));
        bl_error_remedy(err, "build the trainer, or give --layer or --layers FILE");
        return BL_ERR_ENV;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (code != BL_OK || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return BL_FAIL(err, BL_ERR_USAGE, "batchlab-train %s failed", argv[1]);
    return BL_OK;
}

int bl_model_layers(const char *program, const char *model, int64_t image_size, bl_str *out, bl_error *err)
{
    char size[32], layers[] = "--layers", size_option[] = "--image-size";
    bl_str trainer;
    bl_str_init(&trainer);
    bl_sweep_find_trainer(program, &trainer);
    char *model_text = bl_strdup(model), *path = bl_str_take(&trainer);
    snprintf(size, sizeof size, "%lld", (long long)image_size);
    char *argv[] = {path, model_text, layers, image_size > 0 ? size_option : NULL, size, NULL};
    int code =
        path && model_text ? bl_trainer_ask(argv, out, err) : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a command");
    free(path);
    free(model_text);
    return code;
}
