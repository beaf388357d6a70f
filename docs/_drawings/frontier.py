"""Figures of the page on frontier sampling."""

from _drawings.course import frontier_run
from _drawings.svg import Drawing, Panel
from refimpl.lab.apps.stepper.course import EDGES, PLACES, six_nodes

ACROSS, DOWN = 42, 44


def draw_graph(panel, x, y, kinds, notes=None):
    """Draw the six nodes at (x, y): `kinds` and `notes` by node."""
    at = {v: (x + ACROSS * right, y + DOWN * down) for v, (right, down) in PLACES.items()}
    for u, v in EDGES:
        panel.line(*at[u], *at[v])
    for v, place in at.items():
        panel.node(*place, str(v), kinds.get(v, "plain"))
        if notes and v in notes:
            right, below = (24, 0) if v == 1 else (0, 26)
            anchor = "start" if right else "middle"
            place = place[0] + right, place[1] + below
            panel.words(*place, notes[v], anchor=anchor, kind="muted", size=12)
    return at


def course_graph():
    """Return the graph with its degrees."""
    deg = six_nodes().degrees().tolist()
    said = ", ".join(f"node {v} has degree {k}" for v, k in enumerate(deg))
    panel = Panel(
        250, 112, "The graph of the course", f"A triangle 0, 1, 2; a tail 3, 4, 5: {said}"
    )
    draw_graph(
        panel, 24, 24, {}, {v: f"degree {k}" if v == 1 else str(k) for v, k in enumerate(deg)}
    )
    return Drawing("The graph of the course: six nodes, and their degrees", [panel])


def steps():
    """Return a panel for each state of the run: the frontier, and what is in the sample."""
    run, panels = frontier_run(), []
    for i, state in enumerate(run):
        FS, last = state["FS"], i == len(run) - 1
        name = "the end" if last else f"step {i}"
        said = f"Frontier {FS}; in the sample {state['nodes']}."
        if not last:
            said += f" Draw {state['draw']} below {state['sums'][-1]} is slot {state['slot']}:"
            said += f" node {state['u']} is replaced by node {state['new']}."
        panel = Panel(216, 152, f"Frontier sampling, {name}", said)
        panel.words(6, 12, name, anchor="start", kind="muted")
        panel.words(210, 12, f"frontier {FS[0]}, {FS[1]}", anchor="end")
        kinds = dict.fromkeys(state["nodes"], "warm") | dict.fromkeys(FS, "strong")
        at = draw_graph(panel, 24, 42, kinds)
        for v in set(FS):
            if FS.count(v) > 1:
                panel.words(at[v][0], at[v][1] - 25, f"{FS.count(v)} slots", size=12)
        if not last:
            words = f"draw {state['draw']} of 0 to {state['sums'][-1] - 1}: slot {state['slot']}"
            panel.words(108, 122, words, kind="muted", size=13)
            panel.words(108, 141, f"{state['u']} leaves, {state['new']} comes")
        else:
            panel.words(108, 131, f"sample {', '.join(map(str, state['nodes']))}")
        panels.append(panel)
    return Drawing("Frontier sampling on six nodes, step by step", panels)


def law():
    """Return the entries of the first frontier, each as likely as the other."""
    state, six = frontier_run()[0], six_nodes()
    entries = [(v, int(w)) for v in state["FS"] for w in six.indices[six.start[v] : six.end[v]]]
    total, side = len(entries), 56
    said = ", ".join(f"{v} to {w}" for v, w in entries)
    panel = Panel(
        30 + side * total,
        138,
        "The law of the first step",
        f"The frontier has {total} entries: {said}. Each is drawn with probability 1/{total}.",
    )
    for k, (v, w) in enumerate(entries):
        slot = state["FS"].index(v)
        panel.words(15 + side * (k + 0.5), 12, str(k), kind="muted", size=12)
        panel.box(15 + side * k, 24, side, 34, ("strong", "warm")[slot], f"{v} \u2192 {w}")
    left = 15
    for v in state["FS"]:
        count = sum(u == v for u, _ in entries)
        width = side * count
        panel.path([(left + 4, 66), (left + 4, 74), (left + width - 4, 74), (left + width - 4, 66)])
        panel.words(left + width / 2, 90, f"node {v}: {count}/{total}")
        left += width
    draw = state["draw"]
    panel.words(
        15 + side * total / 2,
        124,
        f"draw {draw}: node {state['u']} leaves; node {state['new']} comes",
        kind="muted",
    )
    return Drawing("A step takes one of the frontier's entries, all equally likely", [panel])


DRAWINGS = {"course-graph": course_graph, "frontier-steps": steps, "law-of-a-step": law}
