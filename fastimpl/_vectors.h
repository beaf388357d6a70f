/* How many bytes the processor's vectors have, of those that the compiler may use. */

#ifndef GNN_VECTORS_H
#define GNN_VECTORS_H

#if defined(__AVX512F__)
#define GNN_VECTOR 64
#elif defined(__AVX__)
#define GNN_VECTOR 32
#else
#define GNN_VECTOR 16
#endif

#endif
