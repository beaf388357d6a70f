/* Which entries of a row are in a set of nodes: the inner loop of induction.

   The set is a bitmap with ranks: bit v % 32 of word v / 32 says whether v is in the set, and the
   word's rank is the number of members in the words before it. Members ascend, so a member's rank
   is its local id. Only words that hold a member have a valid rank. */
#include <stdint.h>
#include "fastimpl/_interrupts.h"
#include "fastimpl/_prefetch.h"
#if defined(__AVX512F__) && defined(__AVX512VPOPCNTDQ__) && defined(__AVX512VL__)
#include <immintrin.h>
#define GNN_WIDE_SCAN 1
#else
#define GNN_WIDE_SCAN 0
#endif

typedef struct { uint32_t bits; int32_t rank; } gnn_word;

static inline int gnn_popcount(uint32_t x) {
#if defined(__GNUC__)
    return __builtin_popcount(x);
#else
    x = x - ((x >> 1) & 0x55555555u);
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    return (int)((((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24);
#endif
}

/* Append the members among row[0..length) to `local` (as local ids) and their positions, counted
   from `position`, to `where`; return their number. Each must have room for `length` + 16 more, or
   be NULL where it is not wanted. */
static inline int64_t gnn_scan_row(
    const int32_t *row, int64_t length, int64_t position, const gnn_word *words,
    int32_t *local, int64_t *where)
{
    int64_t k = 0, found = 0;
#if GNN_WIDE_SCAN
    const __m512i one = _mm512_set1_epi32(1), low5 = _mm512_set1_epi32(31);
    const __m512i iota = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    for (; k + 16 <= length; k += 16) {
        __m512i v = _mm512_loadu_si512(row + k);
        __m512i at = _mm512_srli_epi32(v, 5);
        __m512i bits = _mm512_i32gather_epi32(at, words, 8);
        __m512i bit = _mm512_sllv_epi32(one, _mm512_and_epi32(v, low5));
        __mmask16 in = _mm512_test_epi32_mask(bits, bit);
        if (!in) continue;
        if (local) {
            __m512i before = _mm512_popcnt_epi32(
                _mm512_and_epi32(bits, _mm512_sub_epi32(bit, one)));
            __m512i rank = _mm512_mask_i32gather_epi32(
                v, in, at, (const char *)words + 4, 8);
            _mm512_storeu_si512(
                local + found, _mm512_maskz_compress_epi32(in, _mm512_add_epi32(rank, before)));
        }
        if (where) {
            __m512i p = _mm512_add_epi64(iota, _mm512_set1_epi64(position + k));
            int first = gnn_popcount(in & 255);
            _mm512_storeu_si512(where + found, _mm512_maskz_compress_epi64(in & 255, p));
            _mm512_storeu_si512(
                where + found + first,
                _mm512_maskz_compress_epi64(in >> 8, _mm512_add_epi64(p, _mm512_set1_epi64(8))));
        }
        found += gnn_popcount(in);
    }
#endif
    for (; k < length; k++) {
        uint32_t v = (uint32_t)row[k], bit = (uint32_t)1 << (v & 31);
        gnn_word word = words[v >> 5];
        if (local) local[found] = word.rank + gnn_popcount(word.bits & (bit - 1));
        if (where) where[found] = position + k;
        found += (word.bits & bit) != 0;
    }
    return found;
}

/* Rows of a symmetric pattern and its transpose (JPDC'21 Algorithm 6), from the entries from the
   diagonal on: those of row v are local[first[v]..first[v + 1]), ascending, and below[v] others
   stand before them. Each pair of entries (v, u) and (u, v) is met once, at the lower of the two,
   and both are written then: half of the paper's scattered writes. When row v's turn comes, its
   entries below the diagonal are there, ascending; after it the row is whole. A column and the
   position of its twin lie side by side until all are there: one line of the cache a write, not two.
   `next` and `entries` are scratch memory, for n numbers and for all entries. Positions have 32
   bits where that suffices: the tables they are in have to stay in the cache. */
typedef struct { int32_t column, twin; } gnn_narrow_entry;
typedef struct { int64_t column, twin; } gnn_wide_entry;
#define GNN_LAY_OUT(name, integer, entry)                                                        \
    static inline void name(                                                                     \
        const int64_t *restrict first, const int32_t *restrict local,                            \
        const int32_t *restrict below, int64_t n, integer *restrict next,                        \
        entry *restrict entries, int64_t *restrict indptr, int32_t *restrict indices,            \
        integer *restrict perm, gnn_watch *watch)                                                \
    {                                                                                            \
        int64_t v, k, e = 0;                                                                     \
        integer j;                                                                               \
        for (v = 0; v < n; v++) {                                                                \
            indptr[v] = e;                                                                       \
            next[v] = (integer)e;                                                                \
            e += below[v] + first[v + 1] - first[v];                                             \
        }                                                                                        \
        indptr[n] = e;                                                                           \
        for (v = 0; v < n; v++) {                                                                \
            if (gnn_stopped_at(watch, v)) return;                                                \
            j = next[v];                                                                         \
            for (k = first[v]; k < first[v + 1]; k++, j++) {                                     \
                integer twin = next[local[k]]++;                                                 \
                entries[j] = (entry){local[k], twin};                                            \
                entries[twin] = (entry){(integer)v, j};                                          \
            }                                                                                    \
        }                                                                                        \
        for (k = 0; k < e; k++) {                                                                \
            indices[k] = (int32_t)entries[k].column;                                             \
            perm[k] = entries[k].twin;                                                           \
        }                                                                                        \
    }
GNN_LAY_OUT(gnn_lay_out_narrow, int32_t, gnn_narrow_entry)
GNN_LAY_OUT(gnn_lay_out_wide, int64_t, gnn_wide_entry)

/* JPDC'21 Algorithm 6, for values that are positions: perm[k] is where entry k of the transpose
   stands. Pairs of entries are met once, as above: when row v's turn comes, ptr[v] is behind its
   entries below v. `ptr` is scratch memory for n numbers. */
#define GNN_TRANSPOSE(name, integer)                                                             \
    static inline void name(                                                                     \
        const int64_t *restrict indptr, const int32_t *restrict indices, int64_t n,              \
        integer *restrict ptr, integer *restrict perm, gnn_watch *watch)                         \
    {                                                                                            \
        int64_t v, j;                                                                            \
        for (v = 0; v < n; v++) ptr[v] = (integer)indptr[v];                                     \
        for (v = 0; v < n; v++) {                                                                \
            if (gnn_stopped_at(watch, v)) return;                                                \
            for (j = ptr[v]; j < indptr[v + 1]; j++) {                                           \
                integer twin = ptr[indices[j]]++;                                                \
                perm[j] = twin;                                                                  \
                perm[twin] = (integer)j;                                                         \
            }                                                                                    \
        }                                                                                        \
    }
GNN_TRANSPOSE(gnn_transpose_narrow, int32_t)
GNN_TRANSPOSE(gnn_transpose_wide, int64_t)
