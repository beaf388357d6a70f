/* Reads that Linux queues: asked for together, ended in any order. One thread has many reads under way
   so, and no thread begins or wakes for each of them. Other systems have no such queue here. */
#ifndef GNN_QUEUE_H
#define GNN_QUEUE_H

#include <errno.h>
#include <stdint.h>

#if defined(__linux__) && __SIZEOF_POINTER__ == 8
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct iocb gnn_request;
typedef struct io_event gnn_answer;

/* Return a queue of some places, 0 if there is none. */
static inline uint64_t gnn_open_queue(int64_t depth)
{
    aio_context_t context = 0;
    struct timespec at_once = {0, 0};
    gnn_answer none;
    if (syscall(SYS_io_setup, (unsigned)depth, &context))
        return 0;
    if (syscall(SYS_io_getevents, context, 0L, 1L, &none, &at_once) == 0)
        return context;
    syscall(SYS_io_destroy, context); /* a sandbox lets nobody wait for answers */
    return 0;
}

static inline void gnn_ask(
    gnn_request* request, int file, void* buffer, int64_t count, int64_t at, int64_t place)
{
    memset(request, 0, sizeof *request);
    request->aio_fildes = (uint32_t)file;
    request->aio_lio_opcode = IOCB_CMD_PREAD;
    request->aio_buf = (uint64_t)(uintptr_t)buffer;
    request->aio_nbytes = (uint64_t)count;
    request->aio_offset = at;
    request->aio_data = (uint64_t)place;
}

/* Return how many of some requests, at most 64, were taken, from the first on. */
static inline int64_t gnn_submit(uint64_t queue, gnn_request* requests, int64_t count)
{
    gnn_request* each[64];
    for (int64_t k = 0; k < count; k++)
        each[k] = requests + k;
    const int64_t taken = syscall(SYS_io_submit, (aio_context_t)queue, (long)count, each);
    return taken < 0 ? 0 : taken;
}

/* Wait for at least some answers; return how many there are. */
static inline int64_t gnn_answers(uint64_t queue, gnn_answer* answers, int64_t least, int64_t most)
{
    int64_t count;
    do
        count = syscall(
            SYS_io_getevents, (aio_context_t)queue, (long)least, (long)most, answers, NULL);
    while (count < 0 && errno == EINTR);
    return count;
}

static inline int64_t gnn_place(const gnn_answer* answer) { return (int64_t)answer->data; }
static inline int64_t gnn_result(const gnn_answer* answer) { return answer->res; }
#else
typedef struct { int64_t place; } gnn_request, gnn_answer;
#define gnn_open_queue(depth) 0
#define gnn_ask(request, file, buffer, count, at, where) ((void)0)
#define gnn_submit(queue, requests, count) 0
#define gnn_answers(queue, answers, least, most) 0
#define gnn_place(answer) 0
#define gnn_result(answer) 0
#endif
#endif
