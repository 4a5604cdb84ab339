#include "telemetry/tree_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/str.h"
#include "telemetry/process_tree.h"
#include "telemetry/procfs_text.h"
#include "telemetry/sysfile.h"

/* Finding out who belongs to the tree pauses this many times what it took. */
#define RENEW_PAUSE_FACTOR 500
#define RENEW_PAUSE_MIN_NS 20000000LL
#define RENEW_PAUSE_MAX_NS 5000000000LL
/* The memory of a process that has not changed for a while is read at every fourth look. */
#define SAME_LOOKS 3
#define SKIP_LOOKS 3
/* Asking each process of the tree for its children costs this many times an entry in the list of all processes. */
#define CHILDREN_COST 16

typedef struct member {
    pid_t pid;
    int statm;                  /* -1: opened anew for each look */
    clockid_t clock;            /* of its processor time */
    int64_t cpu_ns, resident_b; /* at the last look */
    int64_t anonymous_b;        /* of what is resident: no file's, not shared */
    bool fresh;                 /* has not been looked at yet */
    unsigned n_same;            /* looks at its memory without a change */
    unsigned n_skipped;         /* looks since then that left it out */
    bool seen;                  /* while the members are found anew */
} member;

struct bl_tree_watch {
    char *proc;
    pid_t root;
    bool clocks; /* processes' clocks can be asked, as there are processes behind this procfs */
    int64_t page_b, tick_ns;
    bl_process_tree tree;
    member *members; /* by ascending pid */
    size_t n, cap;
    pid_t *known; /* all processes at the last listing, ascending; new ones since then are looked at */
    size_t n_known, known_cap;
    bool listed;
    size_t files_left; /* that may be kept open */
    int64_t renew_ns;  /* when the members are found anew */
    int64_t cpu_ns;
};

static int64_t thread_cpu_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * BL_NS_PER_S + t.tv_nsec : 0;
}

int bl_tree_watch_new(const char *proc, pid_t root, bl_tree_watch **out, bl_error *err)
{
    bl_tree_watch *w = bl_calloc(1, sizeof *w);
    *out = w;
    if (!w || !(w->proc = bl_strdup(proc))) {
        free(w);
        *out = NULL;
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the process tree");
    }
    w->root = root;
    w->clocks = strcmp(proc, "/proc") == 0;
    w->page_b = sysconf(_SC_PAGESIZE);
    w->tick_ns = BL_NS_PER_S / sysconf(_SC_CLK_TCK);
    bl_process_tree_init(&w->tree, w->proc);
    struct rlimit files;
    w->files_left = getrlimit(RLIMIT_NOFILE, &files) == 0 ? (size_t)files.rlim_cur / 4 : 0;
    return BL_OK;
}

static void drop_member(bl_tree_watch *w, size_t i)
{
    if (w->members[i].statm >= 0) {
        close(w->members[i].statm);
        w->files_left++;
    }
    memmove(w->members + i, w->members + i + 1, (w->n - i - 1) * sizeof *w->members);
    w->n--;
}

void bl_tree_watch_forget(bl_tree_watch *w)
{
    while (w->n > 0)
        drop_member(w, w->n - 1);
}

void bl_tree_watch_free(bl_tree_watch *w)
{
    if (!w)
        return;
    bl_tree_watch_forget(w);
    bl_process_tree_clear(&w->tree);
    free(w->members);
    free(w->known);
    free(w->proc);
    free(w);
}

/* The first member whose pid is not below. */
static size_t place_of(const bl_tree_watch *w, pid_t pid)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->members[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool bl_tree_watch_has(const bl_tree_watch *w, pid_t pid)
{
    size_t at = place_of(w, pid);
    return at < w->n && w->members[at].pid == pid;
}

pid_t bl_tree_watch_any(const bl_tree_watch *w)
{
    return w->n > 0 ? w->members[0].pid : 0;
}

void bl_tree_watch_renew(bl_tree_watch *w)
{
    w->renew_ns = 0;
}

static int add_member(bl_tree_watch *w, pid_t pid)
{
    size_t at = place_of(w, pid);
    if (at < w->n && w->members[at].pid == pid) {
        w->members[at].seen = true;
        return BL_OK;
    }
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 64;
        member *more = bl_realloc(w->members, cap, sizeof *more);
        if (!more)
            return BL_ERR_NOMEM;
        w->members = more;
        w->cap = cap;
    }
    member m = {.pid = pid, .statm = -1, .seen = true, .fresh = true};
    char path[BL_SYSFILE_PATH_MAX];
    if (w->files_left > 0 && bl_sysfile_path(path, sizeof path, w->proc, "/%ld/statm", (long)pid) &&
        (m.statm = open(path, O_RDONLY | O_CLOEXEC)) >= 0)
        w->files_left--;
    if (!w->clocks || clock_getcpuclockid(pid, &m.clock) != 0)
        m.clock = -1;
    memmove(w->members + at + 1, w->members + at, (w->n - at) * sizeof *w->members);
    w->members[at] = m;
    w->n++;
    return BL_OK;
}

/* ---- who belongs to the tree ---- */

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* All processes of the machine, ascending, into a heap block. */
static int list_processes(const bl_tree_watch *w, pid_t **out, size_t *out_n, bl_error *err)
{
    DIR *dir = opendir(w->proc);
    if (!dir)
        return BL_FAIL(err, BL_ERR_ENV, "%s cannot be read: %s", w->proc, strerror(errno));
    pid_t *pids = NULL;
    size_t n = 0, cap = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        if (n == cap) {
            cap = cap ? cap * 2 : 256;
            pid_t *more = bl_realloc(pids, cap, sizeof *more);
            if (!more) {
                free(pids);
                closedir(dir);
                return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a list of %zu processes", cap);
            }
            pids = more;
        }
        pids[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(dir);
    if (n > 1)
        qsort(pids, n, sizeof *pids, compare_pids);
    *out = pids;
    *out_n = n;
    return BL_OK;
}

static bool is_known(const bl_tree_watch *w, pid_t pid)
{
    return w->n_known > 0 && bsearch(&pid, w->known, w->n_known, sizeof pid, compare_pids) != NULL;
}

static pid_t parent_of(const bl_tree_watch *w, pid_t pid)
{
    char path[BL_SYSFILE_PATH_MAX], text[1024];
    pid_t parent;
    int64_t ticks;
    return bl_sysfile_path(path, sizeof path, w->proc, "/%ld/stat", (long)pid) &&
                   bl_sysfile_read(path, text, sizeof text) > 0 && bl_text_process_stat(text, &parent, &ticks)
               ? parent
               : 0;
}

/* Of the processes that are new in the list, those whose parent is of the tree; children may be listed before their
 * parents. One whose parent is new and not in the list is left to the next listing. */
static int take_new(bl_tree_watch *w, pid_t *pids, size_t *n)
{
    pid_t *parents = bl_calloc(*n, sizeof *parents);
    if (!parents)
        return BL_ERR_NOMEM;
    for (size_t i = 0; i < *n; i++)
        if (!is_known(w, pids[i]) && pids[i] != w->root && !bl_tree_watch_has(w, pids[i]))
            parents[i] = parent_of(w, pids[i]);
    int code = BL_OK;
    for (bool more = true; more && code == BL_OK;) {
        more = false;
        for (size_t i = 0; i < *n && code == BL_OK; i++)
            if (parents[i] > 0 && (parents[i] == w->root || bl_tree_watch_has(w, parents[i]))) {
                code = add_member(w, pids[i]);
                parents[i] = 0;
                more = true;
            }
    }
    for (size_t i = 0; i < *n; i++) {
        pid_t parent = parents[i];
        bool open = parent > 0 && !is_known(w, parent) && !bsearch(&parent, pids, *n, sizeof parent, compare_pids);
        parents[i] = open;
    }
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        pids[kept] = pids[i];
        kept += !parents[i];
    }
    *n = kept;
    free(parents);
    return code;
}

static int renew_by_listing(bl_tree_watch *w, bl_error *err)
{
    pid_t *pids = NULL;
    size_t n = 0;
    int code = list_processes(w, &pids, &n, err);
    if (code != BL_OK)
        return code;
    if (w->listed)
        code = take_new(w, pids, &n);
    free(w->known);
    w->known = pids;
    w->n_known = n;
    w->listed = true;
    return code == BL_OK ? code : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the process tree");
}

static int renew_by_children(bl_tree_watch *w, bl_error *err)
{
    int code = bl_process_tree_scan(&w->tree, w->root, err);
    for (size_t i = 0; i < w->n; i++)
        w->members[i].seen = false;
    for (size_t i = 0; code == BL_OK && i < w->tree.len; i++)
        if (add_member(w, w->tree.pids[i]) != BL_OK)
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the process tree");
    for (size_t i = w->n; code == BL_OK && i-- > 0;)
        if (!w->members[i].seen)
            drop_member(w, i);
    return code;
}

/* The list comes before the tree: a process that starts in between is then not taken for a stranger. */
static int renew(bl_tree_watch *w, bl_error *err)
{
    int64_t before_ns = thread_cpu_ns();
    int code = BL_OK;
    bool large = w->n * CHILDREN_COST > w->n_known || w->tree.scan_all;
    bool first = !w->listed;
    if (large)
        code = renew_by_listing(w, err);
    if (code == BL_OK && (!large || first))
        code = renew_by_children(w, err);
    int64_t pause_ns = (thread_cpu_ns() - before_ns) * RENEW_PAUSE_FACTOR;
    if (pause_ns < RENEW_PAUSE_MIN_NS)
        pause_ns = RENEW_PAUSE_MIN_NS;
    if (pause_ns > RENEW_PAUSE_MAX_NS)
        pause_ns = RENEW_PAUSE_MAX_NS;
    w->renew_ns = bl_clock_ns() + pause_ns;
    return code;
}

/* ---- what it uses ---- */

/* False where the process has gone; -1 what cannot be read. */
static bool read_memory(const bl_tree_watch *w, const member *m, int64_t *resident_b, int64_t *anonymous_b)
{
    char path[BL_SYSFILE_PATH_MAX], text[128];
    ssize_t n;
    if (m->statm >= 0) {
        do
            n = pread(m->statm, text, sizeof text - 1, 0);
        while (n < 0 && errno == EINTR);
        text[n > 0 ? n : 0] = '\0';
    } else {
        n = bl_sysfile_path(path, sizeof path, w->proc, "/%ld/statm", (long)m->pid)
                ? bl_sysfile_read(path, text, sizeof text)
                : -1;
    }
    int64_t resident, anonymous;
    if (n <= 0)
        return false;
    bool sensible = bl_text_resident_pages(text, &resident, &anonymous) && resident < INT64_MAX / w->page_b;
    *resident_b = sensible ? resident * w->page_b : -1;
    *anonymous_b = sensible ? anonymous * w->page_b : -1;
    return true;
}

static int64_t read_cpu_ns(const bl_tree_watch *w, const member *m)
{
    struct timespec t;
    if (m->clock != -1)
        return clock_gettime(m->clock, &t) == 0 ? (int64_t)t.tv_sec * BL_NS_PER_S + t.tv_nsec : -1;
    char path[BL_SYSFILE_PATH_MAX], text[1024];
    pid_t parent;
    int64_t ticks;
    return bl_sysfile_path(path, sizeof path, w->proc, "/%ld/stat", (long)m->pid) &&
                   bl_sysfile_read(path, text, sizeof text) > 0 && bl_text_process_stat(text, &parent, &ticks) &&
                   ticks < INT64_MAX / w->tick_ns
               ? ticks * w->tick_ns
               : -1;
}

/* Between its fork and the start of its program a child has its parent's memory, the very same: it is not counted for
 * both. Where it stays a copy it counts from the next look on. Only anonymous memory tells: pages of files are mapped
 * into a copy when it touches them, not by the fork. */
static bool is_a_twin(const bl_tree_watch *w, const member *m)
{
    for (size_t i = 0; m->fresh && i < w->n; i++) {
        const member *other = &w->members[i];
        if (other != m && other->anonymous_b > 0 &&
            llabs(other->anonymous_b - m->anonymous_b) <= other->anonymous_b / 64)
            return true;
    }
    return false;
}

/* False where the process has gone. Its clock tells that too, where its memory is left out. */
static bool look_at(bl_tree_watch *w, member *m)
{
    int64_t cpu_ns = read_cpu_ns(w, m), resident_b, anonymous_b;
    if (m->n_same >= SAME_LOOKS && m->n_skipped < SKIP_LOOKS && m->clock != -1 && cpu_ns >= 0) {
        m->n_skipped++;
    } else {
        if (!read_memory(w, m, &resident_b, &anonymous_b))
            return false;
        m->n_same = resident_b == m->resident_b && !m->fresh ? m->n_same + 1 : 0;
        m->n_skipped = 0;
        m->resident_b = resident_b;
        m->anonymous_b = anonymous_b;
    }
    if (cpu_ns > m->cpu_ns) {
        w->cpu_ns += cpu_ns - m->cpu_ns;
        m->cpu_ns = cpu_ns;
    }
    return true;
}

int bl_tree_watch_look(bl_tree_watch *w, bl_tree_usage *out, bl_error *err)
{
    *out = (bl_tree_usage){0};
    int64_t largest_b = -1;
    int code = bl_clock_ns() >= w->renew_ns ? renew(w, err) : BL_OK;
    for (size_t i = 0; i < w->n;) {
        member *m = &w->members[i];
        if (!look_at(w, m)) {
            drop_member(w, i);
            continue;
        }
        out->n_unreadable += m->resident_b < 0;
        out->resident_b += m->resident_b > 0 && !is_a_twin(w, m) ? m->resident_b : 0;
        m->fresh = false;
        if (m->resident_b > largest_b) {
            largest_b = m->resident_b;
            out->largest = m->pid;
        }
        i++;
    }
    out->n_processes = w->n;
    out->cpu_ns = w->cpu_ns;
    return code;
}
