/* Included by the build into every file of src/: calls that are unsafe, depend on the locale or hide
 * errors do not compile. Use the function named in each line instead. */
#ifndef BL_BASE_BANNED_H
#define BL_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat sprintf vsprintf gets strncpy strncat /* bl_str, snprintf, memcpy */
#pragma GCC poison atoi atol atoll atof                                /* bl_parse_i64, bl_parse_f64 */
#pragma GCC poison strtok tmpnam tempnam mktemp                        /* strtok_r, mkstemp */

#endif
