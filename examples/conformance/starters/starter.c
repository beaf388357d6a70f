/* The beginning of a port in C99: answers the streams (mix, key, uniform, below) and one sampler
   (pick_without_replacement, frontier), and skips all other kernels.

       cc -std=c99 -O2 -o starter starter.c && minibatch-gnn conformance --cmd ./starter

   To add a kernel, write three functions, as `read_below`, `compute_below` and `write_integers`: the
   first reads the arguments and refuses what the kernel's page says, the second computes, which
   alone is timed, the third prints the result; then name them in the table of `main`. A JSON value
   is a pointer to where it stands in the line. What is refused ends the question by a jump.
   `frontier` shows how to read a graph and how to return named values and states. */

#define _POSIX_C_SOURCE 199309L /* for clock_gettime */

#include <inttypes.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TYPE = 1, VALUE, FAULT };
static jmp_buf refused;
static void refuse(int why) { longjmp(refused, why); }

/* ---- Memory ---- */

typedef struct Chunk {
    struct Chunk *next;
    double align; /* so that what follows is aligned for anything we keep */
} Chunk;

static Chunk *chunks;

/* Return memory that lasts until the question is answered; in `compute`, until it begins again. */
static void *take(size_t count, size_t size) {
    if (size && count > (SIZE_MAX - sizeof(Chunk)) / size) refuse(FAULT);
    Chunk *chunk = malloc(sizeof(Chunk) + count * size);
    if (!chunk) refuse(FAULT);
    chunk->next = chunks;
    chunks = chunk;
    return chunk + 1;
}

static void free_since(Chunk *kept) {
    while (chunks != kept) {
        Chunk *next = chunks->next;
        free(chunks);
        chunks = next;
    }
}

/* ---- JSON ---- */

static const char *skip_space(const char *at) { return at + strspn(at, " \t\r"); }

/* Return what stands behind a value. Brackets are counted: no nesting is too deep. */
static const char *behind(const char *at) {
    long depth = 0;
    do {
        if (!*at) refuse(FAULT);
        if (*at == '"') {
            while (*++at != '"')
                if (!*at || (*at == '\\' && !*++at)) refuse(FAULT);
            at++;
        } else if (strchr("[{]}", *at)) {
            depth += *at == '[' || *at == '{' ? 1 : -1;
            at++;
        } else {
            at += depth ? 1 : strcspn(at, ",]} \t\r");
        }
    } while (depth > 0);
    return skip_space(at);
}

/* Return what follows `at`, one of the letters `allowed`, in a list or object; NULL at its end. */
static const char *next(const char *at, const char *allowed) {
    if (!*at || !strchr(allowed, *at)) refuse(FAULT);
    if (*at != ']' && *at != '}') at = skip_space(at + 1);
    return *at == ']' || *at == '}' ? NULL : at;
}

static const char *first(const char *list) { return next(list, "["); }
static const char *following(const char *value) { return next(behind(value), ",]}"); }

static int is_text(const char *value, const char *text) {
    size_t length = strlen(text);
    return *value == '"' && !strncmp(value + 1, text, length) && value[length + 1] == '"';
}

/* Return a member of an object, NULL if there is none. */
static const char *find(const char *object, const char *name) {
    for (const char *at = next(object, "{"); at; at = following(at)) {
        int found = is_text(at, name);
        at = behind(at);
        if (*at != ':') refuse(FAULT);
        at = skip_space(at + 1);
        if (found) return at;
    }
    return NULL;
}

static const char *need(const char *object, const char *name) {
    const char *value = find(object, name);
    if (!value) refuse(FAULT);
    return value;
}

/* Return an integer in [low, high]; a decimal string is one, a number with a point is not. */
static uint64_t integer(const char *value, uint64_t low, uint64_t high) {
    const char *digits = value + (*value == '"'), *d = digits + (*digits == '-');
    const char *end = d + strspn(d, "0123456789");
    uint64_t whole = 0;
    if (end == d || !strchr(",]}\" \t\r", *end)) refuse(TYPE);
    for (; d < end; d++) {
        unsigned digit = (unsigned)(*d - '0');
        if (whole > (UINT64_MAX - digit) / 10) refuse(VALUE);
        whole = 10 * whole + digit;
    }
    if ((*digits == '-' && whole) || whole < low || whole > high) refuse(VALUE);
    return whole;
}

static uint64_t word(const char *value) { return integer(value, 0, UINT64_MAX); }

/* ---- Streams ---- */

static const uint64_t GOLD = 0x9E3779B97F4A7C15u;

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static double uniform(uint64_t k, uint64_t c) {
    return (double)(mix(k + GOLD * (c + 1)) >> 11) / 9007199254740992.0; /* 2**53 */
}

static int64_t below(uint64_t k, uint64_t c, double n) { return (int64_t)(uniform(k, c) * n); }

/* ---- Answers ---- */

static const char *id; /* of the question */
static size_t rounds;  /* that are timed; of a question that is not about time none */

/* Begin an answer, of which `name` is the first member: from here on nothing may be refused. */
static void begin(const char *name) {
    putchar('{');
    if (id) printf("\"id\":%.*s,", (int)(behind(id) - id), id);
    printf("\"%s\":", name);
}

/* What a kernel of the streams is given, `count` counters of this `shape` or a single one, and what
   it draws of each. */
static struct {
    uint64_t k, n, *c;
    size_t count;
    const char *shape;
    void *drawn;
} given;

static void read_words(const char *list) {
    given.count = 0;
    for (const char *at = first(list); at; at = following(at)) given.count++;
    given.c = take(given.count, sizeof *given.c);
    uint64_t *c = given.c;
    for (const char *at = first(list); at; at = following(at)) *c++ = word(at);
}

static void read_counters(const char *counters) {
    given.shape = NULL;
    if (*counters == '{') {
        if (!is_text(need(counters, "dtype"), "uint64")) refuse(TYPE);
        given.shape = need(counters, "shape");
        read_words(need(counters, "data"));
    } else {
        given.count = 1;
        given.c = take(1, sizeof *given.c);
        *given.c = word(counters);
    }
}

static void begin_numbers(const char *dtype) {
    begin("result");
    if (!given.shape) return;
    int length = (int)(behind(given.shape) - given.shape);
    printf("{\"dtype\":\"%s\",\"shape\":%.*s,\"data\":[", dtype, length, given.shape);
}

static void end_numbers(void) {
    if (given.shape) printf("]}");
}

static void write_words(void) {
    begin_numbers("uint64");
    for (size_t i = 0; i < given.count; i++)
        printf("%s%" PRIu64, i ? "," : "", ((uint64_t *)given.drawn)[i]);
    end_numbers();
}

static void write_integers(void) {
    begin_numbers("int64");
    for (size_t i = 0; i < given.count; i++)
        printf("%s%" PRId64, i ? "," : "", ((int64_t *)given.drawn)[i]);
    end_numbers();
}

static void write_reals(void) {
    begin_numbers("float64");
    for (size_t i = 0; i < given.count; i++)
        printf("%s%.17g", i ? "," : "", ((double *)given.drawn)[i]);
    end_numbers();
}

static void read_mix(const char *args) { read_counters(need(args, "x")); }

static void compute_mix(void) {
    uint64_t *drawn = given.drawn = take(given.count, sizeof *drawn);
    for (size_t i = 0; i < given.count; i++) drawn[i] = mix(given.c[i]);
}

static void read_key(const char *args) {
    given.shape = NULL;
    read_words(need(args, "parts"));
}

static void compute_key(void) {
    uint64_t *a = given.drawn = take(1, sizeof *a);
    *a = 0;
    for (size_t i = 0; i < given.count; i++) *a = mix(*a + GOLD + given.c[i]);
}

static void write_key(void) { begin("result"), printf("%" PRIu64, *(uint64_t *)given.drawn); }

static void read_uniform(const char *args) {
    given.k = word(need(args, "k"));
    read_counters(need(args, "c"));
}

static void compute_uniform(void) {
    double *drawn = given.drawn = take(given.count, sizeof *drawn);
    for (size_t i = 0; i < given.count; i++) drawn[i] = uniform(given.k, given.c[i]);
}

static void read_below(const char *args) {
    read_uniform(args);
    given.n = integer(need(args, "n"), 1, ((uint64_t)1 << 53) - 1);
}

static void compute_below(void) {
    int64_t *drawn = given.drawn = take(given.count, sizeof *drawn);
    for (size_t i = 0; i < given.count; i++) drawn[i] = below(given.k, given.c[i], (double)given.n);
}

/* ---- A sampler ---- */

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

/* Say whether a text is the first of two words; refuse it if it is neither. */
static bool is_first(const char *value, const char *first_word, const char *second_word) {
    if (!is_text(value, first_word) && !is_text(value, second_word)) refuse(VALUE);
    return is_text(value, first_word);
}

/* The neighbours of v are entries indptr[v] to indptr[v + 1], the end exclusive, of indices. */
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

static void compute_pick(void) {
    choice.chosen = pick_without_replacement(choice.k, choice.c, choice.of, choice.count);
}

static int64_t *filled(int64_t count, int64_t value) {
    int64_t *list = take((size_t)count, sizeof *list);
    for (int64_t i = 0; i < count; i++) list[i] = value;
    return list;
}

/* The set of sampled nodes, as a flag a node; returned as a list in `ids`. */
static size_t sampled(const char *in, int64_t n, int64_t *ids) {
    size_t count = 0;
    for (int64_t v = 0; v < n; v++)
        if (in[v]) ids[count++] = v;
    return count;
}

/* What `frontier` is given. */
static struct {
    Graph graph;
    uint64_t main, probe;
    int64_t m, n;
    bool pushed;
} walk;

static void read_frontier(const char *args) {
    const char *cap = need(args, "deg_cap");
    walk.graph = read_graph(need(args, "graph"));
    walk.main = word(need(args, "main"));
    walk.probe = word(need(args, "probe"));
    walk.m = (int64_t)integer(need(args, "m"), 1, (uint64_t)walk.graph.n);
    walk.n = (int64_t)integer(need(args, "n"), (uint64_t)walk.m, INT32_MAX);
    walk.pushed = is_first(need(args, "include"), "pushed", "popped");
    int64_t deg_cap = *cap == 'n' ? INT32_MAX : (int64_t)integer(cap, 1, INT32_MAX);
    walk.graph.weight = filled(walk.graph.n, deg_cap);
    for (int64_t v = 0; v < walk.graph.n; v++)
        if (degree(&walk.graph, v) < deg_cap) walk.graph.weight[v] = degree(&walk.graph, v);
}

static void write_sample(const Graph *graph, const int64_t *nodes, size_t count,
                         const int64_t *popped, const int64_t *pushed, int64_t steps,
                         int64_t draws, const int64_t *board) {
    static const char *const names[] = {"probes",   "rounds", "capacity",
                                        "cleanups", "moved",  "truncated"};
    int64_t popped_sum = 0, pushed_sum = 0;
    for (int64_t i = 0; i < steps; i++) {
        popped_sum += degree(graph, popped[i]);
        pushed_sum += degree(graph, pushed[i]);
    }
    printf("{\"fields\":{\"nodes\":");
    write_ids(nodes, count);
    printf(",\"popped\":");
    write_ids(popped, (size_t)steps);
    printf(",\"pushed\":");
    write_ids(pushed, (size_t)steps);
    printf(",\"counters\":{\"fields\":{\"pops\":%" PRId64 ",\"draws\":%" PRId64, steps, draws);
    printf(",\"popped_degree_sum\":%" PRId64, popped_sum);
    printf(",\"added_degree_sum\":%" PRId64, pushed_sum);
    for (size_t i = 0; i < 6; i++) printf(",\"%s\":%" PRId64, names[i], board[i]);
    printf("}}}}");
}

/* Draw a sample; if it is to be written, with the state before the first step and after each, unless
   the question is about time: states are longer than all else. */
static void frontier(bool is_written) {
    bool with_states = is_written && !rounds;
    const Graph *graph = &walk.graph;
    int64_t *FS = pick_without_replacement(walk.main, 0, graph->n, walk.m), made = 0;
    int64_t *popped = filled(walk.n - walk.m, 0), *pushed = filled(walk.n - walk.m, 0);
    int64_t *nodes = filled(graph->n, 0);
    char *in = memset(take((size_t)graph->n, 1), 0, (size_t)graph->n);
    for (int64_t i = 0; i < walk.m; i++) in[FS[i]] = 1;
    if (with_states) begin("states");
    for (;;) {
        size_t count = sampled(in, graph->n, nodes);
        if (with_states) {
            putchar(made ? ',' : '['), putchar('{');
            write_named("frontier", FS, (size_t)walk.m), putchar(',');
            write_named("sample", nodes, count), putchar('}');
        }
        int64_t total = 0, slot = 0;
        for (int64_t i = 0; i < walk.m; i++) total += graph->weight[FS[i]];
        if (made == walk.n - walk.m || !total) break; /* 0: only isolated nodes are left */
        int64_t drawn = below(walk.probe, (uint64_t)made, (double)total);
        while (drawn >= graph->weight[FS[slot]]) drawn -= graph->weight[FS[slot++]];
        int64_t u = FS[slot];
        int64_t which = below(walk.main, (uint64_t)(walk.m + made), (double)degree(graph, u));
        FS[slot] = graph->indices[graph->indptr[u] + which];
        in[walk.pushed ? FS[slot] : u] = 1;
        popped[made] = u;
        pushed[made++] = FS[slot];
    }
    if (with_states) printf("],\"result\":");
    else if (is_written) begin("result");
    const int64_t counts[] = {made, made, 0, 0, 0, 0};
    if (is_written)
        write_sample(graph, nodes, sampled(in, graph->n, nodes), popped, pushed, made,
                     walk.m + made, counts);
}

static void compute_frontier(void) { frontier(false); }
static void write_frontier(void) { frontier(true); }

/* ---- Questions ---- */

typedef struct {
    const char *name;
    void (*read)(const char *args);
    void (*compute)(void);
    void (*write)(void);
} Kernel;

#define STARTED \
    {"mix", read_mix, compute_mix, write_words}, {"key", read_key, compute_key, write_key}, \
    {"uniform", read_uniform, compute_uniform, write_reals}, \
    {"below", read_below, compute_below, write_integers}, \
    {"pick_without_replacement", read_pick, compute_pick, write_choice}, \
    {"frontier", read_frontier, compute_frontier, write_frontier}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Answer with what a kernel computes, and with the time of each round; one that does not count comes
   before. */
static void run(const Kernel *kernel, const char *args) {
    kernel->read(args);
    int64_t *took = take(rounds, sizeof *took);
    Chunk *kept = chunks;
    kernel->compute();
    for (size_t i = 0; i < rounds; i++) {
        free_since(kept);
        int64_t start = nanoseconds();
        kernel->compute();
        took[i] = nanoseconds() - start;
    }
    kernel->write();
    if (rounds) printf(",\"nanoseconds\":[");
    for (size_t i = 0; i < rounds; i++) printf("%s%" PRId64, i ? "," : "", took[i]);
    if (rounds) putchar(']');
}

static void answer(const char *question, const char *program, const Kernel *kernels) {
    const char *number = find(question, "id");
    id = number && strchr("0123456789", *number) ? number : NULL;
    if (find(question, "hello")) {
        begin("name"), printf("\"%s\",\"version\":\"1\"", program);
        return;
    }
    const char *call = need(question, "call"), *args = need(question, "args");
    const char *count = find(question, "time");
    rounds = count ? (size_t)integer(count, 1, 1000000) : 0;
    while (kernels->name && !is_text(call, kernels->name)) kernels++;
    if (kernels->name) run(kernels, args);
    else begin("skip"), printf("\"not implemented\"");
}

static void reply(const char *line, const char *program, const Kernel *kernels) {
    id = NULL;
    switch (setjmp(refused)) {
    case 0: answer(skip_space(line), program, kernels); break;
    case TYPE: begin("error"), printf("\"type\""); break;
    case VALUE: begin("error"), printf("\"value\""); break;
    default: begin("fault"), printf("\"the question cannot be read, or no memory\"");
    }
    printf("}\n");
    fflush(stdout);
    free_since(NULL);
}

/* Return the next line without its end, in memory that the next call uses again, or NULL. */
static char *read_line(void) {
    static char *line;
    static size_t room;
    size_t length = 0;
    int c;
    while ((c = getchar()) != EOF && c != '\n') {
        if (length + 2 > room) line = realloc(line, room = 2 * room + 4096);
        if (!line) exit(1);
        line[length++] = (char)c;
    }
    if (c == EOF && !length) return NULL;
    if (!line && !(line = malloc(room = 4096))) exit(1);
    line[length] = 0;
    return line;
}

#ifndef PART_OF_ANOTHER_PROGRAM
int main(void) {
    static const Kernel kernels[] = {STARTED, {NULL, NULL, NULL, NULL}};
    for (const char *line; (line = read_line());) reply(line, "starter.c", kernels);
    return 0;
}
#endif
