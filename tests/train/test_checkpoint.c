/* Checkpoints and weights of a small table, without a network: what is written comes back, what does not fit is
 * refused. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "train/checkpoint.h"
#include "train/weights.h"

static char *folder, *path;

static int make_folder(void **state)
{
    folder = test_make_folder();
    path = test_path(folder, "file");
    return 0;
}

static int remove_folder(void **state)
{
    test_remove_folder(folder);
    free(path);
    return 0;
}

/* A layer with a normalisation, and a head for so many classes. */
static bl_params *make_table(int classes)
{
    bl_params *params;
    int at;
    bl_init zeros = {.kind = BL_INIT_ZEROS}, drawn = {.kind = BL_INIT_NORMAL, .a = 1};
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    bl_params_declare(params, "conv.weight", &BL_SHAPE4(3, 2, 1, 1), drawn, false, false, &at, NULL);
    bl_params_declare(params, "norm.running_mean", &BL_SHAPE1(3), drawn, true, false, &at, NULL);
    bl_params_declare(params, "norm.num_batches_tracked", &BL_SHAPE0(), zeros, true, true, &at, NULL);
    bl_params_declare(params, "head.weight", &BL_SHAPE2(classes, 3), drawn, false, false, &at, NULL);
    assert_int_equal(bl_params_alloc(params, true, NULL), BL_OK);
    return params;
}

static bl_params *make_drawn_table(int classes, uint64_t seed)
{
    bl_params *params = make_table(classes);
    assert_int_equal(bl_params_init(params, seed, NULL), BL_OK);
    *bl_params_value(params, 2) = 1234567;
    return params;
}

static void assert_equal_entry(bl_params *a, bl_params *b, int entry)
{
    assert_memory_equal(bl_params_value(a, entry), bl_params_value(b, entry),
                        (size_t)bl_params_at(a, entry)->count * sizeof(float));
}

typedef struct run {
    bl_params *params;
    float *momentum;
    int64_t step;
    double loss;
    bl_checkpoint_fact facts[3];
    bl_checkpoint checkpoint;
} run;

static void make_run(run *r, uint64_t seed)
{
    *r = (run){.params = make_drawn_table(4, seed),
               .facts = {{"--batch-size", "64", true}, {"--lr", "0.1", false}, {"--note", "", false}}};
    int64_t count = bl_params_slab_count(r->params);
    r->momentum = calloc((size_t)count, sizeof *r->momentum);
    assert_non_null(r->momentum);
    for (int64_t i = 0; i < count; i++)
        r->momentum[i] = (float)i / 7 + (float)seed;
    r->checkpoint = (bl_checkpoint){.params = r->params,
                                    .arrays = {{"momentum", r->momentum, count}},
                                    .n_arrays = 1,
                                    .numbers = {{"step", &r->step, NULL}, {"loss", NULL, &r->loss}},
                                    .n_numbers = 2,
                                    .facts = r->facts,
                                    .n_facts = 3};
}

static void clear_run(run *r)
{
    bl_params_free(r->params);
    free(r->momentum);
}

static void write_one(run *r)
{
    make_run(r, 1);
    r->step = INT64_MAX - 1;
    r->loss = 0.1 + 0.2;
    assert_int_equal(bl_checkpoint_write(&r->checkpoint, path, NULL), BL_OK);
}

static void test_round_trip(void **state)
{
    run a, b;
    bl_str differences;
    bl_error err = {0};
    bl_str_init(&differences);
    write_one(&a);
    make_run(&b, 2);
    uint64_t version = bl_params_version(b.params);
    assert_int_equal(bl_checkpoint_read(&b.checkpoint, path, &differences, &err), BL_OK);
    assert_int_equal(differences.len, 0);
    assert_true(b.step == INT64_MAX - 1 && b.loss == 0.1 + 0.2);
    for (int i = 0; i < bl_params_count(a.params); i++) {
        const bl_param *p = bl_params_at(a.params, i);
        assert_equal_entry(a.params, b.params, i);
        if (!p->buffer)
            assert_memory_equal(a.momentum + p->offset, b.momentum + p->offset, (size_t)p->count * sizeof(float));
    }
    assert_true(bl_params_version(b.params) != version); /* what was made from the old values is made anew */
    bl_str_clear(&differences);
    clear_run(&a);
    clear_run(&b);
}

static int read_into(run *r, char told[1000])
{
    bl_str differences;
    bl_error err = {0};
    bl_str_init(&differences);
    int code = bl_checkpoint_read(&r->checkpoint, path, &differences, &err);
    snprintf(told, 1000, "%s|%s", bl_str_text(&differences), err.message);
    bl_str_clear(&differences);
    return code;
}

static void test_facts(void **state)
{
    run a, b;
    char told[1000];
    write_one(&a);
    make_run(&b, 2);
    b.facts[1].value = "0.2";
    b.facts[2].name = "--other";
    assert_int_equal(read_into(&b, told), BL_OK);
    assert_string_equal(told,
                        "--lr was 0.1, is 0.2; --other was unknown, is not given; --note was not given, is unknown|");
    b.facts[0].value = "32";
    assert_int_equal(read_into(&b, told), BL_ERR_USAGE);
    assert_non_null(strstr(told, "--batch-size was 64, is 32"));
    b.facts[0] = (bl_checkpoint_fact){"--new-and-fixed", "1", true};
    assert_int_equal(read_into(&b, told), BL_ERR_USAGE);
    clear_run(&a);
    clear_run(&b);
}

static void test_other_state(void **state)
{
    run a, b;
    char told[1000];
    write_one(&a);
    make_run(&b, 2);
    b.checkpoint.n_arrays = 0;
    assert_int_equal(read_into(&b, told), BL_ERR_FORMAT);
    assert_non_null(strstr(told, "holds 6 tensors, the training has 4"));
    b.checkpoint.n_arrays = 1;
    b.checkpoint.arrays[0].name = "exp_avg";
    assert_int_equal(read_into(&b, told), BL_ERR_FORMAT);
    assert_non_null(strstr(told, "lacks the tensor 'batchlab/exp_avg/conv.weight'"));
    b.checkpoint.arrays[0].name = "momentum";
    b.checkpoint.numbers[0].name = "steps";
    assert_int_equal(read_into(&b, told), BL_ERR_FORMAT);
    assert_non_null(strstr(told, "'steps' is no number"));
    bl_params_free(b.params);
    b.params = b.checkpoint.params = make_drawn_table(5, 1);
    b.checkpoint.numbers[0].name = "step";
    assert_int_equal(read_into(&b, told), BL_ERR_FORMAT);
    assert_non_null(strstr(told, "'head.weight' is F32 (4, 3), wanted is (5, 3)"));
    clear_run(&a);
    clear_run(&b);
}

static void test_numbers_that_are_none_are_not_written(void **state)
{
    run a;
    write_one(&a);
    a.loss = (double)INFINITY;
    assert_int_equal(bl_checkpoint_write(&a.checkpoint, path, NULL), BL_ERR_INTERNAL);
    clear_run(&a);
}

static void test_out_of_memory(void **state)
{
    run a;
    bl_str differences;
    write_one(&a);
    bl_str_init(&differences);
    for (int reading = 0; reading < 2; reading++) {
        int n = 0;
        for (bool failed = true; failed; n++) {
            bl_error err = {0};
            test_alloc_fail_after(n);
            int code = reading ? bl_checkpoint_read(&a.checkpoint, path, &differences, &err)
                               : bl_checkpoint_write(&a.checkpoint, path, &err);
            failed = test_alloc_restore();
            assert_true(failed ? code != BL_OK && err.message[0] : code == BL_OK);
        }
        assert_true(n > 5);
    }
    bl_str_clear(&differences);
    clear_run(&a);
}

static void test_weights(void **state)
{
    bl_params *a = make_drawn_table(4, 1), *b = make_drawn_table(4, 2), *other = make_table(5);
    bl_strv fresh;
    bl_error err = {0};
    bl_strv_init(&fresh);
    assert_int_equal(bl_weights_save(path, a, "a_net", &err), BL_OK);
    assert_int_equal(bl_weights_load(path, b, other, false, &fresh, &err), BL_OK);
    assert_int_equal(fresh.len, 0);
    for (int i = 0; i < 4; i++)
        assert_equal_entry(a, b, i);
    bl_params *c = make_drawn_table(4, 3), *as_drawn = make_drawn_table(4, 3);
    assert_int_equal(bl_weights_load(path, c, other, true, &fresh, &err), BL_OK);
    assert_int_equal(fresh.len, 1);
    assert_string_equal(fresh.items[0], "head.weight");
    for (int i = 0; i < 3; i++)
        assert_equal_entry(a, c, i);
    assert_equal_entry(as_drawn, c, 3);
    bl_strv_clear(&fresh);
    bl_params_free(a);
    bl_params_free(b);
    bl_params_free(c);
    bl_params_free(as_drawn);
    bl_params_free(other);
}

/* Files of other programs: types are converted, counters may be missing or floats, and nothing changes where it fails.
 */
static void test_weights_of_others(void **state)
{
    double conv[6] = {1, 2, 3, 4, 5, 0.1};
    float mean[3] = {7, 8, 9}, head[12] = {1}, count = 3, odd = 2.5f;
    bl_st_item items[] = {{"conv.weight", BL_ST_F64, BL_SHAPE4(3, 2, 1, 1), conv},
                          {"norm.running_mean", BL_ST_F32, BL_SHAPE1(3), mean},
                          {"head.weight", BL_ST_F32, BL_SHAPE2(4, 3), head},
                          {"norm.num_batches_tracked", BL_ST_F32, BL_SHAPE0(), &count}};
    bl_params *params = make_drawn_table(4, 1), *other = make_table(5);
    bl_strv fresh;
    bl_error err = {0};
    bl_strv_init(&fresh);
    for (int n = 3; n <= 4; n++) {
        assert_int_equal(bl_safetensors_write(path, items, n, NULL, 0, NULL), BL_OK);
        assert_int_equal(bl_weights_load(path, params, other, false, &fresh, &err), BL_OK);
        assert_true(bl_params_value(params, 0)[5] == 0.1f && bl_params_value(params, 1)[2] == 9);
        assert_true(*bl_params_value(params, 2) == (n == 3 ? 1234567 : 3));
    }
    items[3].data = &odd;
    assert_int_equal(bl_safetensors_write(path, items, 4, NULL, 0, NULL), BL_OK);
    assert_int_equal(bl_weights_load(path, params, other, false, &fresh, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "num_batches_tracked"));
    bl_params *untouched = make_drawn_table(4, 6), *same = make_drawn_table(4, 6);
    bl_error_clear(&err);
    items[3] = (bl_st_item){"what.is.this", BL_ST_F32, BL_SHAPE0(), &odd};
    items[2].shape = BL_SHAPE2(3, 4);
    assert_int_equal(bl_safetensors_write(path, items + 1, 3, NULL, 0, NULL), BL_OK);
    assert_int_equal(bl_weights_load(path, untouched, other, false, &fresh, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "1 of other shapes: head.weight is F32 (3, 4), not (4, 3)"));
    assert_non_null(strstr(err.message, "1 missing: conv.weight"));
    assert_non_null(strstr(err.message, "1 that the model has not: what.is.this"));
    for (int i = 0; i < 4; i++)
        assert_equal_entry(untouched, same, i);
    bl_params_free(params);
    bl_params_free(other);
    bl_params_free(untouched);
    bl_params_free(same);
    bl_strv_clear(&fresh);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_round_trip),        WITH_FOLDER(test_facts),
        WITH_FOLDER(test_other_state),       WITH_FOLDER(test_numbers_that_are_none_are_not_written),
        WITH_FOLDER(test_out_of_memory),     WITH_FOLDER(test_weights),
        WITH_FOLDER(test_weights_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
