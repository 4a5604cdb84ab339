#include "trial/failed_rank.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define RANK_MAX 10000000

/* A pattern: '#' is a number, '@' the number that is the rank, '*' a word without blanks, a blank at least one blank,
 * anything else itself. */
static const char *const patterns[] = {
    "process rank @ with PID",            /* mpirun noticed that ... exited on signal 9 */
    "Process name: [[#,#],@]",            /* mpirun: it exited with a status other than 0 */
    "MPI_ABORT was invoked on rank @ in", /* by the program itself */
    "error: rank @ of #:",                /* batchlab-train */
    "srun: error: *: task @: ",           /* Slurm */
    "rank : @ (local_rank:",              /* torchrun's summary of the root cause */
};

/* The number at *at, which is put behind it; -1 where there is none, or none that a rank could have. */
static long take_number(const char **at, const char *end)
{
    long value = 0;
    const char *c = *at;
    for (; c < end && *c >= '0' && *c <= '9'; c++)
        value = value < RANK_MAX ? value * 10 + (*c - '0') : RANK_MAX;
    if (c == *at || value >= RANK_MAX)
        return -1;
    *at = c;
    return value;
}

/* The rank, where the pattern begins at `at`; -1. */
static long match(const char *pattern, const char *at, const char *end)
{
    long rank = -1;
    for (; *pattern; pattern++) {
        if (*pattern == '#' || *pattern == '@') {
            long value = take_number(&at, end);
            if (value < 0)
                return -1;
            rank = *pattern == '@' ? value : rank;
        } else if (*pattern == '*') {
            while (at<end && * at> ' ' && *at != pattern[1])
                at++;
        } else if (at == end || *at != *pattern) {
            return -1;
        } else {
            at++;
            while (*pattern == ' ' && at < end && *at == ' ')
                at++;
        }
    }
    return rank;
}

static void copy_line(const char *output, size_t n, size_t at, char *line, size_t size)
{
    size_t first = at, last = at, k = 0;
    while (first > 0 && output[first - 1] != '\n')
        first--;
    while (last < n && output[last] != '\n' && output[last] != '\0')
        last++;
    while (first < last && output[first] == ' ')
        first++;
    for (size_t i = first; i < last && k + 1 < size; i++)
        line[k++] = (unsigned char)output[i] < 0x20 ? ' ' : output[i];
    line[k] = '\0';
}

long bl_failed_rank(const char *output, size_t n, char *line, size_t size)
{
    for (size_t at = 0; at < n; at++)
        for (size_t p = 0; p < BL_ARRAY_LEN(patterns); p++) {
            long rank = output[at] == patterns[p][0] ? match(patterns[p], output + at, output + n) : -1;
            if (rank < 0)
                continue;
            copy_line(output, n, at, line, size);
            return rank;
        }
    return -1;
}
