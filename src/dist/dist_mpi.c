/* Ranks by MPI. A process that no launcher started does not touch MPI at all: its start-up costs a quarter of a second
 * and daemons that a single process has no use for. */
#include "dist/dist.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct bl_dist {
    bool mpi; /* else alone */
    int rank, ranks;
    MPI_Comm comm;
    MPI_Comm beside; /* of sums that go on beside other work: their order does not depend on the other calls' */
    MPI_Request sums[BL_DIST_SUMS]; /* MPI_REQUEST_NULL: none, or done */
    char description[MPI_MAX_LIBRARY_VERSION_STRING];
};

static int failed(int status, const char *what, bl_error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (status == MPI_SUCCESS)
        return BL_OK;
    MPI_Error_string(status, text, &n);
    return BL_FAIL(err, BL_ERR_FAILED, "MPI: %s: %.200s", what, text);
}

static bool was_launched(void)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t i = 0; i < BL_ARRAY_LEN(marks); i++)
        if (getenv(marks[i]))
            return true;
    return false;
}

/* "Open MPI v4.1.4, package: ..." up to the comma. */
static void describe(bl_dist *dist)
{
    int n = 0;
    MPI_Get_library_version(dist->description, &n);
    dist->description[strcspn(dist->description, ",\n")] = '\0';
}

static int start(bl_dist *dist, bl_error *err)
{
    int level = 0;
    int code = failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "start", err);
    if (code != BL_OK)
        return code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    dist->mpi = true;
    dist->comm = MPI_COMM_WORLD;
    code = failed(MPI_Comm_dup(dist->comm, &dist->beside), "start", err);
    if (code != BL_OK)
        return code;
    MPI_Comm_rank(dist->comm, &dist->rank);
    MPI_Comm_size(dist->comm, &dist->ranks);
    describe(dist);
    /* Workers and kernels have threads of their own, but only the first one calls. */
    return level >= MPI_THREAD_FUNNELED ? BL_OK : BL_FAIL(err, BL_ERR_ENV, "this MPI allows no threads");
}

int bl_dist_open(bl_dist **out, bl_error *err)
{
    bl_dist *dist = bl_calloc(1, sizeof *dist);
    if (!dist)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the ranks");
    dist->ranks = 1;
    snprintf(dist->description, sizeof dist->description, "one rank");
    for (int i = 0; i < BL_DIST_SUMS; i++)
        dist->sums[i] = MPI_REQUEST_NULL;
    int code = was_launched() ? start(dist, err) : BL_OK;
    if (code != BL_OK) {
        bl_dist_close(dist);
        return code;
    }
    *out = dist;
    return BL_OK;
}

void bl_dist_close(bl_dist *dist)
{
    if (dist && dist->mpi)
        MPI_Finalize();
    free(dist);
}

void bl_dist_abort(bl_dist *dist, int status)
{
    if (dist && dist->ranks > 1)
        MPI_Abort(dist->comm, status);
    bl_dist_close(dist);
}

int bl_dist_rank(const bl_dist *dist)
{
    return dist->rank;
}

int bl_dist_ranks(const bl_dist *dist)
{
    return dist->ranks;
}

const char *bl_dist_describe(const bl_dist *dist)
{
    return dist->description;
}

/* MPI counts in int; larger arrays go in pieces. */
static int pieces(bl_dist *dist, void *data, int64_t count, size_t each_b, MPI_Datatype type, bool sum, bl_error *err)
{
    char *at = data;
    for (int code; count > 0 && dist->ranks > 1; count -= INT_MAX, at += (size_t)INT_MAX * each_b) {
        int n = count < INT_MAX ? (int)count : INT_MAX;
        code = sum ? failed(MPI_Allreduce(MPI_IN_PLACE, at, n, type, MPI_SUM, dist->comm), "sum", err)
                   : failed(MPI_Bcast(at, n, type, 0, dist->comm), "broadcast", err);
        if (code != BL_OK)
            return code;
    }
    return BL_OK;
}

int bl_dist_sum(bl_dist *dist, double *data, int64_t count, bl_error *err)
{
    return pieces(dist, data, count, sizeof *data, MPI_DOUBLE, true, err);
}

int bl_dist_broadcast(bl_dist *dist, float *data, int64_t count, bl_error *err)
{
    return pieces(dist, data, count, sizeof *data, MPI_FLOAT, false, err);
}

int bl_dist_min(bl_dist *dist, int64_t *value, bl_error *err)
{
    if (dist->ranks == 1)
        return BL_OK;
    return failed(MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT64_T, MPI_MIN, dist->comm), "minimum", err);
}

int bl_dist_start(bl_dist *dist, int number, float *data, int64_t count, bl_error *err)
{
    if (number < 0 || number >= BL_DIST_SUMS || count < 0 || count > INT_MAX)
        return BL_FAIL(err, BL_ERR_INTERNAL, "sum %d of %lld numbers", number, (long long)count);
    if (dist->ranks == 1)
        return BL_OK;
    return failed(MPI_Iallreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, dist->beside, &dist->sums[number]),
                  "start a sum", err);
}

int bl_dist_poll(bl_dist *dist, bl_error *err)
{
    int all;
    return dist->ranks == 1 ? BL_OK
                            : failed(MPI_Testall(BL_DIST_SUMS, dist->sums, &all, MPI_STATUSES_IGNORE), "go on", err);
}

bool bl_dist_done(const bl_dist *dist, int number)
{
    return dist->sums[number] == MPI_REQUEST_NULL;
}

int bl_dist_wait(bl_dist *dist, bl_error *err)
{
    return dist->ranks == 1 ? BL_OK
                            : failed(MPI_Waitall(BL_DIST_SUMS, dist->sums, MPI_STATUSES_IGNORE), "wait for sums", err);
}
