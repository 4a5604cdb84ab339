/* What can go wrong with a file: other programs' files, newer schemas, no right to write, no room, other processes,
 * and the death of the writer at any moment. */
#include "fixture.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/internal.h"

static void refuse(const fixture *f, bl_store_mode mode, bl_code code, const char *reason)
{
    bl_store *store = (bl_store *)1;
    bl_error err = {0};
    int rc = bl_store_open(f->path, mode, &store, &err);
    if (rc != (int)code || strstr(err.message, reason) == NULL)
        fail_msg("gave %d '%s', not %d '%s'", rc, err.message, (int)code, reason);
    assert_null(store);
}

static void close_own(fixture *f)
{
    bl_store_close(f->store);
    f->store = NULL;
}

static void other_files_are_left_alone(void **state)
{
    fixture *f = *state;
    close_own(f);
    unlink(f->path);
    refuse(f, BL_STORE_READ, BL_ERR_ENV, "there is no database");
    refuse(f, BL_STORE_WRITE, BL_ERR_ENV, "there is no database");
    char text[8192];
    memset(text, 'x', sizeof(text));
    test_write_file(f->path, text, sizeof(text));
    refuse(f, BL_STORE_CREATE, BL_ERR_ENV, "is no SQLite database");
    unlink(f->path);
    test_write_file(f->path, "", 0);
    refuse(f, BL_STORE_READ, BL_ERR_ENV, "is empty");
    fixture_query(f, "CREATE TABLE song (title TEXT)");
    refuse(f, BL_STORE_CREATE, BL_ERR_ENV, "another program's database");
    refuse(f, BL_STORE_READ, BL_ERR_ENV, "another program's database");
    unlink(f->path);
    mkdir(f->path, 0700);
    refuse(f, BL_STORE_CREATE, BL_ERR_ENV, "cannot be opened");
    rmdir(f->path);
    free(f->path);
    f->path = test_path(f->folder, "no/such/folder.db");
    refuse(f, BL_STORE_CREATE, BL_ERR_ENV, "cannot be opened");
}

static void a_newer_schema_is_refused_and_not_touched(void **state)
{
    fixture *f = *state;
    fixture_begin(f->store);
    close_own(f);
    fixture_query(f, "PRAGMA user_version = 3");
    refuse(f, BL_STORE_CREATE, BL_ERR_ENV, "has schema version 3");
    refuse(f, BL_STORE_READ, BL_ERR_ENV, "has schema version 3");
    assert_true(fixture_query(f, "PRAGMA user_version") == 3);
    assert_true(fixture_query(f, "SELECT count(*) FROM experiment") == 1);
}

/* Makes the present tables into those of version 1. */
static const char to_version_1[] =
    "PRAGMA foreign_keys = OFF; BEGIN; DROP TABLE evidence; ALTER TABLE experiment DROP COLUMN driving;"
    "CREATE TABLE trial_1 (id INTEGER PRIMARY KEY AUTOINCREMENT, experiment_id INTEGER NOT NULL REFERENCES experiment "
    "ON "
    "DELETE CASCADE, case_index INTEGER NOT NULL, block INTEGER NOT NULL, position INTEGER NOT NULL, predecessor "
    "INTEGER, "
    "outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'out_of_memory', 'crashed', 'timed_out', 'interrupted', "
    "'invalid')), "
    "reason TEXT, started_ns INTEGER NOT NULL, wall_s REAL, user_s REAL, system_s REAL, cpu_note TEXT, peak_memory_b "
    "REAL, "
    "memory_note TEXT, exit_status INTEGER NOT NULL, exit_signal INTEGER NOT NULL, ended_by_budget INTEGER NOT NULL, "
    "by_markers INTEGER NOT NULL, run_samples REAL, program TEXT, program_version TEXT, precision TEXT, ranks INTEGER, "
    "output_tail TEXT) STRICT;"
    "INSERT INTO trial_1 SELECT id, experiment_id, case_index, block, position, predecessor, outcome, reason, "
    "started_ns, "
    "wall_s, user_s, system_s, cpu_note, peak_memory_b, memory_note, exit_status, exit_signal, ended_by_budget, "
    "step_source = 'markers', run_samples, program, program_version, precision, ranks, output_tail FROM trial;"
    "DROP TABLE trial; ALTER TABLE trial_1 RENAME TO trial;"
    "CREATE UNIQUE INDEX trial_once ON trial (experiment_id, block, case_index) WHERE outcome <> 'interrupted';"
    "CREATE INDEX trial_of_experiment ON trial (experiment_id); PRAGMA user_version = 1; COMMIT;";

static void make_version_1(const fixture *f)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, to_version_1, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    sqlite3_close(db);
}

/* By whatever opens it first, a reader too. */
static void an_older_schema_is_brought_up_to_date(void **state)
{
    fixture *f = *state;
    for (int mode = BL_STORE_READ; mode <= BL_STORE_CREATE; mode++) {
        int64_t id = fixture_begin(f->store);
        fixture_add_trial(f->store, id, 0, 1, 5);
        fixture_add_trial(f->store, id, 0, 2, 3);
        assert_int_equal(bl_store_end(f->store, id, BL_EXPERIMENT_FINISHED, NULL), BL_OK);
        close_own(f);
        make_version_1(f);
        assert_int_equal(fixture_query(f, "SELECT sum(by_markers) FROM trial"), 2);
        f->store = fixture_open(f, (bl_store_mode)mode);
        assert_int_equal(fixture_query(f, "PRAGMA user_version"), 2);
        bl_arena arena;
        bl_arena_init(&arena);
        bl_experiment e;
        assert_int_equal(bl_store_load(f->store, id, true, &arena, &e, NULL), BL_OK);
        assert_true(e.n_trials == 2 && e.trials[0].n_steps == 5 && e.trials[0].steps[4].end_ns == 50000000);
        assert_string_equal(e.trials[1].step_source, "markers");
        assert_string_equal(e.driving, "{}");
        assert_null(e.trials[1].phase);
        bl_arena_clear(&arena);
        assert_string_equal(fixture_integrity(f), "ok");
        close_own(f);
        f->store = fixture_open(f, BL_STORE_WRITE);
        fixture_add_trial(f->store, id, 1, 1, 5); /* the checks and indexes are there again */
        bl_trial_record again = fixture_trial(1, 1, 0);
        bl_error err = {0};
        assert_int_not_equal(bl_store_add_trial(f->store, id, &again, NULL, &err), BL_OK);
        free(again.steps);
        assert_int_equal(bl_store_delete(f->store, id, NULL), BL_OK);
        assert_int_equal(fixture_query(f, "SELECT count(*) FROM step"), 0);
    }
}

static void an_older_schema_in_use_is_left_alone(void **state)
{
    fixture *f = *state;
    fixture_begin(f->store); /* held by this very process */
    close_own(f);
    make_version_1(f);
    refuse(f, BL_STORE_CREATE, BL_ERR_BUSY, "works with it");
    refuse(f, BL_STORE_READ, BL_ERR_BUSY, "brought up to date first");
    assert_int_equal(fixture_query(f, "PRAGMA user_version"), 1);
}

static void a_damaged_file_is_named(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    for (size_t block = 0; block < 5; block++)
        fixture_add_trial(f->store, id, block, 0, 200);
    close_own(f);
    FILE *file = fopen(f->path, "r+b");
    assert_non_null(file);
    char rubbish[4096];
    memset(rubbish, 0xa5, sizeof(rubbish));
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    for (long at = 8192; at + 4096 <= size; at += 4096) {
        fseek(file, at, SEEK_SET);
        fwrite(rubbish, 1, sizeof(rubbish), file);
    }
    fclose(file);
    bl_store *store = NULL;
    bl_error err = {0};
    int rc = bl_store_open(f->path, BL_STORE_READ, &store, &err);
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment e;
    if (rc == BL_OK)
        rc = bl_store_load(store, id, true, &arena, &e, &err);
    assert_int_equal(rc, BL_ERR_IO);
    assert_non_null(strstr(err.message, "damaged"));
    bl_arena_clear(&arena);
    bl_store_close(store);
}

static void a_read_only_file_is_noticed_at_once(void **state)
{
    fixture *f = *state;
    fixture_begin(f->store);
    close_own(f);
    if (geteuid() == 0) /* nothing is read-only for root */
        skip();
    chmod(f->path, 0400);
    refuse(f, BL_STORE_WRITE, BL_ERR_ENV, "cannot be written");
    bl_store_close(fixture_open(f, BL_STORE_READ));
    chmod(f->path, 0600);
}

static void a_full_disk_loses_nothing_that_was_stored(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    fixture_add_trial(f->store, id, 0, 0, 10);
    int64_t pages = fixture_query(f, "PRAGMA page_count");
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %lld", (long long)pages + 2);
    assert_int_equal(sqlite3_exec(f->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    bl_trial_record t = fixture_trial(1, 0, 5000);
    bl_error err = {0};
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, &err), BL_ERR_IO);
    assert_non_null(strstr(err.message, "the disk is full"));
    assert_non_null(strstr(err.remedy, "--db"));
    assert_true(sqlite3_get_autocommit(f->store->db)); /* no transaction is left open */
    assert_int_equal(sqlite3_exec(f->store->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL), SQLITE_OK);
    assert_true(fixture_query(f, "SELECT count(*) FROM trial") == 1);
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK); /* once there is room again */
    assert_true(fixture_query(f, "SELECT count(*) FROM step") == 5010);
    assert_string_equal(fixture_integrity(f), "ok");
    free(t.steps);
}

static void a_locked_file_is_waited_for_and_then_named(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(f->store->db, 50);
    bl_trial_record t = fixture_trial(0, 0, 3);
    bl_error err = {0};
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, &err), BL_ERR_BUSY);
    assert_non_null(strstr(err.message, "locked by another process"));
    bl_store *reader = fixture_open(f, BL_STORE_READ); /* readers do not mind */
    bl_store_close(reader);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK);
    free(t.steps);
}

/* A child that has begun an experiment and waits. */
static pid_t start_holder(const fixture *f, int64_t *id)
{
    int channel[2];
    assert_int_equal(pipe(channel), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bl_store *store = NULL;
        int64_t mine = 0;
        if (bl_store_open(f->path, BL_STORE_CREATE, &store, NULL) == BL_OK)
            bl_store_begin(store, fixture_experiment(), &mine, NULL);
        if (write(channel[1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine))
            for (;;)
                pause();
        _exit(1);
    }
    assert_int_equal(read(channel[0], id, sizeof(*id)), sizeof(*id));
    close(channel[0]);
    close(channel[1]);
    return pid;
}

static void an_experiment_is_taken_over_only_from_the_dead(void **state)
{
    fixture *f = *state;
    close_own(f);
    int64_t id = 0;
    pid_t pid = start_holder(f, &id);
    assert_true(id > 0);
    f->store = fixture_open(f, BL_STORE_WRITE);
    bl_error err = {0};
    assert_int_equal(bl_store_claim(f->store, id, 0, &err), BL_ERR_BUSY);
    assert_non_null(strstr(err.message, "is being run by process"));
    assert_int_equal(bl_store_delete(f->store, id, NULL), BL_ERR_BUSY);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment e;
    assert_int_equal(bl_store_load(f->store, id, false, &arena, &e, NULL), BL_OK);
    assert_true(e.state == BL_EXPERIMENT_RUNNING && !e.held); /* left so */
    bl_arena_clear(&arena);
    assert_int_equal(bl_store_claim(f->store, id, 0, NULL), BL_OK);
    /* A later process of the same number is another one. */
    fixture_query(f, "UPDATE experiment SET holder_start = holder_start + 1");
    assert_int_equal(bl_store_claim(f->store, id, 0, NULL), BL_OK);
}

/* Writes trials as fast as it can, and says after each that it is stored. */
static _Noreturn void write_for_ever(const fixture *f, int said)
{
    bl_store *store = NULL;
    int64_t id = 0;
    if (bl_store_open(f->path, BL_STORE_WRITE, &store, NULL) != BL_OK ||
        bl_store_begin(store, fixture_experiment(), &id, NULL) != BL_OK)
        _exit(1);
    for (size_t block = 0;; block++) {
        bl_trial_record t = fixture_trial(block, 0, 300);
        if (bl_store_add_trial(store, id, &t, NULL, NULL) != BL_OK || write(said, "x", 1) != 1)
            _exit(1);
        free(t.steps);
    }
}

static void what_was_said_to_be_stored_survives_the_writers_death(void **state)
{
    fixture *f = *state;
    close_own(f);
    int64_t stored = 0;
    for (int round = 0; round < 12; round++) {
        int channel[2];
        assert_int_equal(pipe(channel), 0);
        pid_t pid = fork();
        if (pid == 0)
            write_for_ever(f, channel[1]);
        close(channel[1]);
        nanosleep(&(struct timespec){.tv_nsec = 3000000 + round * 4700000}, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        char said[65536];
        for (ssize_t n = read(channel[0], said, sizeof(said)); n > 0; n = read(channel[0], said, sizeof(said)))
            stored += n;
        close(channel[0]);
        int64_t found = fixture_query(f, "SELECT count(*) FROM trial");
        assert_true(found == stored || found == stored + 1); /* the last may be stored and not yet said */
        stored = found;
        assert_true(fixture_query(f, "SELECT count(*) FROM step") == 300 * found);
        assert_string_equal(fixture_integrity(f), "ok");
    }
    assert_true(stored > 0);
}

static void lost_allocations_are_errors(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    fixture_add_trial(f->store, id, 0, 0, 20);
    for (int n = 0; n < 2000; n += 1 + n / 8) {
        bl_arena arena;
        bl_arena_init(&arena);
        bl_experiment e;
        bl_store *store = NULL;
        bl_error err = {0};
        test_alloc_fail_after(n);
        int rc = bl_store_open(f->path, BL_STORE_READ, &store, &err);
        if (rc == BL_OK)
            rc = bl_store_load(store, id, true, &arena, &e, &err);
        bool failed = test_alloc_restore();
        if (rc == BL_OK && !failed)
            assert_true(e.n_trials == 1 && e.trials[0].n_steps == 20);
        if (rc != BL_OK)
            assert_true(failed && err.message[0] != '\0');
        bl_arena_clear(&arena);
        bl_store_close(store);
        if (!failed)
            return;
    }
    fail_msg("it never went without a lost allocation");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(other_files_are_left_alone, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_older_schema_is_brought_up_to_date, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_older_schema_in_use_is_left_alone, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_newer_schema_is_refused_and_not_touched, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_named, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_read_only_file_is_noticed_at_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_loses_nothing_that_was_stored, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_locked_file_is_waited_for_and_then_named, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_experiment_is_taken_over_only_from_the_dead, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(what_was_said_to_be_stored_survives_the_writers_death, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(lost_allocations_are_errors, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
