"""What FreshGNN's cache saves and what it costs: rows and accuracy, counts and no times.

Every cell trains with the same seeds, and so on the same sampled neighbours; accuracy is test
F1-micro minus that of neighbour sampling with the same seed. I/O saved is the share of the rows
that neighbour sampling loads, over all epochs but the first (a ratio of sums).
"""

import statistics

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.figures.comparing import outcome
from bench.figures.training import settings
from bench.markdown import head, line, span
from bench.training import data_set

COMMON = Common(timed=False, seeds=3)
QUICK = {"nodes": 1000, "epochs": 2, "shares": [0.9], "ages": [5], "fanouts": [3, 2]}
TITLES = ("p_grad", "t_stale", "ranked by", "I/O saved", "F1, points", "range")


def age(text):
    """Return an age in iterations; `inf` is none."""
    return None if text == "inf" else int(text)


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--data", default="communities", help="a name or a folder")
    parser.add_argument("--nodes", type=int, help="nodes, where --data is communities")
    parser.add_argument("--model", default="sage")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--fanouts", type=numbers(int), default=[10, 10, 5])
    parser.add_argument("--hotness", default="none", help="none: embeddings alone save rows")
    parser.add_argument("--shares", type=numbers(float), default=[0.3, 0.6, 0.9, 1.0])
    parser.add_argument("--ages", type=numbers(age), default=[5, 11, 32, None], help="or inf")
    parser.add_argument("--buffer", type=int, default=2**28)


def report(options):
    """Yield what neighbour sampling reaches, then a table with a row for each cell."""
    if options.epochs < 2:
        raise UsageError(f"--epochs must be at least 2, got {options.epochs}: the first fills")
    dataset, grid = data_set(options.data, options.nodes), Grid(options)
    baseline = [outcome(fastimpl, dataset, grid.neighbor(seed))[0] for seed in range(options.seeds)]
    mean = statistics.mean(baseline)
    yield f"Neighbour sampling: test F1-micro {mean:.3f} ({span(baseline, 3)})."
    yield ""
    yield from head(TITLES, left=3)
    for p, t, control in grid.cells():
        saved, points = [], []
        for seed, score in enumerate(baseline):
            config = grid.fresh(seed, p_grad=p, t_stale=t, control=control)
            f1, share = outcome(fastimpl, dataset, config)
            saved.append(1 - share)
            points.append(100 * (f1 - score))
        cells = [p, "inf" if t is None else t, control, f"{statistics.mean(saved):.1%}"]
        yield line([*cells, f"{statistics.mean(points):+.2f}", span(points, 2, "+")])


class Grid:
    """The cells of the table, and the settings of their runs."""

    def __init__(self, options):
        self.options = options
        names = ("model", "hidden", "epochs", "batch", "lr")
        self.shared = {name: getattr(options, name) for name in names}
        self.shared["batch_size"] = self.shared.pop("batch")
        self.shared |= {"layers": len(options.fanouts), "fanouts": tuple(options.fanouts)}

    def cells(self):
        """Return (p_grad, t_stale, control); controls stand at the last cell but one."""
        shares, ages = self.options.shares, self.options.ages
        cells = [(p, t, "gradient") for p in shares for t in ages]
        return cells + [(shares[-2:][0], ages[-2:][0], name) for name in ("random", "anti")]

    def neighbor(self, seed):
        """Return the settings of neighbour sampling."""
        return settings("neighbor", rng=seed, **self.shared)

    def fresh(self, seed, **cell):
        """Return the settings of FreshGNN in a cell."""
        buffers = {"hotness": self.options.hotness, "buffer": self.options.buffer}
        return settings("fresh", rng=seed, **buffers, **cell, **self.shared)
