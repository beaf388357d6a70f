"""J Fig 7: how many different nodes each layer has, with layer sampling and with subgraphs."""

import statistics

import numpy as np

from bench.figures.experiment import ranked, verdict
from bench.figures.plotting import Curve, Lines, curves_of, level
from bench.figures.result_rows import groups_of, pick, spread_of, values_of
from bench.figures.synthetic_data import SEED, drawn_roots, graph_like
from refimpl.cost_models.layer_sampling import unique_nodes
from refimpl.lab.apps.option import listed
from refimpl.samplers.sampling import Sampler
from refimpl.streams import LAYER, key

FIRST, OTHERS = 25, 10  # fan-outs, section 7.7
WHOLE = 0.9  # of the nodes that have neighbours: what counts as converged
LAYERS, GRAPHS = "layer sampling", "graph sampling"


def measure(lab, cell):
    """Return rows of counts: of each hop from the roots, batch and method."""
    sizes, gnn = lab.sizes, lab.gnn
    graph = graph_like(cell["like"], sizes["shrink"])
    here = {"nodes": graph.n, "linked": int(np.count_nonzero(graph.degrees()))}
    count = min(sizes["roots"], graph.n)
    fanouts = [FIRST, *[OTHERS] * (sizes["depth"] - 1)]  # the roots' first
    expected = unique_nodes(graph.n, count, fanouts)
    rows = []
    for batch in range(sizes["batches"]):
        roots = drawn_roots(graph.n, count, batch)
        mfg = gnn.layer_sample(graph, roots, fanouts, key(SEED, LAYER, 0, batch))
        for hop, nodes in enumerate(reversed(mfg.nodes)):
            row = {"method": LAYERS, "batch": batch, "hop": hop, "met": len(nodes)}
            rows.append({**here, **row, "expected": float(expected[hop])})
    sampler = Sampler("frontier", m=sizes["m"], n=sizes["n"], deg_cap=sizes["deg_cap"])
    drawn = gnn.sample_many(graph, sampler, SEED, 0, sizes["batches"])
    return rows + [
        {**here, "method": GRAPHS, "batch": batch, "hop": hop, "met": len(sub.nodes)}
        for batch, sub in enumerate(drawn)
        for hop in range(sizes["depth"] + 1)
    ]


def table(_lab, rows):
    """Return a line for each graph and method, and one for the expectation."""
    hops, lines = values_of(rows, "hop"), []
    for some in groups_of(rows, "like"):
        found = {method: _met(some, method, hops) for method in (LAYERS, GRAPHS)}
        found["layer sampling, expected"] = _expected(some)
        lines += [
            [some[0]["like"], f"{some[0]['nodes']:,}", name, *(f"{x:,.0f}" for x in met)]
            for name, met in found.items()
        ]
    titles = (f"{hop} hop{'s' * (hop != 1)}" for hop in hops)
    return ["graph like", "nodes", "method", *titles], lines


def verdicts(_lab, rows):
    """Judge by the last hop, the input of the deepest network."""
    last, found = max(values_of(rows, "hop")), []
    for some in groups_of(rows, "like"):
        layers, graphs = (_met(some, method, [last])[0] for method in (LAYERS, GRAPHS))
        found.append((some[0]["nodes"], layers / some[0]["linked"], layers / graphs))
    least, most = min(share for _, share, _ in found), max(found)[2]
    each = listed(
        [
            f"{share:.1%} of the graph with {nodes:,} nodes "
            f"({times:,.1f} times as many nodes as a subgraph has)"
            for nodes, share, times in found
        ]
    )
    roots = round(statistics.fmean(row["met"] for row in pick(rows, method=LAYERS, hop=0)))
    outcome = ranked(least >= WHOLE and most >= 100, least >= WHOLE and most >= 10)
    return [verdict("J-explosion", outcome, last=last, roots=roots, each=each)]


def plot(_lab, rows):
    """Return a panel for each graph."""
    hops, shown = values_of(rows, "hop"), []
    for some in groups_of(rows, "like"):
        curves = curves_of(some, "hop", "met", "method")
        curves["layer sampling, expected without hubs"] = Curve(hops, _expected(some))
        curves["all nodes"] = level(hops, some[0]["nodes"])
        title, axes = "like {like}, {nodes:,} nodes".format(**some[0]), {"yscale": "log"}
        shown.append(Lines(title, "layers below the output", "nodes of the layer", curves, axes))
    return shown


def _met(rows, method, hops):
    """Return the mean number of nodes of each hop."""
    return [spread_of(rows, "met", method=method, hop=hop).mean for hop in hops]


def _expected(rows):
    """Return the expected number of nodes of each hop."""
    return [row["expected"] for row in pick(rows, method=LAYERS, batch=0)]
