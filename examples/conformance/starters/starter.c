/* The beginning of a port in C99: answers mix, key, uniform and below, and skips all other kernels.

       cc -std=c99 -O2 -o starter starter.c && minibatch-gnn conformance --cmd ./starter

   To add a kernel, write a function as `call_below`: it reads its arguments, refuses what the
   kernel's page says, and prints the result; then name it in the table of `main`. A JSON value is
   a pointer to where it stands in the line. What is refused ends the question by a jump. */

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE = 1, VALUE, FAULT };
static jmp_buf refused;
static void refuse(int why) { longjmp(refused, why); }

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

static void draw(char kind, uint64_t k, uint64_t c, double n) {
    if (kind == 'm') printf("\"%" PRIu64 "\"", mix(c));
    if (kind == 'u') printf("%.17g", uniform(k, c));
    if (kind == 'b') printf("%" PRId64, below(k, c, n));
}

/* Answer with the draw of one counter, or of each of an array, whose shape the answer has too. */
static void draws(char kind, const char *dtype, const char *counters, uint64_t k, double n) {
    if (*counters != '{') {
        uint64_t c = word(counters);
        begin("result"), draw(kind, k, c, n);
        return;
    }
    const char *data = need(counters, "data"), *shape = need(counters, "shape"), *comma = "";
    int length = (int)(behind(shape) - shape);
    if (!is_text(need(counters, "dtype"), "uint64")) refuse(TYPE);
    for (const char *at = first(data); at; at = following(at)) word(at);
    begin("result");
    printf("{\"dtype\":\"%s\",\"shape\":%.*s,\"data\":[", dtype, length, shape);
    for (const char *at = first(data); at; at = following(at), comma = ",")
        fputs(comma, stdout), draw(kind, k, word(at), n);
    printf("]}");
}

static void call_mix(const char *args) { draws('m', "uint64", need(args, "x"), 0, 0); }

static void call_key(const char *args) {
    uint64_t a = 0;
    for (const char *at = first(need(args, "parts")); at; at = following(at))
        a = mix(a + GOLD + word(at));
    begin("result"), printf("\"%" PRIu64 "\"", a);
}

static void call_uniform(const char *args) {
    draws('u', "float64", need(args, "c"), word(need(args, "k")), 0);
}

static void call_below(const char *args) {
    uint64_t k = word(need(args, "k")), n = integer(need(args, "n"), 1, ((uint64_t)1 << 53) - 1);
    draws('b', "int64", need(args, "c"), k, (double)n);
}

/* ---- Questions ---- */

typedef struct {
    const char *name;
    void (*call)(const char *args);
} Kernel;

#define STREAMS \
    {"mix", call_mix}, {"key", call_key}, {"uniform", call_uniform}, {"below", call_below}

static void answer(const char *question, const char *program, const Kernel *kernels) {
    const char *number = find(question, "id");
    id = number && strchr("0123456789", *number) ? number : NULL;
    if (find(question, "hello")) {
        begin("name"), printf("\"%s\",\"version\":\"1\"", program);
        return;
    }
    const char *call = need(question, "call"), *args = need(question, "args");
    while (kernels->name && !is_text(call, kernels->name)) kernels++;
    if (kernels->name) kernels->call(args);
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
    static const Kernel kernels[] = {STREAMS, {NULL, NULL}};
    for (const char *line; (line = read_line());) reply(line, "starter.c", kernels);
    return 0;
}
#endif
