/* Runs trials in tests. */
#ifndef BL_TESTS_TRIAL_RUN_H
#define BL_TESTS_TRIAL_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trial/trial.h"

int start_test_launcher(void **state);
int stop_test_launcher(void **state);
bl_launcher *test_launcher(void);

/* Runs /bin/sh -c script as a trial, again where it ends ambiguously; `spec` gives the rest and may be NULL. A log_fd
 * of 0 counts as none. */
void run_shell(const char *script, const bl_trial_spec *spec, bl_trial_result *result);

/* Fails with the reason and output of the trial. */
void assert_outcome_(const bl_trial_result *result, bl_outcome wanted, const char *file, int line);
#define assert_outcome(result, wanted) assert_outcome_((result), (wanted), __FILE__, __LINE__)

/* Living processes with this very argument. */
int count_processes(const char *argument);
/* Waits until there is one, or none. False when that takes too long. */
bool wait_for_processes(const char *argument, bool some);

#endif
