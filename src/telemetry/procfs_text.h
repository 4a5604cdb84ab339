/* Reads the texts of /proc and /sys: pure functions, whatever they are given. A value that is not there, or is no
 * number that fits, is false. */
#ifndef BL_TELEMETRY_PROCFS_TEXT_H
#define BL_TELEMETRY_PROCFS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A whole number at *at, behind blanks; *at moves behind it. */
bool bl_text_take_i64(const char **at, int64_t *out);
/* "name 12", "name: 12 kB": the number of the line that begins with this name. */
bool bl_text_field(const char *text, const char *name, int64_t *out);
/* Pressure: "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": the total of the line `which`, in microseconds. */
bool bl_text_pressure_us(const char *text, const char *which, int64_t *out);
/* The first line of /proc/stat, in clock ticks over all processors: at work (guests are part of it), and taken away by
 * the machine that this virtual one runs on. */
bool bl_text_cpu_ticks(const char *text, int64_t *busy, int64_t *stolen);
/* PID/stat: the parent, and the process's own ticks (user and system). The name may hold blanks and parentheses. */
bool bl_text_process_stat(const char *text, pid_t *parent, int64_t *ticks);
/* PID/statm: resident pages, and those of them that are no file's and not shared. */
bool bl_text_resident_pages(const char *text, int64_t *resident, int64_t *anonymous);
/* /proc/cpuinfo: the mean of its "cpu MHz" lines, in Hz. */
bool bl_text_cpuinfo_hz(const char *text, double *out);
/* PID/cgroup: the path of the group in version 2 (controller NULL) or of this controller in version 1. */
bool bl_text_cgroup(const char *text, const char *controller, char *out, size_t size);

#endif
