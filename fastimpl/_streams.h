/* The keyed generator of refimpl/streams.py. */
#ifndef GNN_STREAMS_H
#define GNN_STREAMS_H

#include <stdint.h>

#define GNN_GOLD UINT64_C(0x9E3779B97F4A7C15)
#define GNN_FIRST_FACTOR UINT64_C(0xBF58476D1CE4E5B9)
#define GNN_SECOND_FACTOR UINT64_C(0x94D049BB133111EB)

static inline uint64_t gnn_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * GNN_FIRST_FACTOR;
    x = (x ^ (x >> 27)) * GNN_SECOND_FACTOR;
    return x ^ (x >> 31);
}

static inline double gnn_uniform(uint64_t k, uint64_t c) {
    return (double)(gnn_mix(k + GNN_GOLD * (c + 1)) >> 11) * 0x1p-53;
}

/* Which of n places a draw falls on. */
static inline int64_t gnn_place(double u, int64_t n) {
    return (int64_t)(u * (double)n);
}

/* Draw number c of stream k, in [0, n). */
static inline int64_t gnn_below(uint64_t k, uint64_t c, int64_t n) {
    return gnn_place(gnn_uniform(k, c), n);
}

#if defined(__GNUC__)
#define gnn_lowest_bit(x) __builtin_ctzll(x)
#else
static inline int gnn_lowest_bit(uint64_t x) {
    int i = 0;
    while (!(x & 1)) { x >>= 1; i++; }
    return i;
}
#endif

#endif
