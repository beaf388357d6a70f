"""Figures of both Dashboards: their arrays in the run, and what eta costs."""

import numpy as np

import refimpl as gnn
from _drawings.course import dashboard_run
from _drawings.svg import Axes, Drawing, Panel
from refimpl.lab.apps.stepper.course import M

SIDE, LEFT = 26, 62
WHO = {None: "gone", 0: "strong", 1: "warm"}  # the kinds of tiles, or of entries by column
STATES = {  # what is said of the moments of the run that are shown
    "pop": "Node {node} is popped",
    "clean-up": "Clean-up: the live move to the front",
    "add": "Node {node} is added",
}


def around_cleanup(states):
    """Return the three states around the first clean-up: before it, behind it, with the node."""
    names = [name for name, _ in states]
    at = names.index("clean-up")
    return states[at - 1 : at + 2]


def cleanup(form="pins"):
    """Return the Dashboard before and after its clean-up; `form` is "slots" or "pins"."""
    draw, panels = {"slots": _slots, "pins": _pins}[form], []
    for name, state in around_cleanup(dashboard_run(form)):
        title = STATES[name].format(node=state["node"])
        panel = Panel(LEFT + 8 * SIDE + 4, 202 if form == "slots" else 136, title, _told(state))
        panel.head(title)
        for k in range(8):
            panel.words(LEFT + SIDE * (k + 0.5), 36, str(k), kind="muted", size=12)
        draw(panel, state)
        panels.append(panel)
    return Drawing("A Dashboard of eight entries before and after its clean-up", panels)


def _told(state):
    """Return the arrays of a state in words."""
    rows = state["DB"] if isinstance(state["DB"][0], list) else [state["DB"]]
    owned = [k for k, owner in enumerate(rows[0]) if owner >= 0]
    names = ("entries",) if len(rows) == 1 else ("nodes", "offsets", "columns")
    told = "; ".join(
        f"{name} " + " ".join(str(cell) if k in owned else "empty" for k, cell in enumerate(row))
        for name, row in zip(names, rows, strict=True)
    )
    live = " ".join(str(int(flag)) for flag in state["live"])
    return f"{told}. Columns start at {' '.join(map(str, state['start']))}; live: {live}."


def _slots(panel, state):
    """Draw the three rows of the Dashboard of IPDPS'19, and its index array."""
    columns, owned = state["DB"][2], [owner >= 0 for owner in state["DB"][0]]
    for row, (name, values) in enumerate(
        zip(("node", "offset", "column"), state["DB"], strict=True)
    ):
        y = 46 + 30 * row
        panel.words(LEFT - 8, y + 14, name, anchor="end", size=13)
        kinds = [
            WHO[column % 2] if mine and row == 0 else ("soft" if mine else "gone")
            for mine, column in zip(owned, columns, strict=True)
        ]
        shown = [v if mine else None for v, mine in zip(values, owned, strict=True)]
        panel.cells(LEFT, y, shown, kinds, side=SIDE)
    _index(panel, state, 152)


def _pins(panel, state):
    """Draw the pins of the Dashboard of JPDC'21, and its index array."""
    pins = [None if pin < 0 else pin for pin in state["DB"]]
    panel.words(LEFT - 8, 60, "pins", anchor="end", size=13)
    panel.cells(LEFT, 46, pins, [WHO[pin] for pin in pins], side=SIDE)
    _index(panel, state, 86)


def _index(panel, state, y):
    """Draw what the index array says: a bar over the entries of each column."""
    panel.words(LEFT - 8, y + 12, "columns", anchor="end", size=13)
    for i, live in enumerate(state["live"]):
        left, right = (LEFT + SIDE * state["start"][k] for k in (i, i + 1))
        kind = "soft" if live else "gone"
        panel.box(left + 2, y, right - left - 4, 24, kind, f"{i} live" if live else str(i), size=12)
    used = state["start"][-1]
    if used < 8:
        left = LEFT + SIDE * used
        panel.line(left, y + 28, left, y + 36)
        x, anchor = (left + 5, "start") if used < 6 else (left - 5, "end")
        panel.words(
            x, y + 38, f"free from {used}: {8 - used}", anchor=anchor, kind="muted", size=12
        )


def tiles():
    """Return the first Dashboard of pins, with what its pins and columns lead to."""
    state = dashboard_run("pins")[0][1]
    nodes, starts, ends, slots = state["tiles"]
    pins = [None if pin < 0 else pin for pin in state["DB"]]
    told = "; ".join(
        f"tile {t}: node {nodes[t]}, pins {starts[t]} to {ends[t] - 1}, column {slots[t]}"
        for t in range(M)
    )
    panel = Panel(336, 232, "Pins, tiles and the index array", f"{_told(state)} {told}.")
    for k, pin in enumerate(pins):
        panel.words(72 + 32 * (k + 0.5), 10, str(k), kind="muted", size=12)
        if pin is not None:
            panel.line(72 + 32 * (k + 0.5), 48, 104 + 152 * pin, 92, "thin")
    panel.words(64, 34, "pins", anchor="end", size=13)
    panel.cells(72, 20, pins, [WHO[pin] for pin in pins], side=32)
    panel.words(4, 117, "tiles", anchor="start", size=13)
    for t in range(M):
        x = 44 + 152 * t
        words = f"tile {t}: node {nodes[t]}", f"pins {starts[t]} to {ends[t] - 1}"
        panel.box(x, 92, 128, 50, WHO[t], words, size=13)
        panel.arrow(x + 60, 142, 104 + 152 * t, 174, "thin")
    panel.words(4, 190, "IA", anchor="start", size=13)
    for i, live in enumerate(state["live"]):
        start, tile = state["start"][i], state["tile"][i]
        words = f"column {i}: start {start},", f"{'live' if live else 'not live'}, tile {tile}"
        panel.box(44 + 152 * i, 174, 128, 44, "soft", words, size=12)
    return Drawing(
        "Each pin leads to its tile, each tile to its column, each column to its tile", [panel]
    )


def eta_tradeoff():
    """Return what a step costs against eta: the model's parts, and what samplers counted.

    The karate club, m = 16, n = 416, costs 1 for a probe and for a number read or written; a dot is
    the mean of 20 samples.
    """
    club, m, n = gnn.lab.data.karate(), 16, 416
    deg, d_e = club.degrees(), float(gnn.cost_models.size_biased_degree(club))
    etas = np.linspace(1.25, 6, 60)
    probes = [(eta, float(gnn.cost_models.expected_rounds(1, eta))) for eta in etas]
    memory = [(eta, float(gnn.cost_models.memory_factor(eta, "jpdc")) * d_e) for eta in etas]
    both = [(eta, a + b) for (eta, a), (_, b) in zip(probes, memory, strict=True)]
    measured = [(eta, counted(club, deg, m, n, eta)) for eta in (1.25, 1.5, 2.0, 3.0, 4.0, 6.0)]
    least = min(both, key=lambda point: point[1])
    told = "; ".join(f"eta {eta:g}: {cost:.1f}" for eta, cost in measured)
    panel = Panel(344, 252, "What a step costs", f"Counted on the karate club: {told}.")
    axes = Axes(panel, (1, 6), (0, 52), (40, 26, 336, 208))
    axes.ticks((1, 2, 3, 4, 5, 6), (0, 10, 20, 30, 40, 50))
    axes.curve(memory, "curve-warm")
    axes.curve(probes, "curve-dotted")
    axes.curve(both)
    for point in measured:
        panel.add("circle", cx=axes.place(*point)[0], cy=axes.place(*point)[1], r=4.5, kind="d-dot")
    panel.words(4, 10, "operations a step", anchor="start", size=12)
    panel.words(188, 240, "enlargement factor \u03b7", size=13)
    named = ((4.1, 27), "both"), ((3.2, 13.5), "numbers in memory"), ((4.6, 1.6), "probes")
    for (x, y), words in named:
        panel.words(*axes.place(x, y), words, anchor="start", kind="bold", size=12)
    return Drawing(
        f"Least near eta = {least[0]:.1f}: probes grow with eta, clean-ups shrink", [panel]
    )


def counted(graph, deg, m, n, eta):
    """Return the operations a step that 20 samples count: probes, and pins touched."""
    sampler, total, pops = gnn.Sampler("pin_tile", m=m, n=n, eta=eta), 0, 0
    for q in range(20):
        keys = gnn.streams.key(0, 0, q, 0), gnn.streams.key(0, 0, q, 1)
        sample = gnn.pin_tile(graph, *keys, **sampler.options)
        cleared, written = deg[sample.popped].sum(), deg[sample.pushed].sum()
        total += int(cleared + written) + sample.counters.probes + sample.counters.moved
        pops += sample.counters.pops
    return total / pops


DRAWINGS = {"cleanup": cleanup, "pins-and-tiles": tiles, "eta-tradeoff": eta_tradeoff}
