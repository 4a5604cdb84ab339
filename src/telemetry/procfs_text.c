#include "telemetry/procfs_text.h"

#include <stdio.h>
#include <string.h>

bool bl_text_take_i64(const char **at, int64_t *out)
{
    const char *c = *at + strspn(*at, " \t");
    bool negative = *c == '-';
    int64_t value = 0;
    c += negative;
    if (*c < '0' || *c > '9')
        return false;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c - '0', &value))
            return false;
    *at = c;
    *out = negative ? -value : value;
    return true;
}

/* The text behind the name of the line that begins with it; NULL where none does. */
static const char *line_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, name, n) == 0 && line[n] && strchr(" \t:", line[n]))
            return line + n;
    return NULL;
}

bool bl_text_field(const char *text, const char *name, int64_t *out)
{
    const char *at = line_of(text, name);
    if (!at)
        return false;
    at += strspn(at, " \t:");
    return bl_text_take_i64(&at, out);
}

bool bl_text_pressure_us(const char *text, const char *which, int64_t *out)
{
    const char *line = line_of(text, which);
    const char *end = line ? strchrnul(line, '\n') : NULL;
    const char *at = line ? strstr(line, " total=") : NULL;
    if (!at || at > end)
        return false;
    at += strlen(" total=");
    return bl_text_take_i64(&at, out) && *out >= 0;
}

bool bl_text_cpu_ticks(const char *text, int64_t *busy, int64_t *stolen)
{
    enum { USER, NICE, SYSTEM, IDLE, IO_WAIT, IRQ, SOFT_IRQ, STEAL, COLUMNS };
    int64_t ticks[COLUMNS] = {0};
    if (strncmp(text, "cpu ", 4) != 0)
        return false;
    text += 4;
    int n = 0;
    while (n < COLUMNS && bl_text_take_i64(&text, &ticks[n]) && ticks[n] >= 0 && ticks[n] < INT64_MAX / COLUMNS)
        n++;
    if (n <= SOFT_IRQ) /* kernels before 2.6.11 have no column for what was stolen */
        return false;
    *busy = ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFT_IRQ];
    *stolen = n > STEAL ? ticks[STEAL] : 0;
    return true;
}

bool bl_text_process_stat(const char *text, pid_t *parent, int64_t *ticks)
{
    enum { PARENT = 0, USER = 10, SYSTEM = 11, COLUMNS };
    const char *at = strrchr(text, ')');
    int64_t column[COLUMNS] = {0};
    if (!at)
        return false;
    at += 1 + strspn(at + 1, " ");
    if (!*at)
        return false;
    at++; /* the state, one letter */
    int n = 0;
    while (n < COLUMNS && bl_text_take_i64(&at, &column[n]))
        n++;
    if (n == 0 || column[PARENT] < 0 || column[PARENT] > INT32_MAX)
        return false;
    *parent = (pid_t)column[PARENT];
    bool sensible = n == COLUMNS && column[USER] >= 0 && column[SYSTEM] >= 0 && column[USER] < INT64_MAX / 2 &&
                    column[SYSTEM] < INT64_MAX / 2;
    *ticks = sensible ? column[USER] + column[SYSTEM] : -1;
    return true;
}

bool bl_text_resident_pages(const char *text, int64_t *resident, int64_t *anonymous)
{
    int64_t size, shared;
    if (!bl_text_take_i64(&text, &size) || !bl_text_take_i64(&text, resident) || !bl_text_take_i64(&text, &shared) ||
        *resident < 0 || shared < 0)
        return false;
    *anonymous = *resident > shared ? *resident - shared : 0; /* the kernel counts lazily: not always a sum */
    return true;
}

bool bl_text_cpuinfo_hz(const char *text, double *out)
{
    double sum_mhz = 0;
    int64_t n = 0, mhz;
    for (const char *at = text; (at = line_of(at, "cpu MHz")) != NULL; n++) {
        at += strspn(at, " \t:");
        if (!bl_text_take_i64(&at, &mhz) || mhz <= 0 || mhz > 100000)
            return false;
        sum_mhz += (double)mhz;
        at = strchrnul(at, '\n');
        if (*at)
            at++;
    }
    *out = n > 0 ? 1e6 * sum_mhz / (double)n : 0;
    return n > 0;
}

/* Is it in "cpu,cpuacct"? */
static bool lists_word(const char *words, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && words[end] != ',')
            end++;
        if (end - at == length && memcmp(words + at, word, length) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

bool bl_text_cgroup(const char *text, const char *controller, char *out, size_t size)
{
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n');
        const char *words = memchr(line, ':', (size_t)(end - line));
        const char *path = words ? memchr(words + 1, ':', (size_t)(end - words - 1)) : NULL;
        size_t n_words = path ? (size_t)(path - words - 1) : 0, n = path ? (size_t)(end - path - 1) : 0;
        bool found = path && (controller ? lists_word(words + 1, n_words, controller) : n_words == 0);
        if (found && n > 0 && n < size) {
            memcpy(out, path + 1, n);
            out[n] = '\0';
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}
