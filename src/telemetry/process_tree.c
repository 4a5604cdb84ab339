#include "telemetry/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/parse.h"

void bl_process_tree_init(bl_process_tree *tree, const char *proc)
{
    *tree = (bl_process_tree){.proc = proc};
}

void bl_process_tree_clear(bl_process_tree *tree)
{
    free(tree->pids);
    bl_process_tree_init(tree, tree->proc);
}

static int add_pid(bl_process_tree *tree, pid_t pid)
{
    if (tree->len >= BL_PROCESS_TREE_MAX)
        return BL_OK;
    if (tree->len == tree->cap) {
        size_t cap = tree->cap ? tree->cap * 2 : 64;
        pid_t *pids = bl_realloc(tree->pids, cap, sizeof *pids);
        if (!pids)
            return BL_ERR_NOMEM;
        tree->pids = pids;
        tree->cap = cap;
    }
    tree->pids[tree->len++] = pid;
    return BL_OK;
}

/* Reads what fits; procfs gives a whole small file in one read. Returns the length, -1 on failure. */
static ssize_t read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n;
    do
        n = read(fd, out, size - 1);
    while (n < 0 && errno == EINTR);
    close(fd);
    if (n >= 0)
        out[n] = '\0';
    return n;
}

/* "12 34 56 " */
static int add_pids_of_text(bl_process_tree *tree, const char *text)
{
    for (;;) {
        char *end;
        long pid = strtol(text, &end, 10);
        if (end == text)
            return BL_OK;
        if (pid > 0 && add_pid(tree, (pid_t)pid) != BL_OK)
            return BL_ERR_NOMEM;
        text = end;
    }
}

/* Children hang on the thread that forked them. Sets *listed where this kernel has such lists. */
static int add_children(bl_process_tree *tree, pid_t pid, bool *listed)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld/task", tree->proc, (long)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return BL_OK;
    int code = BL_OK;
    for (struct dirent *entry = readdir(dir); entry && code == BL_OK; entry = readdir(dir)) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        char text[65536];
        snprintf(path, sizeof path, "%s/%ld/task/%s/children", tree->proc, (long)pid, entry->d_name);
        if (read_small(path, text, sizeof text) < 0)
            continue;
        *listed = true;
        code = add_pids_of_text(tree, text);
    }
    closedir(dir);
    return code;
}

typedef struct parent_link {
    pid_t pid, parent;
} parent_link;

/* The parent stands two fields after the name, which may itself hold blanks and parentheses. */
static pid_t parent_of(const bl_process_tree *tree, const char *pid)
{
    char path[4096], text[1024];
    snprintf(path, sizeof path, "%s/%s/stat", tree->proc, pid);
    if (read_small(path, text, sizeof text) < 0)
        return 0;
    const char *after = strrchr(text, ')');
    long parent;
    return after && sscanf(after + 1, " %*c %ld", &parent) == 1 ? (pid_t)parent : 0;
}

static int read_links(const bl_process_tree *tree, parent_link **out, size_t *out_len, bl_error *err)
{
    DIR *dir = opendir(tree->proc);
    if (!dir)
        return BL_FAIL(err, BL_ERR_ENV, "%s cannot be read: %s", tree->proc, strerror(errno));
    parent_link *links = NULL;
    size_t len = 0, cap = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        if (len == cap) {
            cap = cap ? cap * 2 : 256;
            parent_link *more = bl_realloc(links, cap, sizeof *links);
            if (!more) {
                free(links);
                closedir(dir);
                return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a list of %zu processes", cap);
            }
            links = more;
        }
        links[len].pid = (pid_t)strtol(entry->d_name, NULL, 10);
        links[len++].parent = parent_of(tree, entry->d_name);
    }
    closedir(dir);
    *out = links;
    *out_len = len;
    return BL_OK;
}

static int scan_by_parents(bl_process_tree *tree, pid_t root, bl_error *err)
{
    parent_link *links = NULL;
    size_t n = 0;
    int code = read_links(tree, &links, &n, err);
    if (code != BL_OK)
        return code;
    pid_t parent = root;
    for (size_t next = 0; code == BL_OK; parent = tree->pids[next++]) {
        for (size_t i = 0; i < n && code == BL_OK; i++)
            if (links[i].parent == parent && links[i].pid != parent)
                code = add_pid(tree, links[i].pid);
        if (next >= tree->len)
            break;
    }
    free(links);
    return code == BL_OK ? code : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the process tree");
}

int bl_process_tree_scan(bl_process_tree *tree, pid_t root, bl_error *err)
{
    tree->len = 0;
    if (tree->scan_all)
        return scan_by_parents(tree, root, err);
    bool listed = false;
    int code = add_children(tree, root, &listed);
    if (code == BL_OK && !listed) {
        tree->scan_all = true;
        return scan_by_parents(tree, root, err);
    }
    for (size_t next = 0; code == BL_OK && next < tree->len; next++)
        code = add_children(tree, tree->pids[next], &listed);
    return code == BL_OK ? code : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the process tree");
}

/* "VmHWM:\t    1234 kB" */
static int64_t status_field_b(const char *status, const char *field)
{
    const char *at = strstr(status, field);
    long long kb;
    return at && sscanf(at + strlen(field), " %lld", &kb) == 1 && kb >= 0 ? (int64_t)kb * 1024 : 0;
}

static bool read_status(const char *proc, pid_t pid, char *out, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld/status", proc, (long)pid);
    return read_small(path, out, size) >= 0;
}

int64_t bl_process_peak_b(const char *proc, pid_t pid)
{
    char status[4096];
    return read_status(proc, pid, status, sizeof status) ? status_field_b(status, "\nVmHWM:") : 0;
}

void bl_process_tree_memory(const bl_process_tree *tree, bl_tree_memory *out)
{
    *out = (bl_tree_memory){0};
    for (size_t i = 0; i < tree->len; i++) {
        char status[4096];
        if (!read_status(tree->proc, tree->pids[i], status, sizeof status))
            continue;
        int64_t peak = status_field_b(status, "\nVmHWM:");
        out->resident_b += status_field_b(status, "\nVmRSS:");
        if (peak > out->largest_peak_b)
            out->largest_peak_b = peak;
        int64_t data = status_field_b(status, "\nVmData:");
        if (data > out->largest_data_b)
            out->largest_data_b = data;
        out->n_processes++;
    }
}

int64_t bl_process_tree_proportional_b(const bl_process_tree *tree)
{
    int64_t sum = 0;
    bool any = false;
    for (size_t i = 0; i < tree->len; i++) {
        char path[4096], text[4096];
        snprintf(path, sizeof path, "%s/%ld/smaps_rollup", tree->proc, (long)tree->pids[i]);
        if (read_small(path, text, sizeof text) <= 0)
            continue;
        sum += status_field_b(text, "\nPss:");
        any = true;
    }
    return any ? sum : -1;
}

#define ENVIRON_MAX_B (4 << 20)

static long rank_in(const char *environment, size_t n, const char *name)
{
    size_t len = strlen(name);
    bl_error ignored = {0};
    int64_t rank;
    for (size_t at = 0; at < n; at += strnlen(environment + at, n - at) + 1)
        if (strncmp(environment + at, name, len) == 0 && environment[at + len] == '=')
            return bl_parse_i64(environment + at + len + 1, name, 0, 1 << 24, &rank, &ignored) == BL_OK ? (long)rank
                                                                                                        : -1;
    return -1;
}

/* The nearest launcher first: docs/PROTOCOL.md has the same order. */
long bl_process_rank(const char *proc, pid_t pid)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"};
    char path[4096], *environment = NULL;
    size_t n = 0;
    long rank = -1;
    bl_error ignored = {0};
    snprintf(path, sizeof path, "%s/%ld/environ", proc, (long)pid);
    if (bl_fs_read(path, ENVIRON_MAX_B, &environment, &n, &ignored) != BL_OK)
        return -1;
    for (size_t i = 0; i < BL_ARRAY_LEN(names) && rank < 0; i++)
        rank = rank_in(environment, n, names[i]);
    free(environment);
    return rank;
}

/* ---- whether it stands still ---- */

/* The state stands behind the name: T stopped, t by a tracer, Z and X ended. */
static bool is_awake(const char *stat_path)
{
    char text[1024];
    if (read_small(stat_path, text, sizeof text) <= 0)
        return false; /* it has gone */
    const char *after = strrchr(text, ')');
    return after && after[1] == ' ' && after[2] && !strchr("TtZXx", after[2]);
}

size_t bl_process_tree_awake(const bl_process_tree *tree)
{
    size_t n = 0;
    for (size_t i = 0; i < tree->len; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%ld/task", tree->proc, (long)tree->pids[i]);
        DIR *dir = opendir(path);
        bool awake = false;
        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !awake; entry = readdir(dir)) {
            if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
                continue;
            snprintf(path, sizeof path, "%s/%ld/task/%s/stat", tree->proc, (long)tree->pids[i], entry->d_name);
            awake = is_awake(path);
        }
        if (dir)
            closedir(dir);
        n += awake;
    }
    return n;
}

/* ---- what it has open ---- */

static bool is_accelerator(const char *path)
{
    static const char *const begins[] = {"/dev/nvidia", "/dev/kfd",        "/dev/dri/",
                                         "/dev/accel",  "/dev/habanalabs", "/dev/davinci"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(path, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

bool bl_process_tree_device(const bl_process_tree *tree, char *out, size_t size)
{
    bool found = false;
    for (size_t i = 0; i < tree->len && !found; i++) {
        char path[4096], target[4096];
        snprintf(path, sizeof path, "%s/%ld/fd", tree->proc, (long)tree->pids[i]);
        DIR *dir = opendir(path);
        for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !found; entry = readdir(dir)) {
            snprintf(path, sizeof path, "%s/%ld/fd/%s", tree->proc, (long)tree->pids[i], entry->d_name);
            ssize_t n = readlink(path, target, sizeof target - 1);
            target[n > 0 ? n : 0] = '\0';
            found = is_accelerator(target);
            if (found)
                snprintf(out, size, "%s", target);
        }
        if (dir)
            closedir(dir);
    }
    return found;
}
