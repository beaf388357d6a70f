"""What FreshGNN's cache saves and what it costs: ``python -m bench.fresh --data NAME|FOLDER``.

Every cell trains with the same seeds, and so on the same sampled neighbours; accuracy is test
F1-micro minus that of neighbour sampling with the same seed. I/O saved is the share of the rows
that neighbour sampling loads, over all epochs but the first (a ratio of sums).
"""

import argparse
import json
import statistics
import sys

import fastimpl
from refimpl import TrainConfig, load_dataset
from refimpl.lab.data.communities import communities

INFINITE = "inf"


def outcome(dataset, config):
    """Train; return (test F1-micro, rows loaded, rows that neighbour sampling loads)."""
    with fastimpl.make_trainer(dataset, config) as trainer:
        for _ in range(config.epochs):
            trainer.epoch()
        warm = trainer.state.loads[1:]
        return (
            trainer.result().test_f1,
            sum(load["loaded"] for load in warm),
            sum(load["inputs"] for load in warm),
        )


def row(dataset, shared, seeds, baseline, **options):
    """Return (mean I/O saved, mean difference in F1, its smallest and its largest)."""
    saved, differences = [], []
    for seed in range(seeds):
        config = TrainConfig(method="fresh", rng=seed, **shared, **options)
        f1, loaded, needed = outcome(dataset, config)
        saved.append(1 - loaded / needed)
        differences.append(100 * (f1 - baseline[seed]))
    return (
        statistics.mean(saved),
        statistics.mean(differences),
        min(differences),
        max(differences),
    )


def grid(dataset, shared, fresh, seeds, shares, ages, controls):
    """Yield Markdown lines: neighbour sampling, then one line for each cell."""
    baseline = [
        outcome(dataset, TrainConfig(method="neighbor", rng=seed, **shared))[0]
        for seed in range(seeds)
    ]
    spread = f"{min(baseline):.3f} to {max(baseline):.3f}"
    yield f"Neighbour sampling: test F1-micro {statistics.mean(baseline):.3f} ({spread}).\n"
    yield "| p_grad | t_stale | ranked by | I/O saved | F1, points | range |"
    yield "| ---: | ---: | --- | ---: | ---: | --- |"
    cells = [(p, t, "gradient") for p in shares for t in ages]
    cells += [(shares[-2:][0], ages[-2:][0], control) for control in controls]
    for p, t, control in cells:
        age = None if t == INFINITE else t
        saved, mean, low, high = row(
            dataset, shared, seeds, baseline, p_grad=p, t_stale=age, control=control, **fresh
        )
        yield (f"| {p} | {t} | {control} | {saved:.1%} | {mean:+.2f} | {low:+.2f} to {high:+.2f} |")


def numbers(kind):
    """Return a parser of numbers parted by commas."""
    return lambda text: [part if part == INFINITE else kind(part) for part in text.split(",")]


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="../shared/data/computers")
    parser.add_argument("--nodes", type=int, help="nodes, where --data is communities")
    parser.add_argument("--model", default="sage")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--fanouts", type=numbers(int), default=[10, 10, 5])
    parser.add_argument("--hotness", default="none", help="none: embeddings alone save rows")
    parser.add_argument("--shares", type=numbers(float), default=[0.3, 0.6, 0.9, 1.0])
    parser.add_argument("--ages", type=numbers(int), default=[5, 11, 32, INFINITE])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--buffer", type=int, default=2**28)
    options = parser.parse_args(arguments)
    dataset = communities(0, nodes=options.nodes) if options.nodes else load_dataset(options.data)
    shared = {name: getattr(options, name) for name in ("model", "hidden", "epochs", "batch", "lr")}
    shared |= {"layers": len(options.fanouts), "fanouts": tuple(options.fanouts)}
    print(json.dumps(vars(options)), file=sys.stderr)
    print(f"`python -m bench.fresh {' '.join(arguments or sys.argv[1:])}`\n")
    fresh = {"hotness": options.hotness, "buffer": options.buffer}
    cells = options.seeds, options.shares, options.ages, ("random", "anti")
    for line in grid(dataset, shared, fresh, *cells):
        print(line, flush=True)


if __name__ == "__main__":
    main()
