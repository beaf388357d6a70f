"""I Tab I, J Tab 2 and V Tab 1: the graphs that the papers train on, beside those used here."""

import numpy as np

from bench.figures.experiment import HOLDS, UNTESTED, verdict
from bench.figures.plotting import Bars
from bench.figures.result_rows import groups_of
from refimpl.lab.apps.errors import user_errors
from refimpl.lab.data.loading import load_dataset

PRINTED = {  # paper: {name: (nodes, edges, features, classes)}
    "I, J": {
        "PPI": (14_755, 225_270, 50, 121),
        "Reddit": (232_965, 11_606_919, 602, 41),
        "Yelp": (716_847, 6_977_410, 300, 100),
        "Amazon": (1_598_960, 132_169_734, 200, 107),
    },
    "V": {
        "ogbn-arxiv": (2_900_000, 30_400_000, 128, 40),
        "ogbn-products": (2_400_000, 123_000_000, 100, 47),
        "ogbn-papers100M": (111_000_000, 1_600_000_000, 128, 172),
        "MAG240M": (244_200_000, 1_700_000_000, 768, 153),
        "Twitter": (41_700_000, 1_500_000_000, 768, 64),
        "Friendster": (65_600_000, 1_800_000_000, 768, 64),
    },
}
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
    return [
        {
            "name": data.name,
            "nodes": data.graph.n,
            "edges": (data.graph.e - loops) // 2 + loops,
            "features": data.features.shape[1],
            "classes": data.classes,
        }
    ]


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
    found = _all(rows)
    names = [f"{name}" for _, name, *_ in found]
    shown = []
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
