/* Data sets that tests make: files in a temporary folder. */
#ifndef BL_TESTS_DATA_FOLDERS_H
#define BL_TESTS_DATA_FOLDERS_H

#include <stddef.h>

#include "data/reader.h"

/* cmocka's set-up and tear-down: *state is a new folder, and XDG_CACHE_HOME is a folder within, but not the data's. */
int folders_make(void **state);
int folders_remove(void **state);
/* Writes top/name, and makes its folder. */
void put(const char *top, const char *name, const void *data, size_t len);
void put_text(const char *top, const char *name, const char *text);
void put_picture(const char *top, const char *name); /* by its ending */
/* Fails the test where the data set cannot be opened. */
bl_dataset *data_opened(const bl_data_options *options);
/* Fails it where it can, or another error comes; the words must be in the message or the remedy. */
void data_refused(const bl_data_options *options, int code, const char *word);

#endif
