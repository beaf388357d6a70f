"""refimpl/loader/direct_reads.py on kernels."""

import os
from contextlib import contextmanager, suppress

import numpy as np

from fastimpl._twin import twin
from fastimpl.loader import _direct_reads
from fastimpl.loader.gathering import as_bytes
from refimpl._support.thread_limits import Threads
from refimpl.loader.direct_reads import PAGE, pieces_of, read_arguments, short

with suppress(ImportError):  # Windows has no direct reads either
    import fcntl

PIECES = 4  # that a thread reads at least, for it takes time to begin
_queues: dict[tuple[int, int], list[int]] = {}  # the free ones, by process and depth


@twin
def read_rows(file, offset, rows, slots, cache, depth=64):
    file, offset, rows, slots, cache, depth = read_arguments(
        file, offset, rows, slots, cache, depth
    )
    size = cache.shape[1] * cache.itemsize
    pieces = pieces_of(rows, offset, size)
    if not len(rows):
        return 0
    longest = int(np.max(pieces.end - pieces.begin))
    how = file, offset, rows, slots, *pieces, as_bytes(cache)
    with _queue(file, depth) as queue:
        if queue:
            states = np.zeros((1, 3), np.int64)  # see `read_pieces`
            places = np.zeros((2, min(depth, len(pieces.begin))), np.int64)
            buffers = _aligned(places.shape[1], longest)
            _direct_reads.read_queued(queue, *how, buffers, places, states[0])
        else:
            states = _in_threads(how, min(depth, -(-len(pieces.begin) // PIECES)), longest)
    failed = states[states[:, 0] != 0]
    if len(failed):
        code, where, needed = failed[np.argmin(failed[:, 1])].tolist()  # the first in the file
        if code < 0:
            raise short(file, needed)
        raise OSError(code, f"{os.strerror(code)} at byte {where}")
    return int(np.sum(pieces.end - pieces.begin))


def _in_threads(how, threads, longest):
    """Read in some threads, and return the state of each."""
    buffers, states = _aligned(threads, longest), np.zeros((threads, 3), np.int64)

    def read(thread):
        _direct_reads.read_pieces(*how, buffers[thread], thread, threads, states[thread])

    with Threads(threads) as pool:
        list(pool.map(read, range(threads)))
    return states


@contextmanager
def _queue(file, depth):
    """Give a free queue, or 0: there is none, or the file was opened without O_DIRECT.

    A queue is kept for the next reads, because its end waits for all processors. A forked child
    has none of its parent's.
    """
    direct = getattr(os, "O_DIRECT", 0)
    with suppress(OSError):  # the file is closed: a read says so
        direct = direct and fcntl.fcntl(file, fcntl.F_GETFL) & direct
    known = _queues.setdefault((os.getpid(), depth), [])
    try:
        queue = known.pop() if direct else 0
    except IndexError:
        queue = _direct_reads.open_queue(depth)
    yield queue
    if queue:
        known.append(queue)


def _aligned(count, size):
    """Return buffers that begin on a page, (count, size) bytes."""
    raw = np.empty(count * size + PAGE, np.uint8)
    skip = -raw.ctypes.data % PAGE
    return raw[skip : skip + count * size].reshape(count, size)
