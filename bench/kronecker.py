"""``python -m bench kronecker``: a large graph with features and classes, as a raw folder.

A Kronecker graph (Leskovec et al. 2010, by R-MAT's recursion; a = 0.57, b = c = 0.19) in the binary
layout of the Open Graph Benchmark, made in blocks from a seed, for `minibatch-gnn convert`.
"""

import argparse
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np

A, B, C = 0.57, 0.19, 0.19  # the quadrants of the adjacency matrix: both halves, one, the other
BLOCK = 2**21  # edges at a time
NUMBERS = 2**22  # numbers of features at a time
ROUNDS = 4  # of the permutation of ids
SURPLUS = 1.2  # edges drawn for each that is wanted, as some are drawn twice
SHIFT = 0.5  # how far classes are apart, in standard deviations of the noise
SHARE, HELD_OUT = 0.01, 0.1  # of the nodes for training; of these, as many for each other part


def main(argv):
    """Write a folder; return 0."""
    parser = argparse.ArgumentParser(prog="python -m bench kronecker", description=__doc__)
    parser.add_argument("folder", type=Path, help="is made")
    parser.add_argument("--scale", type=int, default=20, help="2**scale nodes (default: 20)")
    parser.add_argument("--degree", type=float, default=16, help="mean, about (default: 16)")
    parser.add_argument("--features", type=int, default=128, help="a node (default: 128)")
    parser.add_argument("--classes", type=int, default=172, help="(default: 172)")
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args(argv))
    write_kronecker(options.pop("folder"), **options)
    return 0


def write_kronecker(folder, *, scale, degree=16, features=128, classes=172, seed=0):
    """Write a Kronecker graph as a raw folder of the Open Graph Benchmark.

    2**scale nodes and about ``degree * 2**scale`` entries once edges count in both directions and
    once. Ids are scrambled, so neither degree nor class follows from an id. A node's class is a
    number drawn; its features are the class's mean plus noise. 1% of the nodes are for training,
    0.1% each for validation and test; the others have no class. Memory for a block, whatever the
    size; about 16 bytes on disk for an edge, 2 for a feature.

    Parameters
    ----------
    folder : Path
    scale : int
    degree : float
    features, classes, seed : int

    Raises
    ------
    FileExistsError
        If there is a graph in the folder.
    """
    n, raw = 2**scale, Path(folder) / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    count = int(n * degree / 2 * SURPLUS)
    scramble = Scramble(scale, rng)
    mean = (SHIFT * rng.standard_normal((classes, features))).astype(np.float32)
    drawing, chances = rng.spawn(2)
    chosen = split_of(n, chances)
    with zipfile.ZipFile(raw / "data.npz", "x") as archive:
        with Rows(archive, "edge_index", np.int64, (2, count)) as file:
            seeds = drawing.bit_generator.state  # both rows come from the same draws
            for side in (0, 1):
                drawing.bit_generator.state = seeds
                for size in sizes(count, BLOCK):
                    file.write(scramble(ends(size, scale, drawing)[side]))
        with Rows(archive, "node_feat", np.float16, (n, features)) as file:
            first = 0
            for size in sizes(n, max(1, NUMBERS // features)):
                kinds = class_of(np.arange(first, first + size), classes, seed)
                noise = drawing.standard_normal((size, features), np.float32)
                file.write((mean[kinds] + noise).astype(np.float16))
                first += size
        for name, number in (("num_nodes_list", n), ("num_edges_list", count)):
            with Rows(archive, name, np.int64, (1,)) as file:
                file.write(np.array([number]))
    with (
        zipfile.ZipFile(raw / "node-label.npz", "x") as archive,
        Rows(archive, "node_label", np.float32, (n, 1)) as file,
    ):
        known, first = np.sort(np.concatenate(list(chosen.values()))), 0
        for size in sizes(n, NUMBERS):
            labels = np.full(size, np.nan, np.float32)
            here = known[(known >= first) & (known < first + size)]
            labels[here - first] = class_of(here, classes, seed)
            file.write(labels)
            first += size
    for name, nodes in chosen.items():
        write_nodes(Path(folder) / "split" / "random" / f"{name}.csv.gz", nodes)


class Scramble:
    """A permutation of the integers below 2**scale that is computed, not looked up.

    Multiplication by an odd number and exclusive or with the own upper half are both reversible.
    """

    def __init__(self, scale, rng):
        self.mask, self.half = 2**scale - 1, (scale + 1) // 2
        self.keys = rng.integers(0, 2**scale, (ROUNDS, 2)).tolist()

    def __call__(self, ids):
        for factor, term in self.keys:
            ids = (ids * (factor | 1) + term) & self.mask
            ids ^= ids >> self.half
        return ids


def ends(count, scale, rng):
    """Return both ends of some edges drawn: (2, count) int64."""
    u, v = np.zeros((2, count), np.int64)
    cuts = np.array([A, A + B, A + B + C]) * 2**16
    for first in range(0, scale, 4):  # a number of 64 bits serves four levels
        draws = rng.integers(0, 2**64, count, np.uint64).view(np.uint16).reshape(count, 4)
        for level in range(min(4, scale - first)):
            draw = draws[:, level]
            low, right = draw >= cuts[1], (draw >= cuts[0]) & (draw < cuts[1]) | (draw >= cuts[2])
            u = u << 1 | low
            v = v << 1 | right
    return u, v


def class_of(nodes, classes, seed):
    """Return the classes of some nodes."""
    mixed = (nodes.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(40)) % np.uint64(classes)
