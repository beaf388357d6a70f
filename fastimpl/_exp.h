/* exp of float32 numbers, in double precision: the algorithm and the numbers of glibc's expf, by
   Szabolcs Nagy, and so its bits. Unlike a call, the loop is done in vectors.

   exp(x) = 2^(k/32) 2^(r/32), where k is whole and |r| <= 1/2; a table has 2^(i/32), less the bits
   that k adds to its exponent, and a polynomial is near 2^(r/32). */

#ifndef GNN_EXP_H
#define GNN_EXP_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fastimpl/_clones.h"

static uint64_t gnn_exp_table[32];

static void gnn_exp_begin(void)
{
    for (uint64_t i = 0; i < 32; i++) {
        const double power = exp2((double)i / 32);
        memcpy(gnn_exp_table + i, &power, 8);
        gnn_exp_table[i] -= i << 47;
    }
}

/* y = exp(x - top); no x is above `top`. */
GNN_CLONES static void gnn_exp_f32(
    const float* restrict x, float top, float* restrict y, ptrdiff_t n)
{
    const double shift = 0x1.8p52;
    for (ptrdiff_t i = 0; i < n; i++) {
        const float below = x[i] - top;
        const double z = 0x1.71547652b82fep0 * 32 * below, rounded = z + shift;
        const double r = z - (rounded - shift), square = r * r;
        uint64_t k, bits;
        double power;
        memcpy(&k, &rounded, 8);
        bits = gnn_exp_table[k % 32] + (k << 47);
        memcpy(&power, &bits, 8);
        y[i] = (float)(((0x1.c6af84b912394p-5 / 32768 * r + 0x1.ebfce50fac4f3p-3 / 1024) * square
                        + (0x1.62e42ff0c52d6p-1 / 32 * r + 1))
                       * power);
    }
    for (ptrdiff_t i = 0; i < n; i++) /* apart: the loop above has no branch */
        if (x[i] - top < -150) y[i] = 0;
}

#endif
