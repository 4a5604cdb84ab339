#include "telemetry/control_group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#define SMALL_FILE_B  65536
#define REMOVE_TRIES  50
#define REMOVE_NAP_MS 20

static void join(char *out, size_t size, const char *folder, const char *name)
{
    if ((size_t)snprintf(out, size, "%s/%s", folder, name) >= size)
        out[0] = '\0'; /* too long: then nothing is there */
}

/* 0, or an errno. On the kernel's own file system nothing is created or cut; in a fixture it is. */
static int write_file(const char *folder, const char *name, const char *text)
{
    char path[BL_GROUP_PATH_MAX + 128];
    join(path, sizeof path, folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return errno;
    size_t n = strlen(text);
    int error = write(fd, text, n) == (ssize_t)n ? 0 : errno;
    close(fd);
    return error;
}

/* NULL where it cannot be read; the caller frees. */
static char *read_file(const char *folder, const char *name)
{
    char path[BL_GROUP_PATH_MAX + 128], *text = NULL;
    size_t n;
    join(path, sizeof path, folder, name);
    return bl_fs_read(path, SMALL_FILE_B, &text, &n, NULL) == BL_OK ? text : NULL;
}

static bool file_names_memory(const char *folder, const char *name)
{
    static const char between[] = " +\n";
    char *text = read_file(folder, name), *rest = text;
    bool found = false;
    for (char *word = text ? strsep(&rest, between) : NULL; word; word = strsep(&rest, between))
        found = found || strcmp(word, "memory") == 0;
    free(text);
    return found;
}

static void move(const char *folder, const bl_groups *groups)
{
    for (size_t i = 0; i < groups->n_pids; i++) {
        char pid[32];
        snprintf(pid, sizeof pid, "%ld", (long)groups->pids[i]);
        write_file(folder, "cgroup.procs", pid); /* where it fails, so does what follows */
    }
}

/* "0::/user.slice/x" of /proc/self/cgroup. */
static bool find_base(const char *root, bl_groups *out)
{
    char proc[BL_GROUP_PATH_MAX];
    join(proc, sizeof proc, root, "proc/self");
    char *text = read_file(proc, "cgroup"), *rest = text;
    bool found = false;
    for (char *line = text ? strsep(&rest, "\n") : NULL; line && !found; line = strsep(&rest, "\n"))
        if (strncmp(line, "0::/", 4) == 0) {
            const char *group = line[4] ? line + 3 : "";
            found = (size_t)snprintf(out->base, sizeof out->base, "%s/sys/fs/cgroup%s", root, group) < sizeof out->base;
        }
    free(text);
    return found;
}

static int switch_on(bl_groups *g)
{
    int error = write_file(g->base, "cgroup.subtree_control", "+memory");
    if (error == 0)
        g->switched_on = true;
    return error;
}

static void step_aside(bl_groups *g)
{
    char name[64];
    snprintf(name, sizeof name, "batchlab-%ld", (long)g->pids[0]);
    join(g->aside, sizeof g->aside, g->base, name);
    if (mkdir(g->aside, 0755) != 0) {
        g->aside[0] = '\0';
        return;
    }
    move(g->aside, g);
}

static void step_back(bl_groups *g)
{
    if (!g->aside[0])
        return;
    move(g->base, g);
    rmdir(g->aside);
    g->aside[0] = '\0';
}

static void refuse(bl_groups *g, const char *reason, int error)
{
    g->usable = false;
    snprintf(g->reason, sizeof g->reason, "%s%s%s", reason, error ? ": " : "", error ? strerror(error) : "");
}

static bool enable_memory(bl_groups *g)
{
    if (file_names_memory(g->base, "cgroup.subtree_control"))
        return true;
    int error = switch_on(g);
    if (error == EBUSY) {
        step_aside(g);
        error = g->aside[0] ? switch_on(g) : error;
    }
    if (error == 0)
        return true;
    step_back(g);
    refuse(g,
           error == EBUSY ? "the control group holds other processes too"
                          : "the control group is not delegated to this user",
           error == EBUSY ? 0 : error);
    return false;
}

void bl_groups_open(const char *root, const pid_t *pids, size_t n_pids, bl_groups *g)
{
    *g = (bl_groups){.usable = true};
    for (; g->n_pids < n_pids && g->n_pids < sizeof g->pids / sizeof g->pids[0]; g->n_pids++)
        g->pids[g->n_pids] = pids[g->n_pids];
    if (!find_base(root, g)) {
        refuse(g, "this process is in no control group of version 2", 0);
        return;
    }
    if (!file_names_memory(g->base, "cgroup.controllers")) {
        refuse(g, "control groups of version 2 do not manage memory here", 0);
        return;
    }
    if (!enable_memory(g))
        return;
    bl_group probe;
    bl_error err = {0};
    if (bl_group_make(g, "batchlab-probe", 0, &probe, &err) == BL_OK)
        bl_group_remove(&probe);
    else
        refuse(g, err.message, 0);
    if (!g->usable)
        bl_groups_close(g);
}

void bl_groups_close(bl_groups *g)
{
    if (g->switched_on)
        write_file(g->base, "cgroup.subtree_control", "-memory");
    g->switched_on = false;
    step_back(g);
    g->usable = false;
}

int bl_group_make(const bl_groups *g, const char *name, uint64_t limit_b, bl_group *out, bl_error *err)
{
    join(out->path, sizeof out->path, g->base, name);
    if (mkdir(out->path, 0755) != 0 && errno != EEXIST) {
        int error = errno;
        out->path[0] = '\0';
        return BL_FAIL(err, BL_ERR_ENV, "no control group can be made: %s", strerror(error));
    }
    if (limit_b == 0)
        return BL_OK;
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, limit_b);
    int error = write_file(out->path, "memory.max", text);
    if (error) {
        rmdir(out->path);
        out->path[0] = '\0';
        return BL_FAIL(err, BL_ERR_ENV, "the limit of a control group cannot be set: %s", strerror(error));
    }
    /* A machine without swap has no such file, and a training that lost one of its processes would only hang. */
    write_file(out->path, "memory.swap.max", "0");
    write_file(out->path, "memory.oom.group", "1");
    return BL_OK;
}

static int64_t number_of(const bl_group *group, const char *file, const char *field)
{
    char *text = read_file(group->path, file);
    int64_t value = -1;
    size_t n = strlen(field);
    for (const char *line = text; line && *line && value < 0; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (n == 0 || (strncmp(line, field, n) == 0 && line[n] == ' '))
            sscanf(line + n, "%" SCNd64, &value);
    free(text);
    return value;
}

void bl_group_read(const bl_group *group, bl_group_memory *out)
{
    *out = (bl_group_memory){.peak_b = -1, .oom_kills = -1, .max_hits = -1};
    if (!group->path[0])
        return;
    out->peak_b = number_of(group, "memory.peak", "");
    out->oom_kills = number_of(group, "memory.events", "oom_kill");
    out->max_hits = number_of(group, "memory.events", "max");
}

bool bl_group_remove(bl_group *group)
{
    if (!group->path[0])
        return true;
    write_file(group->path, "cgroup.kill", "1");
    /* The dead stay members until their parent has taken note of them. */
    int error = EBUSY;
    for (int i = 0; i < REMOVE_TRIES && error == EBUSY; i++) {
        error = rmdir(group->path) == 0 ? 0 : errno;
        if (error == EBUSY)
            poll(NULL, 0, REMOVE_NAP_MS);
    }
    group->path[0] = '\0';
    return error == 0;
}
