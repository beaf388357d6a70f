/* An adapter for `minibatch-gnn conformance`, written from docs/conformance.md alone.

   The streams and the pin-tile sampler in C99, and a small reader of JSON.

       cc -std=c99 -O2 -o adapter adapter.c -lm && minibatch-gnn conformance --cmd ./adapter

   An argument that is refused ends the question with a jump (`refuse`). All memory is freed after
   each question. */

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory, and what goes wrong ---- */

typedef struct Chunk {
    struct Chunk *next;
    double align; /* so that what follows is aligned for anything we keep */
} Chunk;

static Chunk *chunks;
static jmp_buf refused;

enum { TYPE = 1, VALUE, FAULT };

static void refuse(int why) { longjmp(refused, why); }

static void *take(size_t count, size_t size) {
    if (size && count > (SIZE_MAX - sizeof(Chunk)) / size) refuse(FAULT);
    Chunk *chunk = malloc(sizeof(Chunk) + count * size);
    if (!chunk) refuse(FAULT);
    chunk->next = chunks;
    chunks = chunk;
    return chunk + 1;
}

static void free_all(void) {
    while (chunks) {
        Chunk *next = chunks->next;
        free(chunks);
        chunks = next;
    }
}

/* ---- JSON ---- */

typedef enum { NOTHING, TRUTH, NUMBER, STRING, LIST, OBJECT } Kind;

typedef struct Value {
    Kind kind;
    char *text; /* of a number, as it stands; of a string; "true" or "false" */
    size_t count;
    struct Value *items; /* of a list, or the values of an object */
    char **names;        /* of an object */
} Value;

static const char *at; /* what is not read yet */

static void skip_space(void) {
    while (isspace((unsigned char)*at)) at++;
}

static char next_is(const char *allowed) {
    skip_space();
    if (!*at || !strchr(allowed, *at)) refuse(FAULT);
    return *at++;
}

static char *read_string(void) {
    next_is("\"");
    char *text = take(strlen(at) + 1, 1), *end = text;
    while (*at != '"') {
        if (!*at) refuse(FAULT);
        if (*at == '\\') {
            const char *known = "n\nt\tr\rb\bf\f";
            const char *found = at[1] ? strchr(known, at[1]) : NULL;
            at++;
            if (!*at || *at == 'u') refuse(FAULT); /* no name or word of the format has one */
            *end++ = found && isalpha((unsigned char)*found) ? found[1] : *at;
            at++;
        } else {
            *end++ = *at++;
        }
    }
    at++;
    *end = 0;
    return text;
}

static char *copy_of(const char *begin, size_t length) {
    char *text = take(length + 1, 1);
    memcpy(text, begin, length);
    text[length] = 0;
    return text;
}

static Value read_value(void);

static void append(Value *whole, char *name, Value part) {
    size_t n = whole->count++;
    if (!(n & (n - 1))) { /* 0, or a power of two: full */
        size_t room = n ? 2 * n : 1;
        Value *items = take(room, sizeof *items);
        char **names = take(room, sizeof *names);
        if (n) memcpy(items, whole->items, n * sizeof *items);
        if (n) memcpy(names, whole->names, n * sizeof *names);
        whole->items = items;
        whole->names = names;
    }
    whole->items[n] = part;
    whole->names[n] = name;
}

static Value read_members(Kind kind, char close) {
    Value whole = {kind, NULL, 0, NULL, NULL};
    const char more[] = {',', close, 0};
    at++;
    skip_space();
    if (*at == close) {
        at++;
        return whole;
    }
    do {
        char *name = NULL;
        if (kind == OBJECT) {
            skip_space();
            name = read_string();
            next_is(":");
        }
        append(&whole, name, read_value());
    } while (next_is(more) == ',');
    return whole;
}

static Value read_value(void) {
    skip_space();
    if (*at == '{') return read_members(OBJECT, '}');
    if (*at == '[') return read_members(LIST, ']');
    Value value = {NOTHING, NULL, 0, NULL, NULL};
    if (*at == '"') {
        value.kind = STRING;
        value.text = read_string();
        return value;
    }
    size_t length = strcspn(at, ",]} \t\r\n");
    value.text = copy_of(at, length);
    at += length;
    if (!strcmp(value.text, "true") || !strcmp(value.text, "false")) {
        value.kind = TRUTH;
    } else if (strcmp(value.text, "null")) {
        value.kind = NUMBER;
        if (!*value.text || strspn(value.text, "+-.0123456789eE") != length) refuse(FAULT);
    }
    return value;
}

static const Value *find(const Value *object, const char *name) {
    for (size_t i = 0; object->kind == OBJECT && i < object->count; i++)
        if (!strcmp(object->names[i], name)) return &object->items[i];
    return NULL;
}

static const Value *need(const Value *object, const char *name) {
    const Value *value = find(object, name);
    if (!value) refuse(FAULT);
    return value;
}

/* ---- Arguments ---- */

/* Return an integer in [low, high]; a decimal string is one, a number with a point is not. */
static uint64_t integer(const Value *value, uint64_t low, uint64_t high) {
    if (value->kind != NUMBER && value->kind != STRING) refuse(TYPE);
    const char *digits = value->text + (*value->text == '-');
    if (!*digits || strspn(digits, "0123456789") != strlen(digits)) refuse(TYPE);
    uint64_t whole = 0;
    for (const char *d = digits; *d; d++) {
        unsigned digit = (unsigned)(*d - '0');
        if (whole > (UINT64_MAX - digit) / 10) refuse(VALUE);
        whole = 10 * whole + digit;
    }
    if ((*value->text == '-' && whole) || whole < low || whole > high) refuse(VALUE);
    return whole;
}

static uint64_t word(const Value *value) { return integer(value, 0, UINT64_MAX); }

static double real(const Value *value) {
    const char *text = value->text;
    bool named = value->kind == STRING
                 && (!strcmp(text, "nan") || !strcmp(text, "inf") || !strcmp(text, "-inf"));
    if (value->kind != NUMBER && !named) refuse(TYPE);
    return strtod(text, NULL);
}

/* Say whether a string is the first of two words; refuse it if it is neither. */
static bool is_first(const Value *value, const char *first, const char *second) {
    if (value->kind != STRING) refuse(VALUE);
    if (strcmp(value->text, first) && strcmp(value->text, second)) refuse(VALUE);
    return !strcmp(value->text, first);
}

/* ---- Streams ---- */

static const uint64_t GOLD = 0x9E3779B97F4A7C15u;

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static double uniform(uint64_t k, uint64_t c) {
    return ldexp((double)(mix(k + GOLD * (c + 1)) >> 11), -53);
}

static int64_t below(uint64_t k, uint64_t c, double n) { return (int64_t)(uniform(k, c) * n); }

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

static void write_word(uint64_t x) { printf("\"%" PRIu64 "\"", x); }

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

/* Write the answer to a question whose draws are for one counter, or for an array of them. */
static void write_draws(const Value *counters, const char *dtype, uint64_t k, double n,
                        void (*write)(uint64_t k, uint64_t c, double n)) {
    const Value *data = find(counters, "data");
    if (!data) {
        uint64_t c = word(counters);
        printf("{\"result\":");
        write(k, c, n);
        printf("}\n");
        return;
    }
    const Value *shape = need(counters, "shape"), *given = need(counters, "dtype");
    if (given->kind != STRING || strcmp(given->text, "uint64")) refuse(TYPE);
    for (size_t i = 0; i < data->count; i++) word(&data->items[i]);
    printf("{\"result\":{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (size_t i = 0; i < shape->count; i++) printf("%s%s", i ? "," : "", shape->items[i].text);
    printf("],\"data\":[");
    for (size_t i = 0; i < data->count; i++) {
        if (i) putchar(',');
        write(k, word(&data->items[i]), n);
    }
    printf("]}}\n");
}

static void write_mix(uint64_t k, uint64_t c, double n) {
    (void)k, (void)n;
    write_word(mix(c));
}

static void write_uniform(uint64_t k, uint64_t c, double n) {
    (void)n;
    printf("%.17g", uniform(k, c));
}

static void write_below(uint64_t k, uint64_t c, double n) { printf("%" PRId64, below(k, c, n)); }

static void write_result(const int64_t *list, int64_t count) {
    printf("{\"result\":");
    write_ids(list, (size_t)count);
    printf("}\n");
}

/* ---- The pin-tile sampler ---- */

typedef struct {
    int64_t n, *indptr, *indices, *weight;
} Graph;

static int64_t degree(const Graph *graph, int64_t v) {
    return graph->indptr[v + 1] - graph->indptr[v];
}

static int64_t *read_ids(const Value *list) {
    int64_t *ids = take(list->count + 1, sizeof *ids);
    for (size_t i = 0; i < list->count; i++) ids[i] = (int64_t)integer(&list->items[i], 0, INT64_MAX);
    return ids;
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

static Graph read_graph(const Value *value) {
    const Value *inside = find(value, "graph");
    if (!inside) refuse(TYPE);
    const Value *indptr = need(inside, "indptr"), *indices = need(inside, "indices");
    if (indptr->kind != LIST) indptr = need(indptr, "data"); /* a long one is an array */
    if (indices->kind != LIST) indices = need(indices, "data");
    Graph graph = {(int64_t)indptr->count - 1, read_ids(indptr), read_ids(indices), NULL};
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

static Options read_options(const Value *args) {
    Options o = {.graph = read_graph(need(args, "graph"))};
    const Value *cap = need(args, "deg_cap");
    const int64_t most = INT32_MAX, nodes = o.graph.n;
    o.main = word(need(args, "main"));
    o.probe = word(need(args, "probe"));
    o.m = (int64_t)integer(need(args, "m"), 1, (uint64_t)nodes);
    o.n = (int64_t)integer(need(args, "n"), (uint64_t)o.m, (uint64_t)most);
    o.lanes = (int64_t)integer(need(args, "lanes"), 1, (uint64_t)most);
    int64_t deg_cap = cap->kind == NOTHING ? INT64_MAX : (int64_t)integer(cap, 1, (uint64_t)most);
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
    printf("],\"result\":{\"fields\":{\"nodes\":");
    write_ids(nodes, count);
    printf(",\"popped\":");
    write_ids(popped, (size_t)steps);
    printf(",\"pushed\":");
    write_ids(pushed, (size_t)steps);
    printf(",\"counters\":{\"fields\":{");
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        printf("%s\"%s\":%" PRId64, i ? "," : "", names[i], counters[i]);
    printf("}}}}}\n");
}

static void pin_tile(const Value *args) {
    Options o = read_options(args);
    const int64_t *weight = o.graph.weight;
    int64_t *FS = pick_without_replacement(o.main, 0, o.graph.n, o.m), needed = 0, steps = 0;
    int64_t *popped = filled(o.n - o.m, 0), *pushed = filled(o.n - o.m, 0);
    int64_t *nodes = filled(o.graph.n, 0);
    char *in = memset(take((size_t)o.graph.n, 1), 0, (size_t)o.graph.n);
    for (int64_t i = 0; i < o.m; i++) needed += weight[FS[i]], in[FS[i]] = 1;
    Board b = new_board(FS, weight, needed > o.planned ? needed : o.planned, o.m, o.n);
    uint64_t cm = (uint64_t)o.m, cp = 0;
    printf("{\"states\":[");
    write_state(&b, nodes, sampled(in, o.graph.n, nodes));
    while (steps < o.n - o.m && b.valid) {
        int64_t pin = pop(&b, o.probe, &cp, o.lanes, o.whole), v_pop = b.node[pin];
        int64_t which = below(o.main, cm++, (double)degree(&o.graph, v_pop));
        int64_t v_new = o.graph.indices[o.graph.indptr[v_pop] + which];
        if (weight[v_new] > b.capacity - b.IA_start[b.cnt]) clean_up(&b);
        push(&b, pin, v_new, weight[v_new], o.truncate);
        in[o.pushed ? v_new : v_pop] = 1;
        popped[steps] = v_pop;
        pushed[steps++] = v_new;
        putchar(',');
        write_state(&b, nodes, sampled(in, o.graph.n, nodes));
    }
    write_sample(&o, &b, nodes, sampled(in, o.graph.n, nodes), popped, pushed, steps);
}

/* ---- Questions ---- */

static void answer(const Value *question) {
    const uint64_t ids = INT32_MAX;
    if (find(question, "hello")) {
        printf("{\"name\":\"adapter.c\",\"version\":\"1\"}\n");
        return;
    }
    const char *call = need(question, "call")->text;
    const Value *args = need(question, "args");
    if (!call) refuse(FAULT);
    if (!strcmp(call, "mix")) {
        write_draws(need(args, "x"), "uint64", 0, 0, write_mix);
    } else if (!strcmp(call, "key")) {
        const Value *parts = need(args, "parts");
        uint64_t a = 0;
        for (size_t i = 0; i < parts->count; i++) a = mix(a + GOLD + word(&parts->items[i]));
        printf("{\"result\":\"%" PRIu64 "\"}\n", a);
    } else if (!strcmp(call, "uniform")) {
        write_draws(need(args, "c"), "float64", word(need(args, "k")), 0, write_uniform);
    } else if (!strcmp(call, "below")) {
        uint64_t n = integer(need(args, "n"), 1, ((uint64_t)1 << 53) - 1);
        write_draws(need(args, "c"), "int64", word(need(args, "k")), (double)n, write_below);
    } else if (!strcmp(call, "pick_without_replacement")) {
        int64_t N = (int64_t)integer(need(args, "N"), 0, ids);
        int64_t m = (int64_t)integer(need(args, "m"), 0, (uint64_t)N);
        uint64_t k = word(need(args, "k")), c = word(need(args, "c"));
        write_result(pick_without_replacement(k, c, N, m), m);
    } else if (!strcmp(call, "permutation")) {
        int64_t n = (int64_t)integer(need(args, "n"), 0, ids);
        write_result(pick_without_replacement(word(need(args, "key")), 0, n, n), n);
    } else if (!strcmp(call, "floyd")) {
        int64_t n = (int64_t)integer(need(args, "n"), 0, ids);
        int64_t f = (int64_t)integer(need(args, "f"), 0, (uint64_t)n);
        write_result(floyd(word(need(args, "key")), n, f), f);
    } else if (!strcmp(call, "pin_tile")) {
        pin_tile(args);
    } else {
        printf("{\"skip\":\"not implemented\"}\n");
    }
}

/* Return the next line without its end, in memory that the next call uses again, or NULL. */
static char *read_line(void) {
    static char *line;
    static size_t room;
    size_t length = 0;
    int c;
    while ((c = getchar()) != EOF && c != '\n') {
        if (length + 1 >= room) {
            room = room ? 2 * room : 4096;
            line = realloc(line, room);
            if (!line) exit(1);
        }
        line[length++] = (char)c;
    }
    if (c == EOF && !length) return NULL;
    if (!line) return "";
    line[length] = 0;
    return line;
}

static void reply(const char *line) {
    switch (setjmp(refused)) {
    case 0: {
        at = line;
        Value question = read_value();
        answer(&question);
        break;
    }
    case TYPE:
        printf("{\"error\":\"type\"}\n");
        break;
    case VALUE:
        printf("{\"error\":\"value\"}\n");
        break;
    default:
        printf("{\"fault\":\"no such question, or no memory\"}\n");
    }
    free_all();
    fflush(stdout);
}

int main(void) {
    const char *line;
    while ((line = read_line())) reply(line);
    return 0;
}
