"""refimpl/loader/direct_reads.py on kernels."""

import os

import numpy as np

from fastimpl._twin import twin
from fastimpl.loader import _direct_reads
from fastimpl.loader.gathering import as_bytes
from refimpl._support.thread_limits import Threads
from refimpl.loader.direct_reads import PAGE, pieces_of, read_arguments, short

PIECES = 4  # that a thread reads at least, for it takes time to begin


@twin
def read_rows(file, offset, rows, slots, cache, depth=64):
    file, offset, rows, slots, cache, depth = read_arguments(
        file, offset, rows, slots, cache, depth
    )
    size = cache.shape[1] * cache.itemsize
    pieces = pieces_of(rows, offset, size)
    if not len(rows):
        return 0
    threads = min(depth, -(-len(pieces.begin) // PIECES))
    buffers = _aligned(threads, int(np.max(pieces.end - pieces.begin)))
    states = np.zeros((threads, 3), np.int64)  # of each thread: see `read_pieces`

    def read(thread):
        _direct_reads.read_pieces(
            file, offset, rows, slots, *pieces, as_bytes(cache), buffers[thread],
            thread, threads, states[thread],
        )  # fmt: skip

    with Threads(threads) as pool:
        list(pool.map(read, range(threads)))
    failed = states[states[:, 0] != 0]
    if len(failed):
        code, where, needed = failed[np.argmin(failed[:, 1])].tolist()  # the first in the file
        if code < 0:
            raise short(file, needed)
        raise OSError(code, f"{os.strerror(code)} at byte {where}")
    return int(np.sum(pieces.end - pieces.begin))


def _aligned(count, size):
    """Return buffers that begin on a page, (count, size) bytes."""
    raw = np.empty(count * size + PAGE, np.uint8)
    skip = -raw.ctypes.data % PAGE
    return raw[skip : skip + count * size].reshape(count, size)
