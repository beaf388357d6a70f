"""Figures of the lecture on FreshGNN that the pages do not have."""

import numpy as np

import refimpl as gnn
from _drawings.fresh import aside
from _drawings.svg import Drawing, Panel

IN_TURN = [
    (0, "sample 1", 0, 2, "soft"),
    (0, "prune, load, train 1", 2, 5, "strong"),
    (0, "sample 2", 5, 7, "soft"),
    (0, "prune ..", 7, 9, "strong"),
]
AHEAD = [
    (0, "sample 1", 0, 2, "soft"),
    (0, "sample 2", 2, 4, "soft"),
    (0, "sample 3", 4, 6, "soft"),
    (1, "prune, load, train 1", 2, 5, "strong"),
    (1, "prune, load, train 2", 5, 8, "strong"),
]


def bottleneck():
    """Return where features are, and how they come to where they are needed."""
    said = "Features in memory that is large and far; a narrow way; the processor that computes."
    panel = Panel(620, 200, "Where features are", said)
    panel.box(10, 30, 190, 140, "soft", ["features of", "all nodes", "(large, far)"], size=19)
    panel.box(420, 30, 190, 140, "strong", ["one minibatch", "(fast, small)"], size=19)
    for y, kind in ((72, "thin"), (100, "thick"), (128, "thin")):
        panel.arrow(204, y, 416, y, kind)
    panel.words(310, 50, "rows of L hops", size=19)
    panel.words(310, 156, "in every iteration", size=17, kind="muted")
    return Drawing("What a minibatch loads, and from where", [panel])


def sides():
    """Return the messages of a two-sided and of a one-sided fetch between two devices."""
    panels = []
    for name, events in (
        ("two-sided", ("is asked for node numbers", "packs rows", "sends rows")),
        ("one-sided", ("takes no part; its memory is read by address",)),
    ):
        panel = Panel(360, 236, name, f"{name}: the owner {', '.join(events)}.")
        panel.words(180, 12, name, size=20, kind="bold")
        for x, words in ((36, "needs"), (324, "owns")):
            panel.words(x, 42, words, size=17)
            panel.line(x, 58, x, 226)
        if name == "two-sided":
            panel.arrow(40, 88, 320, 104, "thick")
            panel.words(180, 78, "node numbers", size=17)
            panel.box(246, 122, 110, 34, "warm", "packs rows", size=17)
        y, words = (176, "rows") if name == "two-sided" else (106, "reads by address")
        panel.arrow(320, y, 40, y + 16, "thick")
        panel.words(180, y - 8, words, size=17)
        panels.append(panel)
    return Drawing("Two ways to fetch rows", panels)


def exchange():
    """Return the rounds of four GPUs on two switches, with words for the last row of a hall."""
    topology, panels = gnn.loader.Topology.tree((2, 2)), []
    places = {k: (30 + 60 * k, 118) for k in range(4)} | {4: (60, 66), 5: (180, 66), 6: (120, 16)}
    plan = gnn.loader.plan_rounds(topology, 1 - np.eye(4, dtype=int))
    for number, transfers in enumerate(plan, start=1):
        said = ", ".join(f"{t.source} \u2192 {t.target}" for t in transfers)
        panel = Panel(240, 188, f"Round {number} of {len(plan)}", said)
        for a, b, _ in topology.links:
            if a < b:
                panel.line(*places[a], *places[b], "thin")
        for t in transfers:
            for link in topology.routes[t.source, t.target]:
                aside(panel, places, *topology.links[link][:2])
        for v, (x, y) in places.items():
            if v < topology.devices:
                panel.add("circle", cx=x, cy=y, r=17, kind="d-soft")
                panel.words(x, y, str(v), kind="on-soft", size=19)
            else:
                panel.box(x - 16, y - 10, 32, 20, "plain")
        panel.words(120, 152, f"round {number}", kind="bold", size=19)
        panel.words(120, 176, said, size=17)
        panels.append(panel)
    return Drawing("Two pairs of GPUs: each sends to each, round by round", panels)


def ahead():
    """Return what can be done before the cache is known, and what cannot."""
    panels = []
    for name, bars in (("in turn", IN_TURN), ("sampled ahead", AHEAD)):
        lanes = 1 + max(lane for lane, *_ in bars)
        said = "; ".join(f"{words}, from {start} to {end}" for _, words, start, end, _ in bars)
        panel = Panel(640, 34 + 48 * lanes, f"Timeline, {name}", said)
        panel.words(4, 12, name, anchor="start", size=18, kind="bold")
        for lane, words, start, end, kind in bars:
            x, width = 4 + start * 70, (end - start) * 70 - 4
            panel.box(x, 28 + lane * 48, width, 40, kind, words, size=16)
        panels.append(panel)
    return Drawing("Sampling ahead: training waits for nothing", panels)


DRAWINGS = {
    "bottleneck": bottleneck,
    "two-and-one-sided": sides,
    "sampled-ahead": ahead,
    "exchange": exchange,
}
