/* Induction: which entries of rows are in a set of nodes, and the rows that they make.

   The set is a bitmap with ranks: bit v % 32 of word v / 32 says whether v is in the set, and the
   word's rank is the number of members in the words before it. Members ascend, so a member's rank
   is its local id. Only words that hold a member have a valid rank.

   A subgraph is made in passes over all that was found, not row by row: rows are short, and a
   processor guesses wrong where each ends. */
#include <stdint.h>
#include "fastimpl/_interrupts.h"
#include "fastimpl/_prefetch.h"
#if defined(__AVX512F__)
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

static inline int gnn_is_member(const gnn_word *words, uint32_t v) {
    return words[v >> 5].bits >> (v & 31) & 1;
}

static inline int32_t gnn_rank(const gnn_word *words, uint32_t v) {
    gnn_word word = words[v >> 5];
    return word.rank + gnn_popcount(word.bits & (((uint32_t)1 << (v & 31)) - 1));
}

#if GNN_WIDE_SCAN
/* The next entries of a row, 16 or what is left of it, and which of them are members. */
static inline __mmask16 gnn_next_members(
    const int32_t *row, int64_t left, const gnn_word *words, __m512i *entries)
{
    __mmask16 there = left >= 16 ? 0xFFFF : (__mmask16)((1u << left) - 1);
    __m512i v = _mm512_maskz_loadu_epi32(there, row);
    __m512i bits = _mm512_mask_i32gather_epi32(v, there, _mm512_srli_epi32(v, 5), words, 8);
    __m512i bit = _mm512_sllv_epi32(
        _mm512_set1_epi32(1), _mm512_and_epi32(v, _mm512_set1_epi32(31)));
    *entries = v;
    return _mm512_mask_test_epi32_mask(there, bits, bit);
}
#endif

/* Entries that were found: the local ids of their rows, and their columns. Vectors are written
   whole: there must be room for 16 more. */
typedef struct { int32_t *row, *column; int64_t count; } gnn_entries;

/* Append the members among entries[0..length), of the row with local id `row`, to `found`. */
static inline void gnn_find_members(
    const int32_t *entries, int64_t length, const gnn_word *words, int32_t row,
    gnn_entries *found)
{
    int32_t *rows = found->row + found->count, *columns = found->column + found->count;
    int64_t k, more = 0;
#if GNN_WIDE_SCAN
    for (k = 0; k < length; k += 16) {
        __m512i v;
        __mmask16 in = gnn_next_members(entries + k, length - k, words, &v);
        _mm512_storeu_si512(rows + more, _mm512_set1_epi32(row));
        _mm512_storeu_si512(columns + more, _mm512_maskz_compress_epi32(in, v));
        more += gnn_popcount(in);
    }
#else
    for (k = 0; k < length; k++) {
        rows[more] = row;
        columns[more] = entries[k];
        more += gnn_is_member(words, (uint32_t)entries[k]);
    }
#endif
    found->count += more;
}

/* Write the positions of the members among entries[0..length), counted from `position`, to `where`,
   which must have room for 16 more; return their number. */
static inline int64_t gnn_find_positions(
    const int32_t *entries, int64_t length, int64_t position, const gnn_word *words,
    int64_t *where)
{
    int64_t k = 0, found = 0;
#if GNN_WIDE_SCAN
    const __m512i iota = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    for (; k < length; k += 16) {
        __m512i v, p = _mm512_add_epi64(iota, _mm512_set1_epi64(position + k));
        __mmask16 in = gnn_next_members(entries + k, length - k, words, &v);
        _mm512_storeu_si512(where + found, _mm512_maskz_compress_epi64((__mmask8)in, p));
        found += gnn_popcount(in & 255);
        p = _mm512_add_epi64(p, _mm512_set1_epi64(8));
        _mm512_storeu_si512(where + found, _mm512_maskz_compress_epi64((__mmask8)(in >> 8), p));
        found += gnn_popcount(in >> 8);
    }
#else
    for (; k < length; k++) {
        where[found] = position + k;
        found += gnn_is_member(words, (uint32_t)entries[k]);
    }
#endif
    return found;
}

enum { GNN_BLOCK = 4096 }; /* entries between two looks at the watch */

/* Replace columns, ids of the graph, by local ids, and count each in `counts`. */
static inline void gnn_make_local(
    gnn_entries *found, const gnn_word *words, int32_t *restrict counts, gnn_watch *watch)
{
    int32_t *restrict column = found->column;
    const int64_t count = found->count;
    int64_t k;
    for (k = 0; k < count;) {
        const int64_t end = k + GNN_BLOCK < count ? k + GNN_BLOCK : count;
        if (gnn_stopped(watch)) return;
        for (; k < end; k++) {
            column[k] = gnn_rank(words, (uint32_t)column[k]);
            counts[column[k]]++;
        }
    }
}

/* Rows of a symmetric pattern and its transpose (JPDC'21 Algorithm 6), from the entries from the
   diagonal on, ascending: those of row v are first[v]..first[v + 1], and below[v] others stand
   before them. Each pair of entries (v, u) and (u, v) is met once, at the lower of the two, and
   both are written then: half of the paper's scattered writes. When row v's turn comes, its entries
   below the diagonal are there, ascending; after it the row is whole. A self-loop is its own twin.
   A column and the position of its twin lie side by side until all are there: one line of the cache
   a write, not two.
   `next`, `shift` and `entries` are scratch memory, for n numbers and for all entries. Positions
   have 32 bits where that suffices: the tables they are in have to stay in the cache. */
typedef struct { int32_t column, twin; } gnn_narrow_entry;
typedef struct { int64_t column, twin; } gnn_wide_entry;
#define GNN_LAY_OUT(name, integer, entry)                                                        \
    static inline void name(                                                                     \
        const gnn_entries *found, const int64_t *restrict first, const int32_t *restrict below,  \
        int64_t n, integer *restrict next, integer *restrict shift, entry *restrict entries,     \
        int64_t *restrict indptr, int32_t *restrict indices, integer *restrict perm,             \
        gnn_watch *watch)                                                                        \
    {                                                                                            \
        const int32_t *restrict row = found->row, *restrict column = found->column;              \
        const int64_t count = found->count;                                                      \
        int64_t v, k, e = 0;                                                                     \
        for (v = 0; v < n; v++) {                                                                \
            if (gnn_stopped_at(watch, v)) return;                                                \
            indptr[v] = e;                                                                       \
            next[v] = (integer)e;                                                                \
            shift[v] = (integer)(e + below[v] - first[v]);                                       \
            e += below[v] + first[v + 1] - first[v];                                             \
        }                                                                                        \
        indptr[n] = e;                                                                           \
        for (k = 0; k < count;) {                                                                \
            const int64_t end = k + GNN_BLOCK < count ? k + GNN_BLOCK : count;                   \
            if (gnn_stopped(watch)) return;                                                      \
            for (; k < end; k++) {                                                               \
                integer here = (integer)k + shift[row[k]], twin = next[column[k]]++;             \
                entries[here] = (entry){column[k], twin};                                        \
                entries[twin] = (entry){row[k], here};                                           \
            }                                                                                    \
        }                                                                                        \
        for (k = 0; k < e;) {                                                                    \
            const int64_t end = k + GNN_BLOCK < e ? k + GNN_BLOCK : e;                           \
            if (gnn_stopped(watch)) return;                                                      \
            for (; k < end; k++) {                                                               \
                indices[k] = (int32_t)entries[k].column;                                         \
                perm[k] = entries[k].twin;                                                       \
            }                                                                                    \
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
        for (v = 0; v < n; v++) {                                                                \
            if (gnn_stopped_at(watch, v)) return;                                                \
            ptr[v] = (integer)indptr[v];  /* J6:3 */                                             \
        }                                                                                        \
        for (v = 0; v < n; v++) {  /* J6:4 */                                                    \
            if (gnn_stopped_at(watch, v)) return;                                                \
            for (j = ptr[v]; j < indptr[v + 1]; j++) {  /* J6:5 */                               \
                integer twin = ptr[indices[j]]++;  /* J6:6 8 */                                  \
                perm[j] = twin;  /* J6:7 */                                                      \
                perm[twin] = (integer)j;  /* J6:7 */                                             \
            }                                                                                    \
        }                                                                                        \
    }
GNN_TRANSPOSE(gnn_transpose_narrow, int32_t)
GNN_TRANSPOSE(gnn_transpose_wide, int64_t)
