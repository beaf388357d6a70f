"""refimpl/loader/features.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.loader import _features
from fastimpl.loader.gathering import as_bytes, gather
from refimpl.loader.features import Fetched, one_sided_trace, plan_arguments, two_sided_trace


@twin
def fetch_one_sided(plan):
    ((store, me, n, rows, positions, copies),) = plan_arguments(plan)
    out = empty((n, store.d), np.float32)
    for part, wanted, where in zip(store.parts, rows, positions, strict=True):
        gather(part, wanted, where, out)
    if copies.size:
        gather(out, copies[1], copies[0], out)
    return Fetched(out, one_sided_trace(me, rows, store.row_bytes))


@twin
def fetch_two_sided(plan):
    ((store, me, n, rows, positions, copies),) = plan_arguments(plan)
    out = empty((n, store.d), np.float32)
    gather(store.parts[me], rows[me], positions[me], out)
    remote = [p for p in store.ownership.parts if p != me]
    if remote:
        packed, first = empty((sum(len(rows[p]) for p in remote), store.d), store.dtype), 0
        for p in remote:  # by the owner
            last = first + len(rows[p])
            _features.copy_rows(
                as_bytes(store.parts[p]), rows[p], None, as_bytes(packed[first:last])
            )
            first = last
        gather(packed, None, np.concatenate([positions[p] for p in remote]), out)
    if copies.size:
        gather(out, copies[1], copies[0], out)
    return Fetched(out, two_sided_trace(me, rows, store.row_bytes))
