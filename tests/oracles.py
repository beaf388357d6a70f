"""Independent answers: written from the definitions, slowly, with no code of either package."""

import math
from collections import Counter, namedtuple
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.stats import chi2

MASK = 2**64 - 1
GOLD = 0x9E3779B97F4A7C15


def split_mix(x):
    """Return SplitMix64's finaliser, on a Python integer."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def stream_key(*parts):
    """Return the key of the stream named by `parts`."""
    a = 0
    for part in parts:
        a = split_mix((a + GOLD + part) & MASK)
    return a


class Draws:
    """A stream read left to right."""

    def __init__(self, key):
        self.key, self.count = key, 0

    def uniform(self):
        self.count += 1
        return (split_mix((self.key + GOLD * self.count) & MASK) >> 11) / 2**53

    def below(self, n):
        return math.floor(self.uniform() * n)


def floyd(key, n, f):
    """Return f of n positions, ascending: Floyd's algorithm, with a list that is searched."""
    draws, chosen = Draws(key), []
    for j in range(n - f, n):
        t = draws.below(j + 1)
        chosen.append(j if t in chosen else t)
    return sorted(chosen)


def dense_fisher_yates(draws, N, m):
    """Return the first m entries of a shuffle of 0, .., N-1 that holds all N of them."""
    deck = list(range(N))
    for i in range(m):
        j = i + draws.below(N - i)
        deck[i], deck[j] = deck[j], deck[i]
    return deck[:m]


def neighbours(graph, v):
    """Return the neighbours of v as Python integers."""
    return graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()


def pop_weights(graph, deg_cap):
    """Return how many pins each node would own."""
    return [
        min(len(neighbours(graph, v)), deg_cap or graph.e + graph.n + 1) for v in range(graph.n)
    ]


def frontier_walk(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    """Return nodes, popped and pushed of frontier sampling, by a scan over the slots."""
    weights, main, probe = pop_weights(graph, deg_cap), Draws(main), Draws(probe)
    slots = dense_fisher_yates(main, graph.n, m)
    sample, popped, pushed = set(slots), [], []
    while len(popped) < n - m and any(weights[v] for v in slots):
        t = probe.below(sum(weights[v] for v in slots))
        i = 0
        while weights[slots[i]] <= t:
            t -= weights[slots[i]]
            i += 1
        near = neighbours(graph, slots[i])
        popped.append(slots[i])
        slots[i] = near[main.below(len(near))]
        pushed.append(slots[i])
        sample.add(pushed[-1] if include == "pushed" else popped[-1])
    return sorted(sample), popped, pushed


Walk = namedtuple("Walk", "nodes popped pushed counters")


class BlockList:
    """The pin-and-tile dashboard as what it means: blocks in a row, each of one frontier node.

    A block is [node, pins, live]. There is no array of pins, no tile and no index array to go
    stale, so it shares no mistake with a dashboard that has them.
    """

    def __init__(self, capacity, nodes, weights):
        self.capacity = capacity
        self.blocks = [[v, weights[v], True] for v in nodes]
        self.cleanups = self.moved = self.truncated = 0

    def used(self):
        return sum(pins for _, pins, _ in self.blocks)

    def live(self):
        return sum(pins for _, pins, live in self.blocks if live)

    def at(self, position):
        """Return the live block that owns `position`, or None."""
        for block in self.blocks:
            if position < block[1]:
                return block if block[2] else None
            position -= block[1]
        return None

    def add(self, v, need, overflow):
        if need > self.capacity - self.used():
            self.blocks = [block for block in self.blocks if block[2]]
            self.cleanups += 1
            self.moved += self.used()
        while overflow == "grow" and need > self.capacity - self.used():
            self.capacity *= 2
        room = self.capacity - self.used()
        self.truncated += need > room
        self.blocks.append([v, min(need, room), True])


def dashboard_walk(
    graph,
    main,
    probe,
    *,
    capacity,
    m,
    n,
    eta=2.0,
    deg_cap=None,
    include="pushed",
    lanes=8,
    probe_range="capacity",
    overflow="truncate",
):
    """Return what `pin_tile` must give for a dashboard that starts with `capacity` entries."""
    weights, main, probe = pop_weights(graph, deg_cap), Draws(main), Draws(probe)
    board = BlockList(capacity, dense_fisher_yates(main, graph.n, m), weights)
    sample, popped, pushed = {v for v, _, _ in board.blocks}, [], []
    probes = rounds = 0
    while len(popped) < n - m and board.live():
        block, tries = None, 0
        while block is None:
            block = board.at(probe.below(capacity_or_used(board, probe_range)))
            tries += 1
        probes, rounds = probes + tries, rounds + -(-tries // lanes)
        block[2] = False
        near = neighbours(graph, block[0])
        popped.append(block[0])
        pushed.append(near[main.below(len(near))])
        board.add(pushed[-1], weights[pushed[-1]], overflow)
        sample.add(pushed[-1] if include == "pushed" else popped[-1])
    counters = {
        "pops": len(popped),
        "probes": probes,
        "rounds": rounds,
        "cleanups": board.cleanups,
        "moved": board.moved,
        "truncated": board.truncated,
        "popped_degree_sum": sum(len(neighbours(graph, v)) for v in popped),
        "added_degree_sum": sum(len(neighbours(graph, v)) for v in pushed),
        "capacity": board.capacity,
        "draws": main.count,
    }
    return Walk(sorted(sample), popped, pushed, counters)


def capacity_or_used(board, probe_range):
    """Return over how many entries a probe goes."""
    return board.capacity if probe_range == "capacity" else board.used()


def frontier_law(graph, m, n, deg_cap=None, include="pushed"):
    """Return {set of nodes: probability} of frontier sampling by enumeration, as Fractions."""
    weights = pop_weights(graph, deg_cap)
    roots = list(combinations(range(graph.n), m))
    law = {(pick, frozenset(pick)): Fraction(1, len(roots)) for pick in roots}
    for _ in range(n - m):
        law = _one_step(graph, weights, include, law)
    outcome = Counter()
    for (_, sample), probability in law.items():
        outcome[sample] += probability
    assert sum(outcome.values()) == 1
    return outcome


def _one_step(graph, weights, include, law):
    after = Counter()
    for (slots, sample), probability in law.items():
        total = sum(weights[v] for v in slots)
        if not total:
            after[slots, sample] += probability
            continue
        for i, u in enumerate(slots):
            near = neighbours(graph, u) if weights[u] else []
            for x in near:
                moved = tuple(sorted((*slots[:i], x, *slots[i + 1 :])))
                joined = sample | {x if include == "pushed" else u}
                after[moved, joined] += probability * Fraction(weights[u], total * len(near))
    return after


def chi_square_p(counts, law):
    """Return the p-value of `counts` under `law`; cells that expect under 5 are pooled."""
    assert set(counts) <= set(law), "an outcome that the law excludes"
    draws = sum(counts.values())
    rare = {x for x, p in law.items() if draws * p < 5}
    cells = [(counts[x], float(draws * p)) for x, p in law.items() if x not in rare]
    cells.append((sum(counts[x] for x in rare), float(draws * sum(law[x] for x in rare))))
    cells = [(seen, want) for seen, want in cells if want > 0]
    assert len(cells) > 10, "too few cells to tell two laws apart"
    statistic = sum((seen - want) ** 2 / want for seen, want in cells)
    return float(chi2.sf(statistic, len(cells) - 1))


def dense(graph, data=None):
    """Return the matrix with `data` (default: ones) on the pattern of `graph`."""
    data = np.ones(graph.e) if data is None else data
    matrix = np.zeros((graph.n, graph.n), data.dtype)
    matrix[rows(graph), graph.indices] = data
    return matrix


def rows(graph):
    """Return the row of every entry of `graph.indices`."""
    return np.repeat(np.arange(graph.n), np.diff(graph.indptr))


def sequential_product(graph, data, X):
    """Return A X by scalar operations in the order of the entries, each rounded on its own."""
    result = np.zeros(X.shape, X.dtype)
    for v in range(graph.n):
        for k in range(X.shape[1]):
            total = X.dtype.type(0)
            for j in range(graph.indptr[v], graph.indptr[v + 1]):
                total = total + data[j] * X[graph.indices[j], k]
            result[v, k] = total
    return result


def matrix(pattern, data=None):
    """Return the matrix with `data` (default: ones) on the live entries of a Graph or Block."""
    data = np.ones(pattern.e) if data is None else data
    result = np.zeros((pattern.n_dst, pattern.n_src), data.dtype)
    for v, (start, end) in enumerate(zip(pattern.start, pattern.end, strict=True)):
        for k in range(start, end):
            result[v, pattern.indices[k]] = data[k]
    return result


def nearest_bfloat16(X):
    """Return the nearest numbers of 8 bits of precision, of two as near that with an even last bit.

    The smallest step is 2^-133; what is too large for float32 is infinite.
    """
    fraction, exponent = np.frexp(X.astype(np.float64))
    step = np.maximum(exponent - 8, -133)
    with np.errstate(over="ignore"):
        return np.ldexp(np.rint(np.ldexp(fraction, exponent - step)), step).astype(np.float32)


def differences(function, array, h=1e-5):
    """Return the central differences of a function of no argument that reads `array`."""
    result = np.empty_like(array)
    for index in np.ndindex(array.shape):
        value, ends = array[index], []
        for step in (h, -h):
            array[index] = value + step
            ends.append(function())
        array[index], result[index] = value, (ends[0] - ends[1]) / (2 * h)
    return result
