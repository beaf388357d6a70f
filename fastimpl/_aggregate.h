/* Sums of rows, A X, one row of A at a time or one part of the columns at a time.

   The columns of a row are summed in tiles whose accumulators stay in registers while the row's
   entries go by; each product is rounded before it is added, entry after entry, so that every
   way of cutting the columns gives the same bits. The last columns that fill no vector are part
   of one that overlaps its neighbour: it computes the same numbers again. */

#ifndef GNN_AGGREGATE_H
#define GNN_AGGREGATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fastimpl/_vectors.h"

enum { GNN_PART_BYTES = 128 }; /* width of a packed part: two cache lines */

typedef struct {
    const int32_t* indices;
    const void* data;
    const void* bias; /* NULL: none */
    int relu;
} gnn_sum;

#if defined(__GNUC__)

#define GNN_TILE(T, I, V, NAME, COUNT)                                                          \
    static inline void NAME(                                                                    \
        const gnn_sum* sum, int64_t begin, int64_t end, const T* X, ptrdiff_t step,             \
        const T* bias, T* y)                                                                    \
    {                                                                                           \
        const T* data = (const T*)sum->data;                                                    \
        const V zero = {0};                                                                     \
        V total[COUNT];                                                                         \
        for (int q = 0; q < COUNT; q++) total[q] = zero;                                        \
        for (int64_t j = begin; j < end; j++) {                                                 \
            const V a = data[j] - zero;                                                         \
            const V* x = (const V*)(X + sum->indices[j] * step);                                \
            for (int q = 0; q < COUNT; q++) total[q] += a * x[q];                               \
        }                                                                                       \
        for (int q = 0; q < COUNT; q++) {                                                       \
            if (bias) total[q] += ((const V*)bias)[q];                                          \
            if (sum->relu) total[q] = (V)((I)total[q] & ~(I)(total[q] <= zero)); /* NaN stays */ \
            ((V*)y)[q] = total[q];                                                              \
        }                                                                                       \
    }

#define GNN_VECTORS(T, INT, SUFFIX)                                                             \
    typedef T gnn_v_##SUFFIX                                                                    \
        __attribute__((vector_size(GNN_VECTOR), aligned(sizeof(T)), may_alias));                \
    typedef INT gnn_i_##SUFFIX                                                                  \
        __attribute__((vector_size(GNN_VECTOR), aligned(sizeof(T)), may_alias));                \
    GNN_TILE(T, gnn_i_##SUFFIX, gnn_v_##SUFFIX, gnn_tile1_##SUFFIX, 1)                          \
    GNN_TILE(T, gnn_i_##SUFFIX, gnn_v_##SUFFIX, gnn_tile4_##SUFFIX, 4)                          \
    GNN_TILE(T, gnn_i_##SUFFIX, gnn_v_##SUFFIX, gnn_tile8_##SUFFIX, 8)                          \
    GNN_TILE(T, gnn_i_##SUFFIX, gnn_v_##SUFFIX, gnn_part_##SUFFIX, GNN_PART_BYTES / GNN_VECTOR)

GNN_VECTORS(float, int32_t, f32)
GNN_VECTORS(double, int64_t, f64)

#define GNN_WIDE(T, SUFFIX)                                                                     \
    for (; k + 8 * lanes <= f; k += 8 * lanes)                                                  \
        gnn_tile8_##SUFFIX(sum, begin, end, X + k, step, bias ? bias + k : NULL, y + k);        \
    for (; k + 4 * lanes <= f; k += 4 * lanes)                                                  \
        gnn_tile4_##SUFFIX(sum, begin, end, X + k, step, bias ? bias + k : NULL, y + k);        \
    while (f >= lanes && k < f) {                                                               \
        if (k + lanes > f) k = f - lanes;                                                       \
        gnn_tile1_##SUFFIX(sum, begin, end, X + k, step, bias ? bias + k : NULL, y + k);        \
        k += lanes;                                                                             \
    }

#else

#define GNN_WIDE(T, SUFFIX)

#endif

#define GNN_ROWS(T, SUFFIX)                                                                     \
    /* y = one row of A X, all f columns, read where they are. */                               \
    static inline void gnn_row_##SUFFIX(                                                        \
        const gnn_sum* sum, int64_t begin, int64_t end, const T* X, ptrdiff_t step, T* y,       \
        ptrdiff_t f)                                                                            \
    {                                                                                           \
        const T* data = (const T*)sum->data;                                                    \
        const T* bias = (const T*)sum->bias;                                                    \
        const ptrdiff_t lanes = GNN_VECTOR / sizeof(T);                                         \
        ptrdiff_t k = 0;                                                                        \
        (void)lanes;                                                                            \
        GNN_WIDE(T, SUFFIX)                                                                     \
        for (; k < f; k++) {                                                                    \
            T total = 0;                                                                        \
            for (int64_t j = begin; j < end; j++)                                               \
                total += data[j] * X[sum->indices[j] * step + k];                               \
            if (bias) total += bias[k];                                                         \
            y[k] = sum->relu && total <= 0 ? 0 : total;                                         \
        }                                                                                       \
    }                                                                                           \
    /* One part of the columns of all rows, X having been copied to `packed` by gnn_pack. */    \
    static inline void gnn_part_rows_##SUFFIX(                                                  \
        const gnn_sum* sum, const int64_t* start, const int64_t* end, int64_t rows,             \
        const T* packed, ptrdiff_t part, T* Y, ptrdiff_t y_step)                                \
    {                                                                                           \
        const T* bias = sum->bias ? (const T*)sum->bias + part : NULL;                          \
        const ptrdiff_t width = GNN_PART_BYTES / sizeof(T);                                     \
        for (int64_t v = 0; v < rows; v++)                                                      \
            GNN_PART(SUFFIX)(sum, start[v], end[v], packed, width, bias, Y + v * y_step + part); \
    }                                                                                           \
    static inline void gnn_pack_##SUFFIX(                                                       \
        const T* X, ptrdiff_t step, int64_t rows, ptrdiff_t part, T* packed)                    \
    {                                                                                           \
        const ptrdiff_t width = GNN_PART_BYTES / sizeof(T);                                     \
        for (int64_t v = 0; v < rows; v++)                                                      \
            memcpy(packed + v * width, X + v * step + part, GNN_PART_BYTES);                    \
    }

#if defined(__GNUC__)
#define GNN_PART(SUFFIX) gnn_part_##SUFFIX
#else
#define GNN_PLAIN_PART(T, SUFFIX)                                                               \
    static inline void gnn_part_##SUFFIX(                                                       \
        const gnn_sum* sum, int64_t begin, int64_t end, const T* X, ptrdiff_t step,             \
        const T* bias, T* y)                                                                    \
    {                                                                                           \
        const T* data = (const T*)sum->data;                                                    \
        for (ptrdiff_t k = 0; k < step; k++) {                                                  \
            T total = 0;                                                                        \
            for (int64_t j = begin; j < end; j++)                                               \
                total += data[j] * X[sum->indices[j] * step + k];                               \
            if (bias) total += bias[k];                                                         \
            y[k] = sum->relu && total <= 0 ? 0 : total;                                         \
        }                                                                                       \
    }
GNN_PLAIN_PART(float, f32)
GNN_PLAIN_PART(double, f64)
#define GNN_PART(SUFFIX) gnn_part_##SUFFIX
#endif

GNN_ROWS(float, f32)
GNN_ROWS(double, f64)

#endif
