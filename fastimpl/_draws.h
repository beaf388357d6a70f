/* Many draws of the keyed generator at once, in plain loops of which compilers make vectors.

   AVX2 cannot turn 64-bit integers into doubles and back. Sums with powers of two, which round
   nothing, do that on any processor. */

#ifndef GNN_DRAWS_H
#define GNN_DRAWS_H

#include <stdint.h>
#include <string.h>
#include "fastimpl/_clones.h"
#include "fastimpl/_streams.h"

static inline double gnn_double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t gnn_bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* (x >> 11) * 2**-53: the lower 52 of the 53 bits behind 1/2, less 1/2 unless the first is set */
static inline double gnn_uniform_of(uint64_t x)
{
    const uint64_t half = UINT64_C(0x3FE0000000000000);
    const uint64_t less = half & ((x >> 63) - 1);
    return gnn_double_of((x << 1 >> 12) | half) - gnn_double_of(less);
}

/* The integer part of u * n, where n is at most 2**52: a sum with 2**52 is rounded to an integer,
   which is in its lower bits, and is one too many where it was rounded up. */
static inline int64_t gnn_place_of(double u, double n)
{
    const double places = u * n, rounded = places + 0x1p52;
    const uint64_t up = rounded - 0x1p52 > places;
    return (int64_t)(gnn_bits_of(rounded) - gnn_bits_of(0x1p52) - up);
}

/* Whether draw c is kept: 53 bits of it are at least `least`, itself of 0 to 2**53. */
static inline int gnn_kept(uint64_t key, uint64_t c, uint64_t least)
{
    return (gnn_mix(key + GNN_GOLD * (c + 1)) >> 11) >= least;
}

/* out = the mixed sums of `plus` and each of x */
GNN_CLONES static void gnn_mix_many(
    uint64_t plus, const uint64_t* restrict x, int64_t count, uint64_t* restrict out)
{
    for (int64_t i = 0; i < count; i++) out[i] = gnn_mix(plus + x[i]);
}

GNN_CLONES static void gnn_uniform_many(
    uint64_t k, const uint64_t* restrict c, int64_t count, double* restrict out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = gnn_uniform_of(gnn_mix(k + GNN_GOLD * (c[i] + 1)));
}

GNN_CLONES static void gnn_below_many(
    uint64_t k, const uint64_t* restrict c, int64_t n, int64_t count, int64_t* restrict out)
{
    const double places = (double)n;
    if (n > INT64_C(1) << 52)
        for (int64_t i = 0; i < count; i++) out[i] = gnn_below(k, c[i], n);
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = gnn_place_of(gnn_uniform_of(gnn_mix(k + GNN_GOLD * (c[i] + 1))), places);
}

/* y = scale x where draws c, c + 1, .. of the stream `key` are kept, otherwise 0: by its bits, since
   a branch would be wrong every other time */
#define GNN_KEEP(T, WORD, SUFFIX)                                                               \
    GNN_CLONES static void gnn_keep_##SUFFIX(                                                   \
        const T* restrict x, uint64_t key, uint64_t c, int64_t count, uint64_t least, T scale,  \
        T* restrict y)                                                                          \
    {                                                                                           \
        uint64_t state = key + GNN_GOLD * c;                                                    \
        for (int64_t i = 0; i < count; i++) {                                                   \
            state += GNN_GOLD; /* key + GNN_GOLD * (c + i + 1), without the product */          \
            const uint64_t drawn = gnn_mix(state) >> 11;                                        \
            const T scaled = x[i] * scale;                                                      \
            WORD bits;                                                                          \
            memcpy(&bits, &scaled, sizeof bits);                                                \
            bits &= (WORD)((drawn - least) >> 63) - 1; /* all ones unless drawn < least */      \
            memcpy(y + i, &bits, sizeof bits);                                                  \
        }                                                                                       \
    }

GNN_KEEP(float, uint32_t, f32)
GNN_KEEP(double, uint64_t, f64)

#endif
