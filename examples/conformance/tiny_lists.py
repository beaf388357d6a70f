"""A third implementation: some kernels of minibatch-gnn in plain Python lists, for short code.

PYTHONPATH=examples/conformance minibatch-gnn conformance --impl tiny_lists

Arguments come as NumPy arrays and as a Graph with `indptr` and `indices`; `.tolist()` is all that
is asked of them. Results are lists, and dicts where a result has named parts.
"""

from bisect import bisect_right
from itertools import accumulate

__version__ = "1"
WORD = 2**64
GOLD = 0x9E3779B97F4A7C15


def mix(x):
    return each(mix_word, x)


def key(*parts):
    a = 0
    for part in parts:
        a = mix_word((a + GOLD + integer(part, 0, WORD - 1)) % WORD)
    return a


def uniform(k, c):
    k = integer(k, 0, WORD - 1)
    return each(lambda one: draw(k, one), c)


def below(k, c, n):
    k, n = integer(k, 0, WORD - 1), integer(n, 1, 2**53 - 1)
    return each(lambda one: int(draw(k, one) * n), c)


def pick_without_replacement(k, c, N, m):
    k, c, N = integer(k, 0, WORD - 1), integer(c, 0, WORD - 1), integer(N, 0, 2**31 - 1)
    moved, picked = {}, []
    for i in range(integer(m, 0, N)):
        j = i + int(draw(k, (c + i) % WORD) * (N - i))
        picked.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return picked


def permutation(key, n):
    return pick_without_replacement(key, 0, n, n)


def floyd(key, n, f):
    key, n = integer(key, 0, WORD - 1), integer(n, 0, 2**31 - 1)
    chosen = set()
    for c in range(integer(f, 0, n)):
        t = int(draw(key, c) * (n - integer(f, 0, n) + c + 1))
        chosen.add(n - f + c if t in chosen else t)
    return sorted(chosen)


def transpose_perm(graph):
    return transposed(neighbours(graph))


def induced_subgraph(graph, nodes):
    rows, first, nodes = neighbours(graph), graph.indptr.tolist(), nodes.tolist()
    if any(type(v) is not int for v in nodes):
        raise TypeError("nodes must be integers")
    if nodes != sorted(set(nodes)) or not all(0 <= v < len(rows) for v in nodes):
        raise ValueError("nodes must be ascending nodes of the graph")
    local = {v: i for i, v in enumerate(nodes)}
    kept = [[(local[u], first[v] + j) for j, u in enumerate(rows[v]) if u in local] for v in nodes]
    rows = [[u for u, _ in row] for row in kept]
    ends = accumulate(map(len, rows))
    return {
        "nodes": nodes,
        "graph": {"indptr": [0, *ends], "indices": [u for row in rows for u in row]},
        "edge_ids": [j for row in kept for _, j in row],
        "transpose_perm": transposed(rows),
        "counters": counters(),
    }


def frontier(graph, main, probe, *, m, n, deg_cap, include):
    rows = neighbours(graph)
    main, probe = integer(main, 0, WORD - 1), integer(probe, 0, WORD - 1)
    m = integer(m, 1, len(rows))
    n = integer(n, m, 2**31 - 1)
    cap = 2**31 if deg_cap is None else integer(deg_cap, 1, 2**31 - 1)
    if include not in ("pushed", "popped"):
        raise ValueError("include must be 'pushed' or 'popped'")
    front = pick_without_replacement(main, 0, len(rows), m)
    sample, popped, pushed = set(front), [], []
    for step in range(n - m):
        sums = list(accumulate(min(len(rows[v]), cap) for v in front))
        if sums[-1] == 0:
            break
        slot = bisect_right(sums, int(draw(probe, step) * sums[-1]))
        u = front[slot]
        front[slot] = rows[u][int(draw(main, m + step) * len(rows[u]))]
        sample.add(front[slot] if include == "pushed" else u)
        popped.append(u)
        pushed.append(front[slot])
    steps = len(popped)
    return sample_of(rows, sample, popped, pushed, m + steps, probes=steps, rounds=steps)


def edge(graph, main, *, b, method):
    rows, main = neighbours(graph), integer(main, 0, WORD - 1)
    b = integer(b, 1, 2**31 - 1)
    if method not in ("direct", "alias"):
        raise ValueError("method must be 'direct' or 'alias'")
    if method == "alias":
        raise NotImplementedError("only the direct method")
    nodes = [v for v, row in enumerate(rows) if row]
    popped = [nodes[int(draw(main, 2 * i) * len(nodes))] for i in range(b if nodes else 0)]
    pushed = [rows[u][int(draw(main, 2 * i + 1) * len(rows[u]))] for i, u in enumerate(popped)]
    return sample_of(rows, {*popped, *pushed}, popped, pushed, 2 * len(popped))


def transposed(rows):
    """Return `transpose_perm` of a graph as lists of neighbours."""
    starts = [0, *accumulate(map(len, rows))]
    perm, j = [None] * starts[-1], 0
    for row in rows:
        for u in row:
            perm[starts[u]] = j
            starts[u] += 1
            j += 1
    return perm


def neighbours(graph):
    """Return the neighbours of every node; refuse what is no undirected graph."""
    if not hasattr(graph, "indptr"):
        raise TypeError("graph must be a graph")
    ptr, ids = graph.indptr.tolist(), graph.indices.tolist()
    rows = [ids[ptr[v] : ptr[v + 1]] for v in range(len(ptr) - 1)]
    edges = {(u, v) for u, row in enumerate(rows) for v in row}
    if any((v, u) not in edges for u, v in edges):
        raise ValueError("graph must be undirected")
    return rows


def counters(**counted):
    """Return all counters: 0 if they are not given."""
    names = "pops probes rounds cleanups moved truncated popped_degree_sum added_degree_sum"
    return {**dict.fromkeys(f"{names} capacity draws".split(), 0), **counted}


def sample_of(rows, sample, popped, pushed, draws, **counted):
    """Return what a sampler returns."""
    sums = {
        "popped_degree_sum": sum(len(rows[v]) for v in popped),
        "added_degree_sum": sum(len(rows[v]) for v in pushed),
    }
    all_counters = counters(pops=len(popped), draws=draws, **sums, **counted)
    return {"nodes": sorted(sample), "popped": popped, "pushed": pushed, "counters": all_counters}


def mix_word(x):
    """Return `mix` of one word."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def draw(k, c):
    """Return `uniform` of one counter."""
    return (mix_word((k + GOLD * (c + 1)) % WORD) >> 11) * 2.0**-53


def each(function, x):
    """Return `function` of a word, or of each word of an array."""
    if not hasattr(x, "tolist"):
        return function(integer(x, 0, WORD - 1))
    if x.dtype != "uint64":
        raise TypeError("an array must be of uint64")

    def inside(part):
        return list(map(inside, part)) if isinstance(part, list) else function(part)

    return inside(x.tolist())


def integer(value, low, high):
    """Return `value` if it is an integer in [low, high]."""
    if type(value) is not int:
        raise TypeError(f"want an integer, got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"want an integer in [{low}, {high}], got {value}")
    return value
