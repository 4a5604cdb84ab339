/* One rank, for builds without MPI. */
#include "dist/dist.h"

#include <stdlib.h>

struct bl_dist {
    int ranks;
};

/* What the common launchers set for their children. */
static const char *launched_by(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < BL_ARRAY_LEN(sizes); i++) {
        const char *size = getenv(sizes[i]);
        if (size && strtol(size, NULL, 10) > 1)
            return sizes[i];
    }
    return NULL;
}

int bl_dist_open(bl_dist **out, bl_error *err)
{
    static bl_dist one = {.ranks = 1};
    const char *size = launched_by();
    if (size) {
        BL_FAIL(err, BL_ERR_ENV, "started as one of several ranks (%s is %s), but built without MPI", size,
                getenv(size));
        bl_error_remedy(err, "install libopenmpi-dev, configure with -Dmpi=enabled and build again");
        return BL_ERR_ENV;
    }
    *out = &one;
    return BL_OK;
}

void bl_dist_close(bl_dist *dist)
{
}

void bl_dist_abort(bl_dist *dist, int status)
{
}

int bl_dist_rank(const bl_dist *dist)
{
    return 0;
}

int bl_dist_ranks(const bl_dist *dist)
{
    return 1;
}

const char *bl_dist_describe(const bl_dist *dist)
{
    return "one rank";
}

int bl_dist_sum(bl_dist *dist, double *data, int64_t count, bl_error *err)
{
    return BL_OK;
}

int bl_dist_min(bl_dist *dist, int64_t *value, bl_error *err)
{
    return BL_OK;
}

int bl_dist_broadcast(bl_dist *dist, float *data, int64_t count, bl_error *err)
{
    return BL_OK;
}

int bl_dist_start(bl_dist *dist, int number, float *data, int64_t count, bl_error *err)
{
    return BL_OK;
}

int bl_dist_poll(bl_dist *dist, bl_error *err)
{
    return BL_OK;
}

bool bl_dist_done(const bl_dist *dist, int number)
{
    return true;
}

int bl_dist_wait(bl_dist *dist, bl_error *err)
{
    return BL_OK;
}
