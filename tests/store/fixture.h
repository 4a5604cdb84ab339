/* A store in a folder of its own, and experiments to put into it. */
#ifndef BL_TESTS_STORE_FIXTURE_H
#define BL_TESTS_STORE_FIXTURE_H

#include "testing.h"

#include "store/store.h"

typedef struct fixture {
    char *folder, *path;
    bl_store *store;
} fixture;

/* For cmocka: *state is a fixture with the store open for writing. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);
/* Opens it anew; the fixture's own must be closed or may stay open. Fails the test where it cannot be. */
bl_store *fixture_open(const fixture *f, bl_store_mode mode);
/* Two factors, batch = 32, 64 and workers = 0, 1, 2, five blocks, seed 7. Static data. */
const bl_experiment *fixture_experiment(void);
int64_t fixture_begin(bl_store *store);
/* A trial that went well, with n_steps steps of 10 ms and one metric and memory kind. The steps are malloc'd. */
bl_trial_record fixture_trial(size_t block, size_t case_index, size_t n_steps);
void fixture_add_trial(bl_store *store, int64_t id, size_t block, size_t case_index, size_t n_steps);
/* The number that a statement gives, from a connection of its own. */
int64_t fixture_query(const fixture *f, const char *sql);
/* "ok" where SQLite finds the file sound and every reference leads somewhere. */
const char *fixture_integrity(const fixture *f);

#endif
