"""The benchmarks, a module a topic: each names its own in `BENCHES`."""

import importlib

TOPICS = (
    "streams",
    "graph",
    "samplers",
    "neighbors",
    "adjacency",
    "propagation",
    "layers",
    "other_layers",
    "rows",
    "losses",
    "optimizers",
    "history",
    "cache",
    "fetching",
    "iteration",
)


def benches():
    """Return all benchmarks as a dict from topic to tuple of Bench."""
    return {topic: importlib.import_module(f"{__name__}.{topic}").BENCHES for topic in TOPICS}
