/* NVIDIA's devices, against a stand-in for the driver's library that lies in all the known ways. */
#include "fixture.h"
#include "stub_nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "telemetry/visible_devices.h"

#define A "GPU-aaaa"
#define B "GPU-bbbb0000-2222"

static const char *libraries[3]; /* the present driver, an old one, a bare one */
static void *handle;
static stub_state *stub;
static stub_state untouched;

/* Loaded here first, so that its state can be set, and lives on. */
static void use(fixture *f, int variant, const bl_telemetry_spec *more)
{
    handle = dlopen(libraries[variant], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    stub = dlsym(handle, "stub");
    assert_non_null(stub);
    untouched = *stub;
    bl_telemetry_spec spec = more ? *more : (bl_telemetry_spec){0};
    spec.root = f->root;
    spec.nvml = libraries[variant];
    fixture_open(f, &spec);
}

static int tear_down(void **state)
{
    int code = fixture_tear_down(state);
    if (stub)
        *stub = untouched;
    if (handle)
        dlclose(handle);
    handle = NULL;
    stub = NULL;
    return code;
}

static double value(const fixture *f, bl_metric metric, const char *scope)
{
    return fixture_value(f, "NVML", metric, scope);
}

static void missing(const fixture *f, bl_metric metric, const char *scope, const char *reason)
{
    fixture_missing(f, "NVML", metric, scope, reason);
}

static void what_a_present_driver_says(void **state)
{
    fixture *f = *state;
    use(f, 0, NULL);
    assert_true(fixture_source(f, "NVML")->available);
    assert_string_equal(fixture_source(f, "NVML")->found, "2 of 2 devices (Stub A), driver 550.54.15");
    fixture_look(f, 0.1);
    assert_true(value(f, BL_METRIC_BUSY, A) == 0.5 && value(f, BL_METRIC_MEMORY_BUSY, A) == 0.25);
    assert_true(value(f, BL_METRIC_MEMORY, A) == 1 << 30); /* without the driver's own */
    assert_true(value(f, BL_METRIC_MEMORY_TOTAL, A) == 8.0 * (1 << 30));
    assert_true(value(f, BL_METRIC_POWER, A) == 120 && value(f, BL_METRIC_POWER_AVERAGE, A) == 100);
    assert_true(value(f, BL_METRIC_TEMPERATURE, A) == 60 && value(f, BL_METRIC_TEMPERATURE, B) == 40);
    assert_true(value(f, BL_METRIC_DEVICE_CLOCK, A) == 1.5e9 && value(f, BL_METRIC_MEMORY_CLOCK, A) == 8e8);
    assert_true(value(f, BL_METRIC_THROTTLE_REASONS, A) == 4);
    /* The second device is busy with nothing: that is 0, not missing. Power it has none. */
    assert_true(value(f, BL_METRIC_BUSY, B) == 0);
    missing(f, BL_METRIC_POWER, B, "not supported");
    missing(f, BL_METRIC_POWER_AVERAGE, B, "not supported");
    missing(f, BL_METRIC_ENERGY_INTEGRATED, B, "no power");
    missing(f, BL_METRIC_ENERGY, B, "not supported");
}

static void an_old_driver_has_other_names(void **state)
{
    fixture *f = *state;
    use(f, 1, NULL);
    fixture_look(f, 0.1);
    assert_true(value(f, BL_METRIC_BUSY, A) == 0.5);
    assert_true(value(f, BL_METRIC_MEMORY, A) == (1 << 30) + (1 << 28));
    assert_non_null(strstr(fixture_series(f, "NVML", BL_METRIC_MEMORY, A)->reason, "driver keeps for itself"));
    assert_true(value(f, BL_METRIC_THROTTLE_REASONS, A) == 4);
    missing(f, BL_METRIC_ENERGY, A, "not supported");
    missing(f, BL_METRIC_POWER, A, "not supported");
    fixture_look(f, 2);
    assert_true(fabs(value(f, BL_METRIC_ENERGY_INTEGRATED, A) - 200) < 1e-6);
    assert_non_null(strstr(fixture_series(f, "NVML", BL_METRIC_ENERGY_INTEGRATED, A)->reason, "averages"));
}

static void no_missing_function_loses_the_others(void **state)
{
    fixture *f = *state;
    use(f, 2, NULL);
    assert_true(fixture_source(f, "NVML")->available);
    fixture_look(f, 0.1);
    static const bl_metric all[] = {BL_METRIC_BUSY,   BL_METRIC_MEMORY,      BL_METRIC_POWER,
                                    BL_METRIC_ENERGY, BL_METRIC_TEMPERATURE, BL_METRIC_PROCESS_MEMORY};
    for (size_t i = 0; i < BL_ARRAY_LEN(all); i++)
        missing(f, all[i], "GPU 0", "not supported");
}

static void what_cannot_be_is_refused(void **state)
{
    fixture *f = *state;
    use(f, 0, NULL);
    stub->devices[0].busy = 37100;
    stub->devices[0].used = stub->devices[0].total + 1;
    stub->devices[0].power_mw = ~0U;
    stub->devices[0].instant_mw = ~0U;
    stub->devices[0].temperature = 255;
    stub->devices[0].sm_mhz = ~0U;
    fixture_look(f, 0.1);
    missing(f, BL_METRIC_BUSY, A, "371");
    missing(f, BL_METRIC_MEMORY, A, "no sense");
    missing(f, BL_METRIC_POWER, A, "no sense");
    missing(f, BL_METRIC_POWER_AVERAGE, A, "no sense");
    missing(f, BL_METRIC_ENERGY_INTEGRATED, A, "no power");
    missing(f, BL_METRIC_TEMPERATURE, A, "no sense");
    missing(f, BL_METRIC_DEVICE_CLOCK, A, "no sense");
    stub->devices[0].busy = 100;
    stub->devices[0].instant_mw = 90000;
    stub->devices[0].instant_type = 3; /* of another kind than the field ever is */
    stub->devices[1].utilization_result = 999;
    fixture_look(f, 0.1);
    assert_true(value(f, BL_METRIC_BUSY, A) == 1);
    missing(f, BL_METRIC_POWER, A, "not supported");
    missing(f, BL_METRIC_BUSY, B, "Unknown Error");
}

static void memory_of_processes(void **state)
{
    fixture *f = *state;
    int gate[2];
    char byte;
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(gate[0]);
    for (int variant = 0; variant < 2; variant++) {
        free(f->root); /* the real one: our child must be seen in it */
        f->root = strdup("");
        use(f, variant, &(bl_telemetry_spec){.tree_root = getpid()});
        stub_device *d = &stub->devices[0];
        d->n_processes = 2;
        d->pids[0] = (unsigned)child;
        d->process_memory[0] = 3000;
        d->pids[1] = 1; /* somebody else's */
        d->process_memory[1] = 500;
        fixture_look(f, 0.1);
        assert_true(value(f, BL_METRIC_PROCESS_MEMORY, A) == 3000);
        assert_true(value(f, BL_METRIC_PROCESS_MEMORY, B) == 0); /* nobody uses it */
        d->process_memory[0] = ~0ULL;
        fixture_look(f, 0.1);
        missing(f, BL_METRIC_PROCESS_MEMORY, A, "single processes");
        d->pids[0] = 4000001; /* the host's number of it */
        fixture_look(f, 0.1);
        missing(f, BL_METRIC_PROCESS_MEMORY, A, "container");
        *stub = untouched;
        bl_telemetry_free(f->telemetry);
        f->telemetry = NULL;
        dlclose(handle);
        handle = NULL;
        stub = NULL;
    }
    free(f->root);
    f->root = test_make_folder();
    close(gate[1]);
    waitpid(child, NULL, 0);
}

static void energy_by_counter_and_by_power(void **state)
{
    fixture *f = *state;
    use(f, 0, NULL);
    fixture_look(f, 1);
    assert_true(value(f, BL_METRIC_ENERGY, A) == 0 && value(f, BL_METRIC_ENERGY_INTEGRATED, A) == 0);
    stub->devices[0].energy_mj += 150500;
    stub->devices[0].instant_mw = 180000;
    fixture_look(f, 2);
    assert_true(fabs(value(f, BL_METRIC_ENERGY, A) - 150.5) < 1e-9);
    assert_true(fabs(value(f, BL_METRIC_ENERGY_INTEGRATED, A) - 300) < 1e-6); /* (120 + 180) / 2 W over 2 s */
    stub->devices[0].instant_result = 3;                                      /* the averaged one takes its place */
    stub->devices[0].power_mw = 180000;
    fixture_look(f, 1);
    missing(f, BL_METRIC_POWER, A, "not supported");
    assert_true(fabs(value(f, BL_METRIC_ENERGY_INTEGRATED, A) - 480) < 1e-6);
    stub->devices[0].energy_mj = 10; /* the driver was loaded anew */
    fixture_look(f, 1);
    missing(f, BL_METRIC_ENERGY, A, "backwards");
    stub->devices[0].energy_mj = 20000;
    fixture_look(f, 1);
    missing(f, BL_METRIC_ENERGY, A, "backwards"); /* what was lost does not come back */
    bl_telemetry_begin(f->telemetry);
    fixture_look(f, 1);
    stub->devices[0].energy_mj = 21000;
    fixture_look(f, 1);
    assert_true(fabs(value(f, BL_METRIC_ENERGY, A) - 1) < 1e-9);
}

static void a_lost_device_and_drivers_that_do_not_start(void **state)
{
    fixture *f = *state;
    use(f, 0, NULL);
    stub->devices[0].lost = 15;
    fixture_look(f, 1);
    missing(f, BL_METRIC_BUSY, A, "lost");
    missing(f, BL_METRIC_ENERGY, A, "lost");
    assert_true(value(f, BL_METRIC_BUSY, B) == 0);
    bl_telemetry_spec spec = {.root = f->root, .nvml = libraries[0]};
    fixture_open(f, &spec); /* it does not even open now; the other one does */
    assert_non_null(strstr(fixture_source(f, "NVML")->found, "1 of 2 devices"));
    static const struct {
        int result;
        const char *reason, *remedy;
    } starts[] = {{18, "different versions", "restart"}, {9, "not loaded", "modprobe"}, {4, "not allowed", ""}};
    for (size_t i = 0; i < BL_ARRAY_LEN(starts); i++) {
        stub->init_result = starts[i].result;
        fixture_open(f, &spec);
        fixture_absent(f, "NVML", starts[i].reason);
        assert_non_null(strstr(fixture_source(f, "NVML")->remedy, starts[i].remedy));
    }
    stub->init_result = 0;
    stub->n_devices = 0;
    fixture_open(f, &spec);
    fixture_absent(f, "NVML", "no device");
    assert_int_equal(stub->n_inits, stub->n_shutdowns + 1);
    fixture_open(f, NULL);
    fixture_absent(f, "NVML", "/no/such/library");
    assert_int_equal(stub->n_inits, stub->n_shutdowns);                          /* each start was ended */
    fixture_open(f, &(bl_telemetry_spec){.root = f->root, .nvml = "libm.so.6"}); /* a library, but not this one */
    fixture_absent(f, "NVML", "it is none");
}

static void check_visible(const char *list, const char *order, const char *second, const char *expected, bool noted)
{
    bl_known_device d[3] = {
        {.uuid = "GPU-aa11", .name = "A"}, {.uuid = "GPU-bb22", .name = second}, {.uuid = "GPU-bb33", .name = "A"}};
    const char *note = bl_visible_devices(list, order, d, 3);
    char seen[4] = "";
    for (int i = 0; i < 3; i++)
        seen[i] = d[i].visible ? 'x' : '-';
    if (strcmp(seen, expected) != 0 || (note != NULL) != noted)
        fail_msg("'%s' (%s): %s '%s', not %s", list ? list : "unset", order ? order : "", seen, note ? note : "",
                 expected);
}

static void visible_devices_as_cuda_reads_them(void **state)
{
    check_visible(NULL, NULL, "A", "xxx", false);
    check_visible("", NULL, "A", "---", false);
    check_visible("1", NULL, "A", "-x-", false);
    check_visible("2,0", NULL, "A", "x-x", false);
    check_visible(" 2 , 0 ", NULL, "A", "x-x", false);
    check_visible("0,-1,1", NULL, "A", "x--", false); /* nothing behind one that is none */
    check_visible("7,0", NULL, "A", "---", false);
    check_visible("NoDevFiles", NULL, "A", "---", false);
    check_visible("1", NULL, "B", "xxx", true); /* which is the second fastest? */
    check_visible("1", "PCI_BUS_ID", "B", "-x-", false);
    check_visible("GPU-bb33", NULL, "B", "--x", false);
    check_visible("GPU-aa", NULL, "B", "x--", false);
    check_visible("GPU-bb", NULL, "B", "---", false); /* the beginning of two */
    check_visible("MIG-3f1c", NULL, "A", "xxx", true);
    check_visible("99999999999999999999", NULL, "A", "---", false);
}

static void hidden_devices_are_not_shown(void **state)
{
    fixture *f = *state;
    use(f, 0, &(bl_telemetry_spec){.visible_devices = "1"});
    assert_null(fixture_series(f, "NVML", BL_METRIC_BUSY, A));
    assert_non_null(fixture_series(f, "NVML", BL_METRIC_BUSY, B));
    fixture_open(f, &(bl_telemetry_spec){.root = f->root, .nvml = libraries[0], .visible_devices = ""});
    fixture_absent(f, "NVML", "CUDA_VISIBLE_DEVICES hides");
}

static void reasons_in_words(void **state)
{
    char text[64];
    bl_throttle_names(0, text, sizeof text);
    assert_string_equal(text, "");
    bl_throttle_names(0x1, text, sizeof text); /* idle */
    assert_string_equal(text, "");
    bl_throttle_names(0x44, text, sizeof text);
    assert_string_equal(text, "power cap, heat");
    bl_throttle_names(~0ULL, text, 8);
    assert_true(strlen(text) < 8);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++)
        libraries[i] = i + 1 < argc ? argv[i + 1] : "";
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(what_a_present_driver_says),
        WITH_FIXTURE(an_old_driver_has_other_names),
        WITH_FIXTURE(no_missing_function_loses_the_others),
        WITH_FIXTURE(what_cannot_be_is_refused),
        WITH_FIXTURE(memory_of_processes),
        WITH_FIXTURE(energy_by_counter_and_by_power),
        WITH_FIXTURE(a_lost_device_and_drivers_that_do_not_start),
        cmocka_unit_test(visible_devices_as_cuda_reads_them),
        WITH_FIXTURE(hidden_devices_are_not_shown),
        cmocka_unit_test(reasons_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
