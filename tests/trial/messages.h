/* What programs print when they fail, in wordings of several versions, and what that is. */
#ifndef BL_TESTS_TRIAL_MESSAGES_H
#define BL_TESTS_TRIAL_MESSAGES_H

#include "trial/rules.h"

typedef struct message_case {
    bl_message message;
    const char *text;
} message_case;

extern const message_case message_cases[];
extern const size_t n_message_cases;

#endif
