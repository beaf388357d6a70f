"""Reading rows of a file into slots of a cache, in few large pieces."""

from __future__ import annotations

import errno
import mmap
import os
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.distinct import distinct
from refimpl.hints import Features, Int, Integers, Positions
from refimpl.loader.files import AT_REST, matrix

PAGE = 4096  # bytes: what storage reads at least, and what a direct read is aligned to
PIECE = 2**16  # bytes of a piece, about; a longer row is a piece of its own
GAP = 2  # pages: where no more lie between two rows, one read takes less time than two


class Pieces(NamedTuple):
    """Runs of whole pages that hold some rows: `pieces_of` makes it.

    Attributes
    ----------
    begin, end : (k,) int64 arrays
        Where each piece begins and ends in the file, in bytes; multiples of the page.
    first : (k + 1,) int64 array
        Piece p holds rows ``first[p]`` to ``first[p + 1]``.
    """

    begin: Positions
    end: Positions
    first: Positions


def pieces_of(rows: Integers, offset: Int, size: Int) -> Pieces:
    """Return the pieces of a file that hold some rows, ascending and each once. O(k) time.

    Rows with at most `GAP` pages between them are in one piece, if it does not become too long. A
    piece begins and ends with a page that holds a row.

    Parameters
    ----------
    rows : (k,) integer array
    offset : int
        Where row 0 begins in the file.
    size : int
        Bytes of a row.
    """
    rows = np.asarray(rows, np.int64)
    low = (offset + rows * size) // PAGE
    high = -(-(offset + (rows + 1) * size) // PAGE)
    new = np.ones(len(rows), bool)
    new[1:] = low[1:] > high[:-1] + GAP
    index = np.arange(len(rows))
    run = np.maximum.accumulate(np.where(new, index, 0))
    part = (low - low[run]) // (PIECE // PAGE)
    new[1:] |= part[1:] != part[:-1]
    first = np.append(np.flatnonzero(new), len(rows))
    return Pieces(low[first[:-1]] * PAGE, high[first[1:] - 1] * PAGE, first)


def read_arguments(file, offset, rows, slots, cache, depth):
    """Check the arguments of `read_rows`; return them."""
    cache = matrix("cache", cache, dtypes=(*AT_REST, np.dtype(np.float64)))
    if not cache.flags.writeable:
        raise ValueError("cache must be writeable: rows are read into it")
    file = require.integer("file", file, 0, 2**31 - 1)
    offset = require.integer("offset", offset, 0, 2**62)
    size = cache.shape[1] * cache.itemsize
    rows = require.ids("rows", rows, 0, (2**62 - offset) // size, np.int64)
    slots = require.ids("slots", slots, 0, len(cache), np.int64)
    if len(rows) != len(slots):
        raise ValueError(f"slots must be as many as rows, {len(rows)}, got {len(slots)}")
    if np.any(rows[1:] <= rows[:-1]):
        raise ValueError("rows must ascend")
    if np.any(slots[1:] <= slots[:-1]) and len(distinct(slots)) != len(slots):
        raise ValueError("slots must be distinct")
    return file, offset, rows, slots, cache, require.integer("depth", depth, 1, 1024)


@checked_by(read_arguments)
def read_rows(
    file: Int, offset: Int, rows: Integers, slots: Integers, cache: Features, depth: Int = 64
) -> int:
    """Read rows of a file into slots of a cache; return the bytes that were asked for.

    Rows on pages that are near each other are read in one piece of whole pages, which a file that
    is opened with O_DIRECT needs. fastimpl keeps `depth` reads under way, the reference one. O(k)
    time for k rows. Not in the papers.

    Parameters
    ----------
    file : int
        The descriptor of an open file.
    offset : int, at least 0
        Where row 0 begins in the file, in bytes.
    rows : (k,) integer array
        Ascending, each once.
    slots : (k,) integer array
        Row ``rows[i]`` is written to ``cache[slots[i]]``.
    cache : (any, d) float16, float32 or float64 array
        C-contiguous, writeable; a row of the cache has the bytes of a row of the file.
    depth : int, from 1 to 1024
        Reads under way at a time.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    OSError
        If the file cannot be read, or ends before a row does.
    """
    size = cache.shape[1] * cache.itemsize
    begins, ends, first = pieces_of(rows, offset, size)
    buffer = mmap.mmap(-1, max(ends - begins, default=PAGE))  # begins on a page
    for begin, end, a, b in zip(begins, ends, first[:-1], first[1:], strict=True):
        needed = offset + (rows[b - 1] + 1) * size - begin
        read_whole(int(file), memoryview(buffer)[: end - begin], int(begin), int(needed))
        for i in range(a, b):
            at = offset + rows[i] * size - begin
            cache[slots[i]] = np.frombuffer(buffer[at : at + size], cache.dtype)
    return int(np.sum(ends - begins))


def read_whole(file, buffer, begin, needed):
    """Read a piece until it has `needed` bytes; go on after a short read at the last whole page."""
    done = 0
    while done < needed:
        at = done - done % PAGE
        end = at + os.preadv(file, [buffer[at:]], begin + at)
        if end <= done:
            raise short(file, begin + needed)
        done = end


def short(file, needed):
    """Return the error of a file that ends before byte `needed`."""
    end = os.fstat(file).st_size
    return OSError(errno.EIO, f"the file ends at byte {end}, and {needed} are needed")
