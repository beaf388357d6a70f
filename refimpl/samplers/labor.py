"""LABOR: a variate of each source node, which all destinations share, chooses the neighbours.

Balin and Catalyurek 2023, and dependent minibatches (Balin, LaSalle and Catalyurek 2025). Not in
the three papers.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np

from refimpl.samplers.inclusion import draw_by_importance
from refimpl.samplers.normal_quantiles import cos_sin, normal_quantile
from refimpl.streams import LABOR, _uniform, key

ROUNDS = {"labor_1": 1, "labor_2": 2, "labor_3": 3}  # LABOR-i, by mode


class Variates(NamedTuple):
    """The variates of all nodes in a hop, r_t = Phi(cos n_t + sin n'_t), compared without Phi.

    n_t and n'_t are standard normal: the quantiles of draw t of the streams `now` and `later`. In
    the first batch of a group sin is 0, and r_t is the draw itself.
    """

    now: int
    later: int
    cos: float
    sin: float
    exact: bool  # a row takes those with the smallest variates, not those below a bound
    rounds: int  # of LABOR-i, i; 0 if all neighbours in a row have the same chance

    def ordering(self, nodes):
        """Return what orders these nodes as their r_t does."""
        nodes = nodes.astype(np.uint64)
        drawn = _uniform(self.now, nodes)
        if self.sin == 0:
            return drawn
        later = normal_quantile(_uniform(self.later, nodes))
        return self.cos * normal_quantile(drawn) + self.sin * later

    def bound(self, p):
        """Return what is above the `ordering` of a node with probability p."""
        return p if self.sin == 0 else normal_quantile(p)


def variates_of_hop(name, layer, mode, batch_dependency):
    """Return the Variates of a layer in the batch that `name` names, (seed, epoch, batch)."""
    seed, epoch, batch = name
    group, place = divmod(batch, batch_dependency)
    cos, sin = cos_sin(place / batch_dependency * (pi / 2))
    now, later = (key(seed, LABOR, epoch, group + min(place, i), layer) for i in (0, 1))
    return Variates(now, later, cos, sin, mode == "labor_exact", ROUNDS.get(mode, 0))


def draw_shared_rows(graph, dst, fanout, variates):
    """Return (row bounds, positions in `graph.indices`) of what the nodes `dst` draw.

    For LABOR-i the weights of the entries are a third part.
    """
    if variates.rounds:
        return draw_by_importance(graph, dst, fanout, variates)
    rows = [_pick(graph, v, fanout, variates) for v in dst.tolist()]
    return np.cumsum([0, *map(len, rows)]), np.concatenate([np.empty(0, np.int64), *rows])


def _pick(graph, v, fanout, variates):
    """Return where the neighbours that v draws stand in `graph.indices`, ascending."""
    start, end = graph.indptr[v : v + 2].tolist()
    if fanout < 0 or end - start <= fanout:
        return np.arange(start, end)
    if fanout == 0:
        return np.empty(0, np.int64)
    r = variates.ordering(graph.indices[start:end])
    if variates.exact:  # of equal variates the first
        return start + np.sort(np.argsort(r, kind="stable")[:fanout])
    return start + np.flatnonzero(r < variates.bound(fanout / (end - start)))
