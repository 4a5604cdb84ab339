#include "testing.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/str.h"
#include "plan/template.h"

static bl_factors factors;

static int set_up(void **state)
{
    bl_factors_init(&factors);
    bl_batch_list list = {(int64_t[]){32, 128}, 2};
    assert_int_equal(bl_factors_add_batch(&factors, &list, NULL), BL_OK);
    assert_int_equal(bl_factors_add_param(&factors, "workers=0,two words,it's;$(rm)", NULL), BL_OK);
    return 0;
}

static int tear_down(void **state)
{
    bl_factors_clear(&factors);
    return 0;
}

/* Case 3 is batch=128 workers=0. */
static void expect(const char *text, size_t c, const char *wanted)
{
    bl_str out;
    bl_str_init(&out);
    bl_error err = {0};
    int rc = bl_template_expand(text, &factors, c, &out, &err);
    if (rc != BL_OK)
        fail_msg("'%s': %s", text, err.message);
    assert_string_equal(bl_str_text(&out), wanted);
    bl_str_clear(&out);
}

static void refuse(const char *text, const char *reason, const char *remedy)
{
    bl_str out;
    bl_str_init(&out);
    bl_error err = {0};
    int rc = bl_template_expand(text, &factors, 0, &out, &err);
    if (rc != BL_ERR_USAGE || strstr(err.message, reason) == NULL || strstr(err.remedy, remedy) == NULL)
        fail_msg("'%s' gave %d '%s' (%s), not '%s' (%s)", text, rc, err.message, err.remedy, reason, remedy);
    bl_str_clear(&out);
}

static void placeholders_and_braces(void **state)
{
    expect("", 0, "");
    expect("plain", 0, "plain");
    expect("{batch}", 0, "32");
    expect("{batch}", 3, "128");
    expect("--batch-size={batch},w{workers}", 3, "--batch-size=128,w0");
    expect("{batch}{batch}", 3, "128128");
    expect("{workers}", 1, "two words");
    expect("{{batch}}", 3, "{batch}");
    expect("{{{batch}}}", 3, "{128}");
    expect("{{\"a\": {batch}}}", 3, "{\"a\": 128}");
    expect("a } b", 0, "a } b");
    expect("}}", 0, "}");
    expect("{{}}", 0, "{}");
}

static void malformed_braces_and_unknown_names(void **state)
{
    refuse("{", "opens no placeholder", "write {{");
    refuse("{}", "opens no placeholder", "write {{");
    refuse("{ batch}", "opens no placeholder", "write {{");
    refuse("{batch", "opens no placeholder", "write {{");
    refuse("{batch }", "opens no placeholder", "write {{");
    refuse("{\"a\":1}", "opens no placeholder", "write {{");
    refuse("x{batch}{", "opens no placeholder", "write {{");
    refuse("{Batch}", "no factor is called 'Batch'", "{batch}, {workers}");
    refuse("{batches}", "no factor is called 'batches'", "{batch}, {workers}");
    char text[300];
    memset(text, 'n', sizeof(text));
    text[0] = '{';
    text[sizeof(text) - 2] = '}';
    text[sizeof(text) - 1] = '\0';
    refuse(text, "no factor is called 'nnn", "{batch}");
    bl_str out;
    bl_str_init(&out);
    assert_int_equal(bl_template_expand("{batch}", &factors, 6, &out, NULL), BL_ERR_INTERNAL);
    bl_str_clear(&out);
}

static int check_after(const char *before, const char *const *argv, bool from_env, bl_error *err)
{
    size_t n = 0;
    while (argv[n] != NULL)
        n++;
    *err = (bl_error){0};
    return bl_template_check((char *const *)argv, n, before, &factors, from_env, err);
}

static int check(const char *const *argv, bool from_env, bl_error *err)
{
    return check_after(NULL, argv, from_env, err);
}

static void a_command_must_use_every_factor(void **state)
{
    bl_error err;
    assert_int_equal(check((const char *[]){"train", "-b", "{batch}", "-w{workers}", NULL}, false, &err), BL_OK);
    assert_int_equal(check((const char *[]){"train", "-w", "{workers}", NULL}, false, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "does not use {batch}"));
    assert_non_null(strstr(err.remedy, "--batch-size {batch}"));
    assert_int_equal(check((const char *[]){"train", "-w", "{workers}", NULL}, true, &err), BL_OK);
    assert_int_equal(check((const char *[]){"train", "{batch}", NULL}, false, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "does not use {workers}"));
    assert_int_equal(check((const char *[]){"train", "{{batch}}", "{workers}", NULL}, false, &err), BL_ERR_USAGE);
    assert_int_equal(check((const char *[]){"train", "{batch}", "{workers}", "{nope}", NULL}, false, &err),
                     BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "'nope'"));
    assert_int_equal(check((const char *[]){NULL}, false, &err), BL_ERR_USAGE);
    assert_int_equal(check((const char *[]){"", "{batch}", NULL}, false, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "there is none"));
    const char *const configured[] = {"train", "{workers}", "{outdir}/cfg", NULL};
    assert_int_equal(check_after("sed s/B/{batch}/ cfg", configured, false, &err), BL_OK);
    assert_int_equal(check_after("sed s/B/{{batch}}/ cfg", configured, false, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "does not use {batch}"));
}

static void an_argument_stays_one_argument(void **state)
{
    const char *argv[] = {"train", "{workers}", "{batch}", ""};
    bl_strv out;
    assert_int_equal(bl_template_argv((char *const *)argv, 4, &factors, 1, &out, NULL), BL_OK);
    assert_true(out.len == 4);
    assert_string_equal(out.items[1], "two words");
    assert_string_equal(out.items[2], "32");
    assert_string_equal(out.items[3], "");
    assert_null(out.items[4]);
    bl_strv_clear(&out);
}

/* What the shell really makes of it. */
static char *shell_output(const char *template, size_t c)
{
    const char *argv[] = {template};
    bl_strv out;
    bl_error err = {0};
    int rc = bl_template_shell_argv((char *const *)argv, 1, &factors, c, &out, &err);
    if (rc != BL_OK)
        fail_msg("'%s': %s", template, err.message);
    assert_true(out.len == 3);
    assert_string_equal(out.items[0], "/bin/sh");
    assert_string_equal(out.items[1], "-c");
    FILE *pipe = popen(out.items[2], "r");
    assert_non_null(pipe);
    char *text = calloc(1, 512);
    size_t n = fread(text, 1, 511, pipe);
    text[n] = '\0';
    assert_int_equal(pclose(pipe), 0);
    bl_strv_clear(&out);
    return text;
}

static void a_value_never_becomes_a_command(void **state)
{
    char *text = shell_output("printf '<%s>' {workers} {batch}", 5);
    assert_string_equal(text, "<it's;$(rm)><128>");
    free(text);
    text = shell_output("printf '<%s>' {workers}", 1);
    assert_string_equal(text, "<two words>");
    free(text);
    text = shell_output("X={batch}; printf %s \"${{X}}\" | tr 1 9", 3);
    assert_string_equal(text, "928");
    free(text);
}

static void shell_templates_are_joined_by_blanks(void **state)
{
    const char *argv[] = {"echo", "{batch}", "|", "cat"};
    bl_strv out;
    assert_int_equal(bl_template_shell_argv((char *const *)argv, 4, &factors, 0, &out, NULL), BL_OK);
    assert_string_equal(out.items[2], "echo 32 | cat");
    bl_strv_clear(&out);
}

static void expect_number(const char *text, size_t c, double wanted)
{
    double got = NAN;
    bl_error err = {0};
    int rc = bl_template_number(text, &factors, c, &got, &err);
    if (rc != BL_OK)
        fail_msg("'%s': %s", text, err.message);
    assert_true(got == wanted);
}

static void refuse_number(const char *text)
{
    double got = -7;
    bl_error err = {0};
    assert_int_equal(bl_template_number(text, &factors, 1, &got, &err), BL_ERR_USAGE);
    assert_true(got == -7);
    assert_true(err.message[0] != '\0');
}

static void samples_are_numbers_and_products(void **state)
{
    expect_number("50000", 0, 50000);
    expect_number("{batch}*100", 3, 12800);
    expect_number("{batch}*0.5*3", 0, 48);
    expect_number("1e3", 0, 1000);
    static const char *const bad[] = {"",           "*",           "{batch}*", "0",      "-5",
                                      "{batch}*-1", "2**3",        "{nope}",   "{batch", "x",
                                      "5 *2",       "1e308*1e308", "nan",      "inf",    "{workers}"};
    for (size_t i = 0; i < BL_ARRAY_LEN(bad); i++)
        refuse_number(bad[i]);
}

static void a_folder_for_output_is_no_factor(void **state)
{
    bl_factors with = factors;
    with.outdir = "/tmp/my folder";
    bl_str out;
    bl_str_init(&out);
    assert_int_equal(bl_template_expand("--out={outdir}/log", &with, 0, &out, NULL), BL_OK);
    assert_string_equal(bl_str_text(&out), "--out=/tmp/my folder/log");
    bl_str_clear(&out);
    const char *argv[] = {"train", "{outdir}"};
    bl_strv shell;
    assert_int_equal(bl_template_shell_argv((char *const *)argv, 2, &with, 0, &shell, NULL), BL_OK);
    assert_string_equal(shell.items[2], "train '/tmp/my folder'");
    bl_strv_clear(&shell);
    assert_true(bl_template_uses_outdir("a{outdir}"));
    assert_true(bl_template_uses_outdir("{batch} {{{outdir}"));
    assert_false(bl_template_uses_outdir("{{outdir}} {batch}"));
    assert_false(bl_template_uses_outdir("outdir"));
    bl_error err = {0};
    assert_int_equal(bl_factors_add_param(&with, "outdir=1,2", &err), BL_ERR_USAGE);
}

static void every_lost_allocation_is_an_error(void **state)
{
    const char *argv[] = {"train", "--batch-size", "{batch}",
                          "a long argument so that the string has to grow: {workers}"};
    for (int n = 0; n < 100; n++) {
        bl_strv out;
        test_alloc_fail_after(n);
        int rc = n % 2 == 0 ? bl_template_argv((char *const *)argv, 4, &factors, 5, &out, NULL)
                            : bl_template_shell_argv((char *const *)argv, 4, &factors, 5, &out, NULL);
        bool failed = test_alloc_restore();
        assert_int_equal(rc, failed ? BL_ERR_NOMEM : BL_OK);
        bl_strv_clear(&out);
        if (!failed && n % 2 == 0)
            return;
    }
    fail_msg("it never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_and_braces),          cmocka_unit_test(malformed_braces_and_unknown_names),
        cmocka_unit_test(a_command_must_use_every_factor),  cmocka_unit_test(an_argument_stays_one_argument),
        cmocka_unit_test(a_value_never_becomes_a_command),  cmocka_unit_test(shell_templates_are_joined_by_blanks),
        cmocka_unit_test(samples_are_numbers_and_products), cmocka_unit_test(every_lost_allocation_is_an_error),
        cmocka_unit_test(a_folder_for_output_is_no_factor),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
