#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "tensor/safetensors.h"

static char *folder;

static int make_folder(void **state)
{
    folder = test_make_folder();
    return 0;
}

static int remove_folder(void **state)
{
    test_remove_folder(folder);
    return 0;
}

/* A file in memory: the header, blanks, data of so many bytes. The caller frees it. */
static unsigned char *make(const char *header, size_t blanks, size_t data_b, size_t *size)
{
    size_t n = strlen(header) + blanks;
    unsigned char *file = calloc(8 + n + data_b + 1, 1);
    assert_non_null(file);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)n >> (8 * i));
    memset(file + 8, ' ', n);
    memcpy(file + 8, header, strlen(header));
    *size = 8 + n + data_b;
    return file;
}

static void test_round_trip(void **state)
{
    char *path = test_path(folder, "file.safetensors");
    float weight[6] = {1, -2, 0.1f, 3e-40f, INFINITY, -0.0f}, one = 7;
    int64_t counter = INT64_C(1) << 53 | 1, list[2] = {-5, 6};
    bl_st_item items[] = {{"a.weight", BL_ST_F32, BL_SHAPE2(2, 3), weight},
                          {"a.num_batches_tracked", BL_ST_I64, BL_SHAPE0(), &counter},
                          {"Größe \"x\"\\", BL_ST_F32, BL_SHAPE1(1), &one},
                          {"list", BL_ST_I64, BL_SHAPE1(2), list}};
    bl_st_text texts[] = {{"format", "pt"}, {"note", "zwölf \"Zeichen\"\n"}};
    bl_error err = {0};
    assert_int_equal(bl_safetensors_write(path, items, 4, texts, 2, &err), BL_OK);
    bl_safetensors *file;
    assert_int_equal(bl_safetensors_open(path, &file, &err), BL_OK);
    assert_int_equal(bl_safetensors_count(file), 4);
    /* Eight-byte elements first: all are aligned. */
    static const int order[] = {1, 3, 0, 2};
    for (int i = 0; i < 4; i++)
        assert_string_equal(bl_safetensors_at(file, i)->name, items[order[i]].name);
    char *raw;
    size_t len;
    assert_int_equal(bl_fs_read(path, 10000, &raw, &len, &err), BL_OK);
    assert_int_equal(len % 8, 28 % 8); /* 16 + 8 bytes of I64 and seven floats behind a padded header */
    free(raw);
    const bl_st_tensor *t = bl_safetensors_find(file, "a.weight");
    float floats[6];
    char text[64];
    assert_true(t && t->type == BL_ST_F32 && t->count == 6 && bl_st_has_shape(t, &BL_SHAPE2(2, 3)));
    assert_false(bl_st_has_shape(t, &BL_SHAPE2(3, 2)) || bl_st_has_shape(t, &BL_SHAPE1(6)));
    assert_string_equal(bl_st_format(t, text, sizeof text), "F32 (2, 3)");
    assert_int_equal(bl_safetensors_read_f32(file, t, floats, &err), BL_OK);
    assert_memory_equal(floats, weight, sizeof floats);
    assert_int_equal(bl_safetensors_read_i64(file, t, list, NULL), BL_ERR_FORMAT);
    int64_t numbers[2];
    assert_int_equal(bl_safetensors_read_i64(file, bl_safetensors_find(file, "list"), numbers, &err), BL_OK);
    assert_true(numbers[0] == -5 && numbers[1] == 6);
    t = bl_safetensors_find(file, "a.num_batches_tracked");
    assert_int_equal(t->n_dims, 0);
    assert_int_equal(bl_safetensors_read_i64(file, t, numbers, &err), BL_OK);
    assert_true(numbers[0] == counter);
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_find(file, items[2].name), floats, &err), BL_OK);
    assert_true(floats[0] == 7);
    assert_null(bl_safetensors_find(file, "a"));
    assert_int_equal(bl_safetensors_text_count(file), 2);
    assert_string_equal(bl_safetensors_text(file, "note"), texts[1].value);
    assert_null(bl_safetensors_text(file, "other"));
    bl_safetensors_close(file);
    free(path);
}

static float read_half(bl_safetensors *file, uint16_t *at, uint16_t bits)
{
    float value;
    *at = bits;
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_at(file, 0), &value, NULL), BL_OK);
    return value;
}

/* Every number of 16 bits, by its definition. */
static void test_halves(void **state)
{
    for (int brain = 0; brain < 2; brain++) {
        size_t size;
        unsigned char *data = make(brain ? "{\"x\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[0,2]}}  "
                                         : "{\"x\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]}}   ",
                                   0, 2, &size);
        bl_safetensors *file;
        assert_int_equal(bl_safetensors_open_memory(data, size, "halves", &file, NULL), BL_OK);
        int fraction_bits = brain ? 7 : 10, exponents = brain ? 255 : 31, bias = brain ? 127 : 15;
        for (uint32_t bits = 0; bits < 65536; bits++) {
            float got = read_half(file, (uint16_t *)(void *)(data + size - 2), (uint16_t)bits);
            int exponent = (int)(bits >> fraction_bits) & exponents, fraction = (int)bits & ((1 << fraction_bits) - 1);
            double want = exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                                        : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
            if (exponent == exponents)
                want = fraction ? NAN : INFINITY;
            assert_int_equal(signbit(got) != 0, bits >> 15);
            assert_true(isnan(want) ? isnan(got) : fabs((double)got) == want);
        }
        bl_safetensors_close(file);
        free(data);
    }
}

static void test_wide_types_at_odd_places(void **state)
{
    size_t size;
    double number = 0.1;
    int32_t whole = -7;
    int64_t large = INT64_MAX;
    unsigned char *data = make("{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                               "\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[1,9]},"
                               "\"l\":{\"dtype\":\"I64\",\"shape\":[1,1],\"data_offsets\":[13,21]},"
                               "\"i\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[9,13]}}",
                               1, 21, &size);
    memcpy(data + size - 20, &number, 8);
    memcpy(data + size - 12, &whole, 4);
    memcpy(data + size - 8, &large, 8);
    bl_safetensors *file;
    bl_error err = {0};
    float value;
    int64_t out;
    assert_int_equal(bl_safetensors_open_memory(data, size, "odd", &file, &err), BL_OK);
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_find(file, "d"), &value, &err), BL_OK);
    assert_true(value == 0.1f);
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_find(file, "i"), &value, &err), BL_OK);
    assert_true(value == -7);
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_find(file, "l"), &value, &err), BL_OK);
    assert_true(value == 0x1p63f);
    assert_int_equal(bl_safetensors_read_i64(file, bl_safetensors_find(file, "i"), &out, &err), BL_OK);
    assert_true(out == -7);
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_find(file, "b"), &value, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "'b' of type U8"));
    bl_safetensors_close(file);
    free(data);
}

/* More than one chunk of the reader's. */
static void test_long_conversion(void **state)
{
    enum { N = 5000 };
    char *path = test_path(folder, "long");
    double *numbers = calloc(N, sizeof *numbers);
    float *floats = calloc(N, sizeof *floats);
    assert_true(numbers && floats);
    for (int i = 0; i < N; i++)
        numbers[i] = i * 0.1;
    bl_st_item item = {"x", BL_ST_F64, BL_SHAPE1(N), numbers};
    assert_int_equal(bl_safetensors_write(path, &item, 1, NULL, 0, NULL), BL_OK);
    bl_safetensors *file;
    assert_int_equal(bl_safetensors_open(path, &file, NULL), BL_OK);
    assert_int_equal(bl_safetensors_text_count(file), 0);
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_at(file, 0), floats, NULL), BL_OK);
    for (int i = 0; i < N; i++)
        assert_true(floats[i] == (float)(i * 0.1));
    /* A file that is cut while it is open is an error, not a signal. */
    bl_error err = {0};
    assert_int_equal(truncate(path, 10000), 0);
    assert_int_equal(bl_safetensors_read_f32(file, bl_safetensors_at(file, 0), floats, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "cut"));
    bl_safetensors_close(file);
    free(numbers);
    free(floats);
    free(path);
}

#define X(type, shape, offsets) "\"x\":{\"dtype\":" type ",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_accepted(void **state)
{
    static const struct {
        const char *header;
        size_t blanks, data_b;
        int tensors;
    } cases[] = {
        {"{}", 0, 0, 0},
        {"{}", 70, 0, 0},
        {"{\"__metadata__\":{}}", 0, 0, 0},
        {"{" X("\"F32\"", "[]", "[0,4]") "}", 0, 4, 1},
        {"{" X("\"F32\"", "[0,9]", "[0,0]") "}", 0, 0, 1},
        {"{" X("\"F32\"", "[2]", "[0,8]") ",\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, 8, 2},
        {"{" X("\"F32\"", "[1]", "[4,8]") ",\"first\":{\"data_offsets\":[0,4],\"shape\":[1],\"dtype\":\"I32\"}}", 0, 8,
         2},
        {"{" X("\"F8_E4M3\"", "[1,1,1,1,1,1,1,3]", "[0,3]") "}", 0, 3, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        unsigned char *data = make(cases[i].header, cases[i].blanks, cases[i].data_b, &size);
        bl_safetensors *file;
        bl_error err = {0};
        assert_int_equal(bl_safetensors_open_memory(data, size, "good", &file, &err), BL_OK);
        assert_int_equal(bl_safetensors_count(file), cases[i].tensors);
        bl_safetensors_close(file);
        free(data);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *header;
        size_t data_b;
        const char *word;
    } cases[] = {
        {" {}", 0, "'{'"},
        {"[]", 0, "'{'"},
        {"{} x", 0, "no JSON"},
        {"{\"x\":", 0, "no JSON"},
        {"{\"\xff\":1}", 0, "no JSON"},
        {"{\"a\\u0000b\":1}", 0, "no JSON"},
        {"{" X("\"F32\"", "[1]", "[0,4]") "," X("\"F32\"", "[1]", "[4,8]") "}", 8, "twice"},
        {"{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "twice"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "twice"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "metadata"},
        {"{\"__metadata__\":[]}", 0, "metadata"},
        {"{\"x\":[]}", 0, "alone"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "alone"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"strides\":[1]}}", 4, "alone"},
        {"{" X("32", "[1]", "[0,4]") "}", 4, "alone"},
        {"{" X("\"F31\"", "[1]", "[0,4]") "}", 4, "type"},
        {"{" X("\"F32\"", "1", "[0,4]") "}", 4, "shape"},
        {"{" X("\"F32\"", "[-1]", "[0,4]") "}", 4, "natural"},
        {"{" X("\"F32\"", "[1.0]", "[0,4]") "}", 4, "natural"},
        {"{" X("\"F32\"", "[\"1\"]", "[0,4]") "}", 4, "natural"},
        {"{" X("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "dimensions"},
        {"{" X("\"F32\"", "[4294967296,4294967296]", "[0,4]") "}", 4, "counted"},
        {"{" X("\"F32\"", "[4611686018427387905]", "[0,4]") "}", 4, "span"}, /* times 4 is 4 again, modulo 2^64 */
        {"{" X("\"F32\"", "[9223372036854775808]", "[0,4]") "}", 4, "no JSON"},
        {"{" X("\"F32\"", "[1]", "[0,4,8]") "}", 4, "two data_offsets"},
        {"{" X("\"F32\"", "[1]", "[0.0,4]") "}", 4, "two data_offsets"},
        {"{" X("\"F32\"", "[1]", "[-4,0]") "}", 4, "lie in"},
        {"{" X("\"F32\"", "[1]", "[4,0]") "}", 4, "lie in"},
        {"{" X("\"F32\"", "[2]", "[0,8]") "}", 7, "lie in"},
        {"{" X("\"F32\"", "[1]", "[0,5]") "}", 5, "span"},
        {"{" X("\"F32\"", "[1]", "[4,8]") "}", 8, "gap"},
        {"{" X("\"F32\"", "[1]", "[0,4]") "}", 5, "belong to none"},
        {"{" X("\"F32\"", "[2]", "[0,8]") ",\"y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12,
         "inside"},
        {"{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "empty"},
        {"{\"\\u001b[31m\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "control"},
        {"{\"\\u009b31m\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "control"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        unsigned char *data = make(cases[i].header, 0, cases[i].data_b, &size);
        bl_safetensors *file = NULL;
        bl_error err = {0};
        int code = bl_safetensors_open_memory(data, size, "bad.safetensors", &file, &err);
        if (code != BL_ERR_FORMAT || !strstr(err.message, cases[i].word) || !strstr(err.message, "bad.safetensors") ||
            !err.remedy[0])
            fail_msg("%s gave %d: %s", cases[i].header, code, err.message);
        assert_null(file);
        free(data);
    }
}

static void test_deep_json(void **state)
{
    enum { DEPTH = 100000 };
    char *header = calloc(DEPTH + 6, 1);
    assert_non_null(header);
    memcpy(header, "{\"x\":", 5);
    memset(header + 5, '[', DEPTH);
    size_t size;
    unsigned char *data = make(header, 0, 0, &size);
    bl_safetensors *file;
    bl_error err = {0};
    assert_int_equal(bl_safetensors_open_memory(data, size, "deep", &file, &err), BL_ERR_FORMAT);
    free(data);
    free(header);
}

static void test_lengths(void **state)
{
    size_t size;
    unsigned char *data = make("{}", 0, 0, &size);
    bl_safetensors *file;
    for (size_t n = 0; n < size; n++)
        assert_int_equal(bl_safetensors_open_memory(data, n, "short", &file, NULL), BL_ERR_FORMAT);
    for (uint64_t length = 0; length < 9; length++) { /* 2 is right */
        data[0] = (unsigned char)length;
        int code = bl_safetensors_open_memory(data, size, "length", &file, NULL);
        assert_int_equal(code, length == 2 ? BL_OK : BL_ERR_FORMAT);
        if (code == BL_OK)
            bl_safetensors_close(file);
    }
    memset(data, 0xff, 8);
    assert_int_equal(bl_safetensors_open_memory(data, size, "length", &file, NULL), BL_ERR_FORMAT);
    free(data);
    /* A header that the file does have, but that is too large: a file of holes. */
    char *path = test_path(folder, "large");
    bl_error err = {0};
    test_write_file(path, "\0\0\0\2\0\0\0\0{", 9);
    assert_int_equal(truncate(path, 40 << 20), 0);
    assert_int_equal(bl_safetensors_open(path, &file, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "33554432"));
    free(path);
}

static void test_no_such_file(void **state)
{
    bl_safetensors *file;
    bl_error err = {0};
    char *path = test_path(folder, "absent");
    assert_int_equal(bl_safetensors_open(path, &file, &err), BL_ERR_ENV);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(bl_safetensors_open(folder, &file, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_safetensors_open("/dev/zero", &file, NULL), BL_ERR_USAGE);
    assert_int_equal(mkfifo(path, 0600), 0); /* must not wait for a writer */
    assert_int_equal(bl_safetensors_open(path, &file, NULL), BL_ERR_USAGE);
    free(path);
    path = test_path(folder, "torch");
    test_write_file(path, "PK\3\4 and so on", 14);
    bl_error_clear(&err);
    assert_int_equal(bl_safetensors_open(path, &file, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.remedy, "convert_state_dict.py"));
    free(path);
}

static void test_what_cannot_be_written(void **state)
{
    char *path = test_path(folder, "out");
    float one = 1;
    bl_st_item twice[] = {{"a", BL_ST_F32, BL_SHAPE0(), &one}, {"a", BL_ST_F32, BL_SHAPE0(), &one}};
    bl_st_item no_name[] = {{"", BL_ST_F32, BL_SHAPE0(), &one}},
               reserved[] = {{"__metadata__", BL_ST_F32, BL_SHAPE0(), &one}};
    bl_st_text texts[] = {{"k", "1"}, {"k", "2"}};
    assert_int_equal(bl_safetensors_write(path, twice, 2, NULL, 0, NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_safetensors_write(path, no_name, 1, NULL, 0, NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_safetensors_write(path, reserved, 1, NULL, 0, NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_safetensors_write(path, twice, 1, texts, 2, NULL), BL_ERR_INTERNAL);
    texts[1] = (bl_st_text){"bad", "\xff"};
    assert_int_equal(bl_safetensors_write(path, twice, 1, texts, 2, NULL), BL_ERR_INTERNAL);
    assert_false(bl_fs_exists(path));
    free(path);
}

/* Each allocation of ours fails once: an error, no crash, nothing lost. */
static void test_out_of_memory(void **state)
{
    char *path = test_path(folder, "out");
    float one = 1;
    bl_st_item items[] = {{"a", BL_ST_F32, BL_SHAPE1(1), &one}, {"b", BL_ST_F32, BL_SHAPE0(), &one}};
    bl_st_text text = {"k", "v"};
    int n = 0;
    for (bool failed = true; failed; n++) {
        bl_error err = {0};
        test_alloc_fail_after(n);
        int code = bl_safetensors_write(path, items, 2, &text, 1, &err);
        failed = test_alloc_restore();
        assert_true(failed ? code != BL_OK : code == BL_OK);
    }
    assert_true(n > 2);
    n = 0;
    for (bool failed = true; failed; n++) {
        bl_safetensors *file = NULL;
        test_alloc_fail_after(n);
        int code = bl_safetensors_open(path, &file, NULL);
        failed = test_alloc_restore();
        assert_true(failed ? code == BL_ERR_NOMEM && !file : code == BL_OK);
        bl_safetensors_close(file);
    }
    assert_true(n > 4);
    free(path);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_round_trip),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_wide_types_at_odd_places),
        WITH_FOLDER(test_long_conversion),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_deep_json),
        WITH_FOLDER(test_lengths),
        WITH_FOLDER(test_no_such_file),
        WITH_FOLDER(test_what_cannot_be_written),
        WITH_FOLDER(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
