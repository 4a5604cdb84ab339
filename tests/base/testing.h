/* What the tests of every room may use: cmocka with the headers it wants, temporary folders, captured
 * output, and an allocator that can be told to fail. */
#ifndef BL_TESTS_BASE_TESTING_H
#define BL_TESTS_BASE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

/* A new empty folder; the caller gives its name to test_remove_folder. Fails the test where it cannot be made. */
char *test_make_folder(void);
void test_remove_folder(char *folder);
/* malloc'd "folder/name". */
char *test_path(const char *folder, const char *name);
void test_write_file(const char *path, const void *data, size_t len);

/* What is written to the descriptor fd (1 or 2, stdio flushed) between begin and end, as a malloc'd text. */
typedef struct test_capture {
    int fd;
    int saved;
    FILE *file;
} test_capture;
void test_capture_begin(test_capture *capture, int fd);
char *test_capture_end(test_capture *capture);

/* Only in executables linked with test_failing_alloc_args (see meson.build): from the n-th call on (0: the
 * next one), malloc, calloc, realloc and posix_memalign fail until test_alloc_restore. */
void test_alloc_fail_after(int n);
/* Back to normal; true where a call was made to fail. */
int test_alloc_restore(void);

#endif
