/* Inner products in vectors, summed in an order that depends on the length alone. */

#ifndef GNN_DOTS_H
#define GNN_DOTS_H

#include <stddef.h>

#if defined(__GNUC__)

#define GNN_DOT(T, SUFFIX)                                                                      \
    typedef T gnn_dot_v_##SUFFIX                                                                \
        __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));                        \
    static inline T gnn_dot_##SUFFIX(const T* x, const T* y, ptrdiff_t f)                       \
    {                                                                                           \
        typedef gnn_dot_v_##SUFFIX V;                                                           \
        const ptrdiff_t lanes = 64 / sizeof(T);                                                 \
        V totals[4] = {{0}, {0}, {0}, {0}};                                                     \
        ptrdiff_t k = 0;                                                                        \
        for (; k + 4 * lanes <= f; k += 4 * lanes)                                              \
            for (int q = 0; q < 4; q++)                                                         \
                totals[q] += ((const V*)(x + k))[q] * ((const V*)(y + k))[q];                   \
        for (; k + lanes <= f; k += lanes) totals[0] += *(const V*)(x + k) * *(const V*)(y + k); \
        const V all = (totals[0] + totals[1]) + (totals[2] + totals[3]);                        \
        T total = 0;                                                                            \
        for (ptrdiff_t q = 0; q < lanes; q++) total += all[q];                                  \
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
