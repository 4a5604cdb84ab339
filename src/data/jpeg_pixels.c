/* From coefficients to pixels. All of it is whole numbers, so the results can be libjpeg's to the bit whatever the
 * order. */
#include "data/jpeg_quick.h"

#include <immintrin.h>
#include <string.h>

/* ---- the inverse transform ----
 * One dimension of 8: constants of 13 bits. What the paper's graph multiplies and adds up one after the other is
 * written as sums of products of pairs, which one instruction does: the factors are the graph's, added up. */

typedef struct pair {
    int16_t a, b;
} pair;

static inline __m256i times(__m256i pairs, pair factors)
{
    int32_t both = (int32_t)((uint32_t)(uint16_t)factors.a | (uint32_t)(uint16_t)factors.b << 16);
    return _mm256_madd_epi16(pairs, _mm256_set1_epi32(both));
}

/* (a0, b0), (a1, b1), ... */
static inline __m256i join(__m128i a, __m128i b)
{
    return _mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b));
}

static inline __m128i narrow(__m256i v, int shift)
{
    v = _mm256_sra_epi32(v, _mm_cvtsi32_si128(shift));
    return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* Down the columns of v; the results are shifted, rounded. */
static inline void transform(__m128i v[8], int shift)
{
    __m256i x04 = join(v[0], v[4]), x26 = join(v[2], v[6]), x13 = join(v[1], v[3]), x57 = join(v[5], v[7]);
    __m256i half = _mm256_set1_epi32(1 << (shift - 1));
    __m256i sum = _mm256_add_epi32(times(x04, (pair){8192, 8192}), half);
    __m256i difference = _mm256_add_epi32(times(x04, (pair){8192, -8192}), half);
    __m256i e2 = times(x26, (pair){4433, -10704}), e3 = times(x26, (pair){10703, 4433});
    __m256i even[4] = {_mm256_add_epi32(sum, e3), _mm256_add_epi32(difference, e2), _mm256_sub_epi32(difference, e2),
                       _mm256_sub_epi32(sum, e3)};
    static const pair first[4] = {{11363, 9633}, {9633, -2259}, {6437, -11362}, {2260, -6436}};
    static const pair second[4] = {{6437, 2260}, {-11362, -6436}, {2261, 9633}, {9633, -11363}};
    for (int i = 0; i < 4; i++) {
        __m256i odd = _mm256_add_epi32(times(x13, first[i]), times(x57, second[i]));
        v[i] = narrow(_mm256_add_epi32(even[i], odd), shift);
        v[7 - i] = narrow(_mm256_sub_epi32(even[i], odd), shift);
    }
}

static inline void transpose(__m128i v[8])
{
    __m128i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        b[4 * i] = _mm_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        v[2 * i] = _mm_unpacklo_epi64(b[i], b[i + 4]);
        v[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[i + 4]);
    }
}

/* Each dimension multiplies by less than 1.388, the first by 4 besides. */
enum { SUM_MAX = 5900 };

static inline int sum_of(const __m128i v[8])
{
    const __m128i one = _mm_set1_epi16(1);
    __m128i sum = _mm_setzero_si128();
    for (int i = 0; i < 8; i++)
        sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_abs_epi16(v[i]), one));
    sum = _mm_add_epi32(sum, _mm_srli_si128(sum, 8));
    sum = _mm_add_epi32(sum, _mm_srli_si128(sum, 4));
    return _mm_cvtsi128_si32(sum);
}

bool bl_jpeg_block(int16_t *coefficients, uint8_t *out, size_t stride)
{
    __m128i v[8];
    for (int i = 0; i < 8; i++)
        v[i] = _mm_loadu_si128((const __m128i *)(coefficients + 8 * i));
    if (sum_of(v) > SUM_MAX)
        return false;
    for (int i = 0; i < 4; i++)
        _mm256_storeu_si256((__m256i *)(coefficients + 16 * i), _mm256_setzero_si256());
    transform(v, 11); /* two bits are kept for the second pass */
    transpose(v);
    transform(v, 18);
    transpose(v);
    const __m128i middle = _mm_set1_epi8(-128);
    for (int i = 0; i < 8; i += 2) {
        __m128i both = _mm_xor_si128(_mm_packs_epi16(v[i], v[i + 1]), middle);
        _mm_storel_epi64((__m128i *)(out + (size_t)i * stride), both);
        _mm_storel_epi64((__m128i *)(out + (size_t)(i + 1) * stride), _mm_srli_si128(both, 8));
    }
    return true;
}

/* ---- chrominance ----
 * Between two samples lie two pixels, a quarter of the way from each. Beyond the image's edge lies its last sample. */

enum { LANES = 16 };

static int inside(int i, int size)
{
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

static const uint8_t *sample_at(const bl_jpeg_planes *p, int c, int x, int y)
{
    return p->plane[c] + (size_t)(inside(y, p->height) - p->top[c]) * p->stride[c] + (x - p->left[c]);
}

/* sums[1 + i] for the samples first + i of line y of the image: three quarters of the nearer line of samples, one of
 * the farther, times 4; sums[0] and sums[n + 1] are their neighbours. */
static void add_lines(const bl_jpeg_planes *p, int c, int y, int first, int n)
{
    uint16_t *sums = p->sums + 1;
    const uint8_t *near = sample_at(p, c, first, p->down == 2 ? y >> 1 : y);
    const uint8_t *far = p->down == 2 ? sample_at(p, c, first, (y >> 1) + (y & 1 ? 1 : -1)) : near;
    int before = first > 0 ? -1 : 0, after = first + n < p->width ? n : n - 1;
    unsigned weight = p->down == 2 ? 3 : 1, other = p->down == 2 ? 1 : 0;
    for (int i = 0; i < n; i++)
        sums[i] = (uint16_t)(weight * near[i] + other * far[i]);
    sums[-1] = (uint16_t)(weight * near[before] + other * far[before]);
    sums[n] = (uint16_t)(weight * near[after] + other * far[after]);
}

/* Two pixels for each of the n sums; libjpeg's two roundings alternate. */
static void spread(const uint16_t *sums, int n, bool two_lines, uint8_t *out)
{
    const __m256i left = _mm256_set1_epi16(two_lines ? 8 : 1), right = _mm256_set1_epi16(two_lines ? 7 : 2);
    const __m128i shift = _mm_cvtsi32_si128(two_lines ? 4 : 2);
    for (int i = 0; i < n; i += LANES) {
        __m256i here = _mm256_loadu_si256((const __m256i *)(sums + i));
        __m256i before = _mm256_loadu_si256((const __m256i *)(sums + i - 1));
        __m256i after = _mm256_loadu_si256((const __m256i *)(sums + i + 1));
        __m256i three = _mm256_add_epi16(here, _mm256_add_epi16(here, here));
        __m256i even = _mm256_srl_epi16(_mm256_add_epi16(_mm256_add_epi16(three, before), left), shift);
        __m256i odd = _mm256_srl_epi16(_mm256_add_epi16(_mm256_add_epi16(three, after), right), shift);
        _mm256_storeu_si256((__m256i *)(out + 2 * i), _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
    }
}

/* A component's samples for the pixels of line y from part->left on. */
static const uint8_t *chroma_line(const bl_jpeg_planes *p, int c, const bl_part *part, int y)
{
    if (p->across == 1)
        return sample_at(p, c, part->left, y);
    int first = part->left >> 1, n = ((part->left + part->columns - 1) >> 1) + 1 - first;
    add_lines(p, c, y, first, n);
    spread(p->sums + 1, n, p->down == 2, p->line[c - 1]);
    return p->line[c - 1] + (part->left & 1);
}

/* ---- colours ----
 * JFIF's matrix with 16 bits after the point. Factors that do not fit 16 bits with a sign are split into whole numbers,
 * which are added, and the rest. */

/* (a * factors.a + b * factors.b + 32768) >> 16 */
static inline __m256i weigh(__m256i a, __m256i b, pair factors, int round)
{
    __m256i low = times(_mm256_unpacklo_epi16(a, b), factors), high = times(_mm256_unpackhi_epi16(a, b), factors);
    __m256i half = _mm256_set1_epi32(round);
    low = _mm256_srai_epi32(_mm256_add_epi32(low, half), 16);
    high = _mm256_srai_epi32(_mm256_add_epi32(high, half), 16);
    return _mm256_packs_epi32(low, high);
}

static inline __m128i to_bytes(__m256i v)
{
    return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

static inline __m256i load_samples(const uint8_t *p, int middle)
{
    return _mm256_sub_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)),
                            _mm256_set1_epi16((short)middle));
}

static void interleave(__m128i r, __m128i g, __m128i b, uint8_t *out)
{
    const __m128i r0 = _mm_setr_epi8(0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5);
    const __m128i g0 = _mm_setr_epi8(-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1);
    const __m128i b0 = _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
    const __m128i r1 = _mm_setr_epi8(-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1);
    const __m128i g1 = _mm_setr_epi8(5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10);
    const __m128i b1 = _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1);
    const __m128i r2 = _mm_setr_epi8(-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1);
    const __m128i g2 = _mm_setr_epi8(-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1);
    const __m128i b2 = _mm_setr_epi8(10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15);
    const __m128i order[3][3] = {{r0, g0, b0}, {r1, g1, b1}, {r2, g2, b2}};
    for (int i = 0; i < 3; i++) {
        __m128i v = _mm_or_si128(_mm_shuffle_epi8(r, order[i][0]), _mm_shuffle_epi8(g, order[i][1]));
        v = _mm_or_si128(v, _mm_shuffle_epi8(b, order[i][2]));
        _mm_storeu_si128((__m128i *)(out + LANES * i), v);
    }
}

static void colour_line(const uint8_t *luma, const uint8_t *blue, const uint8_t *red, int n, uint8_t *out)
{
    for (int i = 0; i < n; i += LANES) {
        __m256i y = load_samples(luma + i, 0), cb = load_samples(blue + i, 128), cr = load_samples(red + i, 128);
        const __m256i none = _mm256_setzero_si256();
        __m256i r = _mm256_add_epi16(cr, weigh(cr, none, (pair){26345, 0}, 32768));    /* 1.402 */
        __m256i g = _mm256_sub_epi16(weigh(cb, cr, (pair){-22554, 18734}, 32768), cr); /* 0.34414, 0.71414 */
        __m256i b = _mm256_add_epi16(_mm256_add_epi16(cb, cb), weigh(cb, none, (pair){-14942, 0}, 32768)); /* 1.772 */
        interleave(to_bytes(_mm256_add_epi16(y, r)), to_bytes(_mm256_add_epi16(y, g)), to_bytes(_mm256_add_epi16(y, b)),
                   out + 3 * (size_t)i);
    }
}

void bl_jpeg_colour(const bl_jpeg_planes *p, const bl_part *part, uint8_t *out)
{
    for (int y = part->top; y < part->top + part->rows; y++) {
        const uint8_t *luma = p->plane[0] + (size_t)(y - p->top[0]) * p->stride[0] + (size_t)(part->left - p->left[0]);
        const uint8_t *blue = chroma_line(p, 1, part, y), *red = chroma_line(p, 2, part, y);
        colour_line(luma, blue, red, part->columns, out + 3 * (size_t)(y - part->top) * (size_t)part->columns);
    }
}
