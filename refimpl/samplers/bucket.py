"""Frontier sampling with the frontier in classes of similar weight."""

from __future__ import annotations

from typing import Literal

import numpy as np

from refimpl._support.argument_checks import checked_by
from refimpl.graph import Graph
from refimpl.hints import Int
from refimpl.samplers.nodes import (
    NodeSample,
    frontier_options,
    node_sample,
    random_neighbour,
    sampler,
    stream_keys,
)
from refimpl.streams import Stream


def bucket_arguments(graph, main, probe, m, n, deg_cap, include):
    """Check the arguments of `bucket`; return them."""
    graph, m, n, deg_cap, include = frontier_options(graph, m, n, deg_cap, include)
    class_count(m, heaviest_weight(graph, deg_cap))  # raises if the weights are too many
    return graph, *stream_keys(main, probe), m, n, deg_cap, include


@sampler
@checked_by(bucket_arguments)
def bucket(
    graph: Graph,
    main: Int,
    probe: Int,
    *,
    m: Int,
    n: Int,
    deg_cap: Int | None = None,
    include: Literal["pushed", "popped"] = "pushed",
) -> NodeSample:
    """Draw the nodes of a subgraph by frontier sampling in O(1) expected time a step.

    Same law as `frontier`, in no paper of the three. Frontier slots of weight 2**j to
    2**(j + 1) - 1 form class j. A pop draws a class by weight, then slots of the class until
    one is accepted, each with probability weight / 2**(j + 1): two tries on average at most,
    whatever the degrees (Matias, Vitter and Ni 2003, "Dynamic generation of discrete random
    variates"). O(n) time but for looking through the classes, of which there are at most 31.

    Parameters
    ----------
    graph : Graph
        Undirected.
    main, probe : ints in [0, 2**64)
        Keys of two streams: roots and neighbours, and which node to replace.
    m, n, deg_cap, include
        As in `frontier`.

    Returns
    -------
    NodeSample
        Of its counters, `probes` counts the tries and `rounds` equals `pops`.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, an option is out of range, or `m` times the largest weight
        is beyond what one draw can tell apart.
    """
    main, probe = Stream(main), Stream(probe)
    classes = WeightClasses(m, class_count(m, heaviest_weight(graph, deg_cap)))
    deg = graph.degrees()
    weight = (deg if deg_cap is None else np.minimum(deg, deg_cap)).tolist()
    popped, pushed = [], []

    FS = main.pick_without_replacement(graph.n, m).tolist()
    Vs = set(FS)
    for slot, v in enumerate(FS):
        classes.join(slot, weight[v])
    for _ in range(n - m):
        if classes.total == 0:  # only isolated nodes are left (E-B26)
            break
        slot = classes.pop(probe)
        u = FS[slot]
        u_new = random_neighbour(graph, main, u)
        FS[slot] = u_new
        classes.join(slot, weight[u_new])
        Vs.add(u_new if include == "pushed" else u)
        popped.append(u)
        pushed.append(u_new)

    counts = {"probes": classes.probes, "rounds": len(popped)}
    return node_sample(graph, Vs, popped, pushed, main.c, **counts)


class WeightClasses:
    """Slots with weights: class j holds those of weight 2**j to 2**(j + 1) - 1, in a list.

    ``place[slot]`` is where a slot stands in its class. Slots of weight 0 are in none.
    """

    def __init__(self, slots, classes):
        self.members: list[list[int]] = [[] for _ in range(classes)]
        self.sums = [0] * classes
        self.total = 0
        self.weight, self.place = [0] * slots, [0] * slots
        self.probes = 0

    def join(self, slot, weight):
        """Put `slot` at the end of its class."""
        if weight == 0:
            return
        j = weight.bit_length() - 1
        self.weight[slot], self.place[slot] = weight, len(self.members[j])
        self.members[j].append(slot)
        self.sums[j] += weight
        self.total += weight

    def leave(self, slot):
        """Take `slot` out of its class; the last slot of the class takes its place."""
        weight, place = self.weight[slot], self.place[slot]
        j = weight.bit_length() - 1
        last = self.members[j].pop()
        if last != slot:
            self.members[j][place], self.place[last] = last, place
        self.sums[j] -= weight
        self.total -= weight

    def pop(self, probe):
        """Draw a slot in proportion to its weight, take it out and return it."""
        slot = self._draw(self._draw_class(probe), probe)
        self.leave(slot)
        return slot

    def _draw_class(self, probe):
        t = probe.below(self.total)
        j = len(self.sums) - 1  # heaviest first: that is where most of the weight stands
        while t >= self.sums[j]:
            t -= self.sums[j]
            j -= 1
        return j

    def _draw(self, j, probe):
        bound = 2 ** (j + 1)
        while True:
            place, height = divmod(probe.below(len(self.members[j]) * bound), bound)
            self.probes += 1
            slot = self.members[j][place]
            if height < self.weight[slot]:
                return slot


def heaviest_weight(graph, deg_cap):
    """Return the largest weight of a node."""
    return graph.max_degree if deg_cap is None else min(graph.max_degree, deg_cap)


def class_count(m, heaviest):
    """Return how many classes weights up to `heaviest` need, for m slots, or raise."""
    bits = int(heaviest).bit_length()
    if m * 2**bits >= 2**53:
        raise ValueError(
            f"m must be below 2**{53 - bits} where the largest weight is {heaviest}, got {m}: "
            "take a smaller m, or a deg_cap"
        )
    return bits
