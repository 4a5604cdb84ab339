#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "store/internal.h"

/* Field 22 of /proc/PID/stat; -1 where there is no such process. */
static int64_t start_of(int64_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    char *text = NULL;
    if (bl_fs_read(path, 4096, &text, NULL, NULL) != BL_OK)
        return -1;
    int64_t start = -1;
    char *at = strrchr(text, ')'); /* the name before it may hold blanks */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at)
        start = strtoll(at + 1, NULL, 10);
    free(text);
    return start;
}

static void read_boot(char *out, size_t size)
{
    char *text = NULL;
    out[0] = '\0';
    if (bl_fs_read("/proc/sys/kernel/random/boot_id", 256, &text, NULL, NULL) == BL_OK)
        snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
}

void bl_holder_self(bl_holder *out)
{
    out->pid = getpid();
    out->start = start_of(out->pid);
    read_boot(out->boot, sizeof out->boot);
}

bool bl_holder_alive(const bl_holder *holder)
{
    char boot[sizeof holder->boot];
    read_boot(boot, sizeof boot);
    return holder->pid > 0 && strcmp(boot, holder->boot) == 0 && start_of(holder->pid) == holder->start;
}
