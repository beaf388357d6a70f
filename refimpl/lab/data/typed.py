"""Data sets with types of edges and nodes: one made on the spot, and folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl import streams
from refimpl._support import require
from refimpl._support.untrusted_files import map_npy, read_npz, reading
from refimpl.graph import from_edges
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.graphsaint import load_graphsaint
from refimpl.lab.data.preparation import chosen_scaling
from refimpl.typed import MOST_TYPES, TypedGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refimpl.hints import FilePath, FloatDtype, Floats, Matrix, Positions, Rng
    from refimpl.lab.hints import SomeScaling

# A graph of papers, authors and institutions, as in academic graphs; ids are in this order.
NODES = (6000, 3000, 1000)
PAPER, AUTHOR, INSTITUTION = range(3)
RELATIONS = ("cites", "has author", "writes", "works at", "employs")  # row's node to column's
# Between which types edges are drawn, how many, how far their communities are apart, and which
# relations an edge is, seen from each end.
LINKS = (
    (PAPER, PAPER, 30_000, 0, (0, 0)),
    (PAPER, AUTHOR, 24_000, 3, (1, 2)),
    (AUTHOR, INSTITUTION, 9_000, 5, (3, 4)),
)
COMMUNITIES, FEATURES = 8, 50
SPLIT = (66, 12, 22)  # % of the nodes for training, validation and test
MAX_WEIGHT = 60  # expected degrees follow a power law, up to this multiple of the least
WITHIN = 0.5  # share of edges between communities that belong together; others ignore them
SPREAD = 0.22  # class means are uniform within this distance of 0; the noise has variance 1/3

# What a stream is for: the last part of its key. generators.py has the numbers before these.
MEMBERSHIP, WEIGHT, EDGE, MEAN, NOISE, ROLE = range(11, 17)

FILES = ("edge_types.npy", "node_types.npy")


def typed_communities(
    rng: Rng = 0, *, dtype: FloatDtype = "float32", scaling: SomeScaling = "standard"
) -> Dataset:
    """Return a graph with 3 types of nodes and 5 relations, the same for each seed.

    6,000 papers, 3,000 authors and 1,000 institutions in 8 communities. Papers cite papers;
    authors write papers; authors work at institutions; the last two are two relations each, one
    from either end. Degrees follow a power law. Half of the edges ignore communities. Of the
    others, citations stay inside one, but a paper of community c has authors of community c + 3,
    and an author of community c works at institutions of community c + 5: a mean over all
    neighbours mixes what the relations keep apart. The 50 features are the mean of the node's
    community, in another order of the columns for each type, plus noise. The class of a node is
    its community; 66% of the nodes are for training, 12% for validation, 22% for test.

    Parameters
    ----------
    rng : int in [0, 2**64), numpy.random.Generator or None
        See `refimpl.streams.as_seed`.
    dtype : float32 or float64
    scaling : {"standard", "rows", "none"} or (mean, std)
        See `load_dataset`.

    Returns
    -------
    Dataset
        Both graphs are `TypedGraph`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    """
    dtype = require.float_dtype("dtype", dtype)
    seed = streams.as_seed(rng)
    node_types = np.repeat(np.arange(len(NODES)), NODES)
    member = (_draws(seed, MEMBERSHIP, sum(NODES)) * COMMUNITIES).astype(np.int64)
    graph = _typed_graph(seed, node_types, member)
    train, val, test = _random_split(seed)
    features = _noisy_means(seed, node_types, member)
    return Dataset(
        name="typed",
        graph=graph,
        features=features,
        scaling=chosen_scaling(scaling, features, train),
        labels=member.astype(np.int8),
        train=train,
        val=val,
        test=test,
        setting="inductive",
        dtype=dtype,
    )


def _draws(seed: int, use: int, *shape: int) -> NDArray[np.float64]:
    """Return draws 0, 1, .. of the stream for `use`, in an array of the given shape."""
    counters = np.arange(np.prod(shape), dtype=np.uint64)
    return streams.uniform(streams.key(seed, streams.DATA, use), counters).reshape(shape)


def _typed_graph(seed: int, node_types: Positions, member: Positions) -> TypedGraph:
    """Draw the edges of all links; one that is drawn twice stands once."""
    root = np.sqrt(1 - _draws(seed, WEIGHT, len(member)))
    weight = np.minimum(1 / (root * np.sqrt(root)), MAX_WEIGHT)  # exponent 7/3
    weight = (1000 * weight).astype(np.int64)  # integers: no rounded sum decides
    first = np.cumsum([0, *NODES])
    u = _draws(seed, EDGE, 3, sum(link[2] for link in LINKS))
    drawn, pairs = 0, []
    for one, other, count, shift, _ in LINKS:
        a, same, b = u[:, drawn : drawn + count]
        drawn += count
        ends = [slice(first[kind], first[kind + 1]) for kind in (one, other)]
        left = first[one] + _pick(weight[ends[0]], a)
        wanted = np.where(same < WITHIN, (member[left] + shift) % COMMUNITIES, -1)
        right = np.empty(count, np.int64)
        for community in range(-1, COMMUNITIES):
            chosen = wanted == community
            fits = True if community < 0 else member[ends[1]] == community
            right[chosen] = first[other] + _pick(weight[ends[1]] * fits, b[chosen])
        pairs.append((left, right))
    u, v = np.concatenate(pairs, axis=1)
    graph = from_edges(u, v, len(member), symmetrize=True, self_loops=False)
    relation = np.empty((len(NODES), len(NODES)), np.int16)  # by the types of row and column
    for one, other, _, _, (forth, back) in LINKS:
        relation[one, other], relation[other, one] = forth, back
    row = np.repeat(node_types, graph.degrees())
    types = relation[row, node_types[graph.indices]]
    return TypedGraph(graph, types, len(RELATIONS), node_types)


def _pick(weight: Positions, u: Floats[np.float64]) -> Positions:
    """Return an index for each draw, in proportion to the weights."""
    ends = np.cumsum(weight)
    places: Positions = (u * ends[-1]).astype(np.int64)
    return np.searchsorted(ends, places, side="right")


def _noisy_means(seed: int, node_types: Positions, member: Positions) -> Matrix[np.float64]:
    """Return features: the community's mean, rolled by type, plus a sum of four uniforms."""
    mean = SPREAD * (2 * _draws(seed, MEAN, COMMUNITIES, FEATURES) - 1)
    rolled = np.stack([np.roll(mean, 17 * kind, axis=1) for kind in range(len(NODES))])
    # close to normal
    noise: Matrix[np.float64] = _draws(seed, NOISE, 4, len(member), FEATURES).sum(axis=0) - 2
    return rolled[node_types, member] + noise


def _random_split(seed: int) -> list[Positions]:
    shuffled = np.argsort(_draws(seed, ROLE, sum(NODES)), kind="stable")
    cuts = np.cumsum(SPLIT)[:2] * sum(NODES) // 100
    return [np.sort(part) for part in np.split(shuffled, cuts)]


def load_typed(
    folder: FilePath, dtype: FloatDtype = "float32", *, scaling: SomeScaling = "standard"
) -> Dataset:
    """Return the data set in a GraphSAINT folder with types.

    Beside the files of `load_graphsaint` there are ``edge_types.npy``, an integer from 0 on for
    every entry of ``adj_full.npz``, in the order in which they are stored there, and
    perhaps ``node_types.npy``, one for every node. ``adj_full.npz`` is a CSR matrix without
    self-loops, with ascending columns in each row, each once; every entry of ``adj_train.npz`` is
    one of its entries. There are as many relations as the largest number plus 1.

    Parameters
    ----------
    folder : str or Path
    dtype : float32 or float64
    scaling : {"standard", "rows", "none"} or (mean, std)
        See `load_dataset`.

    Returns
    -------
    Dataset
        Both graphs are `TypedGraph`.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged, does not fit the others or breaks a rule above; the file is named.
    """
    folder = Path(folder)
    data = load_graphsaint(folder, dtype, scaling=scaling)
    path = folder / "adj_full.npz"
    with reading(path, "a CSR matrix without self-loops, its columns ascending") as file:
        arrays = read_npz(file)
        for name in ("indptr", "indices"):
            if name not in arrays or not np.array_equal(arrays[name], getattr(data.graph, name)):
                raise ValueError("it is another one")
    edge_types = map_types(folder / FILES[0], data.graph.e, "entries of adj_full.npz")
    node_types = None
    if (folder / FILES[1]).exists():
        node_types = map_types(folder / FILES[1], data.graph.n, "nodes")
    relations = int(edge_types.max(initial=0)) + 1
    graph = TypedGraph(data.graph, edge_types, relations, node_types)
    inner: Any = data.induced  # a Graph
    try:
        train_graph = graph.on(data.train, inner)
    except ValueError as error:
        raise ValueError(
            f"{folder / 'adj_train.npz'} must have no entry that adj_full.npz does not have: "
            f"{error}"
        ) from error
    return replace(data, graph=graph, induced=train_graph)


def map_types(path: Path, count: int, what: str) -> NDArray[Any]:
    """Return one type for each of the `count` entries or nodes, mapped into memory."""
    with reading(path, "an array saved by numpy.save") as file:
        types: NDArray[Any] = map_npy(file)
    if types.dtype.kind not in "iu" or types.shape != (count,):
        raise ValueError(
            f"{path} must hold {count} integers, for as many {what}, got {types.dtype} of shape "
            f"{types.shape}"
        )
    if count and (types.min() < 0 or types.max() >= MOST_TYPES):
        raise ValueError(f"{path} must hold types in [0, {MOST_TYPES})")
    return types
