"""A large Kronecker graph with features and classes, as a raw folder to convert.

``python -m bench.kronecker FOLDER --scale 24`` writes it in blocks, from a seed, in the binary
layout of the Open Graph Benchmark; ``minibatch-gnn convert`` makes a data set of it.
"""

import argparse
import gzip
import shutil
import zipfile
from pathlib import Path

import numpy as np

# Quadrants of the adjacency matrix as (row bit, column bit): the probabilities of R-MAT
# (Chakrabarti, Zhan and Faloutsos 2004) in Graph 500.
QUADRANTS = {(0, 0): 0.57, (0, 1): 0.19, (1, 0): 0.19, (1, 1): 0.05}
LEVELS, SIDES = 2, 2**16  # that a draw decides, and as how many sides it has
EDGES, NUMBERS = 2**16, 2**20  # worked on at a time
DRAWN = 1.04  # edges drawn for each that is wanted: some are drawn twice, some are self-loops
ROUNDS = 4  # of the permutation of ids
APART = 0.3  # standard deviation of the means of classes; that of the noise is 1
TRAIN, OTHER = 100, 1000  # one node of so many is for training, and for each of the other parts
MOST_SCALE = 30


def main(arguments=None):
    """Write the folder that a command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench.kronecker", description=__doc__)
    parser.add_argument("folder", type=Path, help="is made")
    parser.add_argument("--scale", type=int, default=20, help="of 2**scale nodes (default: 20)")
    parser.add_argument("--degree", type=float, default=16, help="mean, about (default: 16)")
    parser.add_argument("--features", type=int, default=128, help="of a node (default: 128)")
    parser.add_argument("--classes", type=int, default=172, help="(default: 172)")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    options = vars(parser.parse_args(arguments))
    write_kronecker(options.pop("folder"), **options)


def write_kronecker(folder, *, scale, degree=16, features=128, classes=172, seed=0):
    """Write a Kronecker graph as a raw folder of the Open Graph Benchmark.

    About ``degree * 2**scale`` entries once edges count in both directions, each once. A node's
    class is the range that its id was in before ids were scrambled, so neighbours have the same
    one more often than by chance; its features are the mean of its class plus noise of variance
    1, float16. One node in 100 is for training, one in 1000 for validation and for test; the
    others have no class. Memory for a block and the nodes of the parts; on disk 16 bytes for an
    edge drawn, 2 for a feature, and meanwhile 8 more for an edge.

    Parameters
    ----------
    folder : str or Path
        Without such a graph.
    scale : int in [1, 30]
    degree : float
    features, classes, seed : int

    Raises
    ------
    ValueError
        If `scale` is out of range.
    FileExistsError
        If there is a graph in the folder.
    """
    if not 1 <= scale <= MOST_SCALE:
        raise ValueError(f"scale must be in [1, {MOST_SCALE}], got {scale}")
    raw, n = Path(folder) / "raw", 2**scale
    raw.mkdir(parents=True, exist_ok=True)
    count = round(n * degree / 2 * DRAWN)
    edges, noise, means, parts = np.random.default_rng(seed).spawn(4)
    scramble = Scramble(scale, seed)
    means = (APART * means.standard_normal((classes, features))).astype(np.float32)
    with zipfile.ZipFile(raw / "data.npz", "x", allowZip64=True) as archive:
        _write_edges(archive, raw / "second.tmp", count, scale, scramble, edges)
        with Member(archive, "node_feat", np.float16, (n, features)) as file:
            for nodes in _ranges(n, max(1, NUMBERS // features)):
                X = noise.standard_normal((len(nodes), features), np.float32)
                file.write(X + means[class_of(nodes, scramble, classes)])
        for name, number in (("num_nodes_list", n), ("num_edges_list", count)):
            with Member(archive, name, np.int64, (1,)) as file:
                file.write([number])
    chosen = _parts(n, parts)
    known = np.sort(np.concatenate(list(chosen.values())))
    with (
        zipfile.ZipFile(raw / "node-label.npz", "x", allowZip64=True) as archive,
        Member(archive, "node_label", np.float32, (n, 1)) as file,
    ):
        for nodes in _ranges(n, NUMBERS):
            labels = np.full(len(nodes), np.nan, np.float32)
            here = known[slice(*np.searchsorted(known, [nodes[0], nodes[-1] + 1]))]
            labels[here - nodes[0]] = class_of(here, scramble, classes)
            file.write(labels)
    for name, nodes in chosen.items():
        path = Path(folder) / "split" / "random" / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as file:
            file.write("".join(f"{node}\n" for node in nodes.tolist()))


class Member:
    """An array of an .npz file that is written block by block."""

    def __init__(self, archive, name, dtype, shape):
        self.dtype = np.dtype(dtype)
        self.file = archive.open(f"{name}.npy", "w", force_zip64=True)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self.file, header)

    def write(self, values):
        """Write the next numbers."""
        self.file.write(np.ascontiguousarray(values, self.dtype).data.cast("B"))

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.file.close()


class Scramble:
    """A permutation of the integers below 2**scale that is computed, either way."""

    def __init__(self, scale, seed):
        self.mask, self.half = 2**scale - 1, (scale + 1) // 2
        keys = np.random.default_rng([seed, scale]).integers(0, 2**scale, (ROUNDS, 2))
        self.keys = [(2 * factor + 1 & self.mask, term) for factor, term in keys.tolist()]

    def forth(self, ids):
        """Return where some ids go."""
        for factor, term in self.keys:
            ids = (ids * factor + term) & self.mask
            ids ^= ids >> self.half  # twice, it is as before
        return ids

    def back(self, ids):
        """Return what goes to some ids."""
        for factor, term in reversed(self.keys):
            ids = ids ^ ids >> self.half
            ids = (ids - term) * pow(factor, -1, self.mask + 1) & self.mask
        return ids


def class_of(nodes, scramble, classes):
    """Return the classes of some nodes."""
    return scramble.back(nodes) * classes // (scramble.mask + 1)


def ends(count, scale, rng):
    """Return both ends of some edges drawn, before ids are scrambled: int64."""
    draws = -(-scale // LEVELS)
    words = -(-draws * 16 // 64)
    dice = rng.integers(0, 2**64, (words, count), np.uint64).view(np.uint16)
    dice = dice.reshape(words, count, 4).transpose(0, 2, 1).reshape(-1, count)
    u, v = np.zeros((2, count), np.int64)
    for die in dice[:draws]:
        bits = DESCENTS[die]
        u <<= LEVELS
        v <<= LEVELS
        u |= bits >> LEVELS
        v |= bits & 2**LEVELS - 1
    spare = draws * LEVELS - scale
    return u >> spare, v >> spare


def _descents():
    """Return, for each side of a die, the bits of the row and of the column of the levels."""
    codes, chances = np.zeros(1, np.uint8), np.ones(1)
    for level in range(LEVELS):
        step = np.array([row << LEVELS + level | col << level for row, col in QUADRANTS], np.uint8)
        codes = (codes[:, None] | step).ravel()
        chances = (chances[:, None] * list(QUADRANTS.values())).ravel()
    bounds = np.round(SIDES * np.cumsum(chances)).astype(np.int64)
    return np.repeat(codes, np.diff(bounds, prepend=0))


DESCENTS = _descents()


def _write_edges(archive, scratch, count, scale, scramble, rng):
    """Write `edge_index`: all first ends, then all second ones, kept in a file meanwhile."""
    try:
        with Member(archive, "edge_index", np.int64, (2, count)) as file:
            with scratch.open("xb") as second:
                for block in _ranges(count, EDGES):
                    u, v = map(scramble.forth, ends(len(block), scale, rng))
                    file.write(u)
                    second.write(v.data)
            with scratch.open("rb") as second:
                shutil.copyfileobj(second, file.file, NUMBERS)
    finally:
        scratch.unlink(missing_ok=True)


def _ranges(count, step):
    """Yield the integers below `count`, so many at a time."""
    for first in range(0, count, step):
        yield np.arange(first, min(first + step, count))


def _parts(n, rng):
    """Return some nodes for each part, ascending."""
    sizes = [max(1, n // share) for share in (TRAIN, OTHER, OTHER)]
    nodes = np.empty(0, np.int64)
    while len(nodes) < min(sum(sizes), n):  # no table of all nodes
        nodes = np.unique(np.concatenate([nodes, rng.integers(0, n, sum(sizes))]))
    nodes = rng.permutation(nodes)[: sum(sizes)]
    cuts = np.cumsum(sizes)[:2]
    parts = np.split(nodes, cuts)
    return {
        name: np.sort(part) for name, part in zip(("train", "valid", "test"), parts, strict=True)
    }


if __name__ == "__main__":
    main()
