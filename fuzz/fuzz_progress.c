/* What a program prints while it trains. However the stream is cut into pieces, the same counters must come out, and
 * what is kept must hold together. */
#include "fuzz.h"

#include <string.h>

#include "trial/progress.h"

static bl_progress_formats *formats;

static void check(const bl_progress *p)
{
    size_t n_records = 0;
    FUZZ_CHECK(p->n_tracks <= BL_PROGRESS_TRACKS);
    for (size_t i = 0; i < p->n_tracks; i++) {
        const bl_progress_track *t = &p->tracks[i];
        int64_t samples = 0, end_ns = 0;
        for (size_t k = 0; k < t->n_records; k++) {
            const bl_step *s = &t->records[k];
            FUZZ_CHECK(s->samples > 0 && s->time_ns > 0 && s->end_ns > end_ns && s->time_ns <= s->end_ns);
            end_ns = s->end_ns;
            samples += s->samples;
        }
        n_records += t->n_records;
        FUZZ_CHECK(samples == t->record_samples);
        FUZZ_CHECK(t->steps >= t->timed_steps && t->timed_steps >= 0);
        FUZZ_CHECK(t->first.total == 0 || t->done <= t->first.total);
        FUZZ_CHECK(t->done >= 0 && t->granule >= 1);
    }
    FUZZ_CHECK(n_records == p->n_records);
    FUZZ_CHECK(p->terminal.cursor <= p->terminal.len && p->terminal.len <= BL_TERMINAL_LINE_MAX_B);
    bl_str note;
    bl_str_init(&note);
    bl_progress_note(p, &note);
    bl_str_clear(&note);
}

static void check_equal(const bl_progress *a, const bl_progress *b)
{
    FUZZ_CHECK(a->n_lines == b->n_lines && a->n_tracks == b->n_tracks && strcmp(a->phase, b->phase) == 0);
    for (size_t i = 0; i < a->n_tracks; i++)
        FUZZ_CHECK(a->tracks[i].steps == b->tracks[i].steps && a->tracks[i].done == b->tracks[i].done);
    FUZZ_CHECK(bl_progress_idle(a) == bl_progress_idle(b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!formats && bl_progress_formats_new(NULL, false, &formats, NULL) != BL_OK)
        abort();
    static bl_progress whole, pieces;
    bl_progress_init(&whole, formats, 3);
    bl_progress_init(&pieces, formats, 3);
    bl_progress_feed(&whole, (const char *)data, size, 1);
    bl_progress_end(&whole);
    int64_t now_ns = 1;
    size_t piece = 1;
    for (size_t at = 0; at < size; at += piece) {
        piece = 1 + (piece * 7 + data[at]) % 23;
        piece = piece < size - at ? piece : size - at;
        bl_progress_feed(&pieces, (const char *)data + at, piece, now_ns);
        now_ns += data[at];
    }
    bl_progress_end(&pieces);
    check(&whole);
    check(&pieces);
    check_equal(&whole, &pieces);
    bl_progress_clear(&whole);
    bl_progress_clear(&pieces);
    return 0;
}
