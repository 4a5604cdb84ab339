#include "trial/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* What a search from one starting point may cost; a sane pattern over a line needs some hundreds. */
#define MATCH_LIMIT    20000
#define DEPTH_LIMIT    2000
#define HEAP_LIMIT_KIB 4096

struct bl_pattern {
    pcre2_code *code;
    pcre2_match_data *groups;
    pcre2_match_context *limits;
};

void bl_pattern_free(bl_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_match_context_free(pattern->limits);
    pcre2_match_data_free(pattern->groups);
    pcre2_code_free(pattern->code);
    free(pattern);
}

static int fail_pattern(const char *text, const char *what, int code, size_t at, bl_error *err)
{
    PCRE2_UCHAR why[160] = "";
    pcre2_get_error_message(code, why, sizeof why);
    BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is no regular expression: at character %zu: %s", what, text, at + 1,
            (const char *)why);
    bl_error_remedy(err, "a backslash before .*+?()[]{}|^$ makes them plain characters");
    return BL_ERR_USAGE;
}

int bl_pattern_new(const char *text, const char *what, bl_pattern **out, bl_error *err)
{
    int error = 0;
    PCRE2_SIZE at = 0;
    *out = NULL;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                      PCRE2_MULTILINE | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, NULL);
    if (!code && error != PCRE2_ERROR_NOMEMORY)
        return fail_pattern(text, what, error, at, err);
    bl_pattern *p = code ? bl_calloc(1, sizeof *p) : NULL;
    if (p) {
        p->code = code;
        p->groups = pcre2_match_data_create_from_pattern(code, NULL);
        p->limits = pcre2_match_context_create(NULL);
    }
    if (!p || !p->groups || !p->limits) {
        if (p)
            bl_pattern_free(p);
        else
            pcre2_code_free(code);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %s", what);
    }
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT_KIB);
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where it cannot, the interpreter serves */
    *out = p;
    return BL_OK;
}

bl_found bl_pattern_find(const bl_pattern *p, const char *text, size_t n, size_t from)
{
    if (from > n)
        return BL_FOUND_NOT;
    int rc = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, 0, p->groups, p->limits);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_JIT, p->groups, p->limits);
    return rc > 0 ? BL_FOUND : rc == PCRE2_ERROR_NOMATCH ? BL_FOUND_NOT : BL_FOUND_GAVE_UP;
}

int bl_pattern_group(const bl_pattern *p, const char *name)
{
    int number = pcre2_substring_number_from_name(p->code, (PCRE2_SPTR)name);
    return number > 0 ? number : -1;
}

bool bl_pattern_span(const bl_pattern *p, int group, size_t *start, size_t *len)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(p->groups);
    if (group < 0 || (uint32_t)group >= pcre2_get_ovector_count(p->groups) || ends[2 * group] == PCRE2_UNSET ||
        ends[2 * group + 1] < ends[2 * group])
        return false;
    *start = ends[2 * group];
    *len = ends[2 * group + 1] - ends[2 * group];
    return true;
}

const char *bl_pattern_name(const bl_pattern *p, size_t i, int *group)
{
    uint32_t n = 0, size = 0;
    PCRE2_SPTR table = NULL; /* of entries of `size` bytes: the number in two of them, the name */
    pcre2_pattern_info(p->code, PCRE2_INFO_NAMECOUNT, &n);
    pcre2_pattern_info(p->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(p->code, PCRE2_INFO_NAMETABLE, &table);
    if (i >= n)
        return NULL;
    PCRE2_SPTR entry = table + i * size;
    if (group)
        *group = entry[0] << 8 | entry[1];
    return (const char *)entry + 2;
}
