"""Why the transpose and feature propagation do what they do."""

import numpy as np

from refimpl.lab.apps.stepper.whys import Table, counted, listed

TRANSPOSE: Table = {
    "transpose_perm": {
        "indptr, indices": lambda graph: f"{graph.n} rows, {graph.e} entries",
        "perm = np": lambda graph: f"{graph.e} places of Aᵀ, none filled",
        "ptr = indptr": lambda ptr: f"each row is filled from where it begins: {listed(ptr)}",
        "for v in range": lambda graph, indptr, v, taken: (
            f"row {v}: {counted(graph.degrees()[v], 'entry', 'entries')} from {indptr[v]} on"
            if taken
            else "all rows are read"
        ),
        "for j in range": lambda v, j, taken: (
            f"entry {j}, of row {v}" if taken else f"row {v} is read"
        ),
        "u = indices": lambda v, j, u: f"entry {j} is ({v}, {u}): its value goes to row {u} of Aᵀ",
        "perm[ptr[u]]": lambda j, u, ptr: f"place {ptr[u]}, the next of row {u}, gets entry {j}",
        "ptr[u] += 1": lambda u, ptr, indptr: (
            f"row {u} is full"
            if ptr[u] == indptr[u + 1]
            else f"the next of row {u} is place {ptr[u]}"
        ),
        "return perm": lambda: "every place has its entry",
    },
    "transpose_and_back": {
        "data_t =": lambda: "Aᵀ has the values of A in the order that perm says",
        "return perm": lambda: "perm once more gives A back: it is its own inverse",
    },
}


def of_parts_as_printed(n, f, p, s_cache, word, Q):
    """Say how many parts there are."""
    by_cache = -(-word * n * f // s_cache)
    return (
        f"{word} n f / cache = {word} × {n} × {f} / {s_cache} → {by_cache}; the larger of that and "
        f"p = {p}, at most f: Q = {Q}"
    )


def of_width(n, f, p, s_cache, word, width):
    """Say how wide a part is."""
    lanes = f"f / p = {f // p}"
    if not n:
        return f"{lanes}: width {width}"
    return f"{lanes} for a lane; the cache holds {s_cache // (word * n)}: width {width}"


def of_part(r, j, rounds, p, version, i):
    """Say which part a lane takes."""
    if version == "jpdc":
        return f"r + j × rounds = {r} + {j} × {rounds}: part {i}"
    return f"j + r × p = {j} + {r} × {p}: part {i}"


def of_row(graph, v, taken):
    """Say which row is added up."""
    if not taken:
        return "all rows are done"
    near = graph.indices[graph.start[v] : graph.end[v]]
    return f"row {v} of Y, from {counted(len(near), 'row')} of X: {listed(near)}"


def shown(values):
    """Return some numbers, or the one there is, with 4 digits."""
    return listed([f"{x:.4g}" for x in values])


PARTITION: Table = {
    "partition_plan": {
        "Q = max(1, min": of_parts_as_printed,
        "widths = f": lambda widths: f"widths {listed(widths)}",
        "starts = np.concatenate": lambda starts: f"they start at {listed(starts[:-1])}",
        "width = min": of_width,
        "values = line": lambda line, word, values: (
            f"{line} / {word}: a cache line holds {values} values"
        ),
        "if width > values": lambda width, values: (
            f"{width} > {values}: whole cache lines"
            if width > values
            else f"{width} ≤ {values}: less than a cache line, nothing to round"
        ),
        "width = max": lambda width: f"width {width}",
        "Q = max(1, -": lambda f, width, Q: f"{f} columns, {width} a part: Q = {Q}",
        "starts = np.minimum": lambda starts: f"they start at {listed(starts[:-1])}",
        "fits =": lambda word, n, starts, s_cache, fits: (
            f"the widest has {word * n * int(np.diff(starts).max())} bytes "
            f"{'≤' if fits else '>'} {s_cache}: {'it fits' if fits else 'it does not fit'}"
        ),
        "return Partition": lambda Q, p: f"{Q} parts for {p} lanes: {-(-Q // p)} rounds",
    },
    "partition_order": {
        "rounds =": lambda Q, p, rounds: f"{Q} parts, {p} lanes: {rounds} rounds",
        "for r in range": lambda r, taken: f"round {r}" if taken else "all rounds are planned",
        "for j in range": lambda r, j, taken: f"lane {j}" if taken else f"round {r} is planned",
        "i = r": of_part,
        "if i < Q": lambda i, j, Q: (
            f"{i} < {Q}: there is such a part" if i < Q else f"{i} ≥ {Q}: lane {j} idles"
        ),
        "order[r": lambda r, j, i: f"lane {j} takes part {i} in round {r}",
    },
    "feature_propagate": {
        "f = X": lambda f: f"f = {f} columns",
        "for lanes in": lambda lanes, taken: (
            f"a round with parts {listed(lanes[lanes >= 0])}" if taken else "all rounds are done"
        ),
        "for i in lanes": lambda lanes, i, taken: (
            f"part {i} is worked off by lane {lanes.tolist().index(i)}"
            if taken
            else "all parts of the round are done"
        ),
        "part = slice": lambda i, part: (
            f"part {i} is {counted(part.stop - part.start, 'column')}, from {part.start} on"
        ),
        "for v in range": of_row,
        "for j in range": lambda graph, v, j, taken: (
            f"node {v} has the neighbour {graph.indices[j]}" if taken else ""
        ),
        "Y[v": lambda graph, data, X, Y, v, j, part: (
            f"{data[j]:.4g} × {shown(X[graph.indices[j], part])} of node {graph.indices[j]}: now "
            f"{shown(Y[v, part])}"
        ),
        "return np": lambda: "all columns of Y = A X, in a new array",
    },
}
