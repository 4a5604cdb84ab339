#include "trial/markers.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Whole numbers up to here are whole in JSON readers that only know doubles, too. */
#define WHOLE_MAX (INT64_C(1) << 53)

void bl_markers_init(bl_markers *markers)
{
    *markers = (bl_markers){0};
    bl_marker_stream_init(&markers->stream);
}

void bl_markers_clear(bl_markers *markers)
{
    free(markers->steps);
    free(markers->noise);
    free(markers->points);
    bl_marker_stream_clear(&markers->stream);
    bl_markers_init(markers);
}

/* A whole number within [0, max], or `missing` where the member is not there. False where it is something else. */
static bool take_whole(const json_t *object, const char *name, int64_t max, int64_t missing, int64_t *out)
{
    const json_t *value = json_object_get(object, name);
    *out = missing;
    if (!value || json_is_null(value))
        return true;
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return *out >= 0 && *out <= max;
    }
    /* 128.0 is what a script in a language without whole numbers says. */
    double real = json_is_real(value) ? json_real_value(value) : -1;
    if (!(real >= 0 && real <= (double)WHOLE_MAX && real <= (double)max && floor(real) == real))
        return false;
    *out = (int64_t)real;
    return true;
}

static void take_text(const json_t *object, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text)
        return;
    size_t n = strlen(text);
    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) /* not in the middle of a UTF-8 sequence */
            n--;
    }
    memcpy(out, text, n);
    out[n] = '\0';
}

static bool add_step(bl_markers *m, const bl_step *step)
{
    if (m->n_steps >= BL_MARKER_STEPS_MAX) {
        m->n_ignored++;
        return true;
    }
    if (m->n_steps == m->cap_steps) {
        size_t cap = m->cap_steps ? m->cap_steps * 2 : 256;
        bl_step *steps = bl_realloc(m->steps, cap, sizeof *steps);
        if (!steps) {
            m->failed = true;
            return true;
        }
        m->steps = steps;
        m->cap_steps = cap;
    }
    m->steps[m->n_steps++] = *step;
    m->samples += step->samples;
    return true;
}

static bool in_training(const bl_markers *m)
{
    return m->phase[0] == '\0' || strcmp(m->phase, "train") == 0;
}

static bool take_hello(bl_markers *m, const json_t *object)
{
    int64_t version, ranks, batch;
    if (!take_whole(object, "version", WHOLE_MAX, 0, &version) || !take_whole(object, "ranks", 1 << 24, 0, &ranks) ||
        !take_whole(object, "batch", WHOLE_MAX, 0, &batch))
        return false;
    m->hello = true;
    m->version = version;
    m->ranks = ranks;
    m->batch = batch;
    take_text(object, "program", m->program, sizeof m->program);
    take_text(object, "program_version", m->program_version, sizeof m->program_version);
    take_text(object, "precision", m->precision, sizeof m->precision);
    return true;
}

static void start_training(bl_markers *m, int64_t t_ns)
{
    snprintf(m->phase, sizeof m->phase, "train");
    m->last_ns = t_ns;
}

static bool take_ready(bl_markers *m, const json_t *object)
{
    int64_t t_ns;
    if (!take_whole(object, "t_ns", INT64_MAX, 0, &t_ns))
        return false;
    m->ready = true;
    m->ready_ns = t_ns;
    start_training(m, t_ns);
    return true;
}

static bool take_step(bl_markers *m, const json_t *object)
{
    bl_step step = {0};
    if (!take_whole(object, "samples", WHOLE_MAX, 0, &step.samples) || step.samples <= 0 ||
        !take_whole(object, "t_ns", INT64_MAX, 0, &step.end_ns) || step.end_ns <= 0 ||
        !take_whole(object, "wait_ns", INT64_MAX, -1, &step.wait_ns))
        return false;
    const json_t *loss = json_object_get(object, "loss");
    if (loss && !json_is_number(loss) && !json_is_null(loss))
        return false;
    step.loss = json_is_number(loss) ? json_number_value(loss) : NAN;
    if (!in_training(m)) {
        m->n_ignored++;
        return true;
    }
    if (m->last_ns > 0) {
        if (step.end_ns <= m->last_ns) /* a step ends after the one before: another clock, or several writers */
            return false;
        step.time_ns = step.end_ns - m->last_ns;
    }
    if (m->phase[0] == '\0')
        snprintf(m->phase, sizeof m->phase, "train");
    m->last_ns = step.end_ns;
    return add_step(m, &step);
}

static bool take_phase(bl_markers *m, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    int64_t t_ns;
    if (!name || !name[0] || !take_whole(object, "t_ns", INT64_MAX, 0, &t_ns))
        return false;
    take_text(object, "name", m->phase, sizeof m->phase);
    m->last_ns = in_training(m) ? t_ns : 0;
    return true;
}

static bool take_memory(bl_markers *m, const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    int64_t bytes;
    if (!kind || !kind[0] || !take_whole(object, "bytes", INT64_MAX, -1, &bytes) || bytes < 0)
        return false;
    char name[sizeof m->memory[0].kind] = "";
    take_text(object, "kind", name, sizeof name);
    size_t i = 0;
    while (i < m->n_memory && strcmp(m->memory[i].kind, name) != 0)
        i++;
    if (i == BL_MARKER_KINDS_MAX) {
        m->n_ignored++;
        return true;
    }
    if (i == m->n_memory) {
        memcpy(m->memory[i].kind, name, sizeof name);
        m->memory[m->n_memory++].bytes = bytes;
    } else if (bytes > m->memory[i].bytes) {
        m->memory[i].bytes = bytes;
    }
    return true;
}

static bool take_metric(bl_markers *m, const json_t *object)
{
    const char *given = json_string_value(json_object_get(object, "name"));
    const json_t *value = json_object_get(object, "value");
    int64_t t_ns;
    if (!given || !given[0] || !json_is_number(value) || !take_whole(object, "t_ns", INT64_MAX, 0, &t_ns))
        return false;
    char name[sizeof m->metrics[0].name] = "";
    take_text(object, "name", name, sizeof name);
    bl_marker_point point = {.after_steps = (int64_t)m->n_steps, .value = json_number_value(value), .t_ns = t_ns};
    bl_markers_metric(m, name, &point);
    return true;
}

static bool add_noise(bl_markers *m, const bl_marker_noise *noise)
{
    if (m->n_noise >= BL_MARKER_NOISE_MAX) {
        m->n_ignored++;
        return true;
    }
    if (m->n_noise == m->cap_noise) {
        size_t cap = m->cap_noise ? m->cap_noise * 2 : 32;
        bl_marker_noise *grown = bl_realloc(m->noise, cap, sizeof *grown);
        if (!grown) {
            m->failed = true;
            return true;
        }
        m->noise = grown;
        m->cap_noise = cap;
    }
    m->noise[m->n_noise++] = *noise;
    return true;
}

static bool take_noise(bl_markers *m, const json_t *object)
{
    const json_t *small_sq = json_object_get(object, "small_sq"), *big_sq = json_object_get(object, "big_sq");
    const json_t *scaled = json_object_get(object, "scaled");
    bl_marker_noise noise = {.after_steps = (int64_t)m->n_steps, .scaled = json_is_true(scaled)};
    int64_t small_n, big_n;
    bl_noise_parts parts;
    if (!take_whole(object, "small", WHOLE_MAX, 0, &small_n) || !take_whole(object, "big", WHOLE_MAX, 0, &big_n) ||
        !take_whole(object, "t_ns", INT64_MAX, 0, &noise.t_ns) || !json_is_number(small_sq) ||
        !json_is_number(big_sq) || (scaled && !json_is_boolean(scaled)))
        return false;
    noise.norms =
        (bl_gradient_norms){(double)small_n, (double)big_n, json_number_value(small_sq), json_number_value(big_sq)};
    return bl_noise_parts_of(&noise.norms, &parts, NULL) == BL_OK && add_noise(m, &noise);
}

static bool take_oom(bl_markers *m, const json_t *object)
{
    int64_t bytes;
    if (!take_whole(object, "bytes", INT64_MAX, 0, &bytes))
        return false;
    m->oom = true;
    m->oom_b = bytes;
    return true;
}

static bool take_done(bl_markers *m, const json_t *object)
{
    m->done = true;
    return true;
}

static const struct {
    const char *type;
    bool (*take)(bl_markers *, const json_t *); /* false: malformed */
} types[] = {
    {"step", take_step},   {"hello", take_hello},   {"ready", take_ready},
    {"phase", take_phase}, {"memory", take_memory}, {"metric", take_metric},
    {"noise", take_noise}, {"oom", take_oom},       {"done", take_done},
};

/* Many JSON writers print NaN and Infinity, which JSON does not know, and a diverging loss is just that. Writes the
 * line into `out` with null in their place, outside strings. False where there are none. */
static bool replace_non_numbers(const char *line, size_t n, bl_str *out)
{
    static const char *const names[] = {"-Infinity", "Infinity", "NaN"};
    bool in_string = false, found = false;
    for (size_t i = 0; i < n;) {
        size_t len = 0;
        for (size_t k = 0; k < BL_ARRAY_LEN(names) && len == 0 && !in_string; k++)
            if (n - i >= strlen(names[k]) && memcmp(line + i, names[k], strlen(names[k])) == 0)
                len = strlen(names[k]);
        if (len > 0) {
            bl_str_append(out, "null");
            found = true;
            i += len;
            continue;
        }
        if (line[i] == '"')
            in_string = !in_string;
        len = in_string && line[i] == '\\' && i + 1 < n ? 2 : 1;
        bl_str_append_n(out, line + i, len);
        i += len;
    }
    return found && !out->failed;
}

static json_t *parse_line(const char *line, size_t n)
{
    /* jansson bounds the depth of nesting, and BL_MARKER_LINE_MAX_B the size. */
    json_t *object = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    if (object)
        return object;
    bl_str replaced;
    bl_str_init(&replaced);
    if (replace_non_numbers(line, n, &replaced))
        object = json_loadb(replaced.data, replaced.len, JSON_REJECT_DUPLICATES, NULL);
    bl_str_clear(&replaced);
    return object;
}

static void take_line(bl_markers *m, const bl_str *line)
{
    size_t n = line->len;
    while (n > 0 && (line->data[n - 1] == '\r' || line->data[n - 1] == ' '))
        n--;
    if (n == 0)
        return;
    m->n_lines++;
    json_t *object = parse_line(line->data, n);
    const char *type = json_string_value(json_object_get(object, "type"));
    size_t i = 0;
    while (type && i < BL_ARRAY_LEN(types) && strcmp(types[i].type, type) != 0)
        i++;
    if (!type)
        m->n_malformed++;
    else if (i == BL_ARRAY_LEN(types))
        m->n_ignored++; /* of a later version */
    else if (types[i].take(m, object))
        m->any = true;
    else
        m->n_malformed++;
    json_decref(object);
}

static void end_line(bl_marker_stream *stream, bl_markers *m)
{
    if (stream->skipping) {
        m->n_lines++;
        m->n_malformed++;
    } else {
        take_line(m, &stream->line);
    }
    stream->skipping = false;
    bl_str_reset(&stream->line);
}

static void extend_line(bl_marker_stream *stream, bl_markers *m, const char *bytes, size_t n)
{
    if (stream->skipping)
        return;
    if (n > BL_MARKER_LINE_MAX_B - stream->line.len) {
        stream->skipping = true;
        return;
    }
    bl_str_append_n(&stream->line, bytes, n);
    if (stream->line.failed) {
        m->failed = true;
        stream->skipping = true;
        stream->line.failed = false;
    }
}

void bl_marker_stream_init(bl_marker_stream *stream)
{
    bl_str_init(&stream->line);
    stream->skipping = false;
}

void bl_marker_stream_clear(bl_marker_stream *stream)
{
    bl_str_clear(&stream->line);
    stream->skipping = false;
}

void bl_marker_stream_feed(bl_marker_stream *stream, bl_markers *markers, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        size_t piece = newline ? (size_t)(newline - bytes) : n;
        extend_line(stream, markers, bytes, piece);
        if (!newline)
            return;
        end_line(stream, markers);
        bytes = newline + 1;
        n -= piece + 1;
    }
}

void bl_marker_stream_end(bl_marker_stream *stream, bl_markers *markers)
{
    if (stream->line.len > 0 || stream->skipping)
        end_line(stream, markers);
}

void bl_markers_feed(bl_markers *markers, const char *bytes, size_t n)
{
    bl_marker_stream_feed(&markers->stream, markers, bytes, n);
}

void bl_markers_end(bl_markers *markers)
{
    bl_marker_stream_end(&markers->stream, markers);
}
