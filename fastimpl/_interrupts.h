/* Ctrl-C in long loops. The thread that Python's signal handlers belong to runs them now and then;
   if one raises, all threads of the loop leave out what is left, and the kernel raises it too. */

#ifndef GNN_INTERRUPTS_H
#define GNN_INTERRUPTS_H

#include <Python.h>
#include <stdint.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#define gnn_thread() omp_get_thread_num()
#else
#define gnn_thread() 0
#endif

#if defined(__GNUC__)
#define gnn_load(address) __atomic_load_n((address), __ATOMIC_RELAXED)
#define gnn_set(address, value) __atomic_store_n((address), (value), __ATOMIC_RELAXED)
#else
#define gnn_load(address) (*(address))
#define gnn_set(address, value) (*(address) = (value))
#endif

enum {
    GNN_MILLISECONDS = 100, /* between two looks */
    GNN_STEPS = 32          /* of a loop between two looks at the clock */
};

typedef struct {
    volatile int stop;             /* what all threads of the loop read */
    const volatile char* unwanted; /* where another thread says so; NULL: none can */
    int handles;                   /* the caller is Python's main thread: it runs the handlers */
    int64_t next;                  /* when it looks again */
} gnn_watch;

static inline int64_t gnn_milliseconds(void)
{
#if defined(CLOCK_MONOTONIC_COARSE)
    struct timespec now; /* a few nanoseconds dear, and exact to a few milliseconds */
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
#elif defined(CLOCK_MONOTONIC)
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
#else
    return (int64_t)clock() * 1000 / CLOCKS_PER_SEC;
#endif
}

/* Run the handlers of signals that have come. What one raises stays raised in this thread. */
static void gnn_handle(gnn_watch* watch)
{
    PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_CheckSignals()) gnn_set(&watch->stop, 1);
    PyGILState_Release(state);
    watch->next = gnn_milliseconds() + GNN_MILLISECONDS;
}

/* Whether a thread has found that the loop has to end. */
static inline int gnn_has_stopped(const gnn_watch* watch) { return gnn_load(&watch->stop); }

/* Whether the loop has to end; to be asked by each thread before each piece of work. */
static inline int gnn_stopped(gnn_watch* watch)
{
    if (gnn_has_stopped(watch)) return 1;
    if (watch->unwanted && gnn_load(watch->unwanted)) gnn_set(&watch->stop, 1);
    if (watch->handles && gnn_thread() == 0 && gnn_milliseconds() >= watch->next)
        gnn_handle(watch);
    return gnn_has_stopped(watch);
}

/* The same for step i of a loop whose steps are short. */
static inline int gnn_stopped_at(gnn_watch* watch, int64_t i)
{
    return i % GNN_STEPS == GNN_STEPS - 1 ? gnn_stopped(watch) : gnn_has_stopped(watch);
}

#endif
