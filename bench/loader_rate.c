/* loader_rate KIND DIR SIZE BATCH WORKERS SECONDS: how many images a second come out of an image folder.
 * KIND: flip or crop, the loader's batches with that augmentation; decode, nothing but libjpeg-turbo, each file in
 * full, by as many threads. Prints the images and the seconds they took, after a second of running warm. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "data/loader.h"

enum { WARM_S = 1, THREADS_MAX = 64 };

typedef struct request {
    const char *kind;
    bl_augment augment;
    bl_dataset *dataset;
    int64_t size, batch, workers;
    double seconds;
} request;

static double now_s(void)
{
    return (double)bl_clock_ns() / 1e9;
}

static int load(const request *r, int64_t *images, double *seconds, bl_error *err)
{
    bl_loader_options options = {.batch = (int)r->batch,
                                 .size = (int)r->size,
                                 .augment = r->augment,
                                 .shuffle = true,
                                 .drop_last = true,
                                 .n_workers = (int)r->workers,
                                 .prefetch = 2,
                                 .seed = 1};
    bl_loader *loader = NULL;
    int code = bl_loader_new(r->dataset, &options, &loader, err);
    double begun = now_s(), from = 0, at = begun;
    for (int64_t epoch = 0; code == BL_OK && !(from > 0 && at - from >= r->seconds); epoch++) {
        bl_batch batch;
        bl_loader_start_epoch(loader, epoch);
        while (bl_loader_next(loader, &batch, err)) {
            at = now_s();
            if (from > 0)
                *images += batch.n;
            else if (at - begun >= WARM_S)
                from = at;
            if (from > 0 && at - from >= r->seconds)
                break;
        }
        code = err->code;
    }
    *seconds = at - from;
    bl_loader_free(loader);
    return code;
}

/* ---- libjpeg-turbo alone ---- */

typedef struct decoder {
    const request *r;
    atomic_llong next, done;
    atomic_int stop;
} decoder;

static void decode_file(const char *path, unsigned char **room, size_t *room_b)
{
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr error;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return;
    info.err = jpeg_std_error(&error);
    jpeg_create_decompress(&info);
    jpeg_stdio_src(&info, file);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    size_t line = 3 * (size_t)info.output_width, bytes = line * info.output_height;
    if (bytes > *room_b) {
        free(*room);
        *room = malloc(bytes);
        *room_b = *room ? bytes : 0;
    }
    while (*room && info.output_scanline < info.output_height) {
        JSAMPROW row = *room + line * info.output_scanline;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_destroy_decompress(&info);
    fclose(file);
}

static void *decode(void *context)
{
    decoder *d = context;
    const bl_dataset *dataset = d->r->dataset;
    unsigned char *room = NULL;
    size_t room_b = 0;
    while (!atomic_load(&d->stop)) {
        char path[4096];
        /* A stride that has no factor in common with most numbers: not one folder's files after the other. */
        int64_t index = atomic_fetch_add(&d->next, 1) * 7919 % dataset->count[BL_SPLIT_TRAIN];
        dataset->kind->path(dataset, BL_SPLIT_TRAIN, index, path, sizeof path);
        decode_file(path, &room, &room_b);
        atomic_fetch_add(&d->done, 1);
    }
    free(room);
    return NULL;
}

static void pause_s(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static int decode_only(const request *r, int64_t *images, double *seconds, bl_error *err)
{
    decoder d = {.r = r};
    pthread_t threads[THREADS_MAX];
    int n = 0;
    while (n < r->workers && pthread_create(&threads[n], NULL, decode, &d) == 0)
        n++;
    pause_s(WARM_S);
    int64_t before = atomic_load(&d.done);
    double from = now_s();
    pause_s(r->seconds);
    *images = atomic_load(&d.done) - before;
    *seconds = now_s() - from;
    atomic_store(&d.stop, 1);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return n == r->workers ? BL_OK : BL_FAIL(err, BL_ERR_ENV, "no thread");
}

int main(int argc, char **argv)
{
    bl_error err = {0};
    request r = {.kind = argc == 7 ? argv[1] : ""};
    int64_t images = 0;
    double seconds = 0;
    bool plain = strcmp(r.kind, "decode") == 0;
    int code = BL_OK;
    if (argc != 7 || (!plain && !bl_augment_from_name(r.kind, &r.augment)))
        code = BL_FAIL(&err, BL_ERR_USAGE, "loader_rate flip|crop|decode DIR SIZE BATCH WORKERS SECONDS");
    if (code == BL_OK)
        code = bl_parse_i64(argv[3], "SIZE", 1, BL_VIEW_SIZE_MAX, &r.size, &err);
    if (code == BL_OK)
        code = bl_parse_i64(argv[4], "BATCH", 1, 65536, &r.batch, &err);
    if (code == BL_OK)
        code = bl_parse_i64(argv[5], "WORKERS", plain ? 1 : 0, THREADS_MAX, &r.workers, &err);
    if (code == BL_OK)
        code = bl_parse_f64(argv[6], "SECONDS", &r.seconds, &err);
    if (code == BL_OK)
        code = bl_folder_open(argv[2], &r.dataset, &err);
    if (code == BL_OK)
        code = plain ? decode_only(&r, &images, &seconds, &err) : load(&r, &images, &seconds, &err);
    if (code == BL_OK)
        printf("%lld %.6f\n", (long long)images, seconds);
    else
        fprintf(stderr, "loader_rate: %s\n", err.message);
    bl_dataset_free(r.dataset);
    return bl_error_exit_status((bl_code)code);
}
