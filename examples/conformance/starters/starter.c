/* The beginning of a port in C99: answers mix, key, uniform and below, and skips all other kernels.

       cc -std=c99 -O2 -o starter starter.c && minibatch-gnn conformance --cmd ./starter

   To add a kernel, write three functions, as `read_below`, `compute_below` and `write_integers`: the
   first reads the arguments and refuses what the kernel's page says, the second computes, which
   alone is timed, the third prints the result; then name them in the table of `main`. A JSON value
   is a pointer to where it stands in the line. What is refused ends the question by a jump. */

#define _POSIX_C_SOURCE 199309L /* for clock_gettime */

#include <inttypes.h>
#include <setjmp.h>
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

/* ---- Questions ---- */

typedef struct {
    const char *name;
    void (*read)(const char *args);
    void (*compute)(void);
    void (*write)(void);
} Kernel;

#define STREAMS \
    {"mix", read_mix, compute_mix, write_words}, {"key", read_key, compute_key, write_key}, \
    {"uniform", read_uniform, compute_uniform, write_reals}, \
    {"below", read_below, compute_below, write_integers}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static size_t rounds; /* that are timed; of a question that is not about time none */

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
    static const Kernel kernels[] = {STREAMS, {NULL, NULL, NULL, NULL}};
    for (const char *line; (line = read_line());) reply(line, "starter.c", kernels);
    return 0;
}
#endif
