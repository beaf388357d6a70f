"""Figures of the lecture on sampling subgraphs that the pages do not have."""

import numpy as np

import refimpl as gnn
from _drawings.course import dashboard_run, frontier_run
from _drawings.frontier import draw_graph
from _drawings.structure import timeline
from _drawings.svg import Drawing, Panel
from refimpl.lab.apps.stepper.course import SEED, M, N, six_nodes

SIDE = 50  # of a Dashboard's entry


def spring_layout(adjacency, rounds=300):
    """Return places in the unit square: neighbours attract, all repel."""
    n = len(adjacency)
    places = np.random.default_rng(5).random((n, 2))
    near = 1 / np.sqrt(n)
    for heat in np.linspace(0.1, 0.001, rounds):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 0.01)
        pull = near**2 / distance**2 - adjacency * distance / near
        step = (apart * pull[:, :, None]).sum(axis=1)
        length = np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-9)
        places += step / length * np.minimum(length, heat)
    places -= places.min(axis=0)
    return places / places.max(axis=0)


def hops(roots=(24,), most=3):
    """Return the karate club with the nodes that one root needs, hop after hop."""
    club = gnn.lab.data.karate()
    places = 14 + spring_layout(club.to_scipy().toarray() > 0) * (212, 172)
    panels, met, last = [], set(roots), set(roots)
    for hop in range(most + 1):
        if hop:
            last = {int(w) for v in last for w in club.indices[club.start[v] : club.end[v]]} - met
            met |= last
        said = f"{len(met)} of {club.n} nodes within {hop} hops of node {roots[0]}"
        panel = Panel(240, 232, f"Neighbourhood, {hop} hops", said)
        for u in range(club.n):
            for w in club.indices[club.start[u] : club.end[u]]:
                if u < w:
                    panel.line(*places[u].tolist(), *places[w].tolist(), "grid")
        for v, (x, y) in enumerate(places.tolist()):
            kind = "strong" if v in last else "warm" if v in met else "plain"
            panel.add("circle", cx=x, cy=y, r=6.5, kind=f"d-{kind}")
        words = f"{hop} hop{'' if hop == 1 else 's'}: {len(met)} node{'' if len(met) == 1 else 's'}"
        panel.words(120, 218, words, size=19, kind="bold")
        panels.append(panel)
    return Drawing("What one node needs, hop after hop", panels)


def board():
    """Return the Dashboard of pins: before each pop with its probes, and after each operation."""
    panels, before = [], None
    for name, state in dashboard_run("pins"):
        if state["probes"]:
            panels.append(entries("probe", before | {"probes": state["probes"]}))
        panels.append(entries(name, state | {"probes": []}))
        before = state
    return Drawing("A Dashboard of eight entries, operation after operation", panels)


def entries(name, state):
    """Return a panel of the entries in the colour of their tile, with an arrow at each probe."""
    nodes = state["tiles"][0]
    panel = Panel(30 + 8 * SIDE, 108, f"Dashboard, {name}", told(name, state))
    for k, pin in enumerate(state["DB"]):
        kind, node = ("gone", "") if pin < 0 else (("strong", "warm")[pin], str(nodes[pin]))
        panel.box(15 + k * SIDE, 34, SIDE, 42, kind, node, size=22)
        panel.words(15 + (k + 0.5) * SIDE, 92, str(k), kind="muted", size=15)
    for k in state["probes"]:
        panel.arrow(15 + (k + 0.5) * SIDE, 6, 15 + (k + 0.5) * SIDE, 32, "thick")
    if name not in ("start", "probe"):
        free = state["start"][-1]
        panel.words(15 + 4 * SIDE, 14, f"free from entry {free} on", kind="muted", size=17)
    return panel


def told(name, state):
    """Return a state of the Dashboard in words."""
    nodes = state["tiles"][0]
    owned = ", ".join("free" if pin < 0 else f"node {nodes[pin]}" for pin in state["DB"])
    if state["probes"]:
        return f"Entries {owned}; probes at {', '.join(map(str, state['probes']))}."
    return f"After {name}: entries {owned}."


def lonely():
    """Return the frontier before each step on the six nodes, without what happens next."""
    panels = []
    for i, state in enumerate(frontier_run()):
        FS = state["FS"]
        panel = Panel(216, 96, f"Frontier before step {i}", f"The frontier is {FS}.")
        kinds = dict.fromkeys(state["nodes"], "warm") | dict.fromkeys(FS, "strong")
        draw_graph(panel, 24, 26, kinds)
        panels.append(panel)
    return Drawing("The frontier on six nodes", panels)


def often_met(samples=4000):
    """Return in which share of the samples of the course's sampler each of the six nodes is."""
    six = six_nodes()
    sampler, counts = gnn.Sampler("frontier", m=M, n=N), np.zeros(six.n, np.int64)
    for sub in gnn.sample_many(six, sampler, SEED, 0, samples):
        counts[sub.nodes] += 1
    shares, deg = counts / samples, six.degrees()
    said = ", ".join(f"node {v} in {share:.0%}" for v, share in enumerate(shares))
    panel = Panel(430, 210, "How often each node is sampled", f"Of {samples} samples: {said}.")
    for v, share in enumerate(shares.tolist()):
        x, height = 20 + v * 67, 130 * share
        panel.box(x, 150 - height, 54, height, "strong" if v in (0, 5) else "soft")
        panel.words(x + 27, 136 - height, f"{share:.0%}", size=17, kind="bold")
        panel.words(x + 27, 168, f"node {v}", size=15)
        panel.words(x + 27, 190, f"degree {deg[v]}", size=13, kind="muted")
    return Drawing("How often each node is in a sample", [panel])


def pool_lanes():
    """Return when subgraphs are drawn and used: in the loop, with a pool, in the background."""
    panels, scale = [], 40
    for size, background, title in (
        (1, False, "draw, train, draw, train"),
        (2, False, "a pool of 2, drawn on two processors"),
        (2, True, "the same, while training goes on"),
    ):
        bars = timeline(size, background)
        end = max(bar[2] for bar in bars)
        drawn = ", ".join(f"{n} from {a} to {b}" for _, a, b, n, sample in bars if sample)
        said = f"Subgraphs are drawn: {drawn}. Four steps end at {end}."
        panel = Panel(530, 54 + 28 * size, title, said)
        panel.words(4, 10, title, anchor="start", size=17, kind="bold")
        for lane, a, b, number, sample in bars:
            y = 22 + 28 * (lane - 1 if sample else size)
            kind = "warm" if sample else "strong"
            panel.box(4 + scale * a, y, scale * (b - a), 26, kind, str(number), size=15)
        panel.words(10 + scale * end, 36 + 28 * size, str(end), anchor="start", size=16)
        panels.append(panel)
    return Drawing("Four steps, their subgraphs drawn in turn and ahead", panels)


DRAWINGS = {
    "hops": hops,
    "board": board,
    "frontier-alone": lonely,
    "often-met": often_met,
    "pool-lanes": pool_lanes,
}
