/* Probes of a dashboard in lanes (IPDPS'19 and JPDC'21 Algorithm 4, lines 3 to 10).

   Lane j of a round makes the draw j places behind the last one that was used, so the lowest lane
   that hits is the first probe that hits: the number of lanes changes no sample. What lanes behind
   it drew is kept for the next pop. Draws are made ahead, for they do not depend on what is hit;
   what they will read is fetched meanwhile. Samplers that probe nothing take such draws as well: a
   branch that is guessed wrong is found out sooner.

   Draws are those of _streams.h to the bit: each step is exact, or rounds once, as it does there. */
#ifndef GNN_PROBES_H
#define GNN_PROBES_H

#include <stdint.h>
#include <string.h>
#include "fastimpl/_prefetch.h"
#include "fastimpl/_streams.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { GNN_GATHERED = 8, GNN_MOST_LANES = 2 * GNN_GATHERED, GNN_AHEAD = 32 };

/* A stream of probes. Those of `ahead` from `at` to `end` are drawn and not used. */
typedef struct {
    uint64_t key;
    uint64_t drawn;
    int at;
    int end;
    double ahead[GNN_MOST_LANES + GNN_AHEAD];
} gnn_probes;

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

/* u[i] = draw number c + i of stream `key`, for 8 of them. */
static inline void gnn_draw_lanes(uint64_t key, uint64_t c, double *u)
{
    const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    __m512i x = _mm512_add_epi64(
        _mm512_set1_epi64((int64_t)(key + GNN_GOLD * (c + 1))),
        _mm512_mullo_epi64(lane, _mm512_set1_epi64((int64_t)GNN_GOLD)));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 30));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((int64_t)GNN_FIRST_FACTOR));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 27));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((int64_t)GNN_SECOND_FACTOR));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
    x = _mm512_srli_epi64(x, 11);
    _mm512_storeu_pd(u, _mm512_mul_pd(_mm512_cvtepu64_pd(x), _mm512_set1_pd(0x1p-53)));
}

/* Bit j: of the first `lanes` of 8, at least 1, lane j hits where draw u[j] falls. */
static inline unsigned gnn_hits(
    const int32_t *entries, const double *u, int64_t limit, int lanes)
{
    const __mmask8 asked = (__mmask8)((1u << lanes) - 1);
    const __m512i at = _mm512_cvttpd_epi64(
        _mm512_mul_pd(_mm512_loadu_pd(u), _mm512_set1_pd((double)limit)));
    const __m256i found = _mm512_mask_i64gather_epi32(
        _mm256_set1_epi32(-1), asked, at, entries, sizeof *entries);
    return _mm256_cmpge_epi32_mask(found, _mm256_setzero_si256());
}

#elif defined(__AVX2__)

/* The low 64 bits of the products of 4 numbers with one. */
static inline __m256i gnn_times(__m256i x, uint64_t factor)
{
    const __m256i f = _mm256_set1_epi64x((int64_t)factor);
    const __m256i f_high = _mm256_set1_epi64x((int64_t)(factor >> 32));
    const __m256i cross = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64(x, 32), f), _mm256_mul_epu32(x, f_high));
    return _mm256_add_epi64(_mm256_mul_epu32(x, f), _mm256_slli_epi64(cross, 32));
}

/* 4 numbers below 2**53 as doubles: a half is the last bits of 2**84 + it, the other of 2**52. */
static inline __m256d gnn_doubles(__m256i x)
{
    const __m256d large = _mm256_set1_pd(0x1p84), small = _mm256_set1_pd(0x1p52);
    const __m256i high = _mm256_or_si256(_mm256_srli_epi64(x, 32), _mm256_castpd_si256(large));
    const __m256i low = _mm256_blend_epi32(x, _mm256_castpd_si256(small), 0xAA);
    return _mm256_add_pd(
        _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1p84 + 0x1p52)),
        _mm256_castsi256_pd(low));
}

/* u[i] = draw number c + i of stream `key`, for 4 of them. */
static inline void gnn_draw_half(uint64_t key, uint64_t c, double *u)
{
    const __m256i steps = _mm256_set_epi64x(
        (int64_t)(3 * GNN_GOLD), (int64_t)(2 * GNN_GOLD), (int64_t)GNN_GOLD, 0);
    __m256i x = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(key + GNN_GOLD * (c + 1))), steps);
    x = gnn_times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), GNN_FIRST_FACTOR);
    x = gnn_times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), GNN_SECOND_FACTOR);
    x = _mm256_srli_epi64(_mm256_xor_si256(x, _mm256_srli_epi64(x, 31)), 11);
    _mm256_storeu_pd(u, _mm256_mul_pd(gnn_doubles(x), _mm256_set1_pd(0x1p-53)));
}

static inline void gnn_draw_lanes(uint64_t key, uint64_t c, double *u)
{
    gnn_draw_half(key, c, u);
    gnn_draw_half(key, c + 4, u + 4);
}

/* Bit j: of the first `lanes` of 4, lane j misses where draw u[j] falls. */
static inline unsigned gnn_misses_of_half(
    const int32_t *entries, const double *u, int64_t limit, int lanes)
{
    const __m256d whole = _mm256_set1_pd(0x1p52);
    const __m128i lane = _mm_set_epi32(3, 2, 1, 0);
    const __m128i asked = _mm_cmpgt_epi32(_mm_set1_epi32(lanes), lane);
    const __m256d x = _mm256_round_pd(
        _mm256_mul_pd(_mm256_loadu_pd(u), _mm256_set1_pd((double)limit)),
        _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    /* whole numbers below 2**52 are the last bits of 2**52 + them */
    const __m256i at = _mm256_castpd_si256(_mm256_xor_pd(_mm256_add_pd(x, whole), whole));
    const __m128i found = _mm256_mask_i64gather_epi32(
        _mm_set1_epi32(-1), entries, at, asked, sizeof *entries);
    return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(found));
}

static inline unsigned gnn_hits(
    const int32_t *entries, const double *u, int64_t limit, int lanes)
{
    unsigned misses = gnn_misses_of_half(entries, u, limit, lanes);
    misses |= gnn_misses_of_half(entries, u + 4, limit, lanes - 4) << 4;
    return misses ^ 0xFF;
}

#else

/* u[i] = draw number c + i of stream `key`, for 8 of them. */
static inline void gnn_draw_lanes(uint64_t key, uint64_t c, double *u)
{
    for (int i = 0; i < GNN_GATHERED; i++) u[i] = gnn_uniform(key, c + (uint64_t)i);
}

/* Bit j: of the first `lanes` of 8, at least 1, lane j hits where draw u[j] falls. */
static inline unsigned gnn_hits(
    const int32_t *entries, const double *u, int64_t limit, int lanes)
{
    unsigned hits = 0;
    for (int j = 0; j < lanes; j++) {
        hits |= (unsigned)(entries[gnn_place(u[j], limit)] >= 0) << j;
    }
    return hits;
}

#endif

/* Entries are written in whole chunks, past the last one that is meant: a processor guesses wrong
   where short runs end. A dashboard has room for GNN_CHUNK - 1 more. */
enum { GNN_CHUNK = 16 };

/* Width 0 is the baseline that the papers compare their lanes with: no vectors. Draws are made one
   by one when they are probed, and entries are written one by one: this stops the compiler from
   making vectors of a loop. */
#if defined(__GNUC__)
#define gnn_no_vectors() __asm__ volatile("" ::: "memory")
#else
#define gnn_no_vectors() ((void)0)
#endif

/* entries[0..length) = value, and what is left of the chunk is nobody's. */
static inline void gnn_occupy(int32_t *entries, int64_t length, int32_t value, int width)
{
    if (width == 0) {
        for (int64_t k = 0; k < length; k++) {
            entries[k] = value;
            gnn_no_vectors();
        }
        return;
    }
    for (int64_t k = 0; k < length; k += GNN_CHUNK)
        for (int j = 0; j < GNN_CHUNK; j++) entries[k + j] = j < length - k ? value : -1;
}

/* entries[0..length) are nobody's; what is left of the chunk stays as it is. */
static inline void gnn_vacate(int32_t *entries, int64_t length, int width)
{
    if (width == 0) {
        gnn_occupy(entries, length, -1, width);
        return;
    }
    for (int64_t k = 0; k < length; k += GNN_CHUNK)
        for (int j = 0; j < GNN_CHUNK; j++) entries[k + j] |= -(j < length - k);
}

static inline void gnn_start_probes(gnn_probes *probes, uint64_t key)
{
    probes->key = key;
    probes->drawn = 0;
    probes->at = probes->end = 0;
    memset(probes->ahead, 0, sizeof probes->ahead);
}

/* Draw ahead, behind what is left, which is less than a round; return the first that is new. */
static inline const double *gnn_draw_ahead(gnn_probes *probes)
{
    const int left = probes->end - probes->at;
    double *u = probes->ahead;
    memmove(u, u + probes->at, (size_t)left * sizeof *u);
    u += left;
    for (int i = 0; i < GNN_AHEAD; i += GNN_GATHERED)
        gnn_draw_lanes(probes->key, probes->drawn + (uint64_t)i, u + i);
    probes->drawn += GNN_AHEAD;
    probes->at = 0;
    probes->end = left + GNN_AHEAD;
    return u;
}

/* The next draw as one of n places. */
static inline int64_t gnn_next_below(gnn_probes *probes, int64_t n)
{
    if (probes->at == probes->end) gnn_draw_ahead(probes);
    return gnn_place(probes->ahead[probes->at++], n);
}

/* Probe below `limit`, `width` places at once, until an entry is not negative: there must be one.
   Return where it is, and the number of probes in `tries`. All of a stream have the same width, 16
   at most; see above for 0. */
static inline int64_t gnn_first_hit(
    gnn_probes *probes, const int32_t *entries, int64_t limit, int width, int64_t *tries)
{
    const int first = width < GNN_GATHERED ? width : GNN_GATHERED;
    *tries = 0;
    if (width <= 1) {
        int64_t place;
        do {
            if (width) place = gnn_next_below(probes, limit);
            else place = gnn_place(gnn_uniform(probes->key, probes->drawn++), limit);
            ++*tries;
        } while (entries[place] < 0);
        return place;
    }
    for (;;) {
        const double *u;
        unsigned hits;
        if (probes->end - probes->at < width) {
            u = gnn_draw_ahead(probes);
            for (int i = 0; i < GNN_AHEAD; i++) gnn_prefetch(entries + gnn_place(u[i], limit));
        }
        u = probes->ahead + probes->at;
        hits = gnn_hits(entries, u, limit, first);
        if (width > first)
            hits |= gnn_hits(entries, u + first, limit, width - first) << first;
        if (hits) {
            const int lane = gnn_lowest_bit(hits);
            probes->at += lane + 1;
            *tries += lane + 1;
            return gnn_place(u[lane], limit);
        }
        probes->at += width;
        *tries += width;
    }
}

#endif
