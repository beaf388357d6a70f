"""J Fig 7: how many different nodes each layer has, with layer sampling and with subgraphs.

Counted, not timed, with the paper's numbers: 512 roots, 25 neighbours of each root, 10 of each
other node; subgraphs by frontier sampling of n = 8000 nodes from m = 1000. A network with fewer
layers has the same nodes in its last ones, so one of the most layers shows all. Graphs are made,
with the nodes of the paper's PPI, Reddit and Amazon and, of the last, a tenth of its degree. In
the frontier sampler a degree counts as 30 at most.

The expectation is `refimpl.cost_models.unique_nodes`, whose premise is that all nodes are
neighbours equally often: where there are hubs, fewer are met.
"""

import statistics

import numpy as np

from bench.figures.experiment import Verdict, ranked
from bench.figures.plotting import Curve, Lines
from bench.figures.result_rows import curve_of, pick, spread_of, values_of
from bench.figures.synthetic_data import graph_like
from refimpl.cost_models.layer_sampling import unique_nodes
from refimpl.samplers.sampling import Sampler
from refimpl.streams import LAYER, SHUFFLE, key

SEED = 0
FIRST, OTHERS = 25, 10  # fan-outs, section 7.7
WHOLE = 0.9  # of the nodes that have neighbours: what counts as converged
LAYERS, GRAPHS = "layer sampling", "graph sampling"


def cells(lab):
    """Return a run for each graph."""
    return [{"like": like} for like in lab.sizes["like"]]


def measure(lab, cell):
    """Return rows of counts: of each hop from the roots, batch and method."""
    sizes, gnn = lab.sizes, lab.gnn
    graph = graph_like(cell["like"], sizes["shrink"])
    here = {"nodes": graph.n, "linked": int(np.count_nonzero(graph.degrees()))}
    fanouts = fanouts_of(sizes["depth"])
    expected = unique_nodes(graph.n, min(sizes["roots"], graph.n), fanouts)
    rows = []
    for batch in range(sizes["batches"]):
        count = min(sizes["roots"], graph.n)
        pick_roots = gnn.streams.pick_without_replacement
        roots = pick_roots(key(SEED, SHUFFLE, batch), 0, graph.n, count)
        mfg = gnn.layer_sample(graph, roots, fanouts, key(SEED, LAYER, 0, batch))
        for hop, nodes in enumerate(reversed(mfg.nodes)):
            row = {"method": LAYERS, "batch": batch, "hop": hop, "met": len(nodes)}
            rows.append({**here, **row, "expected": float(expected[hop])})
    sampler = Sampler("frontier", m=sizes["m"], n=sizes["n"], deg_cap=sizes["deg_cap"])
    drawn = gnn.sample_many(graph, sampler, SEED, 0, sizes["batches"])
    rows += [
        {**here, "method": GRAPHS, "batch": batch, "hop": hop, "met": len(sub.nodes)}
        for batch, sub in enumerate(drawn)
        for hop in range(sizes["depth"] + 1)
    ]
    return rows


def fanouts_of(depth):
    """Return the paper's fan-outs of so many layers, the roots' first."""
    return [FIRST, *[OTHERS] * (depth - 1)]


def table(_lab, rows):
    """Return a line for each graph and method, and one for the expectation."""
    hops, lines = values_of(rows, "hop"), []
    for like in values_of(rows, "like"):
        some = pick(rows, like=like)
        for method in (LAYERS, GRAPHS):
            met = [spread_of(some, "met", method=method, hop=hop).mean for hop in hops]
            lines.append([like, f"{some[0]['nodes']:,}", method, *(f"{x:,.0f}" for x in met)])
        met = [row["expected"] for row in pick(some, method=LAYERS, batch=0)]
        words = "layer sampling, expected"
        lines.append([like, f"{some[0]['nodes']:,}", words, *(f"{x:,.0f}" for x in met)])
    return ["like", "nodes", "method", *(f"{hop} hops" for hop in hops)], lines


def verdicts(_lab, rows):
    """Judge by the last hop, the input of the deepest network.

    It holds where on all graphs at least `WHOLE` of the nodes with neighbours are met there, and
    on the largest a hundred times as many as a subgraph has; more weakly where that is ten times.
    """
    last, found = max(values_of(rows, "hop")), []
    for like in values_of(rows, "like"):
        some = pick(rows, like=like)
        met = {m: spread_of(some, "met", method=m, hop=last).mean for m in (LAYERS, GRAPHS)}
        found.append((some[0]["nodes"], met[LAYERS] / some[0]["linked"], met[LAYERS] / met[GRAPHS]))
    least, most = min(share for _, share, _ in found), max(found)[2]
    holds = least >= WHOLE and most >= 100
    each = ", ".join(
        f"{share:.1%} of {nodes:,} nodes, {times:,.1f} times a subgraph's"
        for nodes, share, times in found
    )
    return [
        Verdict(
            "J-explosion",
            f"{last} hops from {_roots(rows)} roots (nodes with neighbours): {each}",
            ranked(holds, least >= WHOLE and most >= 10),
        )
    ]


def _roots(rows):
    return round(statistics.fmean(row["met"] for row in pick(rows, method=LAYERS, hop=0)))


def plot(_lab, rows):
    """Return a panel for each graph."""
    hops, shown = values_of(rows, "hop"), []
    for like in values_of(rows, "like"):
        some = pick(rows, like=like)
        expected = [row["expected"] for row in pick(some, method=LAYERS, batch=0)]
        curves = {
            method: Curve(*curve_of(some, "hop", "met", method=method))
            for method in (LAYERS, GRAPHS)
        }
        curves["layer sampling, expected without hubs"] = Curve(hops, expected)
        curves["all nodes"] = Curve(hops, [some[0]["nodes"]] * len(hops), marked=False)
        axes = {"yscale": "log"}
        title = f"like {like}, {some[0]['nodes']:,} nodes"
        shown.append(Lines(title, "layers below the output", "nodes of the layer", curves, axes))
    return shown
