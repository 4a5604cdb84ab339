#include "fixture.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

bl_store *fixture_open(const fixture *f, bl_store_mode mode)
{
    bl_store *store = NULL;
    bl_error err = {0};
    if (bl_store_open(f->path, mode, &store, &err) != BL_OK)
        fail_msg("%s", err.message);
    return store;
}

int fixture_set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    f->folder = test_make_folder();
    f->path = test_path(f->folder, "lab.db");
    f->store = fixture_open(f, BL_STORE_CREATE);
    *state = f;
    return 0;
}

int fixture_tear_down(void **state)
{
    fixture *f = *state;
    bl_store_close(f->store);
    test_remove_folder(f->folder);
    free(f->path);
    free(f);
    return 0;
}

const bl_experiment *fixture_experiment(void)
{
    static const char *batches[] = {"32", "64"}, *workers[] = {"0", "1", "2"};
    static bl_stored_factor factors[] = {{"batch", batches, 2}, {"workers", workers, 3}};
    static char program[] = "train", option[] = "--b={batch}", blob[] = "\xff\xfe", quote[] = "it's \"{workers}\"";
    static char *command[] = {program, option, blob, quote, NULL};
    static const bl_experiment experiment = {
        .name = "first try",
        .workload = "train --b={batch}",
        .command = command,
        .n_command = 4,
        .cwd = "/tmp",
        .git_revision = "abc+changes",
        .shell = true,
        .samples = "{batch}*10",
        .blocks = 5,
        .steps = 50,
        .warmup = 3,
        .seed = 7,
        .time_s = 60,
        .setup_s = 600,
        .margin = 0.01,
        .factors = factors,
        .n_factors = 2,
    };
    return &experiment;
}

int64_t fixture_begin(bl_store *store)
{
    int64_t id = 0;
    bl_error err = {0};
    if (bl_store_begin(store, fixture_experiment(), &id, &err) != BL_OK)
        fail_msg("%s", err.message);
    return id;
}

bl_trial_record fixture_trial(size_t block, size_t case_index, size_t n_steps)
{
    static bl_named_value memory[] = {{"activations", 4096, 0}}, metrics[] = {{"top1", 0.5, 77}};
    static bl_stored_evidence evidence[] = {{"exit", "exit status 0", false}, {"output", "nothing", true}};
    bl_trial_record t = {
        .case_index = case_index,
        .block = block,
        .position = 1,
        .predecessor = -1,
        .outcome = "ok",
        .started_ns = 1700000000000000000,
        .wall_s = 1.5,
        .user_s = 1.25,
        .system_s = 0.125,
        .peak_memory_b = 1 << 20,
        .memory_note = "process tree, sampled",
        .step_source = "markers",
        .step_note = "as told",
        .phase = "train",
        .run_samples = NAN,
        .program = "train",
        .program_version = "1",
        .precision = "f32",
        .ranks = 1,
        .output_tail = "epoch 1\n",
        .memory = memory,
        .n_memory = 1,
        .metrics = metrics,
        .n_metrics = 1,
        .evidence = evidence,
        .n_evidence = 2,
        .steps = calloc(n_steps + 1, sizeof(bl_stored_step)),
        .n_steps = n_steps,
    };
    for (size_t i = 0; i < n_steps; i++)
        t.steps[i] = (bl_stored_step){.samples = 32,
                                      .end_ns = (int64_t)(i + 1) * 10000000,
                                      .time_ns = i == 0 ? 0 : 10000000,
                                      .wait_ns = i % 2 ? 500 : -1,
                                      .loss = i % 3 ? 2.5 / (double)i : NAN};
    return t;
}

void fixture_add_trial(bl_store *store, int64_t id, size_t block, size_t case_index, size_t n_steps)
{
    bl_trial_record t = fixture_trial(block, case_index, n_steps);
    bl_error err = {0};
    if (bl_store_add_trial(store, id, &t, NULL, &err) != BL_OK)
        fail_msg("%s", err.message);
    free(t.steps);
}

int64_t fixture_query(const fixture *f, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int rc = sqlite3_step(s);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int64_t value = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    sqlite3_close(db);
    return value;
}

const char *fixture_integrity(const fixture *f)
{
    static char text[256];
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA foreign_key_check", -1, &s, NULL), SQLITE_OK);
    if (sqlite3_step(s) != SQLITE_DONE)
        snprintf(text, sizeof(text), "a reference leads nowhere");
    sqlite3_finalize(s);
    sqlite3_close(db);
    return text;
}
