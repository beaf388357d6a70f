"""Test scores of PyG's example programs, with our loaders and with samplers in plain Python.

Each pattern is written as a user of PyG writes it (`bench/pyg_patterns.py`); our loaders change its
import alone. PyG's own samplers need pyg-lib or torch-sparse, so ours are compared with samplers
in plain Python (`bench/pyg_plain.py`).
"""

import importlib.util
from statistics import mean, variance
from types import SimpleNamespace

import fastimpl
from bench.command import Common, UsageError, numbers
from bench.loaders import versions
from bench.markdown import span, table

COMMON = Common(timed=False, seeds=5)
QUICK = {"nodes": 300, "epochs": 2}
TITLES = (
    "pattern",
    "our loader: score, mean",
    "range",
    "plain Python: score, mean",
    "range",
    "difference in standard errors",
)


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--nodes", type=int, default=1000, help="of each data set (default: 1000)")
    parser.add_argument("--epochs", type=int, default=8, help="(default: 8)")
    parser.add_argument("--only", type=numbers(str), default=[], help="patterns (default: all)")


def report(options):
    """Train each pattern with each seed in both ways; yield a table."""
    if not all(map(importlib.util.find_spec, ("torch_geometric", "sklearn"))):
        needed = "minibatch-gnn[pyg,sklearn]"
        raise UsageError(f"needs PyTorch, PyG and scikit-learn: pip install '{needed}'")
    from bench.pyg_patterns import PATTERNS

    for name, least in (("nodes", 100), ("epochs", 1)):
        if getattr(options, name) < least:
            got = getattr(options, name)
            raise UsageError(f"--{name} must be at least {least}, got {got}")
    unknown = set(options.only) - PATTERNS.keys()
    if unknown:
        raise UsageError(f"--only must be of {', '.join(PATTERNS)}, got {', '.join(unknown)}")
    options.peer = versions("torch", "torch_geometric")
    yield f"{options.nodes} nodes, {options.epochs} epochs, {options.seeds} seeds."
    yield ""
    rows = []
    for name in options.only or PATTERNS:
        size = options.nodes, options.epochs
        ours, others = (
            [score_of(PATTERNS[name], way, seed, *size) for seed in range(options.seeds)]
            for way in (fastimpl.lab.pyg, plain())
        )
        cells = [cell for some in (ours, others) for cell in (f"{mean(some):.3f}", span(some, 3))]
        errors = "-" if options.seeds == 1 else f"{apart(ours, others):+.1f}"
        rows.append([name, *cells, errors])
    yield from table(TITLES, rows)


def score_of(pattern, way, seed, nodes, epochs):
    """Train a pattern once, from fixed weights of this seed; return its score."""
    import torch

    torch.manual_seed(seed)
    return pattern(way, seed, nodes, epochs)


def plain():
    """Return the plain Python ways, with the names of `lab.pyg`."""
    from bench import pyg_plain

    return SimpleNamespace(
        NeighborLoader=pyg_plain.node_loader,
        LinkNeighborLoader=pyg_plain.link_loader,
        GraphSAINTRandomWalkSampler=pyg_plain.WalkSteps,
        ClusterData=pyg_plain.grown_parts,
        ClusterLoader=pyg_plain.PartSteps,
    )


def apart(ours, others):
    """Return the difference of two means, in its standard errors."""
    error = sum(variance(some) / len(some) for some in (ours, others)) ** 0.5
    return (mean(ours) - mean(others)) / max(error, 1e-9)
