/* The numbers of Efraimidis and Spirakis (refimpl/samplers/efraimidis_spirakis.py), in plain loops of
   which compilers make vectors: -log(u) / weight, whose smallest are chosen. */

#ifndef GNN_RACE_H
#define GNN_RACE_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include "fastimpl/_clones.h"
#include "fastimpl/_draws.h"

enum { GNN_SERIES = 16 };  /* terms of the logarithm */

/* As `logarithm` of fastimpl/samplers/_labor.pxd, of a normal number in (0, 1]. Exponents become
   floating-point numbers by sums with powers of two, which round nothing. */
static inline double gnn_logarithm(const double* series, double x)
{
    const uint64_t bits = gnn_bits_of(x);
    const double half = gnn_double_of((bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FE0000000000000));
    const uint64_t low = half < 0.7071067811865476;
    const double m = low ? 2 * half : half;
    const double e = gnn_double_of(UINT64_C(0x4330000000000000) + (bits >> 52) - low) - (0x1p52 + 1022);
    const double s = (m - 1) / (m + 1), z = s * s;
    double y = series[GNN_SERIES - 1];
    for (int i = GNN_SERIES - 2; i >= 0; i--) y = y * z + series[i];
    return 2 * s * y + e * 0.6931471805599453;
}

/* Entry j has draw c + j; one without a weight has an infinite number, and none other has. */
GNN_CLONES static void gnn_race(
    uint64_t key, uint64_t c, const double* restrict weights, int64_t count,
    const double* restrict series, double* restrict numbers)
{
    for (int64_t j = 0; j < count; j++) {
        const double u = 1 - gnn_uniform_of(gnn_mix(key + GNN_GOLD * (c + (uint64_t)j + 1)));
        const double number = -gnn_logarithm(series, u) / weights[j];
        const double finite = number < DBL_MAX ? number : DBL_MAX;
        numbers[j] = weights[j] > 0 ? finite : INFINITY;
    }
}

/* How many numbers are below each. */
GNN_CLONES static void gnn_ranks(const double* restrict numbers, int64_t count, int64_t* restrict ranks)
{
    for (int64_t j = 0; j < count; j++) ranks[j] = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++) ranks[j] += numbers[i] < numbers[j];
}

/* The same for integers, which differ. */
GNN_CLONES static void gnn_order(const int64_t* restrict places, int64_t count, int64_t* restrict ranks)
{
    for (int64_t j = 0; j < count; j++) ranks[j] = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++) ranks[j] += places[i] < places[j];
}

/* Draws 2 c and 2 c + 1 for each c below `count`: a place of n, and a share. */
GNN_CLONES static void gnn_places(
    uint64_t key, int64_t count, int64_t n, int64_t* restrict places, double* restrict shares)
{
    const double all = (double)n;
    for (int64_t c = 0; c < count; c++) {
        const uint64_t state = key + GNN_GOLD * (2 * (uint64_t)c + 1);
        places[c] = gnn_place_of(gnn_uniform_of(gnn_mix(state)), all);
        shares[c] = gnn_uniform_of(gnn_mix(state + GNN_GOLD));
    }
}

#endif
