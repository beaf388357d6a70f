"""The samplers against the exact law of their outcomes, enumerated as fractions.

Keys are fixed, so a test gives the same p-value each time: it cannot fail by chance later. The
level says how surprising a correct sampler was allowed to be when the keys were chosen: 1 % for
all tests of this file together, divided among them (Bonferroni).
"""

from collections import Counter
from functools import cache

import oracles
import pytest
from strategies import draws_of_a_law, graph_from_edges

from refimpl.lab.backend import find

DRAWS = draws_of_a_law(4000, 20000)
M, N = 3, 6
# A hub with a tail and two loops; node 6 is isolated: it is drawn but never popped.
GRAPH = graph_from_edges(7, {(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (4, 5), (5, 5)})
LAWS = {
    (deg_cap, include): oracles.frontier_law(GRAPH, M, N, deg_cap, include)
    for deg_cap in (None, 2)
    for include in ("pushed", "popped")
}
DASHBOARDS = [
    {"probe_range": probe_range, "eta": eta, "overflow": overflow, "lanes": lanes}
    for probe_range in ("capacity", "used")
    for eta, overflow, lanes in ((1.2, "grow", 8), (3, "truncate", 3))
]
# Of the dashboards, the first and the last meet every option in every run of the tests.
CASES = [
    pytest.param(board, marks=[] if i in (0, len(DASHBOARDS) - 1) else pytest.mark.runs)
    for i, board in enumerate(DASHBOARDS)
]
LEVEL = 0.01 / (2 * len(LAWS) * (1 + len(DASHBOARDS)))


@cache
def keys(gnn):
    """Return the keys of every draw."""
    return [tuple(gnn.streams.key(11, 0, q, s) for s in (0, 1)) for q in range(DRAWS[gnn.__name__])]


def draw(gnn, name, options):
    """Return how often each set of nodes came, and the counters of every draw."""
    sampler, seen, counters = find(gnn, name), Counter(), []
    for main, probe in keys(gnn):
        sample = sampler(GRAPH, main, probe, m=M, n=N, **options)
        seen[frozenset(sample.nodes.tolist())] += 1
        counters.append(sample.counters)
    return seen, counters


def law_of(options):
    return LAWS[options["deg_cap"], options["include"]]


@pytest.mark.parametrize("include", ["pushed", "popped"])
@pytest.mark.parametrize("deg_cap", [None, 2])
def test_frontier_has_the_exact_law(gnn, deg_cap, include):
    options = {"deg_cap": deg_cap, "include": include}
    seen, _ = draw(gnn, "frontier", options)
    assert oracles.chi_square_p(seen, law_of(options)) > LEVEL


@pytest.mark.parametrize("dashboard", CASES, ids=lambda d: f"{d['probe_range']}-{d['eta']}")
@pytest.mark.parametrize("include", ["pushed", "popped"])
@pytest.mark.parametrize("deg_cap", [None, 2])
def test_pin_tile_has_the_exact_law(gnn, deg_cap, include, dashboard):
    """While nothing is truncated."""
    options = {"deg_cap": deg_cap, "include": include}
    seen, counters = draw(gnn, "pin_tile", {**options, **dashboard})
    assert sum(c.truncated for c in counters) == 0
    if dashboard["overflow"] == "grow":
        assert sum(c.cleanups for c in counters) > len(counters)
    assert oracles.chi_square_p(seen, law_of(options)) > LEVEL


def test_a_wrong_law_is_told_apart(gnn):
    """The test has power: pops that ignore the degree would be rejected."""
    seen, _ = draw(gnn, "frontier", {"deg_cap": None, "include": "pushed"})
    assert oracles.chi_square_p(seen, oracles.frontier_law(GRAPH, M, N, deg_cap=1)) < 1e-6
    with pytest.raises(AssertionError, match="excludes"):
        oracles.chi_square_p(seen, LAWS[None, "popped"])
