"""What probing in lanes wins, beside Theorem 1: IPDPS'19 Figure 4B, on one thread."""

import math
import statistics

from bench.figures.interleaved_timing import seconds_in_turns
from refimpl.streams import SAMPLE

VERSIONS = {"dashboard": "ipdps", "pin_tile": "jpdc"}  # whose cost model is a sampler's
FEWEST = 1024  # entries to calibrate with: fewer are in the first cache just as well


def measure(gnn, graph, *, m, n, eta, lanes, rounds, sampler="dashboard"):
    """Time a Dashboard sampler by its number of lanes, and predict the speed-up.

    All numbers of lanes draw the same samples, in turns: each round has keys of its own and
    begins with another number. What is timed is the drawing of a sample's nodes, which is what
    the model counts; the edges between them are not. One thread draws one sample.

    Returns
    -------
    list of dicts, by ascending ``lanes``
        ``seconds``: median of a sample. ``tries`` and ``rounds``: probes, and probes in groups of
        ``lanes``, for each pop. ``speedup``: median seconds of one lane over those of these.
        ``theorem1``: `theorem1_speedup` of the mean degree, with ``rho`` as `calibrate` measures
        it. fastimpl probes and writes without vectors in one lane, and in whole vectors in more.
    """
    lanes = sorted({1, *lanes})
    predicted = _predictions(gnn, graph, m, n, eta, lanes, VERSIONS[sampler])
    counted: dict = {p: [] for p in lanes}

    def drawing(p):
        def draw(turn):
            keys = [gnn.streams.key(0, SAMPLE, turn, stream) for stream in (0, 1)]
            options = {"m": m, "n": n, "eta": eta, "lanes": p, "probing": "lanes"}
            counted[p].append(getattr(gnn, sampler)(graph, *keys, **options).counters)

        return draw

    seconds = seconds_in_turns({p: drawing(p) for p in lanes}, rounds)
    median = {p: statistics.median(seconds[p]) for p in lanes}
    return [
        {
            "lanes": p,
            "seconds": median[p],
            "tries": _a_pop(counted[p][-rounds:], "probes"),
            "rounds": _a_pop(counted[p][-rounds:], "rounds"),
            "speedup": median[1] / median[p],
            "theorem1": predicted[p],
        }
        for p in lanes
    ]


def _a_pop(counters, name):
    """Return a counter's mean for each pop; NaN where isolated roots leave nothing to pop."""
    pops = sum(one.pops for one in counters)
    return sum(getattr(one, name) for one in counters) / pops if pops else math.nan


def _predictions(gnn, graph, m, n, eta, lanes, version):
    """Return what Theorem 1 predicts for each number of lanes."""
    models = gnn.cost_models
    models.sample_cost_from_graph(graph, 1, eta, n, m, version)  # raises before anything is timed
    d = graph.e / graph.n
    entries = min(max(math.ceil(eta * m * d), FEWEST), 2**31 - 1)
    spent = models.calibrate(entries=entries)
    rho = spent.c_rand / spent.c_mem
    return {p: float(models.theorem1_speedup(p, eta, d, version, rho=rho)) for p in lanes}
