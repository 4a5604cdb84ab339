/* What a program writes to BATCHLAB_FD or BATCHLAB_SOCKET. However the stream is cut into pieces, the same must come
 * out. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "trial/markers.h"

static void check(const bl_markers *m)
{
    int64_t samples = 0;
    for (size_t i = 0; i < m->n_steps; i++) {
        const bl_step *s = &m->steps[i];
        FUZZ_CHECK(s->samples > 0 && s->end_ns > 0 && s->time_ns >= 0 && s->time_ns <= s->end_ns && s->wait_ns >= -1);
        samples += s->samples;
    }
    FUZZ_CHECK(samples == m->samples);
    FUZZ_CHECK(m->n_malformed + m->n_ignored <= m->n_lines);
    FUZZ_CHECK(m->any || m->n_steps == 0);
    FUZZ_CHECK(m->n_memory <= BL_MARKER_KINDS_MAX && m->n_metrics <= BL_MARKER_KINDS_MAX);
    FUZZ_CHECK(strlen(m->program) < sizeof(m->program) && strlen(m->phase) < sizeof(m->phase));
    FUZZ_CHECK(m->batch >= 0 && m->ranks >= 0);
}

static void check_equal(const bl_markers *a, const bl_markers *b)
{
    FUZZ_CHECK(a->n_lines == b->n_lines && a->n_malformed == b->n_malformed && a->n_ignored == b->n_ignored);
    FUZZ_CHECK(a->n_steps == b->n_steps && a->n_memory == b->n_memory && a->n_metrics == b->n_metrics);
    FUZZ_CHECK(a->hello == b->hello && a->ready == b->ready && a->done == b->done && a->oom == b->oom);
    FUZZ_CHECK(strcmp(a->phase, b->phase) == 0 && strcmp(a->program, b->program) == 0);
    for (size_t i = 0; i < a->n_steps; i++) {
        const bl_step *x = &a->steps[i], *y = &b->steps[i];
        FUZZ_CHECK(x->samples == y->samples && x->end_ns == y->end_ns && x->time_ns == y->time_ns);
        FUZZ_CHECK(x->loss == y->loss || (isnan(x->loss) && isnan(y->loss)));
    }
}

/* Cut into pieces that go to two streams in turn: each has lines of its own, and all facts hold. */
static void feed_two_streams(const uint8_t *data, size_t size)
{
    bl_markers both;
    bl_marker_stream second;
    bl_markers_init(&both);
    bl_marker_stream_init(&second);
    for (size_t at = 0, piece = 1, i = 0; at < size; at += piece, i++) {
        piece = 1 + (piece * 5 + data[at]) % 61;
        piece = piece < size - at ? piece : size - at;
        if (i % 2 == 0)
            bl_markers_feed(&both, (const char *)data + at, piece);
        else
            bl_marker_stream_feed(&second, &both, (const char *)data + at, piece);
    }
    bl_marker_stream_end(&second, &both);
    bl_markers_end(&both);
    check(&both);
    bl_marker_stream_clear(&second);
    bl_markers_clear(&both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bl_markers whole, pieces;
    bl_markers_init(&whole);
    bl_markers_init(&pieces);
    bl_markers_feed(&whole, (const char *)data, size);
    bl_markers_end(&whole);
    size_t piece = 1;
    for (size_t at = 0; at < size; at += piece) {
        piece = 1 + (piece * 7 + data[at]) % 23;
        piece = piece < size - at ? piece : size - at;
        bl_markers_feed(&pieces, (const char *)data + at, piece);
    }
    bl_markers_end(&pieces);
    check(&whole);
    check_equal(&whole, &pieces);
    bl_markers_clear(&whole);
    bl_markers_clear(&pieces);
    feed_two_streams(data, size);
    return 0;
}
