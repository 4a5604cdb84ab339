/* The launcher's own process. Of use inside this room. */
#ifndef BL_TRIAL_LAUNCHER_MAIN_H
#define BL_TRIAL_LAUNCHER_MAIN_H

/* Serves the lab over `socket` until its other end closes; then kills what runs and returns. */
void bl_launcher_main(int socket);

#endif
