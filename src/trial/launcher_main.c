#include "trial/launcher_main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "telemetry/process_tree.h"
#include "telemetry/tree_watch.h"
#include "trial/hold.h"
#include "trial/spawn.h"
#include "trial/wire.h"

/* Looking at the tree's memory costs some 100 us for one process, and a few for each further one. The pause after each
 * look is this many times what the look took, so that it stays below 0.2 % of one core, within these limits. */
#define SAMPLE_PAUSE_FACTOR 500
#define SAMPLE_PAUSE_MIN_NS 20000000LL
#define SAMPLE_PAUSE_MAX_NS 1000000000LL
/* A process stuck in the kernel does not die of SIGKILL at once, or ever. */
#define KILL_PATIENCE_NS (10 * BL_NS_PER_S)

typedef struct launcher {
    int socket;
    int signals; /* signalfd for SIGCHLD */
    bl_process_tree tree;
    bl_tree_watch *watch; /* NULL where memory was out: then only reaped processes tell their peaks */
    pid_t main_pid;       /* of the running trial; 0 = none runs */
    bool main_ended;
    bool held;           /* its processes are stopped */
    int64_t own_peak_kb; /* a child's maxrss starts from this: below it, it says nothing */
    int64_t next_sample_ns;
    uint64_t limit_b; /* of the trial's processes together; 0: none, or held by a control group */
    bl_wire_ended ended;
} launcher;

static void send_packet(const launcher *l, const void *packet, size_t size)
{
    ssize_t n;
    do
        n = send(l->socket, packet, size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    /* A failure means that the lab is gone: the next receive says so too. */
}

static int64_t own_peak_kb(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static int64_t own_cpu_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

static void kill_all(launcher *l)
{
    if (bl_process_tree_scan(&l->tree, getpid(), NULL) != BL_OK && l->main_pid > 0)
        kill(-l->main_pid, SIGKILL);
    for (size_t i = 0; i < l->tree.len; i++)
        kill(l->tree.pids[i], SIGKILL);
}

/* Of several that train together, one may be the cause. */
static void note_largest_rank(launcher *l)
{
    for (size_t i = 0; i < l->tree.len; i++) {
        int64_t peak_b = bl_process_peak_b("/proc", l->tree.pids[i]);
        long rank = peak_b > l->ended.over_limit_rank_b ? bl_process_rank("/proc", l->tree.pids[i]) : -1;
        if (rank < 0)
            continue;
        l->ended.over_limit_rank = rank;
        l->ended.over_limit_rank_b = peak_b;
    }
}

/* RLIMIT_DATA binds each process alone. Resident sizes count pages shared between processes several times, so that
 * their sum only tells when it is worth while to look closely. */
static void hold_limit(launcher *l, int64_t resident_b)
{
    if (l->limit_b == 0 || l->ended.over_limit_b > 0 || resident_b < 0 || (uint64_t)resident_b <= l->limit_b)
        return;
    int64_t held_b = bl_process_tree_proportional_b(&l->tree);
    if (held_b <= 0 || (uint64_t)held_b <= l->limit_b)
        return;
    l->ended.over_limit_b = held_b;
    note_largest_rank(l);
    kill_all(l);
}

static void note_peaks(launcher *l, int64_t resident_b, int64_t single_b, bool any)
{
    if (resident_b > l->ended.sampled_peak_b)
        l->ended.sampled_peak_b = resident_b;
    if (single_b > l->ended.single_peak_b)
        l->ended.single_peak_b = single_b;
    l->ended.n_samples += any;
}

/* Only the largest process is asked for its own peak: the others' come when they are reaped. */
static void look(launcher *l)
{
    bl_tree_usage usage;
    if (l->watch && bl_tree_watch_look(l->watch, &usage, NULL) == BL_OK)
        note_peaks(l, usage.resident_b, usage.largest > 0 ? bl_process_peak_b("/proc", usage.largest) : 0,
                   usage.n_processes > 0);
}

/* Under a limit every process is asked for what the limit is of. */
static void look_closely(launcher *l)
{
    bl_tree_memory memory;
    if (bl_process_tree_scan(&l->tree, getpid(), NULL) != BL_OK)
        return;
    bl_process_tree_memory(&l->tree, &memory);
    note_peaks(l, memory.resident_b, memory.largest_peak_b, memory.n_processes > 0);
    if (memory.largest_data_b > l->ended.data_peak_b)
        l->ended.data_peak_b = memory.largest_data_b;
    hold_limit(l, memory.resident_b);
}

/* The pause follows from the CPU time that a look costs: wall time would, on a busy machine, turn one look that was
 * interrupted into a long blind spot. */
static void sample_memory(launcher *l)
{
    int64_t before_ns = own_cpu_ns();
    if (l->limit_b > 0)
        look_closely(l);
    else
        look(l);
    int64_t pause_ns = (own_cpu_ns() - before_ns) * SAMPLE_PAUSE_FACTOR;
    if (pause_ns < SAMPLE_PAUSE_MIN_NS)
        pause_ns = SAMPLE_PAUSE_MIN_NS;
    if (pause_ns > SAMPLE_PAUSE_MAX_NS)
        pause_ns = SAMPLE_PAUSE_MAX_NS;
    l->next_sample_ns = bl_clock_ns() + pause_ns;
}

/* Takes every process that has ended. False once there is no child at all. */
static bool reap(launcher *l)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid < 0)
            return errno == EINTR ? true : errno != ECHILD;
        if (pid == 0)
            return true;
        l->ended.user_us += (int64_t)usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec;
        l->ended.system_us += (int64_t)usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
        if (usage.ru_maxrss > l->own_peak_kb && (int64_t)usage.ru_maxrss * 1024 > l->ended.single_peak_b)
            l->ended.single_peak_b = (int64_t)usage.ru_maxrss * 1024;
        if (pid == l->main_pid) {
            l->main_ended = true;
            l->ended.wait_status = status;
            l->ended.ended_ns = bl_clock_ns();
        }
    }
}

/* New processes may be forked between a look and the kill: goes on until none is left. */
static void end_all(launcher *l)
{
    int64_t give_up_ns = bl_clock_ns() + KILL_PATIENCE_NS;
    int pause_ms = 0;
    while (reap(l)) {
        kill_all(l);
        if (bl_clock_ns() > give_up_ns) {
            l->ended.n_left_behind = (uint32_t)l->tree.len;
            return;
        }
        poll(NULL, 0, pause_ms);
        pause_ms = pause_ms < 16 ? pause_ms * 2 + 1 : 16;
    }
}

/* `strings` holds n of them one after the other. NULL where that is not so. */
static char **split_strings(char **cursor, const char *end, size_t n)
{
    char **out = bl_calloc(n + 1, sizeof *out);
    for (size_t i = 0; out && i < n; i++) {
        char *nul = memchr(*cursor, '\0', (size_t)(end - *cursor));
        if (!nul) {
            free(out);
            return NULL;
        }
        out[i] = *cursor;
        *cursor = nul + 1;
    }
    return out;
}

static pid_t start_from_spec(const bl_wire_start *start, const int *fds, char *spec, bl_start_failure *failure)
{
    char *cursor = spec;
    const char *end = spec + start->spec_b;
    bl_spawn spawn = {
        .marker_fd = fds[BL_WIRE_FD_MARKERS], .output_fd = fds[BL_WIRE_FD_OUTPUT], .data_limit_b = start->limit_b};
    spawn.argv = split_strings(&cursor, end, start->n_argv);
    spawn.env = spawn.argv ? split_strings(&cursor, end, start->n_env) : NULL;
    char **folders = spawn.env ? split_strings(&cursor, end, 2) : NULL;
    pid_t pid = -1;
    *failure = (bl_start_failure){.stage = BL_START_SPEC, .error = ENOMEM};
    if (folders && start->n_argv > 0) {
        spawn.cwd = folders[0];
        spawn.group = folders[1];
        pid = bl_spawn_start(&spawn, failure);
    }
    free(folders);
    free(spawn.env);
    free(spawn.argv);
    return pid;
}

static void start_trial(launcher *l, const bl_wire_start *start, const int *fds)
{
    bl_start_failure failure = {.stage = BL_START_SPEC};
    pid_t pid = -1;
    bl_wire_started started = {.kind = BL_WIRE_STARTED};
    /* Private: the strings are written to by nobody, but argv is not const. */
    char *spec = mmap(NULL, start->spec_b, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[BL_WIRE_FD_SPEC], 0);
    if (spec == MAP_FAILED) {
        failure.error = errno;
    } else {
        l->own_peak_kb = own_peak_kb();
        started.started_wall_ns = bl_clock_wall_ns();
        started.started_ns = bl_clock_ns();
        pid = start_from_spec(start, fds, spec, &failure);
        munmap(spec, start->spec_b);
    }
    if (pid < 0) {
        bl_wire_not_started packet = {.kind = BL_WIRE_NOT_STARTED, .failure = failure};
        send_packet(l, &packet, sizeof packet);
        return;
    }
    l->main_pid = pid;
    l->main_ended = l->held = false;
    l->limit_b = start->limit_b;
    l->ended = (bl_wire_ended){.kind = BL_WIRE_ENDED};
    l->next_sample_ns = bl_clock_ns();
    if (l->watch)
        bl_tree_watch_renew(l->watch);
    send_packet(l, &started, sizeof started);
}

static void hold(launcher *l, bl_wire_kind kind)
{
    bl_wire_held answer;
    if (kind == BL_WIRE_HOLD)
        bl_hold_stop(&l->tree, getpid(), &answer);
    else
        bl_hold_release(&l->tree, getpid(), &answer);
    l->held = kind == BL_WIRE_HOLD;
    send_packet(l, &answer, sizeof answer);
}

/* One that is stopped takes a signal only when it goes on, and then before anything else. */
static void pass_on_signal(launcher *l, int number)
{
    kill(-l->main_pid, number);
    bl_wire_held ignored;
    if (l->held)
        bl_hold_release(&l->tree, getpid(), &ignored);
    l->held = false;
}

/* Descriptors of a packet into fds; those that are not there stay -1. */
static void take_fds(struct msghdr *message, int *fds)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

/* False once the lab has gone. */
static bool serve_packet(launcher *l)
{
    union {
        bl_wire_kind kind;
        bl_wire_start start;
        bl_wire_signal signal;
    } packet;
    union {
        char bytes[CMSG_SPACE(BL_WIRE_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec piece = {.iov_base = &packet, .iov_len = sizeof packet};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(l->socket, &message, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    int fds[BL_WIRE_FDS] = {-1, -1, -1};
    take_fds(&message, fds);
    if (packet.kind == BL_WIRE_START && l->main_pid == 0)
        start_trial(l, &packet.start, fds);
    else if (packet.kind == BL_WIRE_SIGNAL && l->main_pid > 0 && !l->main_ended)
        pass_on_signal(l, packet.signal.signal);
    else if ((packet.kind == BL_WIRE_HOLD || packet.kind == BL_WIRE_RELEASE) && l->main_pid > 0)
        hold(l, packet.kind);
    else if (packet.kind == BL_WIRE_KILL)
        kill_all(l);
    for (int i = 0; i < BL_WIRE_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return true;
}

static void finish_trial(launcher *l)
{
    end_all(l);
    if (l->watch)
        bl_tree_watch_forget(l->watch);
    send_packet(l, &l->ended, sizeof l->ended);
    l->main_pid = 0;
}

static int next_timeout_ms(const launcher *l)
{
    if (l->main_pid == 0)
        return -1;
    int64_t left_ns = l->next_sample_ns - bl_clock_ns();
    return left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0;
}

static bool serve_once(launcher *l)
{
    struct pollfd fds[] = {{.fd = l->socket, .events = POLLIN}, {.fd = l->signals, .events = POLLIN}};
    if (poll(fds, 2, next_timeout_ms(l)) < 0 && errno != EINTR)
        return false;
    if (fds[1].revents) {
        struct signalfd_siginfo info;
        while (read(l->signals, &info, sizeof info) > 0)
            ;
        reap(l);
    }
    if (l->main_pid > 0 && l->main_ended)
        finish_trial(l);
    else if (l->main_pid > 0 && bl_clock_ns() >= l->next_sample_ns)
        sample_memory(l);
    return !fds[0].revents || serve_packet(l);
}

/* Keeps neither the terminal nor any file of the lab's open: a reader of the lab's output must see its end when the
 * lab ends, and a database must not stay locked. */
static void drop_inheritance(int socket)
{
    int null_fd = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= STDERR_FILENO && null_fd >= 0; fd++)
        dup2(null_fd, fd);
    if (socket > STDERR_FILENO + 1)
        close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
    close_range((unsigned)socket + 1, ~0U, 0);
}

void bl_launcher_main(int socket)
{
    setsid(); /* Ctrl-C and a hang-up are for the lab, which then says what becomes of the trial */
    drop_inheritance(socket);
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
    for (size_t i = 0; i < BL_ARRAY_LEN(ignored); i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "batchlab-launch");
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    launcher l = {.socket = socket, .signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
    bl_process_tree_init(&l.tree, "/proc");
    bl_tree_watch_new("/proc", getpid(), &l.watch, NULL);
    while (l.signals >= 0 && serve_once(&l))
        ;
    end_all(&l);
}
