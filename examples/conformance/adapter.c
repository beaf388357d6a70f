/* An adapter for `minibatch-gnn conformance`, written from docs/kernels alone: the streams and the
   reader of JSON of starters/starter.c, and beyond them the choosing and the pin-tile sampler.

       cc -std=c99 -O2 -o adapter adapter.c -lm && minibatch-gnn conformance --cmd ./adapter */

#define PART_OF_ANOTHER_PROGRAM
#include "starters/starter.c"

#include <math.h>
#include <stdbool.h>

/* ---- Arguments ---- */

static double real(const char *value) {
    if (is_text(value, "nan")) return NAN;
    if (is_text(value, "inf")) return INFINITY;
    if (is_text(value, "-inf")) return -INFINITY;
    if (!strchr("-0123456789", *value)) refuse(TYPE);
    return strtod(value, NULL);
}

/* Say whether a text is the first of two words; refuse it if it is neither. */
static bool is_first(const char *value, const char *first_word, const char *second_word) {
    if (!is_text(value, first_word) && !is_text(value, second_word)) refuse(VALUE);
    return is_text(value, first_word);
}

/* Return a list of integers, or an array of them, and how many they are. */
static int64_t *read_ids(const char *list, int64_t *count) {
    if (*list == '{') list = need(list, "data"); /* a long one is an array */
    *count = 0;
    for (const char *at = first(list); at; at = following(at)) ++*count;
    int64_t *ids = take((size_t)*count + 1, sizeof *ids), i = 0;
    for (const char *at = first(list); at; at = following(at))
        ids[i++] = (int64_t)integer(at, 0, INT64_MAX);
    return ids;
}

/* ---- Choosing ---- */

/* A table from integers to integers with open addressing, for at most `most` of them. */
typedef struct {
    size_t mask;
    int64_t *keys, *values;
} Table;

static Table new_table(size_t most) {
    Table table = {1, NULL, NULL};
    while (table.mask < 2 * most) table.mask = 2 * table.mask + 1;
    table.keys = take(table.mask + 1, sizeof(int64_t));
    table.values = take(table.mask + 1, sizeof(int64_t));
    for (size_t i = 0; i <= table.mask; i++) table.keys[i] = -1;
    return table;
}

static size_t place_of(const Table *table, int64_t key) {
    size_t i = (size_t)mix((uint64_t)key) & table->mask;
    while (table->keys[i] != key && table->keys[i] != -1) i = (i + 1) & table->mask;
    return i;
}

static int64_t get(const Table *table, int64_t key) {
    size_t i = place_of(table, key);
    return table->keys[i] == key ? table->values[i] : key;
}

static bool has(const Table *table, int64_t key) { return table->keys[place_of(table, key)] == key; }

static void put(Table *table, int64_t key, int64_t value) {
    size_t i = place_of(table, key);
    table->keys[i] = key;
    table->values[i] = value;
}

static int64_t *pick_without_replacement(uint64_t k, uint64_t c, int64_t N, int64_t m) {
    Table deck = new_table((size_t)m); /* the cards that are not in their own place */
    int64_t *picked = take((size_t)m, sizeof *picked);
    for (int64_t i = 0; i < m; i++) {
        int64_t j = i + below(k, c + (uint64_t)i, (double)(N - i));
        picked[i] = get(&deck, j);
        put(&deck, j, get(&deck, i));
    }
    return picked;
}

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

/* ---- Answers ---- */

static void write_list(const int64_t *list, size_t count) {
    putchar('[');
    for (size_t i = 0; i < count; i++) printf("%s%" PRId64, i ? "," : "", list[i]);
    putchar(']');
}

static void write_named(const char *name, const int64_t *list, size_t count) {
    printf("\"%s\":", name);
    write_list(list, count);
}

static void write_ids(const int64_t *list, size_t count) {
    printf("{\"dtype\":\"int32\",\"shape\":[%zu],\"data\":", count);
    write_list(list, count);
    putchar('}');
}

/* What the kernels of this part are given, and what they choose. */
static struct {
    uint64_t k, c;
    int64_t of, count, *chosen;
} choice;

static void write_choice(void) {
    begin("result");
    write_ids(choice.chosen, (size_t)choice.count);
}

static void read_pick(const char *args) {
    choice.of = (int64_t)integer(need(args, "N"), 0, INT32_MAX);
    choice.count = (int64_t)integer(need(args, "m"), 0, (uint64_t)choice.of);
    choice.k = word(need(args, "k"));
    choice.c = word(need(args, "c"));
}

static void read_permutation(const char *args) {
    choice.of = choice.count = (int64_t)integer(need(args, "n"), 0, INT32_MAX);
    choice.k = word(need(args, "key"));
    choice.c = 0;
}

static void compute_pick(void) {
    choice.chosen = pick_without_replacement(choice.k, choice.c, choice.of, choice.count);
}

static void read_floyd(const char *args) {
    choice.of = (int64_t)integer(need(args, "n"), 0, INT32_MAX);
    choice.count = (int64_t)integer(need(args, "f"), 0, (uint64_t)choice.of);
    choice.k = word(need(args, "key"));
}

static void compute_floyd(void) { choice.chosen = floyd(choice.k, choice.of, choice.count); }

/* ---- The pin-tile sampler ---- */

typedef struct {
    int64_t n, *indptr, *indices, *weight;
} Graph;

static int64_t degree(const Graph *graph, int64_t v) {
    return graph->indptr[v + 1] - graph->indptr[v];
}

static bool has_edge(const Graph *graph, int64_t u, int64_t v) {
    int64_t low = graph->indptr[u], high = graph->indptr[u + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (graph->indices[middle] < v) low = middle + 1;
        else high = middle;
    }
    return low < graph->indptr[u + 1] && graph->indices[low] == v;
}

static Graph read_graph(const char *value) {
    const char *inside = *value == '{' ? find(value, "graph") : NULL;
    if (!inside) refuse(TYPE);
    Graph graph;
    int64_t entries;
    graph.indptr = read_ids(need(inside, "indptr"), &graph.n);
    graph.indices = read_ids(need(inside, "indices"), &entries);
    graph.weight = NULL;
    graph.n--;
    for (int64_t u = 0; u < graph.n; u++)
        for (int64_t j = graph.indptr[u]; j < graph.indptr[u + 1]; j++)
            if (!has_edge(&graph, graph.indices[j], u)) refuse(VALUE);
    return graph;
}

typedef struct {
    int64_t capacity, cnt, valid, m;
    int64_t *DB, *IA_start, *IA_live, *IA_tile, *node, *start, *end, *slot;
    int64_t probes, rounds, cleanups, moved, truncated;
} Board;

static int64_t *filled(int64_t count, int64_t value) {
    int64_t *list = take((size_t)count, sizeof *list);
    for (int64_t i = 0; i < count; i++) list[i] = value;
    return list;
}

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

/* The set of sampled nodes, as a flag a node; returned as a list in `ids`. */
static size_t sampled(const char *in, int64_t n, int64_t *ids) {
    size_t count = 0;
    for (int64_t v = 0; v < n; v++)
        if (in[v]) ids[count++] = v;
    return count;
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
    Options o = {.graph = read_graph(need(args, "graph"))};
    const char *cap = need(args, "deg_cap");
    const int64_t most = INT32_MAX, nodes = o.graph.n;
    o.main = word(need(args, "main"));
    o.probe = word(need(args, "probe"));
    o.m = (int64_t)integer(need(args, "m"), 1, (uint64_t)nodes);
    o.n = (int64_t)integer(need(args, "n"), (uint64_t)o.m, (uint64_t)most);
    o.lanes = (int64_t)integer(need(args, "lanes"), 1, (uint64_t)most);
    int64_t deg_cap = *cap == 'n' ? INT64_MAX : (int64_t)integer(cap, 1, (uint64_t)most);
    o.pushed = is_first(need(args, "include"), "pushed", "popped");
    o.whole = is_first(need(args, "probe_range"), "capacity", "used");
    o.truncate = is_first(need(args, "overflow"), "truncate", "grow");
    double eta = real(need(args, "eta")), sum = 0;
    if (!isfinite(eta) || eta <= 1) refuse(VALUE);
    o.graph.weight = filled(nodes, 0);
    for (int64_t v = 0; v < nodes; v++) {
        int64_t deg = degree(&o.graph, v);
        sum += (double)(o.graph.weight[v] = deg < deg_cap ? deg : deg_cap);
    }
    double planned = eta * (double)o.m * (sum / (double)nodes);
    if (!(planned < 4294967296.0)) refuse(VALUE);
    o.planned = (int64_t)ceil(planned);
    return o;
}

static void write_sample(const Options *o, const Board *b, const int64_t *nodes, size_t count,
                         const int64_t *popped, const int64_t *pushed, int64_t steps) {
    int64_t popped_sum = 0, pushed_sum = 0;
    for (int64_t i = 0; i < steps; i++) {
        popped_sum += degree(&o->graph, popped[i]);
        pushed_sum += degree(&o->graph, pushed[i]);
    }
    const int64_t counters[] = {steps, b->probes, b->rounds, b->cleanups, b->moved, b->truncated,
                                popped_sum, pushed_sum, b->capacity, o->m + steps};
    const char *names[] = {"pops", "probes", "rounds", "cleanups", "moved", "truncated",
                           "popped_degree_sum", "added_degree_sum", "capacity", "draws"};
    printf("{\"fields\":{\"nodes\":");
    write_ids(nodes, count);
    printf(",\"popped\":");
    write_ids(popped, (size_t)steps);
    printf(",\"pushed\":");
    write_ids(pushed, (size_t)steps);
    printf(",\"counters\":{\"fields\":{");
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        printf("%s\"%s\":%" PRId64, i ? "," : "", names[i], counters[i]);
    printf("}}}}");
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
    if (is_written) write_sample(&o, &b, nodes, count, popped, pushed, steps);
}

static void compute_pin_tile(void) { pin_tile(false); }
static void write_pin_tile(void) { pin_tile(true); }

int main(void) {
    static const Kernel kernels[] = {
        STREAMS,
        {"pick_without_replacement", read_pick, compute_pick, write_choice},
        {"permutation", read_permutation, compute_pick, write_choice},
        {"floyd", read_floyd, compute_floyd, write_choice},
        {"pin_tile", read_pin_tile, compute_pin_tile, write_pin_tile},
        {NULL, NULL, NULL, NULL},
    };
    for (const char *line; (line = read_line());) reply(line, "adapter.c", kernels);
    return 0;
}
