"""What objects that hold arrays look like at a prompt: a line or two, whatever their size."""

import numpy as np

from refimpl._shown import shown
from refimpl.lab.data.communities import communities


def test_large_arrays_are_shapes_and_small_ones_their_numbers():
    assert shown(np.zeros((3, 4), np.float32)) == "float32[3, 4]"
    assert shown(np.array([1, 2])) == "[1, 2]"
    assert shown({"W": np.zeros((9, 9)), "b": np.zeros(2)}) == "{W: float64[9, 9], b: [0.0, 0.0]}"
    assert shown({i: i for i in range(9)}) == "{0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, ..}"
    assert shown((np.zeros(9), 1)) == "(float64[9], 1)"
    assert shown([1] * 9) == "<9 of int>" and shown([]) == "[]" and shown("x") == "'x'"


def test_results_and_data_are_short(gnn):
    """A `TrainResult` once had 15,905 characters."""
    data = communities(0, nodes=400)
    result = gnn.train(data, gnn.TrainConfig(epochs=1, hidden=64))
    mfg = gnn.sample_mfg(data.graph, np.arange(5), [3, 2], seed=0, epoch=0, batch=0)
    pruned = gnn.prune_mfg(mfg, [np.zeros(len(ids), bool) for ids in mfg.nodes[1:]])
    sample = gnn.frontier(data.graph, 1, 2, m=5, n=40)
    for one in (result, result.state, data, mfg, pruned, sample):
        words = repr(one)
        assert words.startswith(f"{type(one).__name__}(") and len(words) < 1100
        assert "array(" not in words and "\n" not in words
    assert f"test_f1={result.test_f1}" in repr(result) and len(repr(result)) < 500
    assert "layer1.W_neigh: float32[50, 32]" in repr(result)


def test_a_subgraph_is_shown_without_looking_for_its_edges(gnn):
    data = communities(0, nodes=400)
    (sub,) = gnn.sample_many(data.graph, gnn.Sampler("edge", b=20), 0, 0, 1)
    looked = "edge_ids" in vars(sub)
    assert repr(sub).startswith("Subgraph(nodes=int32[")
    assert ("edge_ids" in vars(sub)) == looked
