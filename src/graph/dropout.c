#include "graph/dropout.h"

void bl_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k[1],
                            (uint32_t)a};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}

uint32_t bl_dropout_threshold(float p)
{
    return (uint32_t)((double)p * 4294967296.0);
}

bool bl_dropout_keeps(float p, uint64_t seed, uint64_t step, uint32_t stream, uint64_t element)
{
    const uint32_t counter[4] = {(uint32_t)(element / 4), (uint32_t)step, (uint32_t)(step >> 32), stream};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    bl_philox(counter, key, words);
    return words[element % 4] >= bl_dropout_threshold(p);
}
