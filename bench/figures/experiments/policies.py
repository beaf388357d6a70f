"""V Fig 14: the share of rows that each policy of the cache saves.

Counts on a made graph, or on the data set of ``--data``, on the same batches with the same sampled
neighbours; see `counting`. When the buffer is full of valid embeddings, training overwrites the
oldest ("wrap") and can refuse new ones instead ("drop"): the paper does not say which, so both are
here. How large a row of features is beside an embedding decides what is worth its place, so this is
varied too.
"""

from bench.figures.cache_counts import Rules, shares_saved
from bench.figures.experiment import Verdict, graded, ranked
from bench.figures.plotting import Bars
from bench.figures.result_rows import pick, values_of
from refimpl.lab.apps.errors import UserError
from refimpl.lab.data.generators import power_law
from refimpl.streams import SHUFFLE, key

SEED = 0
BOTH, BEST = "half and half", "with performance"
PRINTED = {  # V section 7.4, means over the two graphs
    "degree": 36.4,
    "PageRank": 38.0,
    "embeddings": 36.7,
    BOTH: 43.4,  # the text has the cache that both kinds share for the last alone
    BEST: 59.0,
}


def cells(lab):
    """Return a run for each rule of a full buffer and each pair of widths."""
    if not 1 <= lab.sizes["counted"] <= lab.sizes["iterations"]:
        raise UserError("--size counted must be at least 1, and at most the size iterations")
    return [
        {"overflow": overflow, "d": d, "h": h}
        for overflow in ("wrap", "drop")
        for d, h in lab.sizes["widths"]
    ]


def measure(lab, cell):
    """Return a row for each policy."""
    sizes = lab.sizes
    graph, roots = _made(lab) if lab.data is None else _given(lab)
    rules = Rules(
        tuple(sizes["fanouts"]),
        sizes["batch"],
        sizes["p_grad"],
        max(1, -(-len(roots) // sizes["batch"]) // 6),
        sizes["share"],
        cell["overflow"],
    )
    last = {"iterations": sizes["iterations"], "counted": sizes["counted"]}
    saved = shares_saved(lab.gnn, rules, graph, roots, cell["d"], cell["h"], **last)
    return [{"policy": name, "saved": share} for name, share in saved.items()]


def _made(lab):
    """Return a power law, and the share of its nodes that is trained on."""
    sizes = lab.sizes
    graph = lab.once("graph", lambda: power_law(sizes["nodes"], sizes["degree"], exponent=2.3))
    pick_roots = lab.gnn.streams.pick_without_replacement
    return graph, pick_roots(key(SEED, SHUFFLE, 0), 0, graph.n, int(sizes["roots"] * graph.n))


def _given(lab):
    """Return the graph of the user's data set, and its training nodes."""
    dataset = lab.dataset()
    return dataset.graph, dataset.train


def table(_lab, rows):
    """Return a line for each run."""
    names = values_of(rows, "policy")
    lines = []
    for overflow in values_of(rows, "overflow"):
        for d, h in values_of(rows, "d", "h"):
            found = _saved(rows, overflow, d, h)
            lines.append([overflow, d, h, *(f"{100 * found[name]:.1f}%" for name in names)])
    return ["full buffer", "d", "h", *names], lines


def verdicts(_lab, rows):
    """Judge by the widths of the paper's MAG240M, 768 and 256, which come first."""
    d, h = values_of(rows, "d", "h")[0]
    found = _saved(rows, "wrap", d, h)
    best, features = found[BEST], max(found["degree"], found["PageRank"])
    alone, both = found["embeddings"], found[BOTH]
    where = f"d = {d}, h = {h}, training's own rule of a full buffer"
    ordered = max(alone, features) < both < best
    return [
        Verdict("V-io-59", f"{best:.1%} ({where})", graded(best, 0.59, nothing=features)),
        Verdict(
            "V-io-order",
            f"features {features:.1%}, embeddings {alone:.1%}, both {both:.1%}, "
            f"for performance {best:.1%} ({where})",
            ranked(ordered, best > max(alone, features)),
        ),
    ]


def plot(_lab, rows):
    """Return bars for each pair of widths, the paper's own values on the first."""
    names, shown = values_of(rows, "policy"), []
    for number, (d, h) in enumerate(values_of(rows, "d", "h")):
        series = {}
        for overflow in values_of(rows, "overflow"):
            found = _saved(rows, overflow, d, h)
            series[f"full buffer: {overflow}"] = [100 * found[name] for name in names]
        printed = {} if number else {next(iter(series)): [PRINTED.get(name) for name in names]}
        title = f"{d} features, embeddings of {h}"
        shown.append(Bars(title, "I/O saved, %", names, series, printed=printed))
    return shown


def _saved(rows, overflow, d, h):
    return {row["policy"]: row["saved"] for row in pick(rows, overflow=overflow, d=d, h=h)}
