"""Who sends to whom when, so that no link of a network carries two transfers at a time.

VLDB'24 section 6, multi-round communication. The paper gives one example; the general algorithm
here is this project's own; `refimpl.loader.simulation` times it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.reprs import showing
from refimpl.hints import Float, Int, Integers, Reals, Table

MOST_DEVICES = 1024  # there is a route between any two
MOST_LEVELS = 64


@dataclass(frozen=True, eq=False)
class Topology:
    """Devices, and the directed links between them and their switches.

    As in FreshGNN's Figure 9(c).

    Parameters
    ----------
    devices : int
        They are the vertices 0 .. devices - 1; any other number is a switch. Devices do not pass
        on what is meant for others.
    links : sequence of (int, int, float)
        From which vertex to which, and how many bytes a second; each pair once.

    Attributes
    ----------
    routes : dict
        (source, target) -> numbers of links: the way with the fewest links, and of those the one
        whose vertices come first. Pairs without a way are not in it.

    Raises
    ------
    TypeError, ValueError
        If a vertex is no integer from 0, a link leads nowhere or is there twice, or a bandwidth
        is not above 0.
    """

    devices: int
    links: Sequence[tuple[int, int, float]]
    routes: dict[tuple[int, int], tuple[int, ...]] = field(init=False)

    __repr__ = showing("devices", "links")

    def __post_init__(self):
        devices = require.integer("devices", self.devices, 1, MOST_DEVICES)
        links = []
        for link in require.sequence("links", self.links, "(int, int, float)"):
            a, b, bandwidth = require.sequence("links", link, "(int, int, float)", 3)
            a, b = require.integer("links", a, 0), require.integer("links", b, 0)
            if a == b:
                raise ValueError(f"links must join two vertices, got {require.shown(a)} twice")
            links.append((a, b, require.real("bandwidth of links", bandwidth, 0, strict=True)))
        if len({link[:2] for link in links}) < len(links):
            raise ValueError("links must hold a pair of vertices once")
        routes = {}
        for source in range(devices):
            routes.update(_routes_from(source, devices, links))
        for name, value in (("devices", devices), ("links", tuple(links)), ("routes", routes)):
            object.__setattr__(self, name, value)

    @classmethod
    def tree(cls, shape: Integers, bandwidth: Float | Reals = 1.0) -> Topology:
        """Return a tree of switches: `shape` (2, 4) is a host over 2 switches with 4 devices each.

        (2, 2) is the paper's example. A level with one switch only has no links above it.
        `bandwidth` is one number, or one a level, from the host down.
        """
        shape = require.sequence("shape", shape)
        shape = [require.integer("shape", k, 1, MOST_DEVICES) for k in shape]
        if not 1 <= len(shape) <= MOST_LEVELS:
            raise ValueError(f"shape must have 1 to {MOST_LEVELS} levels, got {len(shape)}")
        widths = list(accumulate([1, *shape], mul))
        if widths[-1] > MOST_DEVICES:
            raise ValueError(f"shape must have at most {MOST_DEVICES} devices, got {widths[-1]}")
        devices, links = widths[-1], []
        if not np.iterable(bandwidth):
            bandwidth = [bandwidth] * len(shape)
        bandwidth = require.sequence("bandwidth", bandwidth, "numbers", len(shape))
        below, base = 0, devices  # the first vertex of this level, and of the one above
        for level in reversed(range(len(shape))):
            if widths[level + 1] > 1:
                for child in range(widths[level + 1]):
                    ends = below + child, base + child // shape[level]
                    links += [(*ends, bandwidth[level]), (*ends[::-1], bandwidth[level])]
            below, base = base, base + widths[level]
        return cls(devices, tuple(links))

    @classmethod
    def crossbar(cls, devices: Int, bandwidth: Float = 1.0) -> Topology:
        """Return devices around one switch that never is the bottleneck.

        `bandwidth` is that of each device's link, one number.
        """
        return cls.tree((devices,), bandwidth)

    def reverse(self, link: int) -> int | None:
        """Return the number of the link between the same vertices the other way, or None."""
        a, b, _ = self.links[link]
        return next((k for k, other in enumerate(self.links) if other[:2] == (b, a)), None)


def _routes_from(source, devices, links):
    """Return the routes from one device. Breadth first, so that the first way found is kept."""
    neighbours: dict[int, list] = {}
    for k, (a, b, _) in enumerate(links):
        neighbours.setdefault(a, []).append((b, k))
    ways: dict[int, tuple] = {source: ()}
    queue = deque([source])
    while queue:
        a = queue.popleft()
        if a != source and a < devices:
            continue
        for b, k in sorted(neighbours.get(a, ())):
            if b not in ways:
                ways[b] = (*ways[a], k)
                queue.append(b)
    return {(source, b): way for b, way in ways.items() if b < devices and b != source}


class Transfer(NamedTuple):
    """What one device sends to another in a round.

    `plan_rounds` and `pairwise_exchange` make them.

    Attributes
    ----------
    source, target : int
        Numbers of the devices.
    bytes : int
    """

    source: int
    target: int
    bytes: int


def demand_arguments(topology, demand):
    """Check the arguments of `round_bound`; return them."""
    if not isinstance(topology, Topology):
        raise TypeError(f"topology must be a Topology, got {type(topology).__name__}")
    demand = _square("demand", demand, topology.devices)
    for pair in demands(demand):
        if pair not in topology.routes:
            raise ValueError(
                f"demand must be 0 where there is no way, as from {pair[0]} to {pair[1]}"
            )
    return topology, demand


def demands(demand):
    """Return {(source, target): bytes} of what has to go over links."""
    return {(s, d): int(demand[s, d]) for s, d in np.argwhere(demand).tolist() if s != d}


def rounds_arguments(topology, demand, mix_classes, chunk):
    """Check the arguments of `plan_rounds`; return them."""
    given = demand_arguments(topology, demand)
    return *given, require.switch("mix_classes", mix_classes), require.switch("chunk", chunk)


def exchange_arguments(demand):
    """Check the argument of `pairwise_exchange`; return it."""
    return (_square("demand", demand),)


def _square(name, value, n=None):
    array = require.array(name, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or (n is not None and len(array) != n):
        size = "n" if n is None else n
        raise ValueError(f"{name} must have shape ({size}, {size}), got {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {array.dtype}")
    if array.size and array.min() < 0:
        raise ValueError(f"{name} must be at least 0")
    return array


@checked_by(rounds_arguments)
def plan_rounds(
    topology: Topology, demand: Table, *, mix_classes: bool = False, chunk: bool = False
) -> tuple[tuple[Transfer, ...], ...]:
    """Put transfers into rounds in which every link carries at most one.

    Greedy: first what crosses the links with the most left to carry, then long routes, then what
    uses a link whose other direction is busy, then the lowest (source, target). Rounds are at
    least `round_bound`; how many more is not known, but see the tests.
    FreshGNN section 6 gives one example; the algorithm is this project's.
    O(transfers^2 links of a route) time a round.

    Parameters
    ----------
    topology : Topology
    demand : (devices, devices) integer array
        Bytes that device s sends to device d. The diagonal, and zeros, are no transfers.
    mix_classes : bool
        False finishes all transfers over short routes before those over longer ones, as the paper
        does: on its example 5 rounds. True mixes them: 4, the fewest there can be.
    chunk : bool
        Cut the transfers of a round to the round's median; what is left waits for a later one.

    Returns
    -------
    tuple of tuples of Transfers

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or a transfer has no way.
    """
    left = demands(demand)
    lengths = sorted({len(topology.routes[pair]) for pair in left})
    classes = [lengths] if mix_classes else [[length] for length in lengths]
    rounds = []
    for allowed in classes:
        group = {pair: m for pair, m in left.items() if len(topology.routes[pair]) in allowed}
        while group:
            pairs = _one_round(topology, group)
            sizes = sorted(group[pair] for pair in pairs)
            most = sizes[len(sizes) // 2] if chunk else sizes[-1]
            rounds.append(tuple(Transfer(s, d, min(group[s, d], most)) for s, d in pairs))
            for transfer in rounds[-1]:
                group[transfer[:2]] -= transfer.bytes
                if group[transfer[:2]] == 0:
                    del group[transfer[:2]]
    return tuple(rounds)


def _one_round(topology, group):
    """Return pairs of `group` that share no link, in the order in which they were chosen."""
    load = loads(topology, group)
    back = {k: topology.reverse(k) for k in load}
    chosen: list[tuple] = []
    used: set[int] = set()
    candidates = sorted(group)
    while True:
        candidates = [p for p in candidates if used.isdisjoint(topology.routes[p])]
        if not candidates:
            return chosen

        def rank(pair):
            route = topology.routes[pair]
            answers = any(back[k] in used for k in route)
            return -max(load[k] for k in route), -len(route), not answers, pair

        chosen.append(min(candidates, key=rank))
        used.update(topology.routes[chosen[-1]])


@checked_by(exchange_arguments)
def pairwise_exchange(demand: Table) -> tuple[tuple[Transfer, ...], ...]:
    """Return the rounds for a crossbar: in round r device s sends to s XOR r, or to s + r mod n.

    XOR where the number of devices n is a power of 2: then both of a pair send to each other. At
    most n - 1 rounds; a round with nothing to send is left out. What the rounds of FreshGNN
    section 6 come to without links that are shared. O(n^2) time.

    Parameters
    ----------
    demand : (n, n) integer array
        As for `plan_rounds`.

    Returns
    -------
    tuple of tuples of Transfers

    Raises
    ------
    TypeError, ValueError
        If `demand` is not as above.
    """
    demand = np.asarray(demand)
    n, rounds = len(demand), []
    for r in range(1, n):
        pairs = [(s, s ^ r if n & (n - 1) == 0 else (s + r) % n) for s in range(n)]
        rounds.append(tuple(Transfer(s, d, int(demand[s, d])) for s, d in pairs if demand[s, d]))
    return tuple(filter(None, rounds))


@checked_by(demand_arguments)
def round_bound(topology: Topology, demand: Table) -> int:
    """Return the fewest rounds there can be: the most transfers that cross one link.

    Not in the papers. O(links of all routes) time.

    Parameters
    ----------
    topology : Topology
    demand : (devices, devices) integer array
        As for `plan_rounds`.

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or a transfer has no way.
    """
    return max(loads(topology, demands(demand)).values(), default=0)


def loads(topology, pairs):
    """Return how many transfers cross each link that is crossed."""
    load: dict[int, int] = {}
    for pair in pairs:
        for k in topology.routes[pair]:
            load[k] = load.get(k, 0) + 1
    return load
