"""refimpl/history/layouts.py on kernels."""

from typing import Any

import numpy as np

from fastimpl.history import _layouts
from refimpl.history import layouts
from refimpl.history.layouts import Work

NO_IDS = np.empty(0, np.int64)


class Csr(layouts.Csr):
    def empty(self, rows):
        pointers, moved, e = _layouts.empty_csr(self.indptr, self.indices, self.ids(), rows)
        self.cut(e)
        return Work(pointers + moved, 8 * pointers + self.entry_bytes * moved)

    def ids(self):
        """Return `edge_ids`, or an empty array where there are none."""
        return NO_IDS if self.edge_ids is None else self.edge_ids


class CsrBatched(Csr):
    def empty(self, rows):
        self.indptr, self.indices, ids = _layouts.rebuild_csr(
            self.indptr, self.indices, self.ids(), rows
        )
        self.edge_ids = None if self.edge_ids is None else ids
        n, e = len(self.indptr) - 1, len(self.indices)
        return Work(n + e, 8 * n + self.entry_bytes * e)


class Coo(layouts.Coo):
    def empty(self, rows):
        compared, marked = _layouts.mark_coo(self.rows, self.stays.view(np.uint8), rows)
        return Work(compared + marked, 4 * compared + marked)


class CooCompact(layouts.CooCompact):
    mark = Coo.empty

    def compact(self):
        ids = NO_IDS if self.edge_ids is None else self.edge_ids
        self.rows, self.columns, ids = _layouts.compact_coo(
            self.rows, self.columns, ids, self.stays.view(np.uint8)
        )
        self.edge_ids = None if self.edge_ids is None else ids
        self.stays = np.ones(len(self.rows), np.bool_)


OTHERS: dict[str, Any] = {
    "csr": Csr,
    "csr_batched": CsrBatched,
    "coo": Coo,
    "coo_compact": CooCompact,
}
