#include "sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sample_init(sample *s, int64_t blocks)
{
    static const char *batches[] = {"127", "128", "129"};
    static bl_stored_factor factor = {"batch", batches, 3};
    static char program[] = "train", placeholder[] = "{batch}";
    static char *command[] = {program, placeholder, NULL};
    *s = (sample){.experiment = {.id = 4,
                                 .workload = "train {batch}",
                                 .state = BL_EXPERIMENT_FINISHED,
                                 .created_ns = 1700000000000000000,
                                 .version = "0",
                                 .command = command,
                                 .n_command = 2,
                                 .cwd = "/tmp",
                                 .blocks = blocks,
                                 .steps = 50,
                                 .warmup = 3,
                                 .time_s = 60,
                                 .setup_s = 600,
                                 .margin = 0.01,
                                 .factors = &factor,
                                 .n_factors = 1}};
    s->experiment.trials = s->trials;
    bl_arena_init(&s->arena);
}

static bl_trial_record *add(sample *s, size_t block, size_t case_index)
{
    size_t i = s->experiment.n_trials++;
    assert_true(i < SAMPLE_TRIALS_MAX);
    s->trials[i] = (bl_trial_record){.id = (int64_t)i + 1,
                                     .case_index = case_index,
                                     .block = block,
                                     .predecessor = -1,
                                     .outcome = "ok",
                                     .started_ns = 1700000000000000000 + (int64_t)i * 1000000000,
                                     .wall_s = 2,
                                     .user_s = 1.5,
                                     .system_s = 0.25,
                                     .peak_memory_b = (double)(100 + i) * (1 << 20),
                                     .run_samples = NAN};
    return &s->trials[i];
}

bl_trial_record *sample_add(sample *s, size_t block, size_t case_index, double step_s)
{
    bl_trial_record *t = add(s, block, case_index);
    t->step_source = "markers";
    t->steps = s->steps[t - s->trials];
    t->n_steps = SAMPLE_STEPS;
    int64_t end_ns = 0;
    for (size_t i = 0; i < SAMPLE_STEPS; i++) {
        int64_t time_ns = (int64_t)llround(step_s * 1e9) * (i == 0 ? 10 : 1);
        end_ns += time_ns;
        t->steps[i] = (bl_stored_step){.samples = 127 + (int64_t)case_index,
                                       .end_ns = end_ns,
                                       .time_ns = time_ns,
                                       .wait_ns = time_ns / 4,
                                       .loss = i == 0 ? NAN : 0.5};
    }
    return t;
}

bl_trial_record *sample_add_silent(sample *s, size_t block, size_t case_index, double wall_s, double run_samples)
{
    bl_trial_record *t = add(s, block, case_index);
    t->wall_s = wall_s;
    t->run_samples = run_samples;
    return t;
}

void sample_analyse(sample *s)
{
    bl_error err = {0};
    if (bl_analysis_compute(&s->experiment, &s->arena, &s->analysis, &err) != BL_OK)
        fail_msg("%s", err.message);
}

void sample_clear(sample *s)
{
    bl_analysis_clear(&s->analysis);
    bl_arena_clear(&s->arena);
}

void sample_fill(sample *s, int64_t blocks)
{
    static const double weather[] = {1, 1.02, 0.99, 1.01, 1.005, 0.995};
    sample_init(s, blocks);
    for (size_t block = 0; block < (size_t)blocks; block++)
        for (size_t c = 0; c < 3; c++)
            sample_add(s, block, c, (c == 0 ? 1.016 : c == 1 ? 1.0 : 1.05) * 0.128 * weather[(block + c) % 6]);
}

void sample_expect_golden(const char *name, const bl_str *made)
{
    char path[400];
    snprintf(path, sizeof path, "%s/tests/golden/report/%s", getenv("BATCHLAB_SOURCE_ROOT"), name);
    if (getenv("BATCHLAB_UPDATE_GOLDEN"))
        test_write_file(path, bl_str_text(made), made->len);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("no %s", path);
    char *wanted = calloc(made->len + 2, 1);
    size_t n = fread(wanted, 1, made->len + 1, file);
    fclose(file);
    if (n != made->len || memcmp(wanted, bl_str_text(made), n) != 0)
        fail_msg("%s differs; got:\n%s", name, bl_str_text(made));
    free(wanted);
}
