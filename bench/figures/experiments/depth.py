"""I Table II and J Fig 8: what more layers cost, with sampled graphs and with sampled layers."""

import statistics

from bench.figures.experiment import ABOUT, FAILS, graded, ranked, verdict
from bench.figures.experiments.synthetic import CLOSE, FAIR, line_through
from bench.figures.interleaved_timing import in_words, rows_of_rounds, steps_in_turns
from bench.figures.plotting import Curve, Lines
from bench.figures.result_rows import bands, groups_of, median_of, pick, ratios, values_of
from bench.figures.synthetic_data import data_like
from bench.figures.training import lengths, on_share, race, race_curves, sooner
from refimpl.lab.apps.option import listed
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import LayerSampling, SampledGraph
from refimpl.samplers.sampling import Sampler

GRAPHS, LAYERS = "graph sampling", "layer sampling"
DEEP = 3  # layers of I Table II
# I Table II: {threads: speed-up with 1, 2, 3 layers}
PRINTED = {int(threads): ups for threads, ups in ABOUT["I-tab2"]["printed"].items()}


def measure(lab, cell):
    """Return rows of times, or of scores."""
    return times_of(lab, cell["threads"]) if "threads" in cell else scores_of(lab, cell["seed"])


def times_of(lab, threads):
    """Return a row for each method, depth and round: seconds of an iteration and of a node."""
    sizes = lab.sizes
    data = lab.once("graph", lambda: data_like("Reddit", sizes["shrink"]))
    sampler = Sampler("frontier", m=sizes["m"], n=sizes["n"], deg_cap=30)
    methods = {
        GRAPHS: SampledGraph(sampler=sampler, pool=threads),
        LAYERS: LayerSampling(batch_size=sizes["batch"], pool=1),
    }
    subs = lab.gnn.sample_many(data.graph, sampler, 0, 0, 4)
    nodes = {GRAPHS: statistics.fmean(len(sub.nodes) for sub in subs), LAYERS: sizes["batch"]}
    most = sizes["depth"] if threads == lab.threads else min(DEEP, sizes["depth"])
    trainers, steps = {}, {}
    for layers in range(1, most + 1):
        for name, method in methods.items():
            config = TrainConfig(method=method, layers=layers, hidden=sizes["hidden"])
            trainers[name, layers] = lab.gnn.make_trainer(data, config)
            steps[name, layers] = getattr(method, "pool", 1)
    found = steps_in_turns(trainers, sizes["rounds"], steps=steps, threads=threads)
    for (name, _), each in found.items():
        each[:] = [{"iteration": x["whole"], "node": x["whole"] / nodes[name]} for x in each]
    return rows_of_rounds(found, "name", "layers")


def scores_of(lab, seed):
    """Return a row for each epoch of each method, depth by depth."""
    dataset, sizes, rows = lab.dataset(), lab.sizes, []
    methods = {
        GRAPHS: on_share(dataset.train_graph, "frontier", sizes["share"]),
        LAYERS: LayerSampling(batch_size=sizes["batch"]),
    }
    shared = {key: sizes[key] for key in ("lr", "dropout", "hidden")} | {"rng": seed}
    for layers in sizes["trained"]:
        configs = {
            name: TrainConfig(method=method, layers=layers, **lengths(sizes, name), **shared)
            for name, method in methods.items()
        }
        rows += [{"layers": layers, **row} for row in race(lab.gnn, dataset, configs)]
    return rows


def over_one_layer(rows, threads, name, layers):
    """Return how many times as long as with one layer: median, least and largest of rounds."""
    some, one = (pick(rows, threads=threads, name=name, layers=x) for x in (layers, 1))
    return ratios(some, one, "iteration")


def epoch_ratio(rows, threads, layers):
    """Return layer sampling's seconds a node over those of graph sampling, in the same way."""
    theirs, ours = (pick(rows, threads=threads, name=x, layers=layers) for x in (LAYERS, GRAPHS))
    return ratios(theirs, ours, "node")


def sooner_with(rows, layers):
    """Return how many times sooner graph sampling has the score; see `sooner`."""
    return sooner(pick(rows, part="score", layers=layers), GRAPHS, (LAYERS,))


def table(lab, rows):
    """Return a line for each number of threads and depth."""
    times, lines = pick(rows, part="time"), []
    for threads, layers in values_of(times, "threads", "layers"):
        line = [threads, layers]
        for name in (GRAPHS, LAYERS):
            some = pick(times, threads=threads, layers=layers, name=name)
            line.append(f"{1000 * median_of(some, 'iteration'):.1f}")
            line.append(f"{over_one_layer(times, threads, name, layers).mean:.2f}")
        line.append(f"{epoch_ratio(times, threads, layers).mean:.2f}")
        known = PRINTED.get(threads, ())[layers - 1 : layers]
        line.append(f"{known[0]:.2f}" if known else "")
        trained = threads == lab.threads and layers in lab.sizes["trained"]
        line.append(sooner_with(rows, layers).cell() if trained else "")
        lines.append(line)
    return ABOUT["I-tab2"]["titles"], lines


def verdicts(lab, rows):
    """Judge cost and time to a score by depth."""
    return [
        *_deep(pick(rows, part="time")),
        _linear(pick(rows, part="time"), lab.threads),
        _from_which_depth(lab, rows),
    ]


def _deep(rows):
    counts, depths = values_of(rows, "threads"), values_of(rows, "layers")
    at, deep = max(count for count in counts if count in PRINTED), min(DEEP, max(depths))
    ratios = [epoch_ratio(rows, at, layers).mean for layers in range(1, deep + 1)]
    each = listed([f"{x:.2f} times for {_layers(n)}" for n, x in enumerate(ratios, 1)])
    as_long = "times as long with layer sampling as with graph sampling"
    each = each.replace("times", as_long, 1)
    found = {"deep": deep, "each": each}
    found |= {"cores": in_words(at), "threads": in_words(max(counts))}
    found["most"] = epoch_ratio(rows, max(counts), deep).mean
    claims = {"I-deep-1306x": PRINTED[at][deep - 1], "J-deep-100x": 100}
    return [
        verdict(claim, graded(ratios[-1], least, max(1, ratios[0])), **found)
        for claim, least in claims.items()
    ]


def _linear(rows, threads):
    depths = values_of(pick(rows, threads=threads), "layers")
    times = [over_one_layer(rows, threads, GRAPHS, layers).mean for layers in depths]
    a, b, off = line_through(depths, times)
    other = over_one_layer(rows, threads, LAYERS, depths[-1]).mean
    outcome = FAILS if b <= 0 else ranked(off <= CLOSE, off <= FAIR)
    found = {"depth": depths[-1], "ours": times[-1], "off": off, "other": other}
    return verdict("J-linear-in-depth", outcome, **found)


def _layers(number):
    return "1 layer" if number == 1 else f"{number} layers"


def _from_which_depth(lab, rows):
    found = {n: sooner_with(rows, n) for n in lab.sizes["trained"]}
    lost = [layers for layers, one in found.items() if one.mean is None or one.mean <= 1]
    first = next((x for x in found if all(x > y for y in lost)), None)
    each = ". ".join(
        f"With {_layers(n)} {one.sentence(GRAPHS, LAYERS)}" for n, one in found.items()
    )
    result = f"is faster from {_layers(first)} on" if first else "is slower with the most layers"
    outcome = ranked(not lost, first)
    return verdict("I-deep-accuracy", outcome, data=lab.data, each=each, result=result)


def plot(lab, rows):
    """Return time by depth, ratios by depth, and the first seed's trainings."""
    times, most = pick(rows, part="time"), lab.threads
    depths = values_of(pick(times, threads=most), "layers")
    log, words = {"yscale": "log"}, "times as fast as layer sampling"
    cost = {
        name: Curve(depths, *bands(over_one_layer(times, most, name, x) for x in depths))
        for name in (GRAPHS, LAYERS)
    }
    ratios = {}
    for threads in values_of(times, "threads"):
        at = values_of(pick(times, threads=threads), "layers")
        found = bands(epoch_ratio(times, threads, layers) for layers in at)
        ratios[f"an epoch, {in_words(threads)}"] = Curve(at, *found)
    scores = pick(rows, part="score")
    won = {layers: sooner_with(rows, layers).mean for layers in values_of(scores, "layers")}
    won = {layers: ratio for layers, ratio in won.items() if ratio is not None}
    if won:
        ratios[f"to the score, {in_words(most)}"] = Curve(list(won), list(won.values()))
    least, most_printed = list(PRINTED[1]), list(PRINTED[40])
    ratios["printed, 1 to 40 cores"] = Curve([1, 2, 3], least, least, most_printed, printed=True)
    shown = [
        Lines(f"an iteration, {in_words(most)}", "layers", "times 1 layer", cost, log, depths),
        Lines("graph sampling beside layer sampling", "layers", words, ratios, log, depths),
    ]
    labels = "seconds of training, seed 0", "validation F1-micro"
    for some in groups_of(pick(scores, seed=0), "layers"):
        title = _layers(some[0]["layers"])
        shown.append(Lines(title, *labels, race_curves(some), {"xscale": "log"}))
    return shown
