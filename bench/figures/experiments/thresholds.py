"""V Fig 13: rows saved and test accuracy over FreshGNN's two thresholds, p_grad and t_stale."""

from bench.figures.experiment import ABOUT, crossed, graded, ranked, verdict
from bench.figures.plotting import Lines, bars_of, curves_of, level
from bench.figures.result_rows import pick, points_beside, spread_of, values_of
from bench.figures.training import ALL_CACHED, few_labels, outcome, steps_of, trained
from refimpl.lab.apps.errors import UserError

P_GRAD, AGE = 0.9, 1 / 6  # the paper's choice, 200 of 1,200 iterations
BUFFERS = ABOUT["V-fig13"]["names"]
CONTROLS = {"random": "ranked at random", "anti": "largest gradients"}
SAVED = 0.6  # by embeddings, beyond that age
HARMLESS = 0.5  # points
LARGE_LOSS = 0.5  # points


def cells(lab):
    """Return runs of neighbour sampling, of the grid, and with a buffer for a share of features."""
    sizes, steps = lab.sizes, steps_of(few_labels(lab), lab.sizes)
    unknown = set(sizes["controls"]) - CONTROLS.keys()
    if unknown:
        raise UserError(f"--size controls must be of {', '.join(CONTROLS)}, got {min(unknown)!r}")
    ages = [max(round(steps * age), 1) / steps for age in sizes["ages"]]  # whole iterations each
    limited = ["wrap", "drop", *sizes["controls"]]
    forms: list[dict] = [
        {"kind": ["neighbor", "features"], "p_grad": 0.0, "age": 0.0},
        {"kind": limited, "p_grad": P_GRAD, "age": AGE},
        {"kind": "grid", "p_grad": "@shares", "age": ages},
    ]
    return crossed(lab, [{**form, "seed": "@seed"} for form in forms])


def measure(lab, cell):
    """Return a row: the score and what was saved."""
    dataset, kind, own = few_labels(lab), cell["kind"], {}
    method = "neighbor" if kind == "neighbor" else "fresh"
    age = max(round(cell["age"] * steps_of(dataset, lab.sizes)), 1)
    if method == "fresh":
        own = {"p_grad": cell["p_grad"], "t_stale": age}
    if kind == "grid" or kind in CONTROLS:
        own |= {**ALL_CACHED, "control": kind if kind in CONTROLS else "gradient"}
    elif method == "fresh":
        limited = int(lab.sizes["buffer"] * dataset.features.size) * dataset.dtype.itemsize
        rule = "wrap" if kind == "features" else kind
        own |= {"hotness": "degree", "buffer": limited, "overflow": rule}
    score, share = outcome(lab.gnn, *trained(lab, method, cell["seed"], **own))
    return [{"t_stale": age, "test_f1": score, "saved": 1 - share}]


def points(rows, **want):
    """Return the points beside neighbour sampling with the same seed, and what is saved."""
    found = pick(rows, **want)
    return points_beside(found, pick(rows, kind="neighbor")), spread_of(found, "saved")


def usual(grid):
    """Return p_grad and the age of the cell of the grid that is nearest to the paper's choice."""
    p = min(values_of(grid, "p_grad"), key=lambda share: abs(share - P_GRAD))
    return p, min(values_of(grid, "age"), key=lambda age: abs(age - AGE))


def table(_lab, rows):
    """Return a line for each buffer and control, then for each cell of the grid."""
    lines, kinds = [], values_of(rows, "kind")
    for kind, name in (BUFFERS | {one: CONTROLS[one] for one in CONTROLS if one in kinds}).items():
        lost, saved = points(rows, kind=kind)
        p = pick(rows, kind=kind)[0]["p_grad"]
        lines.append([name, p, pick(rows, kind=kind)[0]["t_stale"] if p else "-", saved, lost])
    grid = pick(rows, kind="grid")
    for p in values_of(grid, "p_grad"):
        for t in values_of(grid, "t_stale"):
            lost, saved = points(rows, kind="grid", p_grad=p, t_stale=t)
            lines.append(["embeddings, room for all", p, t, saved, lost])
    words = [
        [*line, saved.text(".1f", scale=100), lost.text("+.2f")] for *line, saved, lost in lines
    ]
    return ["buffer", "p_grad", "t_stale", "I/O saved, %", "test F1, points"], words


def verdicts(_lab, rows):
    """Judge by means over seeds; the paper's choice is the nearest cell of the grid."""
    grid = pick(rows, kind="grid")
    shares, times = sorted(values_of(grid, "p_grad")), sorted(values_of(grid, "t_stale"))
    p, age = usual(grid)
    t = pick(grid, age=age)[0]["t_stale"]
    later = min((time for time in times if time > t), default=t)

    def at(p, t):
        return points(rows, kind="grid", p_grad=p, t_stale=t)

    saved, more = at(p, t)[1], at(p, later)[1]
    limited = {kind: points(rows, kind=kind)[1].mean for kind in BUFFERS}
    features = limited["features"]
    least, most = at(shares[0], times[0])[0].mean, at(shares[-1], times[-1])[0].mean
    along_p = at(shares[-1], times[-1])[0].mean < at(shares[0], times[-1])[0].mean
    along_t = at(shares[-1], times[-1])[0].mean < at(shares[-1], times[0])[0].mean
    near = {share: at(share, t)[0].mean - at(shares[0], t)[0].mean for share in shares[1:]}
    lost = -min(x for share, x in near.items() if P_GRAD <= share < 1 or share == p)
    less = ranked(least - most > LARGE_LOSS and along_p and along_t, least > most)
    each = ", ".join(f"{x:+.2f} points with {share}" for share, x in near.items())
    here = {"p": p, "t": t, "saved": saved.mean, "later": later, "more": more.mean, **limited}
    ends = {"p": shares[0], "t": times[0], "high_p": shares[-1], "high_t": times[-1]}
    harmless = ranked(lost <= HARMLESS, lost <= 2 * HARMLESS)
    return [
        verdict("V-io-60-at-200", graded(more.mean, SAVED, features), **here),
        verdict("V-larger-is-less-accurate", less, least=least, most=most, **ends),
        verdict("V-pgrad-near-1-harmless", harmless, t=t, p=shares[0], each=each),
    ]


def plot(lab, rows):
    """Return rows saved and scores over t_stale for each p_grad, and what a small buffer saves."""
    grid = pick(rows, kind="grid")
    times = sorted(values_of(grid, "t_stale"))
    saved, scores = (
        curves_of(grid, "t_stale", y, "p_grad", name="p_grad {p_grad}", scale=scale)
        for y, scale in (("saved", 100), ("test_f1", 1))
    )
    ends, target = [times[0], times[-1]], spread_of(rows, "test_f1", kind="neighbor").mean
    saved["0: features alone"] = level(ends, 100 * points(rows, kind="features")[1].mean)
    scores["neighbour sampling"] = level(ends, target)
    label = f"t_stale, iterations ({steps_of(few_labels(lab), lab.sizes)} an epoch)"
    axes = {"xscale": "log"}
    bars = {name.replace(" ", "\n"): points(rows, kind=kind)[1] for kind, name in BUFFERS.items()}
    p, age = usual(grid)
    bars["no limit"] = points(rows, kind="grid", p_grad=p, age=age)[1]
    title = f"A buffer for {lab.sizes['buffer']:.0%} of all features, and no limit"
    return [
        Lines("I/O saved", label, "%", saved, axes, ticks=times),
        Lines("Test accuracy", label, "F1-micro", scores, axes, ticks=times),
        bars_of(title, "I/O saved, %", bars, scale=100),
    ]
