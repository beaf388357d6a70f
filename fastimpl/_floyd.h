/* Floyd's choice of a few numbers (refimpl/streams.py): the inner loop of neighbour sampling.

   A draw is compared with all picks so far: how many are smaller, which is its place, and whether
   it is there already; the places of those that are larger move up. Empty lanes hold a number that
   no pick reaches. */
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__GNUC__)
/* As wide as the processor's: the compiler cuts wider ones into single lanes. */
#if defined(__AVX512F__)
enum { GNN_LANES = 16 };
#elif defined(__AVX2__)
enum { GNN_LANES = 8 };
#else
enum { GNN_LANES = 4 };
#endif
typedef int32_t gnn_lanes __attribute__((vector_size(4 * GNN_LANES)));

/* The number of lanes that are -1; the others are 0. */
static inline int gnn_set_lanes(gnn_lanes lanes)
{
#if defined(__AVX512DQ__)
    return __builtin_popcount(_mm512_movepi32_mask((__m512i)lanes));
#elif defined(__AVX2__) && !defined(__AVX512F__)
    return __builtin_popcount((unsigned)_mm256_movemask_ps((__m256)lanes));
#elif defined(__SSE2__) && !defined(__AVX512F__)
    return __builtin_popcount((unsigned)_mm_movemask_ps((__m128)lanes));
#else
    int count = 0, i;
    for (i = 0; i < GNN_LANES; i++) count -= lanes[i];
    return count;
#endif
}

/* Picks and places stay in vectors, whose number the compiler knows from `words`: what is written
   to memory lane by lane and read as a vector has to wait. */
static inline void gnn_picks(
    const int32_t *drawn, int64_t n, int64_t f, const int words, int32_t *chosen, int32_t *place)
{
    const int vectors = words * (16 / GNN_LANES);
    const gnn_lanes zero = {0};
    gnn_lanes picks[64 / GNN_LANES], places[64 / GNN_LANES], lane;
    int w, i;
    int64_t c;
    for (i = 0; i < GNN_LANES; i++) lane[i] = i;
    for (w = 0; w < vectors; w++) picks[w] = zero + INT32_MAX, places[w] = zero;
    for (c = 0; c < f; c++) {
        gnn_lanes x = zero + drawn[c], same = zero;
        int32_t rank = 0;
        for (w = 0; w < vectors; w++) {
            rank += gnn_set_lanes(picks[w] < x);
            same |= picks[w] == x;
        }
        if (gnn_set_lanes(same)) {  /* the last is the largest so far */
            x = zero + (int32_t)(n - f + c);
            rank = (int32_t)c;
        }
        for (w = 0; w < vectors; w++) {
            gnn_lanes here = lane + GNN_LANES * w == zero + (int32_t)c;
            places[w] = ((places[w] - (picks[w] > x)) & ~here) | ((zero + rank) & here);
            picks[w] = (picks[w] & ~here) | (x & here);
        }
    }
    memcpy(chosen, picks, (size_t)vectors * sizeof *picks);
    memcpy(place, places, (size_t)vectors * sizeof *places);
}
#else
static inline void gnn_picks(
    const int32_t *drawn, int64_t n, int64_t f, const int words, int32_t *chosen, int32_t *place)
{
    const int lanes = 16 * words;
    int i;
    int64_t c;
    for (i = 0; i < lanes; i++) chosen[i] = INT32_MAX, place[i] = 0;
    for (c = 0; c < f; c++) {
        int32_t x = drawn[c], smaller = 0, same = 0;
        for (i = 0; i < lanes; i++) smaller += chosen[i] < x, same |= chosen[i] == x;
        if (same) x = (int32_t)(n - f + c), smaller = (int32_t)c;
        for (i = 0; i < lanes; i++) place[i] += chosen[i] > x;
        chosen[c] = x;
        place[c] = smaller;
    }
}
#endif
