/* Run by mpirun as several ranks: sums, minima, broadcasts, and sums beside other work. Prints "ok RANK of RANKS". */
#include "dist/dist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s is not so; %s\n", __LINE__, #condition, err.message);                         \
            bl_dist_abort(dist, 4);                                                                                    \
            exit(4);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { COUNT = 100000, SUMS = 5 };

static void check_blocking(bl_dist *dist)
{
    bl_error err = {0};
    int rank = bl_dist_rank(dist), ranks = bl_dist_ranks(dist);
    double sums[2] = {rank + 1, 0.5};
    CHECK(bl_dist_sum(dist, sums, 2, &err) == BL_OK);
    CHECK(sums[0] == ranks * (ranks + 1) / 2.0 && sums[1] == 0.5 * ranks);
    int64_t least = 7 + rank;
    CHECK(bl_dist_min(dist, &least, &err) == BL_OK && least == 7);
    float from_first[3] = {(float)rank, (float)rank, 1};
    CHECK(bl_dist_broadcast(dist, from_first, 3, &err) == BL_OK);
    CHECK(from_first[0] == 0 && from_first[1] == 0 && from_first[2] == 1);
}

static void check_beside_work(bl_dist *dist)
{
    static float data[SUMS][COUNT];
    bl_error err = {0};
    int rank = bl_dist_rank(dist), ranks = bl_dist_ranks(dist);
    for (int k = 0; k < SUMS; k++) {
        for (int i = 0; i < COUNT; i++)
            data[k][i] = (float)(rank + 1) * (float)(i % 100 + k);
        CHECK(bl_dist_start(dist, k, data[k], COUNT - k, &err) == BL_OK);
        CHECK(bl_dist_poll(dist, &err) == BL_OK);
    }
    CHECK(bl_dist_wait(dist, &err) == BL_OK);
    for (int k = 0; k < SUMS; k++) {
        CHECK(bl_dist_done(dist, k));
        for (int i = 0; i < COUNT; i++) {
            float times = i < COUNT - k ? (float)(ranks * (ranks + 1) / 2) : (float)(rank + 1);
            CHECK(data[k][i] == times * (float)(i % 100 + k));
        }
    }
    CHECK(bl_dist_start(dist, BL_DIST_SUMS, data[0], 1, &err) == BL_ERR_INTERNAL);
}

int main(int argc, char **argv)
{
    bl_dist *dist = NULL;
    bl_error err = {0};
    if (bl_dist_open(&dist, &err) != BL_OK) {
        fprintf(stderr, "%s\n", err.message);
        return bl_error_exit_status(err.code);
    }
    if (argc > 1 && strcmp(argv[1], "fail") == 0 && bl_dist_rank(dist) == bl_dist_ranks(dist) - 1)
        bl_dist_abort(dist, 5); /* the others wait for a sum with it */
    check_blocking(dist);
    check_beside_work(dist);
    printf("ok %d of %d\n", bl_dist_rank(dist), bl_dist_ranks(dist));
    bl_dist_close(dist);
    return 0;
}
