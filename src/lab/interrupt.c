#include "lab/interrupt.h"

#include <stddef.h>

volatile sig_atomic_t bl_interrupt_count;

static void note(int number)
{
    (void)number;
    if (bl_interrupt_count < 100)
        bl_interrupt_count = bl_interrupt_count + 1;
}

void bl_interrupt_install(void)
{
    /* SA_RESTART: only the waiting in poll is to be broken off, and that always is. */
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}
