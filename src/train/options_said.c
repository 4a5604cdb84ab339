#include <math.h>
#include <stdio.h>

#include "base/parse.h"
#include "train/option_rows.h"

/* As few digits as tell the number from all others; nothing for one that was not given. */
static void format_real(double value, bl_str *out)
{
    if (isnan(value))
        return;
    char text[40];
    double back;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (bl_parse_f64(text, "", &back, NULL) == BL_OK && back == value)
            break;
    }
    bl_str_append(out, text);
}

static void format_value(const bl_option *option, bl_str *out)
{
    switch (option->kind) {
    case BL_OPT_FLAG:
        bl_str_append(out, *(const bool *)option->target ? "yes" : "no");
        break;
    case BL_OPT_STRING:
        bl_str_append(out, *(const char **)option->target ? *(const char **)option->target : "");
        break;
    case BL_OPT_STRINGS:
        for (size_t i = 0; i < ((const bl_strv *)option->target)->len; i++)
            bl_str_printf(out, "%s%s", i ? " " : "", ((const bl_strv *)option->target)->items[i]);
        break;
    case BL_OPT_INT:
        bl_str_printf(out, "%lld", (long long)*(const int64_t *)option->target);
        break;
    case BL_OPT_SIZE:
        bl_str_printf(out, "%llu", (unsigned long long)*(const uint64_t *)option->target);
        break;
    case BL_OPT_FLOAT:
    case BL_OPT_DURATION:
        format_real(*(const double *)option->target, out);
        break;
    case BL_OPT_GROUP:
        break;
    }
}

int bl_train_options_write_down(const bl_option *table, int n, bl_strv *said, bl_error *err)
{
    bl_str value;
    bl_str_init(&value);
    bool ok = true;
    for (int i = 0; ok && i < n; i++) {
        bl_str_reset(&value);
        format_value(&table[i], &value);
        if (table[i].kind != BL_OPT_GROUP)
            ok = !value.failed && bl_strv_push(said, table[i].long_name) == BL_OK &&
                 bl_strv_push(said, bl_str_text(&value)) == BL_OK;
    }
    bl_str_clear(&value);
    return ok ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the options");
}
