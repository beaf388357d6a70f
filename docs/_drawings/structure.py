"""Figures of the alias table, the transpose, feature propagation, the pool and a training step."""

import numpy as np

import refimpl as gnn
from _drawings.svg import Drawing, Panel
from refimpl.lab.apps.stepper.course import six_nodes
from refimpl.samplers.edge import edge_weights
from refimpl.training.subgraph_pool import Pool

SAMPLING, TRAINING = 2, 1  # what one subgraph and one step take, in the pool's timeline


def alias_table():
    """Return the alias table of the six edges: equal parts of at most two edges each."""
    tails, heads, weights = edge_weights(six_nodes())
    table = gnn.samplers.alias_build(weights)
    names = [f"{u}-{v}" for u, v in zip(tails, heads, strict=True)]
    told = "; ".join(
        f"part {k}: {share:.3f} of edge {names[k]}"
        + (f", {1 - share:.3f} of edge {names[other]}" if share < 1 - 1e-9 else "")
        for k, (share, other) in enumerate(zip(table.prob, table.alias, strict=True))
    )
    side, top, tall = 52, 24, 108
    panel = Panel(6 * side + 20, 176, "An alias table of six edges", told)
    for k, (share, other) in enumerate(zip(table.prob, table.alias, strict=True)):
        x, own = 10 + side * k, round(tall * float(share))
        panel.words(x + side / 2, 12, f"part {k}", kind="muted", size=12)
        panel.box(x + 2, top + tall - own, side - 4, own, "soft", names[k], size=13)
        if own < tall:
            panel.box(x + 2, top, side - 4, tall - own, "warm", names[other], size=11)
        panel.words(x + side / 2, top + tall + 14, f"{share:.3f}", size=12)
    panel.words(
        10, 164, "share of the part that is its own edge", anchor="start", kind="muted", size=12
    )
    return Drawing("All parts are equally likely; each holds at most two edges", [panel])


def transpose():
    """Return where the permutation puts each value: the entries of row 0 are followed."""
    six = six_nodes()
    perm, side, left = gnn.transpose_perm(six), 27, 6
    row_of = np.repeat(np.arange(six.n), six.degrees())
    kinds = [("soft", "plain")[row % 2] for row in row_of]
    place = np.empty_like(perm)
    place[perm] = np.arange(six.e)
    told = ", ".join(f"{j} to {k}" for j, k in enumerate(place.tolist()))
    text = f"Entries go from place to place: {told}."
    panel = Panel(2 * left + side * six.e, 210, "The transpose as a permutation", text)
    for y, entries in ((42, range(six.e)), (150, perm.tolist())):
        shown = [10 + j for j in entries]
        followed = ["warm" if row_of[j] == 0 else kinds[k] for k, j in enumerate(entries)]
        panel.cells(left, y, shown, followed, side=side, size=13)
    for j, k in sorted(enumerate(place.tolist()), key=lambda pair: row_of[pair[0]] == 0):
        ends = left + side * (j + 0.5), 70, left + side * (k + 0.5), 150
        panel.arrow(*ends, "line" if row_of[j] == 0 else "thin")
    for v in range(six.n):
        middle = left + side * (six.start[v] + six.end[v]) / 2
        panel.words(middle, 30, f"row {v}" if v < 5 else "5", kind="muted", size=12)
        panel.words(middle, 192, f"row {v}" if v < 5 else "5", kind="muted", size=12)
    panel.words(left, 10, "values of A", anchor="start", size=13)
    panel.words(
        2 * left + side * six.e - left, 205, "values of its transpose", anchor="end", size=13
    )
    return Drawing("Where the values of row 0 go: one into each of the rows 1, 2 and 3", [panel])


def feature_parts():
    """Return the six parts of the worked example, and who takes them in which round."""
    panels, p = [], 3
    for version, title in (
        ("ipdps", "IPDPS'19: neighbours together"),
        ("jpdc", "JPDC'21: kept apart"),
    ):
        order = gnn.partition.partition_order(6, p, version=version)
        told = "; ".join(
            f"round {r}: parts {', '.join(map(str, row))}" for r, row in enumerate(order)
        )
        panel = Panel(300, 186, title, told)
        panel.head(title)
        for part in range(6):
            r, lane = (int(found[0]) for found in np.nonzero(order == part))
            panel.box(
                46 + 40 * part, 28, 40, 108, ("strong", "soft")[r], ("lane", str(lane)), size=12
            )
            panel.words(66 + 40 * part, 148, str(part), kind="muted", size=12)
        panel.words(40, 58, "rows", anchor="end", kind="muted", size=12)
        panel.words(40, 74, "of X", anchor="end", kind="muted", size=12)
        panel.words(40, 148, "part", anchor="end", kind="muted", size=12)
        for r, row in enumerate(order):
            panel.box(46 + 124 * r, 166, 12, 12, ("strong", "soft")[r])
            words = f"round {r}: {', '.join(map(str, row))}"
            panel.words(63 + 124 * r, 172, words, anchor="start", size=12)
        panels.append(panel)
    return Drawing("Six columns of features, three lanes, two rounds", panels)


def drawn_by_pool(size, steps):
    """Return the refills of a pool, (step, first, count) each, as its `draw` was called."""
    calls, step = [], 0

    def draw(first, count):
        calls.append((step, first, count))
        return list(range(first, first + count))

    pool = Pool(draw, size=size)
    for step in range(steps):
        if next(pool) != step:
            raise ValueError("the pool hands out by number")
    return calls


def timeline(size, background, steps=4):
    """Return [(lane, from, to, number, is_sample)] of some steps, samples on lanes from 1."""
    bars, now, ready = [], 0, 0
    refills = {step: (first, count) for step, first, count in drawn_by_pool(size, steps)}
    for step in range(steps):
        if step in refills:
            first, count = refills[step]
            begin = ready if background else now
            end = begin + SAMPLING
            bars += [(1 + k, begin, end, first + k, True) for k in range(count)]
            now, ready = max(now, end), max(now, end)
        bars.append((0, now, now + TRAINING, step, False))
        now += TRAINING
    return bars


def pool_timeline():
    """Return when subgraphs are drawn and used: in the loop, with a pool, in the background."""
    panels = []
    for size, background, title in (
        (1, False, "No pool: draw, train, draw, train"),
        (2, False, "A pool of 2, on two processors"),
        (2, True, "The same, drawn in the background"),
    ):
        bars = timeline(size, background)
        end, scale = max(bar[2] for bar in bars), 21
        samples = ", ".join(f"{n} from {a} to {b}" for _, a, b, n, sample in bars if sample)
        panel = Panel(280, 128, title, f"Subgraphs are drawn: {samples}. Four steps end at {end}.")
        panel.head(title)
        for lane, a, b, number, sample in bars:
            y = 26 + (0 if lane else 58) + 28 * max(lane - 1, 0)
            kind = "warm" if sample else "strong"
            panel.box(6 + scale * a, y, scale * (b - a), 24, kind, str(number), size=12)
        panel.words(6 + scale * end + 5, 96, f"{end}", anchor="start", size=12)
        panel.words(
            6, 120, "amber: drawn; blue, below: trained on", anchor="start", kind="muted", size=12
        )
        panels.append(panel)
    said = f"Four steps: a subgraph takes {SAMPLING} units of time, the rest of a step {TRAINING}"
    return Drawing(said, panels)


def sage_step():
    """Return the products of one GraphSAGE layer and the classifier, with their shapes."""
    six = six_nodes()
    sampler = gnn.Sampler("pin_tile", m=2, n=6)
    (sub,) = gnn.sample_many(six, sampler, 7, 0, 1)
    A = gnn.adjacency.row_norm(sub.graph, sub.transpose_perm)
    X, W, W_class = np.ones((sub.graph.n, 2)), np.ones((2, 1)), np.ones((2, 2))
    layer = gnn.sage_forward(A, X, W, W, gnn.scheduling.chain_order(2, 1, first=True))
    logits = gnn.dense_forward(layer.X_out, W_class, relu=False)
    s = sub.graph.n

    def shape(array):
        return " \u00d7 ".join(map(str, array.shape))

    told = f"A {s} by {s}, X {shape(X)}, A X {shape(layer.AX)}, "
    told += f"the layer's rows {shape(layer.X_out)}, logits {shape(logits)}."
    panel = Panel(348, 372, "One training step on a subgraph", told)
    for arrow in (
        (150, 50, 128, 82),
        (214, 50, 252, 148),
        (92, 120, 92, 148),
        (92, 186, 134, 218),
        (252, 186, 214, 218),
        (174, 256, 174, 284),
        (174, 322, 174, 340),
    ):
        panel.arrow(*arrow)
    panel.box(94, 12, 160, 38, "soft", (f"X: {shape(X)}",))
    panel.box(12, 82, 160, 38, "plain", (f"A X: {shape(layer.AX)}",))
    panel.box(12, 148, 160, 38, "warm", (f"(A X) W_neigh: {s} \u00d7 1",), size=13)
    panel.box(182, 148, 160, 38, "warm", (f"X W_self: {s} \u00d7 1",), size=13)
    panel.box(64, 218, 220, 38, "strong", (f"side by side, ReLU: {shape(layer.X_out)}",))
    panel.box(64, 284, 220, 38, "plain", (f"times classifier.W: {shape(logits)}",))
    panel.words(174, 352, "loss, one number")
    panel.note(12, 56, f"A: {s} \u00d7 {s}, the mean")
    panel.note(12, 71, "over neighbours")
    return Drawing("Forward from top to bottom; gradients go back with the same shapes", [panel])


DRAWINGS = {
    "alias-table": alias_table,
    "transpose": transpose,
    "feature-parts": feature_parts,
    "pool-timeline": pool_timeline,
    "sage-step": sage_step,
}
