/* An adapter for `minibatch-gnn conformance`, written from docs/kernels alone: the kernels and the
   readers of starters/starter.c, and beyond them the rest of the choosing and the pin-tile sampler.

       cc -std=c99 -O2 -o adapter adapter.c -lm && minibatch-gnn conformance --cmd ./adapter */

#define PART_OF_ANOTHER_PROGRAM
#include "starters/starter.c"

#include <math.h>

/* ---- Arguments ---- */

static double real(const char *value) {
    if (is_text(value, "nan")) return NAN;
    if (is_text(value, "inf")) return INFINITY;
    if (is_text(value, "-inf")) return -INFINITY;
    if (!strchr("-0123456789", *value)) refuse(TYPE);
    return strtod(value, NULL);
}

/* ---- Choosing ---- */

static bool has(const Table *table, int64_t key) { return table->keys[place_of(table, key)] == key; }

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t *floyd(uint64_t k, int64_t n, int64_t f) {
    Table chosen = new_table((size_t)f);
    int64_t *sample = take((size_t)f, sizeof *sample);
    for (int64_t c = 0; c < f; c++) {
        int64_t last = n - f + c, t = below(k, (uint64_t)c, (double)(last + 1));
        sample[c] = has(&chosen, t) ? last : t;
        put(&chosen, sample[c], 0);
    }
    qsort(sample, (size_t)f, sizeof *sample, ascending);
    return sample;
}

static void read_permutation(const char *args) {
    choice.of = choice.count = (int64_t)integer(need(args, "n"), 0, INT32_MAX);
    choice.k = word(need(args, "key"));
    choice.c = 0;
}

static void read_floyd(const char *args) {
    choice.of = (int64_t)integer(need(args, "n"), 0, INT32_MAX);
    choice.count = (int64_t)integer(need(args, "f"), 0, (uint64_t)choice.of);
    choice.k = word(need(args, "key"));
}

static void compute_floyd(void) { choice.chosen = floyd(choice.k, choice.of, choice.count); }

/* ---- The pin-tile sampler ---- */

typedef struct {
    int64_t capacity, cnt, valid, m;
    int64_t *DB, *IA_start, *IA_live, *IA_tile, *node, *start, *end, *slot;
    int64_t probes, rounds, cleanups, moved, truncated;
} Board;

static void pin_entries(Board *b, int64_t first, int64_t last, int64_t tile) {
    for (int64_t k = first; k < last; k++) b->DB[k] = tile;
}

static Board new_board(const int64_t *FS, const int64_t *weight, int64_t capacity, int64_t m,
                       int64_t n) {
    Board b = {.capacity = capacity, .cnt = m, .m = m, .DB = filled(capacity, -1)};
    b.IA_start = filled(n + 1, 0);
    b.IA_live = filled(n + 1, 0);
    b.IA_tile = filled(n + 1, -1);
    b.node = filled(m, 0);
    b.start = filled(m, 0);
    b.end = filled(m, 0);
    b.slot = filled(m, 0);
    for (int64_t i = 0; i < m; i++) {
        b.node[i] = FS[i];
        b.slot[i] = b.IA_tile[i] = i;
        b.IA_live[i] = 1;
        b.start[i] = b.IA_start[i];
        b.end[i] = b.IA_start[i + 1] = b.IA_start[i] + weight[FS[i]];
        pin_entries(&b, b.start[i], b.end[i], i);
    }
    b.valid = b.IA_start[m];
    return b;
}

static int64_t pop(Board *b, uint64_t probe, uint64_t *cp, int64_t lanes, bool whole) {
    int64_t limit = whole ? b->capacity : b->IA_start[b->cnt], tries = 0, idx;
    do {
        idx = below(probe, (*cp)++, (double)limit);
        tries++;
    } while (b->DB[idx] == -1);
    int64_t pin = b->DB[idx];
    pin_entries(b, b->start[pin], b->end[pin], -1);
    b->IA_live[b->slot[pin]] = 0;
    b->valid -= b->end[pin] - b->start[pin];
    b->probes += tries;
    b->rounds += (tries + lanes - 1) / lanes;
    return pin;
}

static void clean_up(Board *b) {
    int64_t j = 0, k = 0;
    pin_entries(b, 0, b->capacity, -1);
    for (int64_t i = 0; i < b->cnt; i++) {
        if (!b->IA_live[i]) continue;
        int64_t t = b->IA_tile[i], length = b->IA_start[i + 1] - b->IA_start[i];
        pin_entries(b, k, k + length, t);
        b->start[t] = b->IA_start[j] = k;
        b->end[t] = k + length;
        b->slot[t] = j;
        b->IA_live[j] = 1;
        b->IA_tile[j] = t;
        k += length;
        j++;
    }
    b->IA_start[j] = k;
    b->cnt = j;
    b->cleanups++;
    b->moved += k;
}

static void grow(Board *b) {
    int64_t *DB = filled(2 * b->capacity, -1);
    memcpy(DB, b->DB, (size_t)b->capacity * sizeof *DB);
    b->DB = DB;
    b->capacity *= 2;
}

static void push(Board *b, int64_t pin, int64_t v_new, int64_t weight, bool truncate) {
    while (!truncate && weight > b->capacity - b->IA_start[b->cnt]) grow(b);
    int64_t first = b->IA_start[b->cnt], room = b->capacity - first;
    int64_t last = first + (weight < room ? weight : room);
    b->truncated += last - first < weight;
    b->node[pin] = v_new;
    b->start[pin] = first;
    b->end[pin] = last;
    b->slot[pin] = b->cnt;
    b->IA_start[b->cnt + 1] = last;
    b->IA_live[b->cnt] = 1;
    b->IA_tile[b->cnt] = pin;
    pin_entries(b, first, last, pin);
    b->cnt++;
    b->valid += last - first;
}

static void write_state(const Board *b, const int64_t *nodes, size_t count) {
    size_t cnt = (size_t)b->cnt, m = (size_t)b->m;
    int64_t *tile = take(cnt, sizeof *tile);
    for (size_t i = 0; i < cnt; i++) tile[i] = b->IA_live[i] ? b->IA_tile[i] : -1;
    putchar('{');
    write_named("DB", b->DB, (size_t)b->capacity), putchar(',');
    write_named("IA_start", b->IA_start, cnt + 1), putchar(',');
    write_named("IA_live", b->IA_live, cnt), putchar(',');
    write_named("IA_tile", tile, cnt), putchar(',');
    write_named("node", b->node, m), putchar(',');
    write_named("start", b->start, m), putchar(',');
    write_named("end", b->end, m), putchar(',');
    write_named("slot", b->slot, m), putchar(',');
    write_named("sample", nodes, count);
    putchar('}');
}

typedef struct {
    Graph graph;
    uint64_t main, probe;
    int64_t m, n, lanes, planned;
    bool pushed, whole, truncate;
} Options;

static Options read_options(const char *args) {
    read_frontier(args);
    Options o = {walk.graph, walk.main, walk.probe, .m = walk.m, .n = walk.n, .pushed = walk.pushed};
    const int64_t nodes = o.graph.n;
    o.lanes = (int64_t)integer(need(args, "lanes"), 1, INT32_MAX);
    o.whole = is_first(need(args, "probe_range"), "capacity", "used");
    o.truncate = is_first(need(args, "overflow"), "truncate", "grow");
    double eta = real(need(args, "eta")), sum = 0;
    if (!isfinite(eta) || eta <= 1) refuse(VALUE);
    for (int64_t v = 0; v < nodes; v++) sum += (double)o.graph.weight[v];
    double planned = eta * (double)o.m * (sum / (double)nodes);
    if (!(planned < 4294967296.0)) refuse(VALUE);
    o.planned = (int64_t)ceil(planned);
    return o;
}

static Options options;

static void read_pin_tile(const char *args) { options = read_options(args); }

/* Draw a sample; if it is to be written, with the state before the first step and after each, unless
   the question is about time: states are longer than all else. */
static void pin_tile(bool is_written) {
    bool with_states = is_written && !rounds;
    const Options o = options;
    const int64_t *weight = o.graph.weight;
    int64_t *FS = pick_without_replacement(o.main, 0, o.graph.n, o.m), needed = 0, steps = 0;
    int64_t *popped = filled(o.n - o.m, 0), *pushed = filled(o.n - o.m, 0);
    int64_t *nodes = filled(o.graph.n, 0);
    char *in = memset(take((size_t)o.graph.n, 1), 0, (size_t)o.graph.n);
    for (int64_t i = 0; i < o.m; i++) needed += weight[FS[i]], in[FS[i]] = 1;
    Board b = new_board(FS, weight, needed > o.planned ? needed : o.planned, o.m, o.n);
    uint64_t cm = (uint64_t)o.m, cp = 0;
    if (with_states) begin("states"), putchar('[');
    if (with_states) write_state(&b, nodes, sampled(in, o.graph.n, nodes));
    while (steps < o.n - o.m && b.valid) {
        int64_t pin = pop(&b, o.probe, &cp, o.lanes, o.whole), v_pop = b.node[pin];
        int64_t which = below(o.main, cm++, (double)degree(&o.graph, v_pop));
        int64_t v_new = o.graph.indices[o.graph.indptr[v_pop] + which];
        if (weight[v_new] > b.capacity - b.IA_start[b.cnt]) clean_up(&b);
        push(&b, pin, v_new, weight[v_new], o.truncate);
        in[o.pushed ? v_new : v_pop] = 1;
        popped[steps] = v_pop;
        pushed[steps++] = v_new;
        if (with_states) putchar(','), write_state(&b, nodes, sampled(in, o.graph.n, nodes));
    }
    size_t count = sampled(in, o.graph.n, nodes);
    if (with_states) printf("],\"result\":");
    else if (is_written) begin("result");
    const int64_t counts[] = {b.probes, b.rounds, b.capacity, b.cleanups, b.moved, b.truncated};
    if (is_written)
        write_sample(&o.graph, nodes, count, popped, pushed, steps, o.m + steps, counts);
}

static void compute_pin_tile(void) { pin_tile(false); }
static void write_pin_tile(void) { pin_tile(true); }

int main(void) {
    static const Kernel kernels[] = {
        STARTED,
        {"permutation", read_permutation, compute_pick, write_choice},
        {"floyd", read_floyd, compute_floyd, write_choice},
        {"pin_tile", read_pin_tile, compute_pin_tile, write_pin_tile},
        {NULL, NULL, NULL, NULL},
    };
    for (const char *line; (line = read_line());) reply(line, "adapter.c", kernels);
    return 0;
}
