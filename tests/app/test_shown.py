"""What objects look like at a prompt: a line of at most 300 characters, whatever their size."""

import inspect

import numpy as np
import pytest

import refimpl
from refimpl._support.reprs import line, shown
from refimpl.lab.backend import find, homes
from refimpl.lab.data.communities import communities

LONGEST = 300
CLASSES = {name: find(refimpl, name) for name in homes() if inspect.isclass(find(refimpl, name))}
TUPLES = [name for name, cls in CLASSES.items() if hasattr(cls, "_fields")]
SETTINGS = [name for name, cls in CLASSES.items() if hasattr(cls, "values") and name not in TUPLES]


def everything(gnn, folder):
    """Return an object of each other public class, large and full, by name."""
    data = communities(0, nodes=400)
    config = gnn.TrainConfig(epochs=1, hidden=64, layers=4)
    graph, comm = data.graph, gnn.loader.SimComm.run(1, lambda comm: comm)[0]
    result = gnn.train(data, config)
    typed = {"edge_types": np.zeros(graph.e, np.int32), "relations": 1}
    mfg = gnn.sample_mfg(graph, np.arange(50), [3, 2], seed=0, epoch=0, batch=0)
    sampler = gnn.Sampler("frontier", m=5, n=40)
    cache = {"n": 400, "d": 9, "h": 9, "layers": 2, "floats": 9000, "t_stale": 3}
    X = np.zeros((400, 9), np.float32)
    gnn.loader.write_features(folder / "features.npy", X)
    with gnn.loader.LookaheadFeatures(folder / "features.npy", 10**6) as ahead:
        ahead.gather(None, np.arange(400))
    data.save(folder / "saved")
    with gnn.loader.LookaheadGraph(gnn.load_dataset(folder / "saved").graph, 10**6) as stored:
        pass
    meter = gnn.profiling.Meter()
    meter.seconds = dict.fromkeys(meter.seconds, 1 / 3)
    return {
        "Graph": graph,
        "Subgraph": gnn.sample_many(graph, sampler, 0, 0, 1)[0],
        "Block": mfg.blocks[0],
        "Adjacency": gnn.Adjacency(graph, np.ones(graph.e), np.ones(graph.e)),
        "WeightedGraph": gnn.graph.WeightedGraph(graph, np.ones(graph.e)),
        "TypedGraph": gnn.TypedGraph(graph, **typed),
        "Sampler": sampler,
        "BidirectionalCache": gnn.BidirectionalCache(**cache),
        "StaticSplitCache": gnn.history.StaticSplitCache(**cache),
        "DistributedFeatures": gnn.loader.DistributedFeatures(comm, X),
        "FeatureStore": gnn.loader.FeatureStore.of(X, 2),
        "LookaheadFeatures": ahead,
        "LookaheadGraph": stored,
        "RowCache": ahead.rows,
        "MPIComm": gnn.loader.MPIComm.__new__(gnn.loader.MPIComm),
        "SimComm": comm,
        "Topology": gnn.loader.Topology.tree((2, 4, 8)),
        "Meter": meter,
        "Dataset": data,
        "FeatureParts": gnn.lab.distributed.FeatureParts(comm, X),
        "NodeClassifier": gnn.NodeClassifier(model=gnn.models.Gat(heads=2), epochs=3),
        "TrainedModel": gnn.TrainedModel.trained(data, config, result.weights),
        "Prefetcher": gnn.Prefetcher(graph, [np.arange(9)] * 99, [2], seed=0, epoch=0),
        "SubgraphPool": gnn.SubgraphPool(graph, sampler, 0),
        "TrainState": result.state,
    }


def check(name, words):
    assert words.startswith(f"{name}(") or words.startswith(f"Typed{name}("), words
    assert words.endswith(")") and len(words) <= LONGEST, words
    assert "array(" not in words and "\n" not in words and " object at 0x" not in words


def test_objects_are_shown_in_a_line(gnn, tmp_path):
    made = everything(gnn, tmp_path)
    made["MPIComm"].rank, made["MPIComm"].size = 0, 4
    others = CLASSES.keys() & set(gnn.lab.pyg.__all__)  # need torch: tests/peers
    assert {*made, *TUPLES, *SETTINGS, *others} == CLASSES.keys()
    for name, one in made.items():
        check(name, repr(one))


@pytest.mark.parametrize("name", TUPLES)
def test_named_tuples_are_shown_in_a_line(gnn, name):
    cls = find(gnn, name)
    for value in (np.zeros((400, 50), np.float32), 1 / 3, 2**62, [1, 2], {"a": np.zeros(99)}):
        check(name, repr(cls(*[value] * len(cls._fields))))


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_show_what_is_not_the_default(gnn, name):
    cls = find(gnn, name)
    if name == "TrainConfig":
        given = gnn.TrainConfig(model=gnn.models.Gat(heads=2), method="gas", hidden=8)
        assert repr(given) == (
            "TrainConfig(model=Gat(heads=2), method=Gas(), hidden=8, epochs=30, lr=0.003)"
        )
    else:
        assert repr(cls()) == f"{name}()"


def test_a_repr_of_settings_is_code(gnn):
    names = {**vars(gnn.models), **vars(gnn.methods), "TrainConfig": gnn.TrainConfig}
    config = gnn.TrainConfig(method=gnn.methods.Fresh(t_stale=4, fanouts=(3, 2)), dropout=0.25)
    assert "t_stale=4" in repr(config)
    assert eval(repr(config), names) == config


def test_large_arrays_are_shapes_and_small_ones_their_numbers():
    assert shown(np.zeros((3, 4), np.float32)) == "float32[3, 4]"
    assert shown(np.array([1, 2])) == "[1, 2]"
    assert shown({"W": np.zeros((9, 9)), "b": np.zeros(2)}) == "{W: float64[9, 9], b: [0.0, 0.0]}"
    assert shown({i: i for i in range(9)}) == "{0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, ..}"
    assert shown((np.zeros(9), 1)) == "(float64[9], 1)"
    assert shown([1] * 9) == "<9 of int>" and shown([]) == "[]" and shown("x") == "'x'"
    assert shown(np.float32(0.5)) == "0.5" and shown(2 / 3) == "0.666667" and shown(0.01) == "0.01"
    assert shown("x" * 99, 30) == "str(..)" and shown({"x" * 99: 1}, 30) == "<1 of int>"


def test_a_line_has_less_of_each_value_before_it_ends_early():
    many = {f"name{i}": "x" * 50 for i in range(6)}
    assert line("T", many) == f"T({', '.join(f'name{i}=str(..)' for i in range(6))})"
    cut = line("T", {f"name{i}": i for i in range(99)})
    assert cut.endswith(", ..)") and LONGEST - 20 < len(cut) <= LONGEST


def test_a_result_shows_its_scores_and_weights(gnn):
    """A `TrainResult` once had 15,905 characters."""
    data = communities(0, nodes=400)
    result = gnn.train(data, gnn.TrainConfig(epochs=1, hidden=64))
    assert f"test_f1={result.test_f1:.6g}" in repr(result)
    assert "layer1.W_neigh: float32[50, 32]" in repr(result)
    assert repr(data).endswith("classes=10)")  # and what is None is not there
    check("Trainer", repr(gnn.make_trainer(data, gnn.TrainConfig(epochs=1))))


def test_a_subgraph_is_shown_without_looking_for_its_edges(gnn):
    data = communities(0, nodes=400)
    (sub,) = gnn.sample_many(data.graph, gnn.Sampler("edge", b=20), 0, 0, 1)
    looked = "edge_ids" in vars(sub)
    assert repr(sub).startswith("Subgraph(nodes=int32[")
    assert ("edge_ids" in vars(sub)) == looked
