"""Whether contestants did the same work: refused with an AssertionError where they did not."""

import numpy as np

from bench.peers.jobs import beside

CLOSE = 5e-3  # of an array's norm: in float32 a ReLU near 0 may fall on either side
FEWER = 0.1  # by which mean sizes of samples may differ, beside chance


def compare(answers, rtol=CLOSE):
    """Check that all of a dict {name: named arrays} are as the first.

    Arrays are compared by the norm of their difference, tiny ones beside the largest.
    """
    first, *others = answers
    want = {key: array.astype(np.float64) for key, array in answers[first].items()}
    least = 1e-3 * max(np.linalg.norm(array) for array in want.values())
    for name in others:
        assert answers[name].keys() == want.keys(), (first, name)
        for key, array in want.items():
            got = answers[name][key].astype(np.float64)
            assert got.shape == array.shape, f"{key} of {name}: {got.shape}, not {array.shape}"
            error = np.linalg.norm(got - array)
            size = max(np.linalg.norm(array), least)
            assert error <= rtol * size, f"{key} of {name}: {error / size} from {first}"


def check_subgraph(graph, got, name, induced=True):
    """Check that nodes differ, and that the entries are those that the graph has among them."""
    nodes, rows, cols = (got[key].astype(np.int64) for key in ("nodes", "rows", "cols"))
    assert len(np.unique(nodes)) == len(nodes) > 0, f"{name}: a node twice"
    keys = rows * graph.n + cols
    assert len(np.unique(keys)) == len(keys), f"{name}: an entry twice"
    place = np.full(graph.n, -1)
    place[nodes] = np.arange(len(nodes))
    assert (place[rows] >= 0).all() and (place[cols] >= 0).all(), f"{name}: ends elsewhere"
    part = graph.to_scipy()[nodes][:, nodes].tocoo()
    there = nodes[part.row] * graph.n + nodes[part.col]
    assert np.isin(keys, there).all(), f"{name}: an entry that the graph has not"
    if induced:
        assert len(keys) == len(there), f"{name}: {len(keys)} entries of {len(there)}"


def compare_sizes(sizes):
    """Check that all of a dict {name: [(nodes, entries), ..]} have means like the first's.

    They may differ by a tenth, and by 4 standard deviations of one sample of the first.
    """
    first, *others = sizes
    want, spread = np.mean(sizes[first], axis=0), np.std(sizes[first], axis=0)
    for name in others:
        got = np.mean(sizes[name], axis=0)
        far = np.abs(got - want) > FEWER * want + 4 * spread
        assert not far.any(), f"{name} draws {got} nodes and entries, {first} {want}"


def check_batch(graph, got, name, fanout):
    """Check that a batch's edges are the graph's, and enough; return how many it has."""
    got = {key: array.astype(np.int64) for key, array in got.items()}
    row = np.repeat(np.arange(graph.n), graph.degrees())
    drawn = np.unique(got["receivers"] * graph.n + got["senders"])
    assert np.isin(drawn, row * graph.n + graph.indices, assume_unique=True).all(), name
    degree = np.bincount(drawn // graph.n, minlength=graph.n)[got["roots"]]
    assert (degree >= np.minimum(graph.degrees()[got["roots"]], fanout)).all(), name
    assert set(got["senders"].tolist()) <= set(got["nodes"].tolist()), name
    return len(drawn)


def compare_edges(edges):
    """Check that all of a dict {name: distinct edges} have about as many as the one beside."""
    for name, count in edges.items():
        want = edges[beside(name)]
        assert abs(count - want) <= FEWER * want, f"{name}: {count} edges, {beside(name)}: {want}"
