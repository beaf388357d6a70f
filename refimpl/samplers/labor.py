"""LABOR: a variate of each source node, which all destinations share, chooses the neighbours.

Balin and Catalyurek 2023, and dependent minibatches (Balin, LaSalle and Catalyurek 2025). Not in
the three papers.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np

from refimpl.streams import LABOR, _uniform, key

# Wichura 1988, Algorithm AS 241 (PPND16): numerators and denominators from the constant on, for
# the middle, for tails, and for the farthest tails; then the series of the logarithm.
TABLE = np.array(
    [
        [3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
         1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
         3.3430575583588128105e4, 2.5090809287301226727e3],
        [1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
         2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
         5.2264952788528545610e3],
        [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
         3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
         2.27238449892691845833e-2, 7.74545014278341407640e-4],
        [1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
         1.05075007164441684324e-9],
        [6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
         2.71155556874348757815e-5, 2.01033439929228813265e-7],
        [1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15],
        [1 / (2 * k + 1) for k in range(8)],
        [1 / (2 * k + 1) for k in range(8, 16)],
    ]
)  # fmt: skip
TABLE.flags.writeable = False
LN_2, ROOT_HALF = 0.6931471805599453, 0.7071067811865476


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
        return p if self.sin == 0 else float(normal_quantile(p))


def variates_of_hop(name, layer, mode, batch_dependency):
    """Return the Variates of a layer in the batch that `name` names, (seed, epoch, batch)."""
    seed, epoch, batch = name
    group, place = divmod(batch, batch_dependency)
    cos, sin = cos_sin(place / batch_dependency * (pi / 2))
    now, later = (key(seed, LABOR, epoch, group + min(place, i), layer) for i in (0, 1))
    return Variates(now, later, cos, sin, mode == "labor_exact")


def draw_shared_rows(graph, dst, fanout, variates):
    """Return (row bounds, positions in `graph.indices`) of what the nodes `dst` draw."""
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


def normal_quantile(p):
    """Return the quantiles of the standard normal distribution at `p`, at least at 2**-54.

    Algorithm AS 241, on a logarithm of its own: additions, products, quotients and square roots
    alone, which give the same bits everywhere.
    """
    p = np.maximum(p, 2.0**-54)
    q = p - 0.5
    r = 0.180625 - q * q
    middle = q * (_horner(TABLE[0], r) / _horner(TABLE[1], r))
    s = np.sqrt(-_logarithm(np.minimum(p, 1 - p)))
    near = _horner(TABLE[2], s - 1.6) / _horner(TABLE[3], s - 1.6)
    far = _horner(TABLE[4], s - 5) / _horner(TABLE[5], s - 5)
    return np.where(np.abs(q) <= 0.425, middle, np.copysign(np.where(s <= 5, near, far), q))


def _logarithm(x):
    m, e = np.frexp(x)
    low = m < ROOT_HALF
    m, e = np.where(low, 2 * m, m), e - low
    s = (m - 1) / (m + 1)
    return 2 * s * _horner(TABLE[6:].reshape(-1), s * s) + e * LN_2


def _horner(coefficients, x):
    y = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = y * x + c
    return y


def cos_sin(x):
    """Return the cosine and the sine of `x` in [0, pi / 2] by their series, alike everywhere."""
    sums, term = [0.0, 0.0], 1.0
    for k in range(26):
        sums[k % 2] += -term if k % 4 > 1 else term
        term = term * x / (k + 1)
    return sums[0], sums[1]
