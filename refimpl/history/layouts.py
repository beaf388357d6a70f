"""The layouts of a block that FreshGNN's section 5 compares with CSR2: how each removes rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from refimpl.block import Block


class Work(NamedTuple):
    """Numbers compared or stored, and their size in bytes."""

    ops: int
    touched_bytes: int


class Csr:
    """Row pointers in one array: entries behind a removed one move up, row after row."""

    def __init__(self, block):
        lengths = block.degrees()
        self.n_src = block.n_src
        self.indptr = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(self.indptr[-1]) + np.repeat(block.start - self.indptr[:-1], lengths)
        self.indices = block.indices[at]
        self.edge_ids = None if block.edge_ids is None else block.edge_ids[at]

    @property
    def entry_bytes(self):
        """Bytes that move with an entry."""
        return 4 if self.edge_ids is None else 12

    def empty(self, rows):
        e, pointers, moved = len(self.indices), 0, 0
        for i in rows.tolist():
            start, end = self.indptr[i : i + 2].tolist()
            for array in self.arrays():
                array[start : start + e - end] = array[end:e]
            self.indptr[i + 1 :] -= end - start
            e -= end - start
            moved += e - start
            pointers += len(self.indptr) - 1 - i
        self.cut(e)
        return Work(pointers + moved, 8 * pointers + self.entry_bytes * moved)

    def arrays(self):
        """Return the arrays that have a number for each entry."""
        return [self.indices] if self.edge_ids is None else [self.indices, self.edge_ids]

    def cut(self, e):
        """Forget what stands behind the first `e` entries."""
        self.indices = self.indices[:e]
        self.edge_ids = None if self.edge_ids is None else self.edge_ids[:e]

    def block(self):
        return Block._trusted(
            self.indptr[:-1], self.indptr[1:], self.indices, self.n_src, self.edge_ids
        )


class CsrBatched(Csr):
    """Row pointers in one array, rewritten once with all entries that stay."""

    def empty(self, rows):
        stays = np.ones(len(self.indptr) - 1, np.bool_)
        stays[rows] = False
        lengths = np.diff(self.indptr)
        at = np.repeat(stays, lengths)
        self.indptr = np.concatenate(([0], np.cumsum(lengths * stays)))
        self.indices = self.indices[at]
        self.edge_ids = None if self.edge_ids is None else self.edge_ids[at]
        n, e = len(stays), len(self.indices)
        return Work(n + e, 8 * n + self.entry_bytes * e)


class Coo:
    """Pairs sorted by row: the entries of a row are searched for, and marked as gone."""

    def __init__(self, block):
        packed = Csr(block)
        self.n_dst, self.n_src = block.n_dst, block.n_src
        self.rows = np.repeat(np.arange(block.n_dst, dtype=np.int32), block.degrees())
        self.columns, self.edge_ids = packed.indices, packed.edge_ids
        self.stays = np.ones(len(self.rows), np.bool_)

    def empty(self, rows):
        compared = marked = 0
        for i in rows.tolist():
            first, steps = self.search(i)
            last, more_steps = self.search(i + 1)
            self.stays[first:last] = False
            compared += steps + more_steps
            marked += last - first
        return Work(compared + marked, 4 * compared + marked)

    def search(self, row):
        """Return where the rows from `row` on begin, and how many numbers were compared."""
        low, high, compared = 0, len(self.rows), 0
        while low < high:
            middle = (low + high) // 2
            compared += 1
            if self.rows[middle] < row:
                low = middle + 1
            else:
                high = middle
        return low, compared

    def block(self):
        lengths = np.bincount(self.rows[self.stays], minlength=self.n_dst)
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        edge_ids = None if self.edge_ids is None else self.edge_ids[self.stays]
        columns = self.columns[self.stays]
        return Block._trusted(indptr[:-1], indptr[1:], columns, self.n_src, edge_ids)


class CooCompact(Coo):
    """The same; then the entries that stay move together."""

    mark = Coo.empty

    def empty(self, rows):
        e, marking = len(self.rows), self.mark(rows)
        self.compact()
        left = len(self.rows)
        entry_bytes = 8 if self.edge_ids is None else 16
        return Work(marking.ops + e + left, marking.touched_bytes + e + entry_bytes * left)

    def compact(self):
        """Keep the entries that stay."""
        self.rows, self.columns = self.rows[self.stays], self.columns[self.stays]
        self.edge_ids = None if self.edge_ids is None else self.edge_ids[self.stays]
        self.stays = np.ones(len(self.rows), np.bool_)


OTHERS: dict[str, Any] = {
    "csr": Csr,
    "csr_batched": CsrBatched,
    "coo": Coo,
    "coo_compact": CooCompact,
}
