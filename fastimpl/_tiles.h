/* Dense products of float32 factors that are rounded to bfloat16 on the way, on AMX's tiles.

   A tile is 1 KB in a register of its own. It holds 16 x 16 sums in float32, or 16 rows of 32
   numbers of A in bfloat16, or as many of B: 16 rows, each with two rows of B whose numbers
   alternate. The right factor is packed into such tiles once. A thread packs 32 rows of the left
   factor at a time, and multiplies them with all of the right one. What a factor lacks to whole
   tiles is 0. */

#ifndef GNN_TILES_H
#define GNN_TILES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { GNN_TILE = 512 }; /* numbers of bfloat16 in a tile */
enum { GNN_DEPTH = 8 };  /* tiles of A^T, along its rows, that are packed at a time */

/* A packed right factor, all of it or some of its rows: pairs of tiles, side by side, go by
   columns first. */
typedef struct {
    const uint16_t* tiles;
    ptrdiff_t depth; /* tiles from one pair of columns to the next */
} gnn_packed;

/* Up to two results that are side by side as far as the right factor goes. */
typedef struct {
    float* C;
    ptrdiff_t step, cols;
} gnn_result;

static inline ptrdiff_t gnn_up(ptrdiff_t x, ptrdiff_t unit) { return (x + unit - 1) / unit; }

#if defined(__linux__) && defined(__x86_64__) && defined(__clang__)
#define GNN_HAS_TILES (__clang_major__ >= 16)
#elif defined(__linux__) && defined(__x86_64__) && defined(__GNUC__)
#define GNN_HAS_TILES (__GNUC__ >= 11)
#else
#define GNN_HAS_TILES 0
#endif

#if GNN_HAS_TILES

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GNN_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512bf16")))

/* Everything is in memory now: the intrinsics do not tell the compiler what memory they read. */
#define GNN_WRITTEN(memory) __asm__ volatile("" : : "r"(memory) : "memory")

/* Whether this processor has all that is used here; the system is asked to let this process. */
static int gnn_has_tiles(void)
{
    unsigned a, b, c, d;
    const unsigned f = 1u << 16, bw = 1u << 30, vl = 1u << 31, amx = 1u << 22 | 1u << 24;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if ((b & (f | bw | vl)) != (f | bw | vl) || (d & amx) != amx) return 0;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & 1u << 5)) return 0; /* AVX512_BF16 */
    return syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* tiles */) == 0;
}

GNN_AMX static inline void gnn_begin_tiles(void)
{
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape;
    memset(&shape, 0, sizeof shape);
    shape.palette = 1;
    for (int i = 0; i < 8; i++) shape.bytes[i] = 64, shape.rows[i] = 16;
    GNN_WRITTEN(&shape);
    _tile_loadconfig(&shape);
}

static inline uint32_t gnn_first(ptrdiff_t count) /* a bit for each of up to 16 */
{
    return count >= 16 ? 0xffffu : count <= 0 ? 0 : (1u << count) - 1;
}

/* 16 rows of 32 numbers, as they are. */
GNN_AMX static inline void gnn_straight(
    const float* x, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t cols, __m512i* tile)
{
    const __mmask16 low = (__mmask16)gnn_first(cols), high = (__mmask16)gnn_first(cols - 16);
    for (int i = 0; i < 16; i++) {
        if (i < rows) {
            const __m512 first = _mm512_maskz_loadu_ps(low, x + i * step);
            const __m512 second = _mm512_maskz_loadu_ps(high, x + i * step + (high ? 16 : 0));
            tile[i] = (__m512i)_mm512_cvtne2ps_pbh(second, first);
        } else {
            tile[i] = _mm512_setzero_si512();
        }
    }
}

/* 32 rows of 16 numbers, two rows in one. */
GNN_AMX static inline void gnn_paired(
    const float* x, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t cols, __m512i* tile)
{
    const __mmask16 mask = (__mmask16)gnn_first(cols);
    for (int i = 0; i < 16; i++) {
        __m512 even = _mm512_setzero_ps(), odd = even;
        if (2 * i < rows) even = _mm512_maskz_loadu_ps(mask, x + 2 * i * step);
        if (2 * i + 1 < rows) odd = _mm512_maskz_loadu_ps(mask, x + (2 * i + 1) * step);
        tile[i] = _mm512_or_si512(
            _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even)),
            _mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd)), 16));
    }
}

/* 16 x 16 words, transposed. */
GNN_AMX static inline void gnn_turned(__m512i* t)
{
    __m512i u[16];
    for (int i = 0; i < 16; i += 4) {
        const __m512i a = _mm512_unpacklo_epi32(t[i], t[i + 1]);
        const __m512i b = _mm512_unpackhi_epi32(t[i], t[i + 1]);
        const __m512i c = _mm512_unpacklo_epi32(t[i + 2], t[i + 3]);
        const __m512i d = _mm512_unpackhi_epi32(t[i + 2], t[i + 3]);
        u[i] = _mm512_unpacklo_epi64(a, c), u[i + 1] = _mm512_unpackhi_epi64(a, c);
        u[i + 2] = _mm512_unpacklo_epi64(b, d), u[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    for (int i = 0; i < 4; i++) {
        const __m512i a = _mm512_shuffle_i32x4(u[i], u[i + 4], 0x88);
        const __m512i b = _mm512_shuffle_i32x4(u[i], u[i + 4], 0xdd);
        const __m512i c = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0x88);
        const __m512i d = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0xdd);
        t[i] = _mm512_shuffle_i32x4(a, c, 0x88), t[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
        t[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88), t[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

/* Pack 32 rows of op(B), from `row` on, at their places among all of its tiles. `inner` and `cols`
   are the sides of op(B), and `tiles` begins where those of its first columns do. */
GNN_AMX static void gnn_pack_right(
    int transpose, ptrdiff_t inner, ptrdiff_t cols, const float* B, ptrdiff_t step, ptrdiff_t row,
    uint16_t* tiles)
{
    const ptrdiff_t depth = gnn_up(inner, 32), rows = inner - row;
    __m512i tile[16];
    for (ptrdiff_t j = 0; j < 2 * gnn_up(cols, 32); j++) {
        const ptrdiff_t left = cols - 16 * j;
        if (left <= 0) {
            for (int i = 0; i < 16; i++) tile[i] = _mm512_setzero_si512();
        } else if (transpose) {
            gnn_straight(B + 16 * j * step + row, step, left, rows, tile);
            gnn_turned(tile);
        } else {
            gnn_paired(B + row * step + 16 * j, step, rows, left, tile);
        }
        memcpy(tiles + (j / 2 * depth * 2 + row / 32 * 2 + j % 2) * GNN_TILE, tile, sizeof tile);
    }
}

#define GNN_OUT(NUMBER, I, J)                                                                   \
    do {                                                                                        \
        const ptrdiff_t r = rows - 16 * (I), c = out->cols - j - 16 * (J);                      \
        float* to = out->C + (i + 16 * (I)) * out->step + j + 16 * (J);                         \
        if (r >= 16 && c >= 16) {                                                               \
            _tile_stored(NUMBER, to, out->step * 4);                                            \
        } else if (r > 0 && c > 0) {                                                            \
            _tile_stored(NUMBER, edge, 64);                                                     \
            for (ptrdiff_t k = 0; k < (r < 16 ? r : 16); k++)                                   \
                memcpy(to + k * out->step, edge + 16 * k, (size_t)(c < 16 ? c : 16) * 4);       \
        }                                                                                       \
    } while (0)

#define GNN_IN(NUMBER, I, J)                                                                    \
    do {                                                                                        \
        const ptrdiff_t r = rows - 16 * (I), c = out->cols - j - 16 * (J);                      \
        const float* from = out->C + (i + 16 * (I)) * out->step + j + 16 * (J);                 \
        if (r >= 16 && c >= 16) {                                                               \
            _tile_loadd(NUMBER, from, out->step * 4);                                           \
        } else {                                                                                \
            memset(edge, 0, sizeof edge);                                                       \
            for (ptrdiff_t k = 0; c > 0 && k < (r < 16 ? r : 16); k++)                          \
                memcpy(edge + 16 * k, from + k * out->step, (size_t)(c < 16 ? c : 16) * 4);     \
            GNN_WRITTEN(edge);                                                                  \
            _tile_loadd(NUMBER, edge, 64);                                                      \
        }                                                                                       \
    } while (0)

/* 32 packed rows of A times all of B, at row i of the results; `rows` of the 32 are there. */
GNN_AMX static inline void gnn_tile_rows(
    const uint16_t* a, ptrdiff_t depth, ptrdiff_t a_depth, gnn_packed B, int add, ptrdiff_t i,
    ptrdiff_t rows, const gnn_result* results, int count)
{
    float edge[256];
    const uint16_t* panel = B.tiles;
    GNN_WRITTEN(a);
    for (const gnn_result* out = results; out < results + count; out++) {
        for (ptrdiff_t j = 0; j < out->cols; j += 32, panel += 2 * B.depth * GNN_TILE) {
            if (add) {
                GNN_IN(0, 0, 0);
                GNN_IN(1, 0, 1);
                GNN_IN(2, 1, 0);
                GNN_IN(3, 1, 1);
            } else {
                _tile_zero(0);
                _tile_zero(1);
                _tile_zero(2);
                _tile_zero(3);
            }
            for (ptrdiff_t k = 0; k < depth; k++) {
                _tile_loadd(4, a + k * GNN_TILE, 64);
                _tile_loadd(6, panel + 2 * k * GNN_TILE, 64);
                _tile_loadd(7, panel + (2 * k + 1) * GNN_TILE, 64);
                _tile_loadd(5, a + (a_depth + k) * GNN_TILE, 64);
                _tile_dpbf16ps(0, 4, 6);
                _tile_dpbf16ps(1, 4, 7);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
            GNN_OUT(0, 0, 0);
            GNN_OUT(1, 0, 1);
            GNN_OUT(2, 1, 0);
            GNN_OUT(3, 1, 1);
        }
    }
}

/* The results = op(A) B, or added to what is in them; `room` has `gnn_tile_room` numbers. */
GNN_AMX static void gnn_tile_product(
    int transpose, ptrdiff_t rows, ptrdiff_t inner, const float* A, ptrdiff_t step, gnn_packed B,
    int add, const gnn_result* results, int count, uint16_t* room)
{
    const ptrdiff_t depth = gnn_up(inner, 32), most = transpose ? GNN_DEPTH : depth;
    __m512i tile[16];
    gnn_begin_tiles();
    for (ptrdiff_t first = 0; first < depth; first += most) {
        const ptrdiff_t here = depth - first < most ? depth - first : most;
        const gnn_packed part = {B.tiles + 2 * first * GNN_TILE, B.depth};
        for (ptrdiff_t k = 0; transpose && k < here; k++) {
            const ptrdiff_t row = 32 * (first + k);
            for (ptrdiff_t i = 0; i < 2 * gnn_up(rows, 32); i++) {
                gnn_paired(
                    A + row * step + (16 * i < rows ? 16 * i : 0), step, inner - row,
                    rows - 16 * i, tile);
                gnn_turned(tile);
                memcpy(room + (i * most + k) * GNN_TILE, tile, sizeof tile);
            }
        }
        for (ptrdiff_t i = 0; i < rows; i += 32) {
            uint16_t* a = transpose ? room + i / 16 * most * GNN_TILE : room;
            for (ptrdiff_t k = 0; !transpose && k < 2 * here; k++) {
                const ptrdiff_t row = i + k / here * 16, col = k % here * 32;
                gnn_straight(
                    A + (row < rows ? row * step : 0) + col, step, rows - row, inner - col, tile);
                memcpy(a + k * GNN_TILE, tile, sizeof tile);
            }
            gnn_tile_rows(a, here, most, part, add || first, i, rows - i, results, count);
        }
    }
    _tile_release();
}

#else

static int gnn_has_tiles(void) { return 0; }
static void gnn_pack_right(
    int transpose, ptrdiff_t inner, ptrdiff_t cols, const float* B, ptrdiff_t step, ptrdiff_t row,
    uint16_t* tiles)
{
}
static void gnn_tile_product(
    int transpose, ptrdiff_t rows, ptrdiff_t inner, const float* A, ptrdiff_t step, gnn_packed B,
    int add, const gnn_result* results, int count, uint16_t* room)
{
}

#endif

/* How many numbers the tiles of a right factor, or of a part of a left one, take. */
static inline ptrdiff_t gnn_tile_size(ptrdiff_t inner, ptrdiff_t cols)
{
    return gnn_up(inner, 32) * gnn_up(cols, 32) * 2 * GNN_TILE;
}

static inline ptrdiff_t gnn_tile_room(int transpose, ptrdiff_t rows, ptrdiff_t inner)
{
    return transpose ? gnn_tile_size(32 * GNN_DEPTH, rows) : gnn_tile_size(inner, 32);
}

#endif
