"""V Fig 14: the share of rows that each policy of the cache saves."""

from bench.figures.experiment import ABOUT, crossed, graded, ranked, verdict
from bench.figures.plotting import Bars
from bench.figures.result_rows import groups_of, medians, pick, spread_of, tabled, values_of
from bench.figures.row_counts import rules_of, shares_saved
from bench.figures.synthetic_data import drawn_roots, made_graph
from refimpl.lab.apps.errors import UserError

PRINTED = ABOUT["V-fig14"]["printed"]  # V section 7.4, means over the two graphs
BEST = "with performance"


def cells(lab):
    """Return a run for each rule of a full buffer and each pair of widths."""
    if not 1 <= lab.sizes["counted"] <= lab.sizes["iterations"]:
        raise UserError("--size counted must be at least 1, and at most the size iterations")
    return crossed(lab, [{"overflow": ["wrap", "drop"], "d,h": "@widths"}])


def measure(lab, cell):
    """Return a row for each policy."""
    sizes = lab.sizes
    if lab.data is None:  # a power law, and the share of its nodes that is trained on
        graph = made_graph(sizes["nodes"], sizes["degree"])
        roots = drawn_roots(graph.n, int(sizes["roots"] * graph.n))
    else:
        graph, roots = lab.dataset().graph, lab.dataset().train
    age = max(1, -(-len(roots) // sizes["batch"]) // 6)
    rules = rules_of(sizes, t_stale=age, overflow=cell["overflow"])
    last = {"iterations": sizes["iterations"], "counted": sizes["counted"]}
    saved = shares_saved(lab.gnn, rules, graph, roots, cell["d"], cell["h"], **last)
    return [{"policy": name, "saved": share} for name, share in saved.items()]


def table(_lab, rows):
    """Return a line for each run."""
    columns: dict = {"full buffer": "overflow", "d": "d", "h": "h"}
    columns |= {x: medians("saved", ".1%", policy=x) for x in values_of(rows, "policy")}
    return tabled(groups_of(rows, "overflow", "d", "h"), columns)


def verdicts(_lab, rows):
    """Judge by means over the widths: the paper's are means over two graphs with these widths."""
    rows = pick(rows, overflow="wrap")
    averages = {name: spread_of(rows, "saved", policy=name).mean for name in PRINTED}
    features, alone, both, best = shares = _in_order(averages)
    widths = groups_of(rows, "d", "h")
    found = [({row["policy"]: row["saved"] for row in some}, some[0]["d"]) for some in widths]
    each = " and ".join(f"{saved[BEST]:.1%} with features of width {d}" for saved, d in found)
    orders = ". ".join(
        f"With features of width {d}: {_words(_in_order(saved))}" for saved, d in found
    )
    order = ranked(max(alone, features) < both < best, best > max(alone, features))
    return [
        verdict("V-io-59", graded(best, 0.59, nothing=features), best=best, each=each),
        verdict("V-io-order", order, shares=_words(shares), orders=orders),
    ]


def _in_order(saved):
    """Return what features, embeddings, both, and both for performance save."""
    degree, pagerank, *rest = (saved[name] for name in PRINTED)
    return max(degree, pagerank), *rest


def _words(shares):
    names = "features", "embeddings", "both", "both with the policy for performance"
    return ", ".join(f"{name} {share:.1%}" for name, share in zip(names, shares, strict=True))


def plot(_lab, rows):
    """Return bars for each pair of widths, the paper's own values on the first."""
    names, shown = values_of(rows, "policy"), []
    for number, of_width in enumerate(groups_of(rows, "d", "h")):
        series = {
            f"full buffer: {some[0]['overflow']}": [100 * row["saved"] for row in some]
            for some in groups_of(of_width, "overflow")
        }
        printed = {} if number else {next(iter(series)): [PRINTED.get(name) for name in names]}
        title = "{d} features, embeddings of {h}".format(**of_width[0])
        shown.append(Bars(title, "I/O saved, %", names, series, printed=printed))
    return shown
