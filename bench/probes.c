/* What the memory of this machine can do at most; bench_limits.py calls and times these. */

#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
int threads(void) { return omp_get_max_threads(); }
#else
int threads(void) { return 1; }
#endif

/* a = b + r c for r = 0, .., repeats - 1. A thread keeps its part: no barrier between repeats. */
void triad(double *a, const double *b, const double *c, int64_t n, int64_t repeats)
{
#pragma omp parallel
    for (int64_t r = 0; r < repeats; r++) {
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++)
            a[i] = b[i] + (double)r * c[i];
    }
}

/* The sum of table[at[i]]: reads that do not wait for each other, at places nobody can guess. */
int64_t gather(const int32_t *table, const int32_t *at, int64_t n)
{
    int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += table[at[i]];
    return sum;
}
