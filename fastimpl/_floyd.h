/* Floyd's choice of a few numbers: the inner loop of neighbour sampling (refimpl/streams.py, floyd).

   A draw is compared with all picks so far: how many are smaller, which is its place, and whether
   it is there already; the places of those that are larger move up. Empty lanes hold a number that
   no pick reaches. */
#include <stdint.h>

#if defined(__GNUC__)
/* Picks and places stay in `words` vectors, a number that the compiler knows: what is written to
   memory lane by lane and read as a vector has to wait. */
typedef int32_t gnn_lanes __attribute__((vector_size(64)));
static inline void gnn_picks(
    const int32_t *drawn, int64_t n, int64_t f, const int words, int32_t *chosen, int32_t *place)
{
    const gnn_lanes zero = {0}, lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    gnn_lanes picks[4], places[4];
    int w, i;
    int64_t c;
    for (w = 0; w < words; w++) picks[w] = zero + INT32_MAX, places[w] = zero;
    for (c = 0; c < f; c++) {
        gnn_lanes x = zero + drawn[c], smaller = zero, same = zero;
        int32_t rank = 0, found = 0;
        for (w = 0; w < words; w++) {
            smaller -= picks[w] < x;
            same |= picks[w] == x;
        }
        for (i = 0; i < 16; i++) rank += smaller[i], found |= same[i];
        if (found) {  /* the last is the largest so far */
            x = zero + (int32_t)(n - f + c);
            rank = (int32_t)c;
        }
        for (w = 0; w < words; w++) {
            gnn_lanes here = lane + 16 * w == zero + (int32_t)c;
            places[w] = ((places[w] - (picks[w] > x)) & ~here) | ((zero + rank) & here);
            picks[w] = (picks[w] & ~here) | (x & here);
        }
    }
    for (w = 0; w < words; w++)
        for (i = 0; i < 16; i++) chosen[16 * w + i] = picks[w][i], place[16 * w + i] = places[w][i];
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
