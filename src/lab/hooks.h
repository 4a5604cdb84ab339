/* Commands around the trials: --setup, --prepare, --cleanup. They run under the launcher as trials do, so nothing of
 * them stays alive either. */
#ifndef BL_LAB_HOOKS_H
#define BL_LAB_HOOKS_H

#include "base/error.h"
#include "lab/sweep_spec.h"
#include "trial/launcher.h"

/* Checks the words of all three before anything runs. */
int bl_hooks_check(const bl_sweep_spec *spec, bl_error *err);

/* What a hook runs for. */
typedef struct bl_hook {
    const char *option;        /* "--prepare", for messages */
    const char *text;          /* its template; NULL: nothing is run */
    const bl_factors *factors; /* that fill it, with {outdir} */
    size_t case_index;
    int64_t trial;    /* BATCHLAB_TRIAL */
    int log_fd;       /* -1: its output is shown only where it fails */
    char *const *env; /* on top of the lab's, or NULL */
} bl_hook;

/* BL_ERR_FAILED where it ends with another exit status than 0; BL_ERR_INTERRUPTED where the user broke it off. */
int bl_hook_run(bl_launcher *launcher, const bl_sweep_spec *spec, const bl_hook *hook, bl_error *err);
/* --setup, once in a sitting. */
int bl_hook_run_setup(bl_launcher *launcher, const bl_sweep_spec *spec, bl_error *err);

#endif
