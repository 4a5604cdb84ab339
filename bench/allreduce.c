/* How long sums over ranks take by themselves: for each size, so many all-reduces of floats after a warm-up, each timed
 * by every rank, a barrier between two; then the ranks' means: average, smallest and largest over the ranks. That is
 * how the OSU micro-benchmarks define their figures of osu_allreduce.
 *
 *     mpirun -np 2 --bind-to core build/bench/allreduce [--nonblocking] [ITERATIONS [BYTES...]]
 *
 * --nonblocking: MPI_Iallreduce and MPI_Wait, as the trainer uses them, in place of MPI_Allreduce. Without BYTES:
 * powers of four from 4 bytes to 64 MiB. Large sizes get fewer iterations. Prints CSV; times in microseconds. */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_B      (8L << 20)
#define MOST_B       (1L << 30)
#define WARMUP_SHARE 5 /* a fifth as many untimed ones before */

typedef struct bench {
    bool nonblocking;
    int rank, ranks;
    long iterations;
} bench;

static int sum_once(const bench *b, float *data, int count)
{
    MPI_Request request;
    if (!b->nonblocking)
        return MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    int code = MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

/* Zeros stay zeros however often they are added up. False where memory is out or MPI fails. */
static bool measure(const bench *b, long bytes)
{
    int count = (int)(bytes / (long)sizeof(float));
    float *data = calloc((size_t)count, sizeof *data);
    long n = bytes >= LARGE_B && b->iterations > 20 ? 20 : b->iterations, warmup = n / WARMUP_SHARE + 1;
    double seconds = 0, sum = 0, least = 0, most = 0;
    bool good = data != NULL;
    for (long i = -warmup; good && i < n; i++) {
        double before = MPI_Wtime();
        good = sum_once(b, data, count) == MPI_SUCCESS;
        seconds += i >= 0 ? MPI_Wtime() - before : 0;
        good = good && MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS;
    }
    free(data);
    seconds /= (double)n;
    MPI_Reduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&seconds, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (good && b->rank == 0) {
        printf("%ld,%ld,%.2f,%.2f,%.2f\n", (long)count * (long)sizeof(float), n, 1e6 * sum / b->ranks, 1e6 * least,
               1e6 * most);
        fflush(stdout);
    }
    return good;
}

/* 0 where it is no number from 1 to `most`. */
static long number(const char *text, long most)
{
    char *end;
    long value = strtol(text, &end, 10);
    return *text && !*end && value > 0 && value <= most ? value : 0;
}

int main(int argc, char **argv)
{
    bench b = {.iterations = 200};
    int at = 1;
    bool good = MPI_Init(&argc, &argv) == MPI_SUCCESS;
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    if (at < argc && strcmp(argv[at], "--nonblocking") == 0) {
        b.nonblocking = true;
        at++;
    }
    if (at < argc)
        b.iterations = number(argv[at++], 1000000);
    good = good && b.iterations > 0;
    for (int i = at; i < argc; i++)
        good = good && number(argv[i], MOST_B) >= (long)sizeof(float);
    if (!good && b.rank == 0)
        fprintf(stderr, "allreduce: usage: allreduce [--nonblocking] [ITERATIONS [BYTES...]], 4 to 1073741824 bytes\n");
    if (good && b.rank == 0)
        printf("bytes,iterations,average_us,min_us,max_us\n");
    for (long bytes = 4; good && at >= argc && bytes <= 64L << 20; bytes *= 4)
        good = measure(&b, bytes);
    for (int i = at; good && i < argc; i++)
        good = measure(&b, number(argv[i], MOST_B));
    MPI_Finalize();
    return good ? 0 : 2;
}
