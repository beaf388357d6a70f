"""V Table 3: test accuracy with FreshGNN's cache introduced after some iterations."""

from bench.figures.experiment import ranked, verdict
from bench.figures.plotting import bars_of
from bench.figures.result_rows import pick, points_by_seed, spread, spread_of, values_of
from bench.figures.training import ALL_CACHED, few_labels, outcome, steps_of, trained

PRINTED = {"papers100M": (-0.15, -0.29, -0.06, -0.27), "MAG240M": (-0.51, -0.12, -0.18, -0.12)}
IN_PAPER = 0, 200, 400, 800  # iterations, of an epoch with so many:
EPOCH = 1200
GAIN = 0.1  # points


def measure(lab, cell):
    """Return a row: the score, the iteration at which the cache begins, and what it saved."""
    sizes, begin, own = lab.sizes, None, {}
    if cell["start"] >= 0:
        begin = round(steps_of(few_labels(lab), sizes) * cell["start"] / EPOCH)
        own = {**ALL_CACHED, "warmup": begin, "p_grad": sizes["p_grad"]}
    method = "neighbor" if begin is None else "fresh"
    dataset, config = trained(lab, method, cell["seed"], model=sizes["model"], **own)
    score, share = outcome(lab.gnn, dataset, config)
    return [{"iteration": begin, "test_f1": score, "saved": 1 - share}]


def gains(rows, start):
    """Return the points beside neighbour sampling, by seed."""
    return points_by_seed(pick(rows, start=start), pick(rows, start=-1))


def table(_lab, rows):
    """Return a line for each start, the paper's beside."""
    lines = []
    for number, start in enumerate(IN_PAPER):
        iteration = pick(rows, start=start)[0]["iteration"]
        points = spread(gains(rows, start).values()).text("+.2f")
        printed = (f"{found[number]:+.2f}" for found in PRINTED.values())
        lines.append([f"{start} of {EPOCH}", iteration, points, *printed])
    target = spread_of(rows, "test_f1", start=-1).text(".2f", scale=100)
    lines.append(["never", "-", target, "66.43", "66.14"])
    return ["start in the paper", "iteration here", "test F1, points", *PRINTED], lines


def verdicts(_lab, rows):
    """Judge by the mean gain of a start after 200 to 800, over that at 0, seed by seed."""
    now = gains(rows, 0)
    by_seed = {
        seed: spread(gains(rows, start)[seed] for start in IN_PAPER[1:]).mean - now[seed]
        for seed in now
    }
    gain = spread(by_seed.values())
    better = sum(one > 0 for one in by_seed.values())
    found = {"lost": spread(now.values()), "gain": gain, "better": better, "seeds": len(by_seed)}
    outcome = ranked(gain.mean >= GAIN and better == len(by_seed), gain.mean > 0)
    return [verdict("V-warm-up", outcome, **found)]


def plot(_lab, rows):
    """Return bars over the starts, with the paper's on either graph as marks."""
    steps = values_of(rows, "iteration")
    found = {
        f"{start}\nhere {step}": spread(gains(rows, start).values())
        for start, step in zip(IN_PAPER, steps, strict=False)
    }
    title, label = "Cache from an iteration on (marks: {})", "points beside neighbour sampling"
    return [
        bars_of(title.format(name), label, found, printed=printed)
        for name, printed in PRINTED.items()
    ]
