/* Many draws of the keyed generator at once.

   Compilers make vectors of the plain loops where a processor multiplies 64-bit words and turns
   them to doubles and back (AVX-512DQ). AVX2 does neither: there these are four at a time by hand,
   of products of 32-bit words and of sums that round nothing, and have the same bits. */

#ifndef GNN_DRAWS_H
#define GNN_DRAWS_H

#include <stdint.h>
#include <string.h>
#include "fastimpl/_streams.h"

/* Whether draw c is kept: 53 bits of it are at least `least`, itself of 0 to 2**53. */
static inline int gnn_kept(uint64_t key, uint64_t c, uint64_t least)
{
    return (gnn_mix(key + GNN_GOLD * (c + 1)) >> 11) >= least;
}

/* x, or 0: by its bits, since a branch would be wrong each other time, and not be vectorised */
static inline float gnn_or_zero_f32(float x, int keep)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= -(uint32_t)keep;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static inline double gnn_or_zero_f64(double x, int keep)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= -(uint64_t)keep;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

#if defined(__AVX2__) && !defined(__AVX512DQ__)

#include <immintrin.h>

enum { GNN_DRAWS = 4 };

/* x * factor: the product of the low words, and above it the low words of the two mixed ones */
static inline __m256i gnn_times(__m256i x, uint64_t factor)
{
    const __m256i f = _mm256_set1_epi64x((int64_t)factor);
    const __m256i swapped = _mm256_set1_epi64x((int64_t)(factor << 32 | factor >> 32));
    const __m256i above = _mm256_set1_epi64x((int64_t)(UINT64_MAX << 32));
    const __m256i mixed = _mm256_mullo_epi32(x, swapped);
    const __m256i low = _mm256_add_epi64(_mm256_mul_epu32(x, f), _mm256_slli_epi64(mixed, 32));
    return _mm256_add_epi64(low, _mm256_and_si256(mixed, above));
}

static inline __m256i gnn_xor_down(__m256i x, int bits)
{
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, bits));
}

static inline __m256i gnn_mix_lanes(__m256i x)
{
    x = gnn_times(gnn_xor_down(x, 30), GNN_FIRST_FACTOR);
    return gnn_xor_down(gnn_times(gnn_xor_down(x, 27), GNN_SECOND_FACTOR), 31);
}

static inline __m256i gnn_load_lanes(const uint64_t* x)
{
    return _mm256_loadu_si256((const __m256i*)x);
}

/* The mixed words of draws c[0] to c[3] of stream k */
static inline __m256i gnn_drawn(uint64_t k, const uint64_t* c)
{
    const __m256i first = _mm256_set1_epi64x((int64_t)(k + GNN_GOLD));
    return gnn_mix_lanes(_mm256_add_epi64(first, gnn_times(gnn_load_lanes(c), GNN_GOLD)));
}

/* (x >> 11) * 2**-53: the lower 52 of the 53 bits behind 1/2, less 1/2 unless the first is set */
static inline __m256d gnn_uniform_lanes(__m256i x)
{
    const __m256d half = _mm256_set1_pd(0.5), zero = _mm256_setzero_pd();
    const __m256i lower = _mm256_srli_epi64(_mm256_slli_epi64(x, 1), 12);
    const __m256d behind = _mm256_or_pd(_mm256_castsi256_pd(lower), half);
    return _mm256_sub_pd(behind, _mm256_blendv_pd(half, zero, _mm256_castsi256_pd(x)));
}

/* The integers of u * n, where n is at most 2**52: a sum with that has them in its lower bits */
static inline __m256i gnn_place_lanes(__m256d u, __m256d n)
{
    const __m256d one = _mm256_set1_pd(0x1p52);
    const __m256d whole = _mm256_floor_pd(_mm256_mul_pd(u, n));
    return _mm256_castpd_si256(_mm256_xor_pd(_mm256_add_pd(whole, one), one));
}

/* Masks of whether the states' draws are kept; `below` is least - 1, so -1 where all are. Numbers
   with signs are compared, and a draw of 53 bits has none. */
static inline __m256i gnn_kept_lanes(__m256i state, __m256i below)
{
    return _mm256_cmpgt_epi64(_mm256_srli_epi64(gnn_mix_lanes(state), 11), below);
}

static inline __m256i gnn_states(uint64_t key, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return _mm256_set_epi64x(
        (int64_t)(key + GNN_GOLD * (d + 1)), (int64_t)(key + GNN_GOLD * (c + 1)),
        (int64_t)(key + GNN_GOLD * (b + 1)), (int64_t)(key + GNN_GOLD * (a + 1)));
}

static inline int64_t gnn_mix_vectors(
    uint64_t plus, const uint64_t* x, int64_t count, uint64_t* out)
{
    const __m256i more = _mm256_set1_epi64x((int64_t)plus);
    int64_t i = 0;
    for (; i + GNN_DRAWS <= count; i += GNN_DRAWS) {
        const __m256i sum = _mm256_add_epi64(gnn_load_lanes(x + i), more);
        _mm256_storeu_si256((__m256i*)(out + i), gnn_mix_lanes(sum));
    }
    return i;
}

static inline int64_t gnn_uniform_vectors(
    uint64_t k, const uint64_t* c, int64_t count, double* out)
{
    int64_t i = 0;
    for (; i + GNN_DRAWS <= count; i += GNN_DRAWS)
        _mm256_storeu_pd(out + i, gnn_uniform_lanes(gnn_drawn(k, c + i)));
    return i;
}

static inline int64_t gnn_below_vectors(
    uint64_t k, const uint64_t* c, int64_t n, int64_t count, int64_t* out)
{
    const __m256d places = _mm256_set1_pd((double)n);
    int64_t i = 0;
    if (n > INT64_C(1) << 52) return 0;
    for (; i + GNN_DRAWS <= count; i += GNN_DRAWS) {
        const __m256d u = gnn_uniform_lanes(gnn_drawn(k, c + i));
        _mm256_storeu_si256((__m256i*)(out + i), gnn_place_lanes(u, places));
    }
    return i;
}

/* Draws 0, 1, 4, 5 and 2, 3, 6, 7 of eight: halves of both masks are eight in order */
static inline int64_t gnn_keep_vectors_f32(
    const float* x, uint64_t key, uint64_t c, int64_t count, uint64_t least, float scale, float* y)
{
    const __m256i below = _mm256_set1_epi64x((int64_t)least - 1);
    const __m256i step = _mm256_set1_epi64x((int64_t)(2 * GNN_DRAWS * GNN_GOLD));
    const __m256 scales = _mm256_set1_ps(scale);
    __m256i even = gnn_states(key, c, c + 1, c + 4, c + 5);
    __m256i odd = gnn_states(key, c + 2, c + 3, c + 6, c + 7);
    int64_t i = 0;
    for (; i + 2 * GNN_DRAWS <= count; i += 2 * GNN_DRAWS) {
        const __m256 first = _mm256_castsi256_ps(gnn_kept_lanes(even, below));
        const __m256 second = _mm256_castsi256_ps(gnn_kept_lanes(odd, below));
        const __m256 mask = _mm256_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0));
        _mm256_storeu_ps(y + i, _mm256_and_ps(mask, _mm256_mul_ps(_mm256_loadu_ps(x + i), scales)));
        even = _mm256_add_epi64(even, step);
        odd = _mm256_add_epi64(odd, step);
    }
    return i;
}

static inline int64_t gnn_keep_vectors_f64(
    const double* x, uint64_t key, uint64_t c, int64_t count, uint64_t least, double scale,
    double* y)
{
    const __m256i below = _mm256_set1_epi64x((int64_t)least - 1);
    const __m256i step = _mm256_set1_epi64x((int64_t)(GNN_DRAWS * GNN_GOLD));
    const __m256d scales = _mm256_set1_pd(scale);
    __m256i states = gnn_states(key, c, c + 1, c + 2, c + 3);
    int64_t i = 0;
    for (; i + GNN_DRAWS <= count; i += GNN_DRAWS) {
        const __m256d mask = _mm256_castsi256_pd(gnn_kept_lanes(states, below));
        _mm256_storeu_pd(y + i, _mm256_and_pd(mask, _mm256_mul_pd(_mm256_loadu_pd(x + i), scales)));
        states = _mm256_add_epi64(states, step);
    }
    return i;
}

#else

/* None are done by hand. */
#define gnn_mix_vectors(plus, x, count, out) 0
#define gnn_uniform_vectors(k, c, count, out) 0
#define gnn_below_vectors(k, c, n, count, out) 0
#define gnn_keep_vectors_f32(x, key, c, count, least, scale, y) 0
#define gnn_keep_vectors_f64(x, key, c, count, least, scale, y) 0

#endif

/* out = the mixed sums of `plus` and each of x */
static inline void gnn_mix_many(uint64_t plus, const uint64_t* x, int64_t count, uint64_t* out)
{
    for (int64_t i = gnn_mix_vectors(plus, x, count, out); i < count; i++)
        out[i] = gnn_mix(plus + x[i]);
}

static inline void gnn_uniform_many(uint64_t k, const uint64_t* c, int64_t count, double* out)
{
    for (int64_t i = gnn_uniform_vectors(k, c, count, out); i < count; i++)
        out[i] = gnn_uniform(k, c[i]);
}

static inline void gnn_below_many(
    uint64_t k, const uint64_t* c, int64_t n, int64_t count, int64_t* out)
{
    for (int64_t i = gnn_below_vectors(k, c, n, count, out); i < count; i++)
        out[i] = gnn_below(k, c[i], n);
}

/* y = scale x where draws c, c + 1, .. of the stream `key` are kept, else 0 */
#define GNN_KEEP(T, SUFFIX)                                                                     \
    static inline void gnn_keep_##SUFFIX(                                                       \
        const T* x, uint64_t key, uint64_t c, int64_t count, uint64_t least, T scale, T* y)     \
    {                                                                                           \
        int64_t i = gnn_keep_vectors_##SUFFIX(x, key, c, count, least, scale, y);               \
        for (; i < count; i++)                                                                  \
            y[i] = gnn_or_zero_##SUFFIX(x[i] * scale, gnn_kept(key, c + (uint64_t)i, least));   \
    }

GNN_KEEP(float, f32)
GNN_KEEP(double, f64)

#endif
