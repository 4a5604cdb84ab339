/* Runs a fuzz target without libFuzzer: over each seed, its beginnings, and copies with a few bytes changed by a
 * fixed generator. usage: replay_NAME FOLDER. Exit status 1 where there is no seed: a replay of nothing shows
 * nothing. */
#include <dirent.h>
#include <string.h>

#include "fuzz.h"

enum { SEED_MAX = 1 << 20, PREFIXES_MAX = 300, MUTANTS = 1500, SIZE_TO_MUTATE_MAX = 1 << 16 };

static uint64_t state = 88172645463325252u;

static size_t below(size_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)((state >> 11) % bound);
}

/* A copy of exactly this size, so that a sanitizer sees a read past its end. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_near(uint8_t *data, size_t size)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ' ', '"', '{', '}', ',', '-', '=', '0', '9'};
    run(data, size);
    size_t step = size / PREFIXES_MAX + 1;
    for (size_t n = 0; n < size; n += step)
        run(data, n);
    if (size == 0 || size > SIZE_TO_MUTATE_MAX)
        return;
    uint8_t *mutant = malloc(size);
    if (mutant == NULL)
        abort();
    /* Large seeds are pictures, which take long: fewer mutants for them. */
    int mutants = size > 2048 ? MUTANTS / 10 : MUTANTS;
    for (int i = 0; i < mutants; i++) {
        memcpy(mutant, data, size);
        size_t changes = 1 + below(4);
        for (size_t c = 0; c < changes; c++) {
            size_t at = below(size);
            switch (below(3)) {
            case 0:
                mutant[at] = (uint8_t)below(256);
                break;
            case 1:
                mutant[at] = telling[below(sizeof(telling))];
                break;
            default:
                mutant[at] = data[below(size)];
                break;
            }
        }
        run(mutant, size);
    }
    free(mutant);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: %s FOLDER-OF-SEEDS\n", argv[0]);
        return 2;
    }
    uint8_t *data = malloc(SEED_MAX);
    if (data == NULL)
        abort();
    int seeds = 0;
    for (struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
        FILE *file = e->d_name[0] != '.' ? fopen(path, "rb") : NULL;
        if (file == NULL)
            continue;
        size_t size = fread(data, 1, SEED_MAX, file);
        fclose(file);
        run_near(data, size);
        seeds++;
    }
    closedir(folder);
    free(data);
    run((const uint8_t *)"", 0);
    printf("%d seeds\n", seeds);
    return seeds > 0 ? 0 : 1;
}
