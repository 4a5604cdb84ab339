/* Ctrl-C and its like: the first asks for a clean end, the second kills the running trial. */
#ifndef BL_LAB_INTERRUPT_H
#define BL_LAB_INTERRUPT_H

#include <signal.h>

/* How often SIGINT, SIGTERM or SIGHUP came; for bl_trial_spec.interrupt. */
extern volatile sig_atomic_t bl_interrupt_count;

void bl_interrupt_install(void);

#endif
