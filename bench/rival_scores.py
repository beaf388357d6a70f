"""Scores of neighbour sampling and of its rivals: test score, bytes read, time to a score."""

import statistics

import fastimpl
from bench.markdown import span, table
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.config import config_from
from refimpl.lab.training.presets import PRESETS
from refimpl.profiling import PARTS

TITLES = ("method", "test F1-micro, mean", "range", "feature MB read an epoch", "seconds to")


def contestants(options):
    """Return the settings of each row, by its name."""
    sampled = {"fanouts": tuple(options.fanouts), "layers": len(options.fanouts)}
    neighbor = {"method": "neighbor", **sampled}
    labor, fresh = {**neighbor, "sample_mode": "labor"}, {"method": "fresh", **sampled}
    kappa = max(options.kappas)
    return {
        "neighbour sampling": neighbor,
        "LABOR-0": labor,
        f"LABOR-0, kappa {kappa}": {**labor, "batch_dependency": kappa},
        "FreshGNN": fresh,
        "FreshGNN, refresh 1": {**fresh, "refresh": 1},
        "GNNAutoScale": {"method": "gas", "layers": len(options.fanouts)},
        "SGC": PRESETS["sgc"],
        "SIGN": PRESETS["sign"],
    }


def report(options):
    """Train every contestant with every seed; yield a table for each data set."""
    for name in options.data:
        data = load_dataset(name, setting="transductive")
        yield (
            f"{name}: {data.graph}, {len(data.train)} training nodes, batches of {options.batch}, "
            f"{options.epochs} epochs, hidden {options.hidden}, {options.scores} seeds."
        )
        yield ""
        titles = [*TITLES[:-1], f"{TITLES[-1]} validation F1 {options.target}"]
        rows = ([one, *cells(data, how, options)] for one, how in contestants(options).items())
        yield from table(titles, list(rows))
        yield ""


def cells(data, how, options):
    """Return the cells of a contestant: of its runs with seeds 0, 1, .."""
    shared = {"hidden": options.hidden, "batch_size": options.batch, "epochs": options.epochs}
    scores, megabytes, seconds = [], [], []
    for seed in range(options.scores):
        config = config_from({**shared, **how, "rng": seed})
        result = fastimpl.train(data, config, progress=False)
        scores.append(result.test_f1)
        megabytes.append(statistics.mean(counts["bytes"] / 1e6 for counts in result.state.loads))
        seconds += time_to(options.target, result.history)
    reached = f"{statistics.median(seconds):.2f}" if seconds else "-"
    if len(seconds) < options.scores:
        reached += f" ({len(seconds)} of {options.scores} seeds reach it)"
    mean = f"{statistics.mean(scores):.3f}"
    return [mean, span(scores, 3), f"{statistics.mean(megabytes):,.2f}", reached]


def time_to(target, history):
    """Return [seconds of training until a validation score], or [] if it is never reached."""
    first = (one for one in history if one.val_f1 is not None and one.val_f1 >= target)
    return [
        sum(getattr(one, part) for part in PARTS if part != "evaluation") for one in list(first)[:1]
    ]
