"""Frontier sampling on the pin-and-tile Dashboard of JPDC'21."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph import Graph
from refimpl.hints import Float, Ids, Int, Positions
from refimpl.samplers.nodes import (
    NodeSample,
    frontier_options,
    node_sample,
    random_neighbour,
    sampler,
    stream_keys,
)
from refimpl.streams import Stream

NULL = -1
MOST_ENTRIES = 2**32  # of a Dashboard: 16 GiB of pins


def pin_tile_arguments(
    graph, main, probe, m, n, eta, deg_cap, include, lanes, probing, probe_range, overflow
):
    """Check the arguments of `pin_tile`; return them."""
    graph, m, n, deg_cap, include = frontier_options(graph, m, n, deg_cap, include)
    eta, *options = dashboard_options(eta, lanes, probing, probe_range, overflow)
    planned_capacity(eta, m, graph.weight_sum(deg_cap) / graph.n)  # raises if it is too large
    return graph, *stream_keys(main, probe), m, n, eta, deg_cap, include, *options


@sampler
@checked_by(pin_tile_arguments)
def pin_tile(
    graph: Graph,
    main: Int,
    probe: Int,
    *,
    m: Int,
    n: Int,
    eta: Float = 2.0,
    deg_cap: Int | None = None,
    include: Literal["pushed", "popped"] = "pushed",
    lanes: Int = 8,
    probing: Literal["one", "lanes"] = "one",
    probe_range: Literal["capacity", "used"] = "capacity",
    overflow: Literal["truncate", "grow"] = "truncate",
) -> NodeSample:
    """Draw the nodes of a subgraph by frontier sampling on a Dashboard.

    JPDC'21 Algorithm 3; ``# n`` marks line n, and its last lines are `induced_subgraph`. Same
    law as `frontier` while nothing is truncated, at O(1) expected probes a step: a frontier
    node of degree k owns k entries ("pins") of one array, so a uniform probe that hits a pin
    hits each node in proportion to its degree. O(m d + (n - m)(eta + d_e eta / (eta - 1)))
    expected time for mean degree d and size-biased mean degree d_e (E-C1).

    Parameters
    ----------
    graph : Graph
        Undirected.
    main, probe : ints in [0, 2**64)
        Keys of two streams: roots and neighbours, and the probes.
    m, n, deg_cap, include
        As in `frontier`; `deg_cap` limits the pins of a node.
    eta : float above 1
        Length of the Dashboard over the expected number of pins in use.
    lanes : int
        The paper's p: probes are counted in rounds of this many. It never changes the sample.
    probing : {"one", "lanes"}
        Make probes one at a time, or, in fastimpl, as many at once as there are lanes, up to 16;
        with one lane, a baseline for measurements that uses no vectors. It never changes the
        sample or a counter.
    probe_range : {"capacity", "used"}
        Probe the whole Dashboard as printed, or only as far as it has been filled.
    overflow : {"truncate", "grow"}
        What happens to a node whose pins do not fit after a clean-up: it gets what is left
        (at least 1), or the Dashboard is doubled.

    Returns
    -------
    NodeSample

    Raises
    ------
    TypeError, ValueError
        If the graph is directed or an option is out of range.
    """
    main, probe = Stream(main), Stream(probe)
    deg = graph.degrees()
    weight = deg if deg_cap is None else np.minimum(deg, deg_cap)
    popped, pushed = [], []

    d = graph.weight_sum(deg_cap) / graph.n  # 1 E-B6: entries over nodes
    capacity = planned_capacity(eta, m, d)  # 2
    FS = main.pick_without_replacement(graph.n, m)  # 4 6 E-B5: without replacement
    capacity = max(capacity, int(weight[FS].sum()))  # 2 E-B9: room for roots
    Vs = set(FS.tolist())  # 5
    board = Dashboard(capacity, FS, weight[FS], n)  # 2-3 7-19 E-B2: the roots stay in the sample
    for _ in range(n - m):  # 20 E-B4: n - m steps, not n nodes
        if board.valid == 0:  # only isolated nodes are left (E-B26)
            break
        v_pop, pin = board.pop_frontier(probe, lanes, probe_range)  # 21
        v_new = random_neighbour(graph, main, v_pop)  # 22
        if weight[v_new] > board.free():  # 23 E-B8: without the printed "+ 1"
            board.cleanup()  # 24-25
        board.add_to_frontier(v_new, pin, int(weight[v_new]), overflow)  # 27 29
        Vs.add(v_new if include == "pushed" else v_pop)  # 28 E-B1: pushed or popped
        popped.append(v_pop)
        pushed.append(v_new)

    counts = {**board.counts, "capacity": len(board.DB)}
    return node_sample(graph, Vs, popped, pushed, main.c, **counts)


class Dashboard:
    """The frontier as one array of pins, m tiles, and an index of the columns in use.

    ``DB[k]`` is the tile that entry k is pinned to, or NULL. Tile t is the 4-tuple ``node[t],
    start[t], end[t], slot[t]``: its node's pins are ``DB[start:end]`` and its column is `slot`.
    Column i of the index array IA begins at ``IA_start[i]``, is in the frontier if
    ``IA_live[i]``, and belongs to tile ``IA_tile[i]`` (E-B13). `cnt` columns are in use; they
    take up the first ``IA_start[cnt]`` entries of DB (E-B10). Popped columns stay until the next
    clean-up. `valid` counts the pins in use.
    """

    def __init__(self, capacity: int, FS: Ids, weights: Positions, n: Int) -> None:
        m = len(FS)
        self.DB = np.full(capacity, NULL, np.int32)  # J3:2 E-B20: NULL is -1 everywhere
        self.IA_start = np.zeros(n + 1, np.int64)  # J3:3 7 E-B10: n + 1 columns are enough
        self.IA_live = np.zeros(n + 1, np.bool_)  # J3:3 12
        self.IA_tile = np.full(n + 1, NULL, np.int32)
        for i in range(m):  # J3:8
            self.IA_start[i + 1] = self.IA_start[i] + weights[i]  # J3:9
            self.IA_live[i], self.IA_tile[i] = True, i  # J3:7 10
        self.node, self.slot = FS.copy(), np.arange(m)
        self.start, self.end = self.IA_start[:m].copy(), self.IA_start[1 : m + 1].copy()
        for i in range(m):  # J3:13
            pin = i  # J3:14
            self.DB[self.start[i] : self.end[i]] = pin  # J3:15-16
        self.cnt = m  # J3:19 E-B2: the roots stay in the sample
        self.valid = int(self.IA_start[m])
        self.counts = dict.fromkeys(("probes", "rounds", "cleanups", "moved", "truncated"), 0)

    def free(self) -> int:
        """Return the number of entries behind the last column."""
        return len(self.DB) - int(self.IA_start[self.cnt])

    def pop_frontier(self, probe: Stream, lanes: Int, probe_range: str) -> tuple[int, int]:  # J4:1
        """Unpin a random frontier node; return it and its tile (Algorithm 4)."""
        limit = len(self.DB) if probe_range == "capacity" else int(self.IA_start[self.cnt])
        tries, idx_pop = 0, NULL  # J4:2
        while idx_pop == NULL:  # J4:3-4 E-B12: the first that hits wins
            idx = probe.below(limit)  # J4:5
            if self.DB[idx] != NULL:  # J4:6
                idx_pop = idx  # J4:7
            tries += 1
        pin = int(self.DB[idx_pop])  # J4:11
        v_pop, start, end = int(self.node[pin]), self.start[pin], self.end[pin]  # J4:12
        self.DB[start:end] = NULL  # J4:13-14
        self.IA_live[self.slot[pin]] = False  # J4:16
        self.valid -= int(end - start)
        self.counts["probes"] += tries
        self.counts["rounds"] += -(-tries // lanes)  # the lowest lane of a round that hits wins
        return v_pop, pin  # J4:17

    def cleanup(self) -> None:  # J4:19
        """Move the columns of the frontier to the front, in order (Algorithm 4)."""
        DB_new = np.full_like(self.DB, NULL)  # J4:20
        k = j = 0
        for i in np.flatnonzero(self.IA_live[: self.cnt]):  # J4:21-22 E-B7: k adds up lengths
            # E-B13: a column names its tile
            t, length = self.IA_tile[i], self.IA_start[i + 1] - self.IA_start[i]
            DB_new[k : k + length] = t  # J4:23
            self.start[t], self.end[t], self.slot[t] = k, k + length, j  # E-B11: the tile, too
            self.IA_start[j], self.IA_live[j], self.IA_tile[j] = k, True, t  # J4:25-26
            k += length
            j += 1
        self.IA_start[j], self.IA_live[j:] = k, False  # J4:26
        self.DB, self.cnt = DB_new, j  # J4:28
        self.counts["cleanups"] += 1
        self.counts["moved"] += int(k)

    def add_to_frontier(self, v_new: int, pin: int, weight: int, overflow: str) -> None:  # J4:30
        """Pin `v_new` behind the last column, on the tile that was popped (Algorithm 4)."""
        while overflow == "grow" and weight > self.free():
            self.DB = np.concatenate([self.DB, np.full_like(self.DB, NULL)])
        i, start = self.cnt, int(self.IA_start[self.cnt])
        end = start + min(weight, self.free())  # at least start + 1: see E-B22
        self.IA_start[i + 1], self.IA_live[i] = end, True  # J4:31
        # E-B10: the entry behind the last column is not live; E-B13: a column names its tile
        self.IA_live[i + 1], self.IA_tile[i] = False, pin
        self.node[pin], self.slot[pin] = v_new, i  # J4:32
        self.start[pin], self.end[pin] = start, end  # J4:32
        self.DB[start:end] = pin  # J4:33-34
        self.cnt = i + 1
        self.valid += end - start
        self.counts["truncated"] += end - start < weight


def planned_capacity(eta, m, d):
    """Return the length of the Dashboard for m nodes of mean weight d, or raise."""
    entries = eta * m * d
    if not entries < MOST_ENTRIES:
        raise ValueError(f"eta must give the Dashboard less than 2**32 entries, got {entries:.3g}")
    return math.ceil(entries)


def dashboard_options(eta, lanes, probing, probe_range, overflow):
    """Check the options that only dashboards have; return them."""
    eta = require.real("eta", eta, 1, strict=True)
    lanes = require.integer("lanes", lanes, 1, 2**31 - 1)
    probing = require.choice("probing", probing, ("one", "lanes"))
    probe_range = require.choice("probe_range", probe_range, ("capacity", "used"))
    overflow = require.choice("overflow", overflow, ("truncate", "grow"))
    return eta, lanes, probing, probe_range, overflow
