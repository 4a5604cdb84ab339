#include "telemetry/oom_events.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

/* "oom_kill 12" at the start of a line; -1 where there is none. */
static int64_t field(const char *path, const char *name)
{
    char *text = NULL;
    size_t n, name_n = strlen(name);
    int64_t value = -1;
    if (bl_fs_read(path, 1 << 20, &text, &n, NULL) != BL_OK)
        return -1;
    for (const char *line = text; line && *line && value < 0; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, name, name_n) == 0 && line[name_n] == ' ')
            sscanf(line + name_n, " %" SCNd64, &value);
    free(text);
    return value;
}

/* In a container the group's path may be the one outside, of which only the end, or nothing, is mounted here. */
static int64_t group_field(const char *root, const char *mount, const char *group, const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, file);
    int64_t value = field(path, "oom_kill");
    if (value >= 0)
        return value;
    snprintf(path, sizeof path, "%s%s/%s", root, mount, file);
    return field(path, "oom_kill");
}

/* "9:memory:/a/b" or "4:cpu,memory:/a": is memory among the controllers? */
static bool has_memory(const char *controllers, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t word = strcspn(controllers + at, ",:");
        if (word == 6 && memcmp(controllers + at, "memory", 6) == 0)
            return true;
        at += word + 1;
    }
    return false;
}

static int64_t group_kills(const char *root)
{
    char path[4096], *text = NULL, *rest = NULL;
    size_t n;
    int64_t kills = -1;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (bl_fs_read(path, 1 << 16, &text, &n, NULL) != BL_OK)
        return -1;
    for (char *line = strtok_r(text, "\n", &rest); line && kills < 0; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        if (controllers + 1 == group)
            kills = group_field(root, "/sys/fs/cgroup", group + 1, "memory.events");
        else if (has_memory(controllers + 1, (size_t)(group - controllers - 1)))
            kills = group_field(root, "/sys/fs/cgroup/memory", group + 1, "memory.oom_control");
    }
    free(text);
    return kills;
}

void bl_oom_events_read(const char *root, bl_oom_events *out)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/proc/vmstat", root);
    out->machine = field(path, "oom_kill");
    out->group = group_kills(root);
}
