#include "data/loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "data/image.h"
#include "data/scratch.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

enum { TARGET_FLOATS = 6 };

typedef struct slot {
    float *images;
    int32_t *labels;
    bl_objects *boxes;  /* data with boxes: of each image, */
    float *frames;      /* where it lies, */
    float *targets;     /* and all boxes in rows, once the batch is complete */
    int64_t batch;      /* which one it holds or will hold; -1 none */
    int n, taken, done; /* samples: in all, given to a worker, finished */
} slot;

struct bl_loader {
    const bl_dataset *dataset;
    bl_loader_options options;
    size_t sample_floats;
    int64_t n_batches, epoch;
    int64_t *order; /* of the samples in this epoch */
    slot *slots;    /* a ring: one being trained on, the others full or being filled */
    int n_slots;
    int64_t next_give;   /* batch that bl_loader_next gives next */
    int64_t next_fill;   /* batch that takes the next free slot */
    int64_t in_use;      /* batch that the caller still holds; -1 */
    uint64_t generation; /* counts epochs: what belongs to an older one is dropped */
    bl_error error;
    bool stopping;
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    pthread_t *threads;
    int n_threads;
    struct worker *workers; /* one at least: without threads, the caller's */
};

typedef struct worker {
    bl_loader *loader;
    bl_scratch scratch;
} worker;

int64_t bl_loader_share(int64_t total, int ranks, int rank, int64_t *first)
{
    int64_t each = total / ranks, more = total % ranks;
    *first = rank * each + (rank < more ? rank : more);
    return each + (rank < more);
}

/* Of all ranks. */
static int64_t samples_in_whole(const bl_loader *l, int64_t batch)
{
    int64_t left = l->dataset->count[l->options.split] - batch * l->options.whole_batch;
    return left < l->options.whole_batch ? left : l->options.whole_batch;
}

/* Of this one; *first: where they lie in the epoch's order. */
static int64_t samples_in(const bl_loader *l, int64_t batch, int64_t *first)
{
    int64_t n = bl_loader_share(samples_in_whole(l, batch), l->options.ranks, l->options.rank, first);
    *first += batch * l->options.whole_batch;
    return n;
}

static uint64_t draw_of(const bl_loader *l, int64_t sample)
{
    uint64_t epoch = (uint64_t)l->epoch + 1;
    return l->options.seed * 0x9E3779B97F4A7C15u ^ epoch * 0xC2B2AE3D27D4EB4Fu ^ (uint64_t)sample * 0x165667B19E3779F9u;
}

/* Fisher-Yates, from the seed and the epoch. */
static void make_order(bl_loader *l)
{
    int64_t count = l->dataset->count[l->options.split];
    bl_draws draws = {.state = draw_of(l, -1)};
    for (int64_t i = 0; i < count; i++)
        l->order[i] = i;
    for (int64_t i = count - 1; l->options.shuffle && i > 0; i--) {
        int64_t k = (int64_t)(bl_draw_uniform(&draws) * (double)(i + 1)), held = l->order[i];
        l->order[i] = l->order[k];
        l->order[k] = held;
    }
}

/* Without the lock: makes sample i of a batch. */
static int make_sample(worker *w, const slot *s, int64_t batch, int i, bl_error *err)
{
    const bl_loader *l = w->loader;
    int64_t first;
    samples_in(l, batch, &first);
    int64_t sample = l->order[first + i];
    bl_view view = {
        .size = l->options.size, .augment = l->options.augment, .draw = draw_of(l, sample), .scratch = &w->scratch};
    float *image = s->images + (size_t)i * l->sample_floats;
    if (!s->boxes)
        return l->dataset->kind->read(l->dataset, l->options.split, sample, &view, image, &s->labels[i], err);
    s->boxes[i].len = 0;
    return l->dataset->kind->read_boxes(l->dataset, l->options.split, sample, &view, image, &s->boxes[i],
                                        s->frames + 4 * i, err);
}

/* Gives free slots to the batches that come next. */
static void assign_slots(bl_loader *l)
{
    for (int k = 0; k < l->n_slots; k++) {
        slot *s = &l->slots[k];
        if (s->batch >= 0 || l->next_fill >= l->n_batches)
            continue;
        s->batch = l->next_fill++;
        int64_t first;
        s->n = (int)samples_in(l, s->batch, &first);
        s->taken = s->done = 0;
        for (int i = s->n; i < l->options.batch; i++) {
            if (s->boxes)
                s->boxes[i].len = 0;
            else
                s->labels[i] = -1;
            memset(s->images + (size_t)i * l->sample_floats, 0, l->sample_floats * sizeof(float));
        }
    }
}

/* The slot of the earliest batch that wants a sample made; NULL where there is none. */
static slot *find_work(bl_loader *l)
{
    slot *best = NULL;
    assign_slots(l);
    for (int k = 0; k < l->n_slots; k++) {
        slot *s = &l->slots[k];
        if (s->batch >= 0 && s->taken < s->n && (!best || s->batch < best->batch))
            best = s;
    }
    return l->error.code == BL_OK ? best : NULL;
}

/* With the lock held on entry and exit: makes one sample. */
static void do_work(worker *w, slot *s)
{
    bl_loader *l = w->loader;
    int i = s->taken++;
    int64_t batch = s->batch;
    uint64_t generation = l->generation;
    bl_error err = {0};
    pthread_mutex_unlock(&l->lock);
    int code = make_sample(w, s, batch, i, &err);
    pthread_mutex_lock(&l->lock);
    if (generation != l->generation)
        return;
    if (code != BL_OK && l->error.code == BL_OK)
        l->error = err;
    s->done++;
    if (s->done == s->n || code != BL_OK)
        pthread_cond_broadcast(&l->ready);
}

static void *work(void *context)
{
    worker *w = context;
    bl_loader *l = w->loader;
    pthread_mutex_lock(&l->lock);
    while (!l->stopping) {
        slot *s = find_work(l);
        if (s)
            do_work(w, s);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static bool allocate_slot(bl_loader *l, slot *s, size_t image_b)
{
    size_t n = (size_t)l->options.batch;
    s->batch = -1;
    s->images = bl_aligned_alloc(BL_ALIGN_B, image_b);
    if (!l->dataset->kind->read_boxes) {
        s->labels = bl_calloc(n, sizeof *s->labels);
        return s->images && s->labels;
    }
    s->boxes = bl_calloc(n, sizeof *s->boxes);
    s->frames = bl_calloc(n, 4 * sizeof *s->frames);
    s->targets = bl_calloc(n * (size_t)l->options.boxes_per_image, TARGET_FLOATS * sizeof *s->targets);
    return s->images && s->boxes && s->frames && s->targets;
}

static void clear_slot(slot *s, int n)
{
    for (int i = 0; s->boxes && i < n; i++)
        bl_objects_clear(&s->boxes[i]);
    free(s->images);
    free(s->labels);
    free(s->boxes);
    free(s->frames);
    free(s->targets);
}

static int allocate(bl_loader *l, bl_error *err)
{
    size_t floats, bytes;
    bool ok =
        bl_size_mul(l->sample_floats, (size_t)l->options.batch, &floats) && bl_size_mul(floats, sizeof(float), &bytes);
    l->order = bl_calloc((size_t)l->dataset->count[l->options.split], sizeof *l->order);
    size_t n_workers = l->options.n_workers > 0 ? (size_t)l->options.n_workers : 1;
    int n_slots = 1 + (l->options.prefetch > 0 ? l->options.prefetch : 1);
    l->slots = bl_calloc((size_t)n_slots, sizeof *l->slots);
    l->n_slots = l->slots ? n_slots : 0;
    l->workers = bl_calloc(n_workers, sizeof *l->workers);
    ok = ok && l->slots && l->workers;
    for (size_t k = 0; l->workers && k < n_workers; k++)
        l->workers[k].loader = l;
    for (int k = 0; ok && k < l->n_slots; k++)
        ok = allocate_slot(l, &l->slots[k], bytes);
    l->threads = bl_calloc((size_t)l->options.n_workers, sizeof *l->threads);
    if (!ok || !l->order || !l->threads)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for batches of %d images of %d x %d", l->options.batch,
                       l->options.size, l->options.size);
    return BL_OK;
}

int bl_loader_new(const bl_dataset *dataset, const bl_loader_options *options, bl_loader **out, bl_error *err)
{
    int64_t count = dataset->count[options->split];
    if (count == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "there are no images to %s on",
                       options->split == BL_SPLIT_TRAIN ? "train" : "test");
    int whole = options->ranks > 1 ? options->whole_batch : options->batch;
    if (options->drop_last && count < whole) {
        BL_FAIL(err, BL_ERR_USAGE, "batch size %d is larger than the data set of %lld images", whole, (long long)count);
        bl_error_remedy(err, "choose a batch size of at most %lld, or --no-drop-last", (long long)count);
        return BL_ERR_USAGE;
    }
    bl_loader *l = bl_calloc(1, sizeof *l);
    if (!l)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a loader");
    l->dataset = dataset;
    l->options = *options;
    l->options.whole_batch = whole;
    if (options->ranks < 1)
        l->options.ranks = 1;
    l->sample_floats = 3 * (size_t)options->size * (size_t)options->size;
    l->n_batches = options->drop_last ? count / whole : (count + whole - 1) / whole;
    l->next_fill = l->next_give = l->n_batches;
    l->in_use = -1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    int code = allocate(l, err);
    for (int i = 0; code == BL_OK && i < options->n_workers; i++) {
        if (pthread_create(&l->threads[i], NULL, work, &l->workers[i]) != 0)
            code = BL_FAIL(err, BL_ERR_ENV, "no thread for loading data");
        else
            l->n_threads++;
    }
    if (code != BL_OK) {
        bl_loader_free(l);
        return code;
    }
    *out = l;
    return BL_OK;
}

void bl_loader_free(bl_loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->threads[i], NULL);
    for (int k = 0; k < l->n_slots; k++)
        clear_slot(&l->slots[k], l->options.batch);
    for (int k = 0; l->workers && k < (l->options.n_workers > 0 ? l->options.n_workers : 1); k++)
        bl_scratch_clear(&l->workers[k].scratch);
    free(l->slots);
    free(l->workers);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    free(l->threads);
    free(l->order);
    free(l);
}

int64_t bl_loader_batches(const bl_loader *l)
{
    return l->n_batches;
}

size_t bl_loader_bytes(const bl_loader *l)
{
    size_t label_b = sizeof(int32_t);
    if (l->dataset->kind->read_boxes)
        label_b = ((size_t)l->options.boxes_per_image * TARGET_FLOATS + 4) * sizeof(float);
    return (size_t)l->n_slots * (size_t)l->options.batch * (l->sample_floats * sizeof(float) + label_b) +
           (size_t)l->dataset->count[l->options.split] * sizeof *l->order;
}

size_t bl_loader_allocations(const bl_loader *l)
{
    size_t n = 0;
    for (int k = 0; k < (l->n_threads > 0 ? l->n_threads : 1); k++)
        n += l->workers[k].scratch.n_grown;
    return n;
}

/* Samples that workers are still making would be written into slots that mean something else by then. */
static bool anyone_busy(const bl_loader *l)
{
    for (int k = 0; k < l->n_slots; k++)
        if (l->slots[k].batch >= 0 && l->slots[k].taken != l->slots[k].done)
            return true;
    return false;
}

void bl_loader_start_within(bl_loader *l, int64_t epoch, int64_t first)
{
    pthread_mutex_lock(&l->lock);
    l->next_fill = l->n_batches; /* nothing new is begun */
    for (int k = 0; k < l->n_slots; k++)
        if (l->slots[k].batch >= 0)
            l->slots[k].n = l->slots[k].taken;
    while (anyone_busy(l) && l->error.code == BL_OK)
        pthread_cond_wait(&l->ready, &l->lock);
    l->generation++;
    l->epoch = epoch;
    make_order(l);
    for (int k = 0; k < l->n_slots; k++)
        l->slots[k].batch = -1;
    l->next_fill = l->next_give = first < l->n_batches ? first : l->n_batches;
    l->in_use = -1;
    assign_slots(l);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

void bl_loader_start_epoch(bl_loader *l, int64_t epoch)
{
    bl_loader_start_within(l, epoch, 0);
}

static slot *slot_of(bl_loader *l, int64_t batch)
{
    for (int k = 0; k < l->n_slots; k++)
        if (l->slots[k].batch == batch)
            return &l->slots[k];
    return NULL;
}

/* With the lock: until the batch is complete. Without workers the caller makes it. */
static slot *await_batch(bl_loader *l, int64_t batch)
{
    for (;;) {
        slot *s = slot_of(l, batch);
        if (l->error.code != BL_OK || (s && s->done == s->n))
            return s;
        slot *mine = l->n_threads == 0 ? find_work(l) : NULL;
        if (mine)
            do_work(&l->workers[0], mine);
        else
            pthread_cond_wait(&l->ready, &l->lock);
    }
}

/* How many boxes an image may have so that those of all find room: the largest such number. */
static size_t fair_share(const slot *s, size_t room)
{
    size_t most = 0;
    for (int i = 0; i < s->n; i++)
        most = s->boxes[i].len > most ? s->boxes[i].len : most;
    for (;; most--) {
        size_t total = 0;
        for (int i = 0; i < s->n; i++)
            total += s->boxes[i].len < most ? s->boxes[i].len : most;
        if (total <= room)
            return most;
    }
}

/* The boxes of a complete batch as rows, in the order of its images whoever made them. */
static void gather_targets(const bl_loader *l, const slot *s, bl_batch *out)
{
    size_t room = (size_t)l->options.batch * (size_t)l->options.boxes_per_image, share = fair_share(s, room);
    float *row = s->targets;
    for (int i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->boxes[i].len; k++) {
            const bl_object *b = &s->boxes[i].items[k];
            const float values[TARGET_FLOATS] = {(float)i, (float)b->label, b->x, b->y, b->width, b->height};
            if (k >= share) {
                out->n_dropped++;
                continue;
            }
            memcpy(row, values, sizeof values);
            row += TARGET_FLOATS;
            out->n_targets++;
        }
    for (size_t k = (size_t)out->n_targets; k < room; k++, row += TARGET_FLOATS) {
        memset(row, 0, TARGET_FLOATS * sizeof *row);
        row[0] = -1;
    }
    out->targets = s->targets;
    out->frames = s->frames;
}

bool bl_loader_next(bl_loader *l, bl_batch *out, bl_error *err)
{
    int64_t before_ns = bl_clock_ns();
    pthread_mutex_lock(&l->lock);
    slot *held = l->in_use >= 0 ? slot_of(l, l->in_use) : NULL;
    if (held)
        held->batch = -1;
    l->in_use = -1;
    bool more = l->next_give < l->n_batches && l->error.code == BL_OK;
    if (more) {
        assign_slots(l);
        pthread_cond_broadcast(&l->work);
        slot *s = await_batch(l, l->next_give);
        more = l->error.code == BL_OK && s;
        if (more) {
            l->in_use = l->next_give++;
            *out = (bl_batch){.images = s->images, .labels = s->labels, .n = s->n};
            out->n_whole = (int)samples_in_whole(l, l->in_use);
            if (s->boxes)
                gather_targets(l, s, out);
            out->wait_ns = bl_clock_ns() - before_ns;
        }
    }
    if (l->error.code != BL_OK && err && err->code == BL_OK)
        *err = l->error;
    pthread_mutex_unlock(&l->lock);
    return more;
}
