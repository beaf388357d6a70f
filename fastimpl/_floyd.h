/* Floyd's choice of a few numbers: the inner loop of neighbour sampling (refimpl/streams.py, floyd).

   A draw is compared with all picks so far: how many are smaller, which is its place, and whether
   it is there already; the places of those that are larger move up. Empty lanes hold a number that
   no pick reaches. */
#include <stdint.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#define GNN_WIDE_FLOYD 1
#else
#define GNN_WIDE_FLOYD 0
#endif

#if GNN_WIDE_FLOYD
/* Picks and places stay in `words` registers of 16 lanes, which the compiler knows. */
static inline void gnn_picks(
    const int32_t *drawn, int64_t n, int64_t f, const int words, int32_t *chosen, int32_t *place)
{
    __m512i picks[4], places[4];
    int w;
    int64_t c;
    for (w = 0; w < words; w++) {
        picks[w] = _mm512_set1_epi32(INT32_MAX);
        places[w] = _mm512_setzero_si512();
    }
    for (c = 0; c < f; c++) {
        __m512i x = _mm512_set1_epi32(drawn[c]);
        int32_t smaller = 0, same = 0;
        for (w = 0; w < words; w++) same |= _mm512_cmpeq_epi32_mask(picks[w], x);
        if (same) {  /* the last is the largest so far */
            x = _mm512_set1_epi32((int32_t)(n - f + c));
            smaller = (int32_t)c;
        } else {
            for (w = 0; w < words; w++) {
                __mmask16 larger = _mm512_cmpgt_epi32_mask(picks[w], x);
                places[w] = _mm512_mask_add_epi32(
                    places[w], larger, places[w], _mm512_set1_epi32(1));
                smaller += 16 - __builtin_popcount(larger);
            }
        }
        for (w = 0; w < words; w++) {
            __mmask16 lane = (__mmask16)(((uint64_t)1 << c) >> (16 * w));
            picks[w] = _mm512_mask_mov_epi32(picks[w], lane, x);
            places[w] = _mm512_mask_set1_epi32(places[w], lane, smaller);
        }
    }
    for (w = 0; w < words; w++) {
        _mm512_storeu_si512(chosen + 16 * w, picks[w]);
        _mm512_storeu_si512(place + 16 * w, places[w]);
    }
}
#else
/* The same in loops over 16 * `words` lanes, which become a few vector instructions. */
static inline void gnn_picks(
    const int32_t *drawn, int64_t n, int64_t f, const int words, int32_t *chosen, int32_t *place)
{
    const int lanes = 16 * words;
    int i;
    int64_t c;
    for (i = 0; i < lanes; i++) chosen[i] = INT32_MAX, place[i] = 0;
    for (c = 0; c < f; c++) {
        int32_t x = drawn[c], smaller = 0, same = 0;
        for (i = 0; i < lanes; i++) {
            smaller += chosen[i] < x;
            same += chosen[i] == x;
            place[i] += chosen[i] > x;
        }
        if (same) {  /* the last is the largest so far */
            for (i = 0; i < lanes; i++) place[i] -= chosen[i] > x;
            x = (int32_t)(n - f + c);
            smaller = (int32_t)c;
        }
        chosen[c] = x;
        place[c] = smaller;
    }
}
#endif
