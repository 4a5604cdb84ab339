/* Compiler attributes under names of our own. */
#ifndef BL_BASE_ATTRIBUTES_H
#define BL_BASE_ATTRIBUTES_H

#define BL_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#define BL_UNUSED                          __attribute__((unused))
#define BL_MUST_CHECK                      __attribute__((warn_unused_result))
#define BL_ARRAY_LEN(a)                    (sizeof(a) / sizeof((a)[0]))

#endif
