/* The lab's entry: sets up what every subcommand relies on, finds the subcommand in the table, hands over. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/help_pages.h"
#include "base/log.h"
#include "base/str.h"
#include "lab/commands.h"
#include "trial/launcher.h"

static const bl_lab_command *find_command(const char *name)
{
    for (size_t i = 0; i < bl_lab_n_commands; i++)
        if (strcmp(bl_lab_commands[i].name, name) == 0)
            return &bl_lab_commands[i];
    return NULL;
}

static void print_usage(FILE *out)
{
    fprintf(out, "usage: batchlab COMMAND [options]\n\n"
                 "Finds out, by measurement that can be trusted, which batch size a training job\n"
                 "should use on this machine.\n\nCommands:\n");
    for (size_t i = 0; i < bl_lab_n_commands; i++)
        fprintf(out, "  %-10s %s\n", bl_lab_commands[i].name, bl_lab_commands[i].summary);
    fprintf(out, "\n  batchlab help COMMAND      what a command does and its options\n"
                 "  batchlab --version         the version\n\n"
                 "Exit status: 0 done, 1 a trial failed or a check did not hold, 2 wrong usage,\n"
                 "3 the environment lacks something.\n");
}

static int fail_unknown_command(const char *name)
{
    bl_error err = {0};
    BL_FAIL(&err, BL_ERR_USAGE, "there is no command '%s'", name);
    const char *nearest = NULL;
    int least = 3; /* farther ones are no help */
    for (size_t i = 0; i < bl_lab_n_commands; i++) {
        int distance = bl_str_distance(name, bl_lab_commands[i].name);
        if (distance < least) {
            least = distance;
            nearest = bl_lab_commands[i].name;
        }
    }
    if (nearest)
        bl_error_remedy(&err, "batchlab %s, or batchlab --help for all commands", nearest);
    else
        bl_error_remedy(&err, "batchlab --help lists the commands");
    return bl_log_error(&err);
}

static int print_entry(void *context, size_t i)
{
    char name[32], help[] = "--help";
    snprintf(name, sizeof name, "%s", bl_lab_commands[i].name);
    char *argv[] = {name, help, NULL};
    return bl_lab_commands[i].run(context, 2, argv);
}

/* help --man, help --completion SHELL */
static int print_pages(bl_lab *lab, int argc, char **argv)
{
    bl_help_entry entries[64];
    bl_error err = {0};
    bl_help_program program = {
        .name = "batchlab",
        .version = BATCHLAB_VERSION,
        .summary = "find out by measurement which batch size training should use",
        .details =
            "Measures any training command over batch sizes, in fresh processes and shuffled blocks, and says what "
            "differs and how sure that is.",
        .see_also = "batchlab-train(1)",
        .entries = entries,
        .print = print_entry,
        .context = lab,
    };
    for (; program.n_entries < bl_lab_n_commands && program.n_entries < BL_ARRAY_LEN(entries); program.n_entries++)
        entries[program.n_entries] =
            (bl_help_entry){bl_lab_commands[program.n_entries].name, bl_lab_commands[program.n_entries].summary};
    return bl_help_pages_print(&program, argc, argv, stdout, &err) == BL_OK ? 0 : bl_log_error(&err);
}

static int help_on(bl_lab *lab, const char *name)
{
    const bl_lab_command *command = find_command(name);
    if (!command)
        return fail_unknown_command(name);
    char help[] = "--help";
    char command_name[32];
    snprintf(command_name, sizeof command_name, "%s", command->name);
    char *argv[] = {command_name, help, NULL};
    return command->run(lab, 2, argv);
}

/* A closed standard descriptor would be taken by the next file opened, a database even: then a message on
 * stderr would be written into it. */
static void fill_standard_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2)
        fd = dup(fd);
    if (fd > 2)
        close(fd);
}

/* The launcher is forked while this process is still as small as it starts. */
static int run_with_launcher(bl_lab *lab, const bl_lab_command *command, int argc, char **argv)
{
    if (!command->runs_trials)
        return command->run(lab, argc, argv);
    bl_error err = {0};
    bl_launcher launcher;
    if (bl_launcher_start(&launcher, &err) != BL_OK)
        return bl_log_error(&err);
    lab->launcher = &launcher;
    int status = command->run(lab, argc, argv);
    lab->launcher = NULL;
    bl_launcher_stop(&launcher);
    return status;
}

static int run_command(bl_lab *lab, int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return bl_error_exit_status(BL_ERR_USAGE);
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("batchlab %s\n", BATCHLAB_VERSION);
        return 0;
    }
    if (strcmp(name, "help") == 0 && argv[2][0] == '-')
        return print_pages(lab, argc - 1, argv + 1);
    if (strcmp(name, "help") == 0)
        return help_on(lab, argv[2]);
    const bl_lab_command *command = find_command(name);
    if (!command)
        return fail_unknown_command(name);
    return run_with_launcher(lab, command, argc - 1, argv + 1);
}

/* batchlab list | head: that is no failure. (errno of the write that failed is long gone when stdio tells of it.) */
static bool reader_left(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

int main(int argc, char **argv)
{
    bl_log_init("batchlab", BL_LOG_NORMAL);
    fill_standard_descriptors();
    bl_lab lab = {.program = argc > 0 ? argv[0] : "batchlab"};
    /* A reader that went away (a pipe into head) must not end a sweep: the results go to the database as well. */
    signal(SIGPIPE, SIG_IGN);
    int status = run_command(&lab, argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && !reader_left(STDOUT_FILENO) && status == 0) {
        bl_error err = {0};
        BL_FAIL(&err, BL_ERR_IO, "not all could be written to standard output; is the disk full?");
        status = bl_log_error(&err);
    }
    return status;
}
