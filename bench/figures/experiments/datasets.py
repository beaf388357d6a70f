"""I Tab I, J Tab 2 and V Tab 1: the graphs that the papers train on, beside those used here."""

import numpy as np

from bench.figures.experiment import ABOUT, HOLDS, UNTESTED, verdict
from bench.figures.plotting import Bars
from bench.figures.result_rows import groups_of
from refimpl.lab.apps.errors import user_errors
from refimpl.lab.data.loading import load_dataset

PRINTED = ABOUT["I-tab1"]["printed"]  # paper: {name: (nodes, edges, features, classes)}
HERE = "here"


def cells(lab):
    """Return a run for each data set: those made here, and the one that is asked for."""
    return [{"data": name} for name in dict.fromkeys([lab.data, *lab.sizes["made"]])]


def measure(_lab, cell):
    """Return a row with what is counted."""
    with user_errors():
        data = load_dataset(cell["data"])
    row_of_entry = data.graph.to_scipy().tocoo().row
    loops = int(np.count_nonzero(data.graph.indices == row_of_entry))
    counts = {"nodes": data.graph.n, "edges": (data.graph.e - loops) // 2 + loops}
    widths = {"features": data.features.shape[1], "classes": data.classes}
    return [{"name": data.name, **counts, **widths}]


def table(_lab, rows):
    """Return a line for each data set of the papers and each of those used here."""
    titles = ["where", "data set", "nodes", "edges", "mean degree", "features", "classes"]
    return titles, [
        [where, name, f"{n:,}", f"{e:,}", f"{2 * e / n:.1f}", f, classes]
        for where, name, n, e, f, classes in _all(rows)
    ]


def verdicts(_lab, rows):
    """Say what of the sizes is the papers', and what of them cannot be right."""
    nodes = max(row["nodes"] for row in rows)
    reached = nodes >= PRINTED["I, J"]["Amazon"][0]
    return [
        verdict("V-tab1-arxiv", UNTESTED),
        verdict("I-data-large", HOLDS if reached else UNTESTED, nodes=nodes),
    ]


def plot(_lab, rows):
    """Return bars of nodes and of edges."""
    found, shown = _all(rows), []
    names = [name for _, name, *_ in found]
    for label, at in (("nodes", 2), ("edges", 3)):
        series = {
            "in the papers": [row[at] if row[0] != HERE else None for row in found],
            "here": [row[at] if row[0] == HERE else None for row in found],
        }
        shown.append(Bars("", label, names, series, stacked=True, axes={"yscale": "log"}))
    return shown


def _all(rows):
    """Return (where, name, nodes, edges, features, classes) of all data sets."""
    found = [
        (where, name, *numbers) for where, sets in PRINTED.items() for name, numbers in sets.items()
    ]
    of_one = "name", "nodes", "edges", "features", "classes"
    return found + [(HERE, *(some[0][key] for key in of_one)) for some in groups_of(rows, "name")]
