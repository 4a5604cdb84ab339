#include "store/environment.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

extern char **environ;

#define ITEMS_MAX    32
#define FILE_MAX_B   (1 << 20)
#define ANSWER_MAX_B 4096

typedef struct capture {
    const char *root;
    bl_arena *arena;
    bl_environment *out;
    bool failed;
} capture;

static void add(capture *c, const char *name, const char *value, const char *source, const char *reason)
{
    if (c->out->len == ITEMS_MAX)
        return;
    char *copy = value ? bl_arena_strdup(c->arena, value) : NULL;
    c->failed = c->failed || (value && !copy);
    c->out->items[c->out->len++] =
        (bl_environment_item){.name = name, .value = copy, .source = source, .reason = value ? NULL : reason};
}

/* malloc'd, or NULL. */
static char *read_file(const capture *c, const char *path)
{
    char full[4096];
    snprintf(full, sizeof full, "%s%s", c->root, path);
    char *text = NULL;
    return bl_fs_read(full, FILE_MAX_B, &text, NULL, NULL) == BL_OK ? text : NULL;
}

/* The first line, blanks at its end cut. */
static void add_line(capture *c, const char *name, const char *path, const char *reason)
{
    char *text = read_file(c, path);
    if (text) {
        size_t n = strcspn(text, "\n");
        while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\r'))
            n--;
        text[n] = '\0';
    }
    add(c, name, text && text[0] ? text : NULL, path, reason);
    free(text);
}

/* "key : value" of /proc/cpuinfo; malloc'd or NULL. */
static char *cpuinfo_value(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, key, n) != 0 || (line[n] != '\t' && line[n] != ' ' && line[n] != ':'))
            continue;
        const char *colon = strchr(line, ':');
        if (!colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        return bl_strndup(colon, strcspn(colon, "\n"));
    }
    return NULL;
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; at && (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static void add_cpu(capture *c)
{
    static const char source[] = "/proc/cpuinfo";
    static const char *const wanted[] = {"sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "amx_tile"};
    char *text = read_file(c, source);
    char *model = text ? cpuinfo_value(text, "model name") : NULL;
    char *flags = text ? cpuinfo_value(text, "flags") : NULL;
    add(c, "cpu", model, source, "no model name is given");
    bl_str found;
    bl_str_init(&found);
    for (size_t i = 0; flags && i < BL_ARRAY_LEN(wanted); i++)
        if (has_word(flags, wanted[i]))
            bl_str_printf(&found, "%s%s", found.len ? " " : "", wanted[i]);
    add(c, "cpu features", flags ? bl_str_text(&found) : NULL, source, "no flags are given");
    bl_str_clear(&found);
    free(flags);
    free(model);
    free(text);
    char number[32];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(number, sizeof number, "%ld", online);
    add(c, "cpus online", online > 0 ? number : NULL, "sysconf", "not known");
}

static void add_memory(capture *c)
{
    static const char source[] = "/proc/meminfo";
    char *text = read_file(c, source), value[32] = "";
    const char *at = text ? strstr(text, "MemTotal:") : NULL;
    long long kb;
    if (at && sscanf(at, "MemTotal: %lld kB", &kb) == 1)
        snprintf(value, sizeof value, "%lld", kb * 1024);
    add(c, "memory bytes", value[0] ? value : NULL, source, "not readable");
    free(text);
}

static void add_kernel(capture *c)
{
    struct utsname names;
    bool known = uname(&names) == 0;
    add(c, "host", known ? names.nodename : NULL, "uname", "not known");
    char kernel[sizeof names.sysname + sizeof names.release + sizeof names.machine + 3];
    if (known)
        snprintf(kernel, sizeof kernel, "%s %s %s", names.sysname, names.release, names.machine);
    add(c, "kernel", known ? kernel : NULL, "uname", "not known");
    char *text = read_file(c, "/etc/os-release");
    const char *at = text ? strstr(text, "PRETTY_NAME=\"") : NULL;
    char *name = at ? bl_strndup(at + 13, strcspn(at + 13, "\"\n")) : NULL;
    add(c, "system", name, "/etc/os-release", "not readable");
    free(name);
    free(text);
}

static void add_accelerators(capture *c)
{
    char *nvidia = read_file(c, "/proc/driver/nvidia/version");
    char path[4096];
    snprintf(path, sizeof path, "%s/dev/kfd", c->root);
    bool amd = bl_fs_exists(path);
    if (nvidia)
        nvidia[strcspn(nvidia, "\n")] = '\0';
    add(c, "accelerator",
        nvidia ? nvidia
        : amd  ? "AMD (kfd)"
               : NULL,
        nvidia ? "/proc/driver/nvidia/version" : "/dev/kfd", "no NVIDIA or AMD driver is loaded");
    free(nvidia);
}

/* Containers and virtual machines measure less steadily; a reader should know. */
static void add_container(capture *c)
{
    char *text = read_file(c, "/proc/cpuinfo"), path[4096];
    char *flags = text ? cpuinfo_value(text, "flags") : NULL;
    bool virtual = flags && has_word(flags, "hypervisor");
    snprintf(path, sizeof path, "%s/.dockerenv", c->root);
    bool docker = bl_fs_exists(path);
    snprintf(path, sizeof path, "%s/run/.containerenv", c->root);
    bool podman = bl_fs_exists(path);
    add(c, "virtual machine", flags ? (virtual ? "yes" : "no") : NULL, "/proc/cpuinfo", "no flags are given");
    add(c, "container", docker ? "docker" : podman ? "podman" : "none seen", "/.dockerenv, /run/.containerenv", NULL);
    free(flags);
    free(text);
}

int bl_environment_capture(const char *root, bl_arena *arena, bl_environment *out, bl_error *err)
{
    *out = (bl_environment){.items = bl_arena_alloc(arena, ITEMS_MAX, sizeof *out->items)};
    capture c = {.root = root, .arena = arena, .out = out, .failed = !out->items};
    if (!c.failed) {
        add_cpu(&c);
        add_memory(&c);
        add_kernel(&c);
        add_line(&c, "cpu governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                 "this kernel or virtual machine shows none");
        add_line(&c, "turbo boost", "/sys/devices/system/cpu/cpufreq/boost",
                 "this kernel or virtual machine shows none");
        add_line(&c, "load average", "/proc/loadavg", "not readable");
        add_accelerators(&c);
        add_container(&c);
        add(&c, "batchlab", BATCHLAB_VERSION, "itself", NULL);
    }
    return c.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for what is known of the machine") : BL_OK;
}

/* Runs a program and gives the first bytes of its standard output; false where it fails. */
static bool ask(char *const *argv, char *answer, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t len = 0;
    char rest[512];
    for (ssize_t n = 1; error == 0 && n > 0;) {
        n = len + 1 < size ? read(ends[0], answer + len, size - 1 - len) : read(ends[0], rest, sizeof rest);
        len += n > 0 && len + 1 < size ? (size_t)n : 0;
    }
    answer[len] = '\0';
    close(ends[0]);
    int status = -1;
    return error == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const char *bl_environment_git_revision(const char *folder, bl_arena *arena)
{
    char git[] = "git", dash_c[] = "-C", parse[] = "rev-parse", head[] = "HEAD";
    char status[] = "status", porcelain[] = "--porcelain", untracked[] = "--untracked-files=no";
    char answer[ANSWER_MAX_B];
    char *where = bl_arena_strdup(arena, folder);
    char *ask_revision[] = {git, dash_c, where, parse, head, NULL};
    char *ask_changes[] = {git, dash_c, where, status, porcelain, untracked, NULL};
    if (!where || !ask(ask_revision, answer, sizeof answer))
        return NULL;
    answer[strcspn(answer, "\n")] = '\0';
    char *revision = bl_arena_strdup(arena, answer);
    if (!revision || !ask(ask_changes, answer, sizeof answer) || answer[0] == '\0')
        return revision;
    return bl_arena_printf(arena, "%s+changes", revision);
}
