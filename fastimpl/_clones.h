/* A function that is compiled several times: for any processor, and for those with wider vectors.
   The loader takes the best one for the processor; all give the same bits. setup.py defines
   GNN_CLONED where the compiler and the C library can do so. */

#ifndef GNN_CLONES_H
#define GNN_CLONES_H

#if defined(GNN_CLONED)
#define GNN_CLONES __attribute__((noinline, target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define GNN_CLONES
#endif

#endif
