"""Figures of the page on why to sample: how neighbourhoods grow, and the map of concepts."""

import numpy as np

import refimpl as gnn
from _drawings.svg import Axes, Drawing, Panel

LAYERS, FANOUT, ROOTS, BUDGET = 4, 10, 50, 500


def reached(graph, roots, layers):
    """Return the mean number of nodes within 0, 1, .. `layers` steps of a root."""
    A, met = graph.to_scipy(np.ones(graph.e)), np.zeros((graph.n, len(roots)), bool)
    met[roots, np.arange(len(roots))] = True
    counts = [1.0]
    for _ in range(layers):
        met |= (A @ met) > 0
        counts.append(float(met.sum(axis=0).mean()))
    return counts


def sampled(graph, roots, layers):
    """Return the mean number of input nodes where each node draws `FANOUT` neighbours a layer."""
    counts = [1.0]
    for depth in range(1, layers + 1):
        fanouts = (FANOUT,) * depth
        found = [
            len(gnn.sample_mfg(graph, np.array([r]), fanouts, seed=7, epoch=0, batch=0).nodes[0])
            for r in roots
        ]
        counts.append(float(np.mean(found)))
    return counts


def growth():
    """Return how many nodes one root needs, against layers: on 10,000 nodes, made on the spot."""
    graph = gnn.load_dataset("communities").graph
    every, some = reached(graph, np.arange(ROOTS), LAYERS), sampled(graph, range(8), LAYERS)
    sampler = gnn.Sampler("pin_tile", m=50, n=BUDGET)
    flat = float(np.mean([len(s.nodes) for s in gnn.sample_many(graph, sampler, 7, 0, 4)]))
    told = "; ".join(
        f"{layers} layers: {a:,.0f} with all neighbours, {b:,.0f} with {FANOUT} drawn"
        for layers, (a, b) in enumerate(zip(every, some, strict=True))
    )
    panel = Panel(
        344,
        286,
        f"Nodes that one root needs, in a graph of {graph.n:,} nodes",
        f"{told}. A subgraph of at most {BUDGET} nodes has {flat:.0f}, whatever the layers.",
    )
    axes = Axes(panel, (0, LAYERS), (1, 20_000), (52, 26, 320, 240), log=True)
    axes.ticks(range(LAYERS + 1), (1, 10, 100, 1000, 10_000))
    axes.curve([(0, flat), (LAYERS, flat)], "curve-dashed")
    axes.curve(list(enumerate(some)), "curve-warm", dots=True)
    axes.curve(list(enumerate(every)), dots=True)
    panel.words(2, 10, "nodes needed (a line is ten times the one below)", anchor="start", size=12)
    panel.words(186, 272, "layers", size=13)
    for (x, y), words, where in (
        ((1.9, 3600), "all neighbours", "end"),
        ((2.72, 130), f"{FANOUT} drawn a node", "start"),
        ((0.06, 700), "a subgraph", "start"),
    ):
        panel.words(*axes.place(x, y), words, anchor=where, kind="bold", size=12)
    for layers, count in enumerate(every[1:4], start=1):
        x, y = axes.place(layers, count)
        right, down, anchor = {1: (10, 10, "start"), 2: (-9, -8, "end"), 3: (6, 15, "start")}[
            layers
        ]
        panel.words(x + right, y + down, f"{count:,.0f}", anchor=anchor, size=12)
    return Drawing("One root soon needs the whole graph; a subgraph keeps its size", [panel])


MAP = (
    (
        "First answer: sample a subgraph",
        (
            (
                "choose its nodes",
                (
                    ("frontier", "Frontier", "which law?"),
                    ("edge_and_walks", "Edges and walks", "a law that stays"),
                    ("dashboard", "Dashboard", "no sums"),
                    ("pin_tile", "Pins and tiles", "one number each"),
                ),
            ),
            (
                "train on it",
                (
                    ("training", "Training step", "what is computed?"),
                    ("transpose", "Transpose", "no sorting"),
                    ("partition", "Parts", "fit a cache"),
                    ("pool", "Pool", "draw ahead"),
                ),
            ),
        ),
    ),
    (
        "Second answer: remember rows",
        (
            (
                "read instead of compute",
                (
                    ("fresh_policy", "Policy", "which rows stay?"),
                    ("fresh_cache", "Cache", "where are they?"),
                ),
            ),
            ("get the rest", (("fresh_loader", "Loader", "when, over what?"),)),
        ),
    ),
)


def concept_map():
    """Return the pages of the course, by the question that each answers."""
    panels = []
    for title, groups in MAP:
        said = "; ".join(
            f"{about}: {', '.join(page[1] for page in pages)}" for about, pages in groups
        )
        tall = sum(40 + 56 * -(-len(pages) // 2) for _, pages in groups)
        panel = Panel(344, 26 + tall + 12 * (len(groups) - 1), title, said)
        panel.head(title)
        y = 26
        for k, (about, pages) in enumerate(groups):
            height = 36 + 56 * -(-len(pages) // 2)
            if k:
                panel.arrow(172, y - 16, 172, y)
            panel.box(2, y, 340, height, "gone", round=8)
            panel.note(14, y + 16, about)
            for place, (page, name, question) in enumerate(pages):
                x = 12 + 164 * (place % 2)
                at = x, y + 30 + 56 * (place // 2), 156, 48
                panel.link(f"learn/{page}", *at, "soft", (name, question))
            y += height + 16
        panels.append(panel)
    return Drawing("The pages, and what each answers", panels)


DRAWINGS = {"neighbourhood-growth": growth, "concept-map": concept_map}
