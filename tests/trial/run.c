#include "run.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trial/settle.h"

static bl_launcher launcher;
static bl_rules *rules;

int start_test_launcher(void **state)
{
    return bl_launcher_start(&launcher, NULL) != BL_OK || bl_rules_new(true, &rules, NULL) != BL_OK;
}

int stop_test_launcher(void **state)
{
    bl_launcher_stop(&launcher);
    bl_rules_free(rules);
    return 0;
}

bl_launcher *test_launcher(void)
{
    return &launcher;
}

void run_shell(const char *script, const bl_trial_spec *spec, bl_trial_result *result)
{
    char sh[] = "/bin/sh", c[] = "-c";
    char *text = strdup(script);
    assert_non_null(text);
    char *argv[] = {sh, c, text, NULL};
    bl_trial_spec full = spec ? *spec : (bl_trial_spec){0};
    full.argv = argv;
    full.rules = rules;
    if (full.log_fd == 0)
        full.log_fd = -1;
    bl_error err = {0};
    if (bl_trial_settle(&launcher, &full, result, &err) != BL_OK)
        fail_msg("%s", err.message);
    free(text);
}

void assert_outcome_(const bl_trial_result *result, bl_outcome wanted, const char *file, int line)
{
    if (result->decision.outcome == wanted)
        return;
    print_error("%s, not %s: %s\n%s", bl_outcome_name(result->decision.outcome), bl_outcome_name(wanted),
                bl_str_text(&result->decision.reason), bl_str_text(&result->output_tail));
    _fail(file, line);
}

/* Arguments lie in cmdline one after the other, each with its zero byte. */
static bool has_argument(const char *pid, const char *argument)
{
    char path[300], text[4096];
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    for (ssize_t at = 0; at < n; at += (ssize_t)strnlen(text + at, (size_t)(n - at)) + 1) {
        text[n] = '\0';
        if (strcmp(text + at, argument) == 0)
            return true;
    }
    return false;
}

int count_processes(const char *argument)
{
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            count += has_argument(entry->d_name, argument);
    closedir(dir);
    return count;
}

bool wait_for_processes(const char *argument, bool some)
{
    for (int i = 0; i < 1500; i++) {
        if ((count_processes(argument) > 0) == some)
            return true;
        poll(NULL, 0, 10);
    }
    return false;
}
