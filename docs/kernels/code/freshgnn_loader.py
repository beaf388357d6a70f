"""FreshGNN's data loader: rows of features from where they are."""

import math

from arrays import FLOATS, all_within, has_shape, is_integers
from forms import as_dtype, is_array, is_integer, is_named

STORED = ("float16", "float32", "float64")


def gather_rows(X, rows, scaling, dtype):
    if dtype is None:
        dtype = "float64" if X.dtype == "float64" else "float32"
    gathered = []
    for v in rows:
        row = scaled(X[v], scaling)
        gathered.append([as_dtype(dtype, x) for x in row])
    return gathered


def scaled(row, scaling):
    """In float64."""
    if scaling is None:
        return row
    if scaling == "rows":
        size = 0.0
        for x in row:
            size += abs(x)
        return [x / size for x in row] if size > 0 else row
    mean, std = scaling
    return [(row[c] - mean[c]) / std[c] for c in range(len(row))]


def fetch_one_sided(plan):
    messages = []
    for p in remote_parts(plan):
        size = len(plan.rows[p]) * row_bytes(plan)
        messages.append(message(p, plan.me, size, "data"))
    return fetched(plan, messages, packed=0, waits=1)


def fetch_two_sided(plan):
    messages, packed = [], 0
    for p in remote_parts(plan):
        size = len(plan.rows[p]) * row_bytes(plan)
        messages.append(message(plan.me, p, 8 * len(plan.rows[p]), "idx"))  # which rows
        messages.append(message(p, plan.me, 0, "sync"))  # they are packed
        messages.append(message(p, plan.me, size, "data"))
        packed += size
    return fetched(plan, messages, packed, waits=2)


def remote_parts(plan):
    """The parts, other than the one at hand, that rows are read from."""
    return [p for p in range(len(plan.rows)) if p != plan.me and len(plan.rows[p]) > 0]


def row_bytes(plan):
    part = plan.store.parts[0]
    return part.shape[1] * (2 if part.dtype == "float16" else 4)


def message(source, target, size, kind):
    return {"source": source, "target": target, "bytes": size, "kind": kind}


def fetched(plan, messages, packed, waits):
    rows = [None] * plan.n
    for p in range(len(plan.rows)):
        for k in range(len(plan.rows[p])):
            rows[plan.positions[p][k]] = plan.store.parts[p][plan.rows[p][k]]
    to, of = plan.copies
    for k in range(len(to)):
        rows[to[k]] = rows[of[k]]
    trace = {"messages": messages, "packed": packed, "rounds": waits if messages else 0}
    return {"rows": rows, "trace": trace}


def check_gather_rows(X, rows, scaling, dtype):
    yield (
        "type",
        "`X` is no array of float16, float32 or float64",
        not (is_array(X) and X.dtype in STORED),
    )
    yield "type", "`rows` is no array of integers", not is_integers(rows)
    yield (
        "type",
        "`scaling` is not null, `rows`, or two arrays of float64",
        not (scaling is None or scaling == "rows" or is_pair(scaling)),
    )
    yield (
        "type",
        "`dtype` is not null, `float32` or `float64`",
        not (dtype is None or dtype in FLOATS),
    )
    yield "value", "`X` is no matrix", not has_shape(X, None, None)
    yield "value", "`X` has no columns", X.shape[1] == 0
    yield "value", "a row is not in `X`", not all_within(rows, 0, len(X))
    yield (
        "value",
        "`scaling` has not two numbers for each column, finite, the second above 0",
        is_pair(scaling) and not scales(scaling, X.shape[1]),
    )


def is_pair(value):
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(is_array(one) and one.dtype == "float64" for one in value)


def scales(scaling, width):
    mean, std = scaling
    if not has_shape(mean, width) or not has_shape(std, width):
        return False
    finite = all(math.isfinite(x) for x in mean + std)
    return finite and all(x > 0 for x in std)


def check_fetch_one_sided(plan):
    yield "type", "`plan` is no `FetchPlan`", not is_named(plan, "FetchPlan")
    yield "type", "`store` is no `FeatureStore`", not is_named(plan.store, "FeatureStore")
    yield "type", "`me` or `n` is no integer", not (is_integer(plan.me) and is_integer(plan.n))
    parts = plan.store.parts
    lists = isinstance(plan.rows, list) and isinstance(plan.positions, list)
    yield "type", "`rows` or `positions` is no list", not lists
    yield "value", "`me` is no part", not 0 <= plan.me < len(parts)
    yield (
        "value",
        "`rows` or `positions` has not one list for each part",
        len(plan.rows) != len(parts) or len(plan.positions) != len(parts),
    )
    yield (
        "type",
        "an array of `rows`, `positions` or `copies` is of no integers",
        not all(map(is_integers, [*plan.rows, *plan.positions, plan.copies])),
    )
    yield (
        "value",
        "a row is not in its part",
        not all(all_within(plan.rows[p], 0, len(parts[p])) for p in range(len(parts))),
    )
    yield (
        "value",
        "`positions` are not as many as `rows`",
        any(len(plan.rows[p]) != len(plan.positions[p]) for p in range(len(parts))),
    )
    yield "value", "`copies` has not two rows", not has_shape(plan.copies, 2, None)
    yield "value", "a row of the result is written twice, or never", not writes_once(plan)
    yield "value", "a copy is of a row that is not read", not copies_read(plan)


def check_fetch_two_sided(plan):
    yield from check_fetch_one_sided(plan)


def writes_once(plan):
    written = list(plan.copies[0])
    for positions in plan.positions:
        written += positions
    return sorted(written) == list(range(plan.n))


def copies_read(plan):
    read = set()
    for positions in plan.positions:
        read |= set(positions)
    return all(k in read for k in plan.copies[1])
