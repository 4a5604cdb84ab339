#include "trial/hold.h"

#include <poll.h>
#include <signal.h>

#include "base/clock.h"

/* A thread in the kernel's hands (reading from a disk) stops only when it comes back. */
#define PATIENCE_NS BL_NS_PER_S

static void send_all(const bl_process_tree *tree, int number)
{
    for (size_t i = 0; i < tree->len; i++)
        kill(tree->pids[i], number);
}

void bl_hold_stop(bl_process_tree *tree, pid_t root, bl_wire_held *out)
{
    int64_t give_up_ns = bl_clock_ns() + PATIENCE_NS;
    *out = (bl_wire_held){.kind = BL_WIRE_HELD};
    for (int pause_ms = 0;; pause_ms = pause_ms < 8 ? pause_ms * 2 + 1 : 8) {
        if (bl_process_tree_scan(tree, root, NULL) == BL_OK)
            send_all(tree, SIGSTOP);
        poll(NULL, 0, pause_ms);
        /* Anew: one that was just being forked is seen only now. */
        out->n_awake = 1;
        if (bl_process_tree_scan(tree, root, NULL) == BL_OK)
            out->n_awake = (uint32_t)bl_process_tree_awake(tree);
        out->n_processes = (uint32_t)tree->len;
        if (out->n_awake == 0 || bl_clock_ns() > give_up_ns)
            return;
    }
}

void bl_hold_release(bl_process_tree *tree, pid_t root, bl_wire_held *out)
{
    *out = (bl_wire_held){.kind = BL_WIRE_RELEASED};
    if (bl_process_tree_scan(tree, root, NULL) == BL_OK)
        out->n_awake = (uint32_t)bl_process_tree_awake(tree);
    out->n_processes = (uint32_t)tree->len;
    send_all(tree, SIGCONT);
}
