"""What is measured: the kinds of jobs, and who does each of them in which ways.

A way is {name: (who, arguments)}; `who` is "ours" or a peer in `environment.PEERS`, and the
arguments follow those of the job. The first way of each is ours, beside which all stand.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import fastimpl
from bench.peers import cases
from refimpl.lab.data import kronecker, power_law

OURS = "ours"
TOGETHER = 8  # samples in a call, as training's workers and the loader ask for them
BATCHES = 40
STEPS = {
    OURS: ("ours", ()),
    "torch by hand": ("torch", ("by hand",)),
    "torch by hand, compiled": ("torch", ("compiled",)),
    "PyG": ("PyG", ("eager",)),
    "PyG, compiled": ("PyG", ("compiled",)),
    "DGL": ("DGL", ()),
    "ours, bfloat16": ("ours", ("bfloat16",)),
    "torch, autocast": ("torch", ("autocast",)),
}
IN_BFLOAT16 = ("ours, bfloat16", "torch, autocast")
WEIGHED = {name: STEPS[name] for name in (OURS, "torch by hand", "PyG", "DGL")}  # their memory
PRODUCTS = {
    OURS: ("ours", ("fastimpl",)),
    "SciPy": ("ours", ("SciPy",)),
    "MKL": ("MKL", ("new result",)),
    "MKL, kept buffer": ("MKL", ("kept buffer",)),
    **{
        f"torch CSR, {way}": ("torch", (way,))
        for way in (
            "64-bit ids",
            "32-bit ids",
            "32-bit ids, kept buffer",
            "columns of X contiguous",
            "reducing kernel",
        )
    },
}
SUBGRAPHS = {
    OURS: ("ours", (TOGETHER,)),
    "ours, one a call": ("ours", (1,)),
    "DGL": ("DGL", ()),
    "PyG": ("PyG", ()),
    "littleballoffur": ("littleballoffur", ()),
}
SAMPLERS = {
    "frontier": {"m": 1000, "n": 8000, "deg_cap": 30},
    "edge": {"b": 4000},
    "walks": {"r": 2000, "h": 2},
}
WITHOUT = {  # who has no such sampler, or none that ends: the notes in `table` say why
    "frontier": ("DGL", "PyG"),
    "edge": ("PyG",),
    "walks": ("littleballoffur",),
}
NOT_INDUCED = {("littleballoffur", "frontier")}  # the edges that were walked, and no others
FEW = 20_000  # nodes above which littleballoffur takes many seconds a subgraph
SAMPLES = {
    OURS: ("ours", ("shared", 1)),
    f"ours, {TOGETHER} batches a call": ("ours", ("shared", TOGETHER)),
    "NeighborLoader on pyg-lib": ("PyG", ("pyg-lib",)),
    "NeighborLoader on torch-sparse": ("PyG", ("torch-sparse",)),
    "ours, layered": ("ours", ("layered", 1)),
    f"ours, layered, {TOGETHER} batches a call": ("ours", ("layered", TOGETHER)),
    "DGL, sample_neighbors_fused": ("DGL", ("fused",)),
    "DGL, sample_neighbors_fused, mapping kept": ("DGL", ("kept",)),
    "DGL, sample_neighbors": ("DGL", ("plain",)),
}
INFERENCE = {
    OURS: ("ours", ()),
    "torch by hand": ("torch", ()),
    "PyG, whole graph": ("PyG", ("whole graph",)),
    "PyG, layer by layer": ("PyG", ("layer by layer",)),
}
WAYS = {
    "subgraphs": SUBGRAPHS,
    "neighbours": SAMPLES,
    "products": PRODUCTS,
    "steps": STEPS,
    "inference": INFERENCE,
    "memory": WEIGHED,
}


def beside(name):
    """Return which of ours a way of sampling neighbours stands beside: it draws likewise."""
    return "ours, layered" if "layered" in name or "DGL" in name else OURS


def alike(kind, graph):
    """Return who draws subgraphs by our law on a graph, so that sizes must agree.

    PyG's walks leave a node that has no neighbours for a neighbour of another one.
    """
    lone = bool((graph.degrees() == 0).any())
    return {"edge": ("ours", "DGL"), "walks": ("ours", "DGL") + (() if lone else ("PyG",))}.get(
        kind, ("ours",)
    )


def samples_a_call(arguments):
    """Return how many samples a call of a way returns: ours say it last."""
    return arguments[-1] if arguments and isinstance(arguments[-1], int) else 1


class Subgraphs(NamedTuple):
    """One kind of sampler on one of `sampled_graphs`."""

    kind: str
    number: int
    shrink: int

    def options(self):
        """Return the options of our sampler of that kind."""
        of = SAMPLERS[self.kind].items()
        return {name: x // self.shrink if x >= 1000 else x for name, x in of}


class Neighbours(NamedTuple):
    """Batches of sampled neighbours on a Kronecker graph of 2^scale nodes; fan-outs roots first."""

    scale: int = 20
    batch: int = 1000
    fanouts: tuple = (20, 15, 10)


class Product(NamedTuple):
    """A sparse x dense product of s x s and s x width."""

    s: int
    degree: int
    width: int


def name_of(kind, job):
    """Return a job's name, by which -k selects."""
    if kind == "subgraphs":
        return f"samplers {job.kind} graph {job.number + 1}"
    if kind == "neighbours":
        return f"neighbours 2^{job.scale}"
    if kind == "products":
        return f"product degree {job.degree} width {job.width}"
    word = {"steps": "step", "memory": "memory", "inference": "inference"}[kind]
    return f"{word} {job.model} degree {job.degree} hidden {job.hidden}"


class Plan:
    """What a run measures: lists of jobs in `jobs`, by the names of `WAYS`.

    Parameters
    ----------
    threads : list of int
    rounds : int
    quick : bool
        Whether everything is tiny.
    matching : str
        What the names of all jobs have in them.
    hidden : sequence of int
        Widths of the layers of steps.
    """

    def __init__(self, threads, rounds, quick=False, matching="", hidden=(512,)):
        self.threads, self.rounds, self.quick = threads, rounds, quick
        full = [case for case in cases.FULL if case.hidden in hidden]
        steps = cases.TINY if quick else [*cases.SMALL, *full]
        self.jobs = {
            "subgraphs": [Subgraphs(kind, 0, 100) for kind in SAMPLERS]
            if quick
            else [Subgraphs(kind, number, 1) for number in range(3) for kind in SAMPLERS],
            "neighbours": [Neighbours(10, 20) if quick else Neighbours()],
            "products": [Product(100, 6, 24)]
            if quick
            else [Product(8000, degree, 512) for degree in (15, 60)],
            "steps": steps,
            "inference": cases.TINY_PASSES if quick else cases.PASSES,
            "memory": steps[:1] if quick else [case for case in steps if case.degree == 15],
        }
        for kind, jobs in self.jobs.items():
            self.jobs[kind] = [job for job in jobs if matching in name_of(kind, job)]

    def peers(self):
        """Return the names of the peers that have a way of doing some of it, each once."""
        asked = (WAYS[kind] for kind, jobs in self.jobs.items() if jobs)
        return list(dict.fromkeys(who for of in asked for who, _ in of.values() if who != "ours"))


def export_graph(number, shrink, folder):
    """Write a graph to an .npz file, once; return its name, itself and the path."""
    name, graph = sampled_graphs(shrink)[number]
    path = Path(folder, f"graph{number}.npz")
    if not path.exists():
        np.savez(path, indptr=graph.indptr, indices=graph.indices)
    return name, graph, path


def export_batches(job, folder):
    """Write a graph and batches of nodes that have neighbours, once; return graph and path."""
    graph = kronecker_graph(job.scale)
    path = Path(folder, "batches.npz")
    if not path.exists():
        nodes = np.flatnonzero(graph.degrees()).astype(np.int32)
        nodes = nodes[: len(nodes) // job.batch * job.batch]
        batches = np.array(fastimpl.samplers.epoch_batches(nodes, job.batch, 1, 0)[:BATCHES])
        np.savez(path, indptr=graph.indptr, indices=graph.indices, batches=batches)
    return graph, path


@cache
def sampled_graphs(shrink):
    """Return the graphs that are sampled, with their names: three, so many times smaller."""
    scale = 20 - (shrink - 1).bit_length()
    found = [(f"Kronecker, 2^{scale} nodes, mean degree 16", kronecker(scale, 16))]
    for nodes, degree in ((153_000, 70), (9_700, 28)):
        n = max(nodes // shrink, 10 * degree)
        found.append((f"power law, {n:,} nodes, mean degree {degree}", power_law(n, degree)))
    return found


@cache
def kronecker_graph(scale):
    """Return a graph of 2^scale nodes."""
    return kronecker(scale, 16)
