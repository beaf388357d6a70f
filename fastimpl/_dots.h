/* Inner products in vectors, summed in an order that depends on the length alone. */

#ifndef GNN_DOTS_H
#define GNN_DOTS_H

#include <stddef.h>

#include "fastimpl/_vectors.h"

#if defined(__GNUC__)

/* Four groups of 64 bytes are summed, each in as many of the processor's vectors as it fills:
   longer ones, which a compiler has to cut itself, it keeps in memory. */
#define GNN_DOT(T, SUFFIX)                                                                      \
    typedef T gnn_dot_v_##SUFFIX                                                                \
        __attribute__((vector_size(GNN_VECTOR), aligned(sizeof(T)), may_alias));                \
    static inline T gnn_dot_##SUFFIX(const T* x, const T* y, ptrdiff_t f)                       \
    {                                                                                           \
        typedef gnn_dot_v_##SUFFIX V;                                                           \
        enum { PARTS = 64 / GNN_VECTOR, LANES = 64 / sizeof(T), EACH = LANES / PARTS };         \
        V totals[4 * PARTS], all[PARTS];                                                        \
        ptrdiff_t k = 0;                                                                        \
        for (int q = 0; q < 4 * PARTS; q++) totals[q] = (V){0};                                 \
        for (; k + 4 * LANES <= f; k += 4 * LANES)                                              \
            for (int q = 0; q < 4 * PARTS; q++)                                                 \
                totals[q] += ((const V*)(x + k))[q] * ((const V*)(y + k))[q];                   \
        for (; k + LANES <= f; k += LANES)                                                      \
            for (int q = 0; q < PARTS; q++)                                                     \
                totals[q] += ((const V*)(x + k))[q] * ((const V*)(y + k))[q];                   \
        for (int q = 0; q < PARTS; q++)                                                         \
            all[q] = (totals[q] + totals[PARTS + q])                                            \
                + (totals[2 * PARTS + q] + totals[3 * PARTS + q]);                              \
        T total = 0;                                                                            \
        for (int q = 0; q < LANES; q++) total += all[q / EACH][q % EACH];                       \
        for (; k < f; k++) total += x[k] * y[k];                                                \
        return total;                                                                           \
    }

#else

#define GNN_DOT(T, SUFFIX)                                                                      \
    static inline T gnn_dot_##SUFFIX(const T* x, const T* y, ptrdiff_t f)                       \
    {                                                                                           \
        T total = 0;                                                                            \
        for (ptrdiff_t k = 0; k < f; k++) total += x[k] * y[k];                                 \
        return total;                                                                           \
    }

#endif

GNN_DOT(float, f32)
GNN_DOT(double, f64)

#endif
