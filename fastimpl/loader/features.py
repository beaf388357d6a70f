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
    gather(out, copies[1], copies[0], out)
    return Fetched(out, one_sided_trace(me, rows, store.row_bytes))


@twin
def fetch_two_sided(plan):
    ((store, me, n, rows, positions, copies),) = plan_arguments(plan)
    out = empty((n, store.d), np.float32)
    for p, part in enumerate(store.parts):
        if p == me:
            gather(part, rows[p], positions[p], out)
            continue
        packed = empty((len(rows[p]), store.d), store.dtype)  # by the owner
        _features.copy_rows(as_bytes(part), rows[p], None, as_bytes(packed))
        gather(packed, None, positions[p], out)
    gather(out, copies[1], copies[0], out)
    return Fetched(out, two_sided_trace(me, rows, store.row_bytes))
