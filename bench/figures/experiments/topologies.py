"""V Fig 17: the share of rows saved on graphs of other degrees and other diameters."""

from bench.figures.experiment import ABOUT, crossed, graded, ranked, verdict
from bench.figures.plotting import lines_of
from bench.figures.result_rows import groups_of, medians, pick, spread, tabled, values_of
from bench.figures.synthetic_data import banded, data_on, diameter_at_least, drawn_roots
from bench.figures.training import buffer_of, epochs, sampled

BY_DEGREE, BEST = "features by degree", "FreshGNN, for performance"
METHODS: dict[str, dict] = ABOUT["V-fig17"]["names"]  # {name: settings}
AXES = {"mean degree": "mean degree", "band": "largest |u - v| of an edge"}
PRINTED = {"mean degree": 1.56, "band": 1.43}  # V section 7.5: over what features by degree save
RUN = "features", "varied", "at"


def cells(lab):
    """Return a run for each mean degree and each band, with each width of the features."""
    sizes, n = lab.sizes, lab.sizes["nodes"]
    cases = [("mean degree", degree, n - 1, degree) for degree in sizes["degrees"]]
    bands = [min(band, n - 1) for band in sizes["bands"]]
    cases += [("band", band, band, sizes["degree"]) for band in bands]
    return crossed(lab, [{"features": "@features", "varied,at,band,degree": cases}])


def measure(lab, cell):
    """Return a row for each method."""
    graph = banded(lab.sizes["nodes"], cell["degree"], cell["band"], lab.sizes["exponent"])
    needed, saved = saved_on(lab.gnn, graph, lab.sizes, cell["features"])
    about = {
        "largest_degree": int(graph.max_degree),
        "diameter_at_least": diameter_at_least(graph),
        "rows_an_iteration": needed,
    }
    return [{**about, "method": name, "saved": share} for name, share in saved.items()]


def saved_on(gnn, graph, sizes, features):
    """Return the rows that an iteration needs, and the share of them that each method saves."""
    roots = drawn_roots(graph.n, max(1, int(sizes["roots"] * graph.n)))
    data, saved, needed = data_on(graph, roots, features), {}, set()
    shared = {"p_grad": sizes["p_grad"], "buffer": buffer_of(sizes, graph.n, features)}
    shared["draw_all"] = True  # what is saved is counted, not estimated
    for name, method in METHODS.items():
        config = sampled("fresh", sizes, **{**shared, **method})
        with gnn.make_trainer(data, config) as trainer:
            warm = epochs(trainer, sizes["epochs"])[1:]
        rows = sum(one["needed"] for one in warm)
        saved[name] = 1 - sum(one["rows"] for one in warm) / rows
        needed.add(rows)
    assert len(needed) == 1  # all met the same samples
    iterations = -(-len(roots) // sizes["batch"]) * (sizes["epochs"] - 1)
    return needed.pop() / iterations, saved


def table(_lab, rows):
    """Return a line for each run."""
    columns = {
        "features": "features",
        "varied": "varied",
        "value": "{at:,}",
        "largest degree": "{largest_degree:,}",
        "diameter, at least": "diameter_at_least",
        "rows an iteration": "{rows_an_iteration:,.0f}",
        **{name: medians("saved", ".1%", method=name) for name in METHODS},
        "FreshGNN, for performance, over features by degree": lambda of_run: f"{_gain(of_run):.2f}",
    }
    return tabled(groups_of(rows, *RUN), columns)


def verdicts(_lab, rows):
    """Judge by the wider features, a verdict for each of what is varied."""
    features = max(values_of(rows, "features"))
    found = []
    for varied, printed in PRINTED.items():
        gains, wide = (
            spread(_gain(run) for run in groups_of(pick(rows, varied=varied, **want), *RUN))
            for want in ({}, {"features": features})
        )
        outcome = graded(wide.mean, printed) if gains.low > 1 else ranked(False, wide.low > 1)
        about = {"wide": wide, "features": features, "least": gains.low}
        found.append(verdict(f"V-topology-{varied.split()[-1]}", outcome, **about))
    return found


def plot(lab, rows):
    """Return a panel for each of what is varied and each width."""
    shown, form = [], {"axes": {"xscale": "log", "ylim": (0, None)}, "scale": 100}
    for features in sorted(values_of(rows, "features"), reverse=True):
        title = f"{features} features, embeddings of {lab.sizes['hidden']}"
        for varied, label in AXES.items():
            chosen = pick(rows, features=features, varied=varied)
            labels = title, label, "I/O saved, %"
            shown.append(lines_of(chosen, labels, "at", "saved", "method", **form))
    return shown


def _gain(of_run):
    saved = {row["method"]: row["saved"] for row in of_run}
    return saved[BEST] / saved[BY_DEGREE]
