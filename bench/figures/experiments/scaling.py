"""I and J Fig 3: how a training iteration and its parts speed up with threads."""

from bench.figures.experiment import ABOUT, UNTESTED, graded, verdict
from bench.figures.interleaved_timing import PARTS, in_words, rows_of_rounds, steps_in_turns
from bench.figures.plotting import Bars, Curve, Lines, level
from bench.figures.result_rows import bands, groups_of, median_of, pick, ratios, spread, values_of
from bench.figures.synthetic_data import data_like
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import SampledGraph
from refimpl.samplers.sampling import Sampler

CORES = 40  # the papers'
SHOWN = ABOUT["I-fig3"]["names"]
DRAWN = "whole", "aggregation", "weights"  # as in the papers; sampling is their Fig 4
CLAIMS = ABOUT["I-fig3"]["claims"]  # with the part and its printed speed-up on `CORES`


def measure(lab, cell):
    """Return a row for each number of threads and round: seconds of an iteration, by part."""
    sizes, counts = lab.sizes, lab.thread_counts(also=(CORES,))
    dataset = lab.once(cell["like"], lambda: data_like(cell["like"], sizes["shrink"]))
    config = training(sizes, cell["hidden"], pool=lab.threads)
    trainers = {count: lab.gnn.make_trainer(dataset, config) for count in counts}
    about = {"steps": lab.threads, "threads": {count: count for count in counts}}
    return rows_of_rounds(steps_in_turns(trainers, sizes["rounds"], **about), "threads")


def training(sizes, hidden, *, pool, layers=2):
    """Return how subgraphs of the frontier sampler are trained on."""
    sampler = Sampler("frontier", m=sizes["m"], n=sizes["n"], deg_cap=sizes.get("deg_cap"))
    method = SampledGraph(sampler=sampler, pool=pool)
    return TrainConfig(method=method, layers=layers, hidden=hidden)


def table(_lab, rows):
    """Return a line for each data set, width and number of threads."""
    lines = []
    for some in groups_of(rows, "like", "hidden", "threads"):
        about = [some[0][key] for key in ("like", "hidden", "threads")]
        times = [f"{1000 * median_of(some, part):.1f}" for part in ("whole", *PARTS)]
        lines.append([*about, *times, *(f"{_speed_up(rows, x, *about).mean:.2f}" for x in SHOWN)])
    titles = ["graph like", "hidden", "threads", *(f"{part}, ms" for part in ("whole", *PARTS))]
    return [*titles, *(f"{name}, speed-up" for name in SHOWN.values())], lines


def verdicts(lab, rows):
    """Compare with a printed speed-up where there are as many threads as the papers' cores."""
    enough, found = lab.has_cores(CORES), []
    at = CORES if enough else max(values_of(rows, "threads"))
    for claim, about in CLAIMS.items():
        ups = spread(
            _speed_up(rows, about["part"], like, hidden, at).mean
            for like, hidden in values_of(rows, "like", "hidden")
        )
        outcome = graded(ups.mean, about["printed"]) if enough else UNTESTED
        shares = {"efficiency": ups.mean / at, "printed": about["printed"] / CORES}
        what = SHOWN[about["part"]]
        about = {"what": what, "ups": ups, "threads": in_words(at), "cores": CORES, **shares}
        found.append(verdict(claim, outcome, **about))
    return found


def plot(_lab, rows):
    """Return speed-ups of each part and width, then what share of the time each part has."""
    widths = values_of(rows, "hidden")
    shown = [_curves(rows, part, hidden) for part in DRAWN for hidden in widths]
    return [*shown, *(_breakdown(rows, hidden) for hidden in widths)]


def _curves(rows, part, hidden):
    counts, curves = values_of(rows, "threads"), {}
    for like in values_of(rows, "like"):
        each = [_speed_up(rows, part, like, hidden, count) for count in counts]
        curves[f"like {like}"] = Curve(counts, *bands(each))
    curves["as many as threads"] = level([1, CORES], [1, CORES])
    printed = [one["printed"] for one in CLAIMS.values() if one["part"] == part]
    curves["as the papers print"] = Curve([CORES] * len(printed), printed, printed=True)
    ticks = sorted({1, 2, 5, 10, 20, CORES, *counts})
    axes = {"xscale": "log", "yscale": "log", "ylim": (0.5, 1.3 * ticks[-1])}
    axes |= {"yticks": ticks, "yticklabels": ticks}
    title = f"{SHOWN[part]}, hidden dimension {hidden}"
    return Lines(title, "threads", "speed-up", curves, axes, ticks)


def _breakdown(rows, hidden):
    bars = {
        "{like}, {threads}".format(**some[0]): {part: median_of(some, part) for part in PARTS}
        for some in groups_of(pick(rows, hidden=hidden), "like", "threads")
    }
    series = {
        SHOWN.get(part, part): [one[part] / sum(one.values()) for one in bars.values()]
        for part in PARTS
    }
    title = f"by data set and threads, hidden dimension {hidden}"
    room = {"ylim": (0, 1.5), "yticks": [0, 0.25, 0.5, 0.75, 1]}  # for the legend
    return Bars(title, "share of an iteration", list(bars), series, stacked=True, axes=room)


def _speed_up(rows, part, like, hidden, count):
    """Return the median, least and largest speed-up over one thread, round by round."""
    one, many = (pick(rows, like=like, hidden=hidden, threads=t) for t in (1, count))
    return ratios(one, many, part)
