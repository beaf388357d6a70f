"""Frontier sampling on the Dashboard of IPDPS'19, with three slots an entry."""

from __future__ import annotations

from typing import Literal

import numpy as np

from refimpl._support.argument_checks import checked_by
from refimpl.graph import Graph
from refimpl.hints import Float, Ids, Int, Mask, Positions
from refimpl.samplers.nodes import NodeSample, node_sample, random_neighbour, sampler
from refimpl.samplers.pin_tile import pin_tile_arguments, planned_capacity
from refimpl.streams import Stream

INV = -1


@sampler
@checked_by(pin_tile_arguments)
def dashboard(
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
    """Draw the nodes of a subgraph by frontier sampling on a Dashboard of three slots an entry.

    IPDPS'19 Algorithm 3; ``# n`` marks line n, and line 26 is `induced_subgraph`. The first
    form of `pin_tile`: same sample, same counters (`moved` counts entries, not slots) and same
    order of time on equal streams. Each entry holds its node itself, so every move of a node
    rewrites three numbers an entry. O(m d + (n - m)(eta + d_e eta / (eta - 1))) expected time for
    mean degree d and size-biased mean degree d_e (E-C1).

    Parameters
    ----------
    graph : Graph
        Undirected.
    main, probe : ints in [0, 2**64)
        Keys of two streams: roots and neighbours, and the probes.
    m, n, deg_cap, include
        As in `frontier`; `deg_cap` limits the entries of a node.
    eta, lanes, probing, probe_range, overflow
        As in `pin_tile`.

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
    board = first_dashboard(capacity, FS, weight[FS], n)
    s = m  # 16
    for _ in range(m, n):  # 17 E-B4: n - m steps, not n nodes
        if board.valid == 0:  # only isolated nodes are left (E-B26)
            break
        limit = board.DB.shape[1] if probe_range == "capacity" else int(board.IA_start[s])
        v_pop = board.pop_frontier(probe, lanes, limit)  # 18
        v_new = random_neighbour(graph, main, v_pop)  # 19
        if weight[v_new] > board.free(s):  # 20 E-B8: without the printed "+ 1"
            board.cleanup(s)  # 21
            s = m - 1  # 22
        board.add_to_frontier(v_new, s, int(weight[v_new]), overflow)  # 23
        Vs.add(v_new if include == "pushed" else v_pop)  # 24 E-B1: pushed or popped
        s += 1  # 25
        popped.append(v_pop)
        pushed.append(v_new)

    counts = {**board.counts, "capacity": board.DB.shape[1]}
    return node_sample(graph, Vs, popped, pushed, main.c, **counts)  # 27


def first_dashboard(capacity: int, FS: Ids, weights: Positions, n: Int) -> SlotDashboard:
    """Return the Dashboard of the first frontier (Algorithm 3, lines 2-15)."""
    m = len(FS)
    DB = np.full((3, capacity), INV, np.int32)  # 2
    # E-B10: n + 1 columns are enough
    IA_start, IA_live = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.bool_)  # 3
    IA_start[0], IA_live[0] = 0, True  # 7
    for i in range(1, m + 1):  # 8
        IA_start[i] = IA_start[i - 1] + weights[i - 1]  # 9
        IA_live[i] = i != m  # 10
    for i in range(m):  # 11
        k = np.arange(IA_start[i], IA_start[i + 1])  # 12 E-B18: IA's first row
        DB[0, k] = FS[i]  # 13
        # E-B18: the index array's first row
        DB[1, k] = np.where(k != IA_start[i], k - IA_start[i], -weights[i])  # 14
        DB[2, k] = i  # 15
    return SlotDashboard(DB, IA_start, IA_live, int(IA_start[m]))


class SlotDashboard:
    """The frontier as one array of entries with three slots, and an index of the columns in use.

    ``DB[:, k]`` is entry k: its node (INV where nobody owns it), its offset, and its column of
    the index array IA. The entries of a node stand in a row; the offset is how far back the
    first one is, and in the first one minus how many there are. Column i begins at
    ``IA_start[i]`` and is in the frontier if ``IA_live[i]``. The caller counts the columns in
    use; `valid` counts the entries in use.
    """

    def __init__(self, DB: np.ndarray, IA_start: Positions, IA_live: Mask, valid: int) -> None:
        self.DB, self.IA_start, self.IA_live, self.valid = DB, IA_start, IA_live, valid
        self.counts = dict.fromkeys(("probes", "rounds", "cleanups", "moved", "truncated"), 0)

    def free(self, s: Int) -> int:
        """Return how many entries stand behind the first s columns."""
        return self.DB.shape[1] - int(self.IA_start[s])

    def pop_frontier(self, probe: Stream, lanes: Int, limit: int) -> int:  # I4:1
        """Free the entries of a random frontier node and return it (Algorithm 4)."""
        tries, idx_pop = 0, INV  # I4:2
        while idx_pop == INV:  # I4:3-4 E-B12: the first that hits wins
            idx_p = probe.below(limit)  # I4:5
            if self.DB[0, idx_p] != INV:  # I4:6
                idx_pop = idx_p  # I4:7
            tries += 1
        v_pop = int(self.DB[0, idx_pop])  # I4:9
        offset = int(self.DB[1, idx_pop])  # I4:10
        idx_start = idx_pop - offset if offset > 0 else idx_pop  # I4:11 E-B14: from idx_pop
        deg = -int(self.DB[1, idx_start])  # I4:12 E-B15: minus what is stored
        self.DB[0, idx_start : idx_start + deg] = INV  # I4:13-14 E-B19: all at once, not in p parts
        self.IA_live[self.DB[2, idx_pop]] = False  # I4:16
        self.valid -= deg
        self.counts["probes"] += tries
        self.counts["rounds"] += -(-tries // lanes)  # the lowest lane of a round that hits wins
        return v_pop  # I4:17

    def cleanup(self, s: Int) -> None:  # I4:18
        """Move the live ones of the first s columns to the front, in order (Algorithm 4)."""
        DB_new = np.full_like(self.DB, INV)  # I4:19
        live = np.flatnonzero(self.IA_live[:s])
        start, end = self.IA_start[live], self.IA_start[live + 1]
        k = np.concatenate(([0], np.cumsum(end - start)))  # I4:20 E-B7: sums of lengths, not starts
        for j in range(len(live)):  # I4:21
            DB_new[:2, k[j] : k[j + 1]] = self.DB[:2, start[j] : end[j]]  # I4:22
            DB_new[2, k[j] : k[j + 1]] = j  # I4:22 E-B11: columns are numbered anew
        self.IA_start[: len(k)] = k  # I4:23-24
        self.IA_live[:] = np.arange(len(self.IA_live)) < len(live)  # I4:24
        self.DB = DB_new  # I4:25
        self.counts["cleanups"] += 1
        self.counts["moved"] += int(k[-1])

    def add_to_frontier(self, v_new: int, i: Int, weight: int, overflow: str) -> None:  # I4:26
        """Append the entries of `v_new` as column i (Algorithm 4)."""
        while overflow == "grow" and weight > self.free(i):
            self.DB = np.concatenate([self.DB, np.full_like(self.DB, INV)], axis=1)
        d = min(weight, self.free(i))  # I4:29 E-B16: d is needed in line 27; E-B22: at least one
        self.IA_start[i + 1], self.IA_live[i] = self.IA_start[i] + d, True  # I4:27
        self.IA_live[i + 1] = False  # E-B10: column n is never live
        idx = int(self.IA_start[i])  # I4:28
        k = np.arange(idx, idx + d)  # I4:30-31 E-B19: all at once, not in p parts
        self.DB[0, k] = v_new  # I4:32 E-B17: v_new, not n
        self.DB[1, k] = np.where(k != idx, k - idx, -d)  # I4:33
        self.DB[2, k] = i  # I4:34
        self.valid += d
        self.counts["truncated"] += d < weight
