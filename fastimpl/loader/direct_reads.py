"""refimpl/loader/direct_reads.py on kernels."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fastimpl._twin import twin
from fastimpl.loader import _direct_reads
from fastimpl.loader.gathering import as_bytes
from refimpl.loader.direct_reads import PAGE, check_end, pieces_of, read_arguments


@twin
def read_rows(file, offset, rows, slots, cache, depth=64):
    file, offset, rows, slots, cache, depth = read_arguments(
        file, offset, rows, slots, cache, depth
    )
    size = cache.shape[1] * cache.itemsize
    pieces = pieces_of(rows, offset, size)
    if not len(rows):
        return 0
    threads = min(depth, len(pieces.begin))
    buffers = _aligned(threads, int(np.max(pieces.end - pieces.begin)))
    state = np.zeros(3, np.int64)  # errno, or -1 at the file's end; where that was; what was needed

    def read(thread):
        _direct_reads.read_pieces(
            file, offset, rows, slots, *pieces, as_bytes(cache), buffers[thread],
            thread, threads, state,
        )  # fmt: skip

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(read, range(threads)))
    failed, where, needed = state.tolist()
    if failed > 0:
        raise OSError(failed, f"{os.strerror(failed)} at byte {where}")
    if failed < 0:
        check_end(where, needed)
    return int(np.sum(pieces.end - pieces.begin))


def _aligned(count, size):
    """Return buffers that begin on a page, (count, size) bytes."""
    raw = np.empty(count * size + PAGE, np.uint8)
    skip = -raw.ctypes.data % PAGE
    return raw[skip : skip + count * size].reshape(count, size)
