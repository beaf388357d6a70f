"""What a user adds from outside: kernels for a backend, and a sampler."""

import copy
import inspect
import os
import pickle
import re
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import fastimpl
import refimpl
from refimpl import Sampler, TrainConfig, models
from refimpl.graph import Counters
from refimpl.lab.apps.info import build_of, threads_of
from refimpl.lab.backend import TOPICS, completed, find, find_topic, homes
from refimpl.lab.training.models import MODELS, ModelSettings
from refimpl.samplers import NodeSample
from refimpl.streams import below, pick_without_replacement

DATA = refimpl.load_dataset("karate")
GRAPH = DATA.train_graph
NONE = np.empty(0, np.int32)


def uniform_nodes(graph, main, *, n, twice=False):
    nodes = np.sort(pick_without_replacement(main, 0, graph.n, n)).astype(np.int32)
    return NodeSample(nodes, NONE, NONE, Counters(draws=n + twice))


def two_streams(graph, main, probe, *, n=3):
    nodes = {below(main, i, graph.n) for i in range(n)} | {below(probe, 0, graph.n)}
    return NodeSample(np.array(sorted(nodes), np.int32), NONE, NONE, Counters(draws=n))


def counted(function):
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)

    wrapper.calls = 0
    return wrapper


def test_a_backend_uses_the_given_kernels_from_top_and_topics(gnn):
    spmm, row_norm = counted(gnn.spmm), counted(gnn.adjacency.row_norm)
    made = refimpl.backend(gnn, spmm=spmm, row_norm=row_norm)
    assert made.spmm is made.propagation.spmm is spmm
    assert made.adjacency.row_norm is row_norm
    config = TrainConfig(epochs=1, hidden=4)
    ours, theirs = made.train(DATA, config), gnn.train(DATA, config)
    assert row_norm.calls > 0
    for name, weights in theirs.weights.items():
        assert (ours.weights[name] == weights).all()
    spmm.calls = 0
    made.history.reverse_pagerank(GRAPH, [0, 1], iterations=3)
    assert spmm.calls == 3
    assert made.BidirectionalCache.gnn is made
    assert gnn.spmm is not spmm and gnn.BidirectionalCache.gnn is gnn


@pytest.mark.parametrize(
    "name", ["pin_tile", "clip_nodes", "induced_subgraph", "transpose_perm", "sample_many"]
)
def test_a_backend_samples_with_the_given_kernels(gnn, name):
    """In training and on a call, and on a backend of the backend."""
    sampler = Sampler("pin_tile", m=3, n=12, eta=2.0, clip=4)
    method = refimpl.methods.SampledGraph(sampler=sampler)
    config = TrainConfig(method=method, epochs=1, hidden=4)
    kernel = counted(find(gnn, name))
    made = refimpl.backend(gnn, **{name: kernel})
    ours, theirs = made.train(DATA, config), gnn.train(DATA, config)
    assert kernel.calls > 0
    for weight, values in theirs.weights.items():
        assert (ours.weights[weight] == values).all()
    for again in (made, refimpl.backend(made)):
        kernel.calls = 0
        drawn = again.sample_many(GRAPH, sampler, 1, 2, 3)
        assert kernel.calls == (1 if name == "sample_many" else 3)
        for a, b in zip(drawn, gnn.sample_many(GRAPH, sampler, 1, 2, 3), strict=True):
            assert (a.nodes == b.nodes).all() and (a.edge_ids == b.edge_ids).all()
            assert (a.transpose_perm == b.transpose_perm).all() and a.counters == b.counters
    if name != "sample_many":
        assert inspect.signature(made.sample_many) == inspect.signature(gnn.sample_many)
        assert made.sample_many.__doc__ == gnn.sample_many.__doc__


def test_a_module_that_has_a_sampler_alone_samples_with_it():
    module = types.ModuleType("few")
    module.frontier = counted(refimpl.samplers.frontier)
    made = completed(module)
    made.sample_many(GRAPH, Sampler("frontier", m=2, n=6), 0, 0, 2)
    assert module.frontier.calls == 2
    perm = counted(fastimpl.transpose_perm)
    made = fastimpl.backend(fastimpl, transpose_perm=perm)
    sub = made.induced_subgraph(GRAPH, [0, 1, 2])
    assert perm.calls == 1 and (sub.transpose_perm == refimpl.transpose_perm(sub.graph)).all()


def test_a_kernel_that_is_not_callable_is_refused():
    with pytest.raises(TypeError, match="spmm must be callable, got int"):
        refimpl.backend(refimpl, spmm=3)


def test_a_backend_has_the_build_of_its_module():
    made = fastimpl.backend(fastimpl, spmm=refimpl.spmm, frontier=refimpl.samplers.frontier)
    assert made.__name__ == "backend of fastimpl" == fastimpl.backend(made).__name__
    assert build_of(made) == fastimpl.build_info() and threads_of(made) == threads_of(fastimpl)
    assert set(fastimpl.compiled) - set(made.compiled) == {"spmm", "frontier", "sample_many"}
    plain = refimpl.backend(refimpl)
    assert build_of(plain) is None and not hasattr(plain, "compiled") and threads_of(plain) == 1


def test_a_backend_is_whole(gnn):
    made = refimpl.backend(gnn)
    assert made.__all__ == gnn.__all__
    for topic in TOPICS:
        assert find_topic(made, topic).__all__ == find_topic(gnn, topic).__all__
    for name in homes():
        ours, theirs = find(made, name), find(gnn, name)
        if hasattr(theirs, "unbound"):
            assert ours.unbound is theirs.unbound and ours is not theirs
        else:
            assert ours is theirs
    assert completed(gnn) is gnn and completed(made) is made


def test_a_module_with_few_names_is_filled_up():
    module = types.ModuleType("few")
    module.adam_step = lambda *args, **kwargs: None
    module.adjacency = types.SimpleNamespace(sym_norm=print)
    made = completed(module)
    assert made.adam_step is module.adam_step and made.adjacency.sym_norm is print
    assert made.adjacency.row_norm is refimpl.adjacency.row_norm
    with pytest.raises(ValueError, match="is no implementation"):
        completed(types.ModuleType("none"))


def test_an_unknown_kernel_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="'row_nrm': did you mean row_norm"):
        refimpl.backend(refimpl, row_nrm=print)
    with pytest.raises(ValueError, match="no public name 'zzzzzz'$"):
        refimpl.backend(refimpl, zzzzzz=print)


@pytest.mark.parametrize("sampler", [Sampler(uniform_nodes, n=9, clip=4), Sampler(two_streams)])
def test_a_function_is_a_sampler_in_both_packages(sampler):
    ref, fast = (g.sample_many(GRAPH, sampler, 5, 2, 4) for g in (refimpl, fastimpl))
    assert len(ref) == 4 and len({sub.nodes.tobytes() for sub in ref}) > 1
    for a, b in zip(ref, fast, strict=True):
        assert (a.nodes == b.nodes).all() and (a.edge_ids == b.edge_ids).all()
        assert (a.transpose_perm == b.transpose_perm).all() and a.counters == b.counters
    if sampler.clip:
        assert {len(sub.nodes) for sub in ref} == {8}
    counts = [g.estimate_counts(GRAPH, sampler, 0, coverage=3.0) for g in (refimpl, fastimpl)]
    assert (counts[0].nodes == counts[1].nodes).all() and counts[0].nodes.sum() > 0


def test_a_function_trains(gnn):
    method = refimpl.methods.SampledGraph(sampler=Sampler(uniform_nodes, n=12), pool=2)
    config = TrainConfig(method=method, epochs=1, hidden=4)
    assert np.isfinite(gnn.train(DATA, config).history[-1].loss)
    assert gnn.scaled_sampler(GRAPH, uniform_nodes).options == {"n": GRAPH.n // 5, "twice": False}


def test_a_sampler_of_a_function_is_a_value():
    sampler = Sampler(uniform_nodes, n=9)
    assert repr(sampler) == "Sampler(uniform_nodes, n=9, twice=False, clip=None)"
    assert sampler == Sampler(uniform_nodes, n=9, twice=False) != Sampler(uniform_nodes, n=8)
    assert sampler != Sampler(two_streams, n=9)
    for other in (copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler))):
        assert other == sampler and other.function is uniform_nodes


@pytest.mark.parametrize(
    ("kernel", "options", "said"),
    [
        (uniform_nodes, {}, "uniform_nodes needs n"),
        (uniform_nodes, {"n": 3, "m": 4}, "uniform_nodes takes n, twice, clip; got m"),
        (lambda graph, main, n: None, {"n": 3}, "but <lambda> has graph, main, n"),
        (lambda graph, *, n: None, {"n": 3}, "but <lambda> has graph"),
        (lambda graph, main, *, clip=1: None, {}, "must not have the parameter clip"),
        (lambda graph, main, *, clip: None, {"clip": 3}, "must not have the parameter clip"),
    ],
)
def test_a_function_that_does_not_fit_is_refused(kernel, options, said):
    with pytest.raises(TypeError, match=said):
        Sampler(kernel, **options)


def test_what_is_no_sample_is_refused(gnn):
    with pytest.raises(TypeError, match="must return a NodeSample, got list"):
        gnn.sample_many(GRAPH, Sampler(lambda graph, main: [1]), 0, 0, 1)


def test_hyphens_and_underscores():
    assert Sampler("pin-tile", m=2, n=4, eta=2.0) == Sampler("pin_tile", m=2, n=4, eta=2.0)
    assert refimpl.scaled_sampler(GRAPH, "random-walk").name == "random_walk"
    with pytest.raises(ValueError, match="kernel must be one of .*'frontier'"):
        Sampler("pin tile", m=2, n=4)


def own(base=ModelSettings, frozen=True, **parts):
    """Return a model class of a user: on `base`, with these attributes and fields."""
    fields = parts.pop("fields", {})
    made = type("Own", (base,), {"__annotations__": dict.fromkeys(fields, int), **fields, **parts})
    return dataclass(frozen=True)(made) if frozen else made


LAYER = {"name": "own", "layer": lambda *args: None}


@pytest.mark.parametrize(
    ("model", "error", "said"),
    [
        (own(frozen=False, **LAYER, matrix="row"), TypeError, "Own must be a dataclass"),
        (own(models.Sage, frozen=False, name="own"), TypeError, "Own must be a dataclass"),
        (own(models.Sage), TypeError, "Own must have a name of its own"),
        (own(name="a b", layer=len, matrix="row"), TypeError, "Own must have a name of its own"),
        (own(name="own", matrix="row"), TypeError, "must have a method layer"),
        (own(**LAYER), TypeError, "a matrix, or hops_a_layer = 0, or a method adjacency"),
        (own(**LAYER, adjacency=len), TypeError, "hops_a_layer = 0, or a method block_operand"),
        (own(**LAYER, matrix="row", hops_a_layer=2), TypeError, "must have a method operand"),
        (own(**LAYER, matrix="row", fields={"lr": 1}), ValueError, "lr of Own .* of TrainConfig"),
        (own(**LAYER, matrix="row", fields={"seed": 1}), ValueError, "seed of Own .* TrainConfig"),
        (own(**LAYER, matrix="row", fields={"t_stale": 1}), ValueError, "t_stale of Own .* Fresh"),
        (own(name="sage", layer=len, matrix="row"), ValueError, '"sage" is taken by Sage'),
    ],
)
def test_a_model_that_cannot_train_is_refused(model, error, said):
    before = dict(MODELS)
    with pytest.raises(error, match=said):
        refimpl.register_layer(model)
    assert before == MODELS


@pytest.mark.parametrize(
    "model",
    [
        own(**LAYER, hops_a_layer=0),
        own(**LAYER, adjacency=len, block_operand=len),
        own(**LAYER, matrix="row", hops_a_layer=2, operand=len, fields={"hops": 2}),
        own(models.MixHop, name="own"),
    ],
)
def test_a_model_that_can_is_known(model, monkeypatch):
    monkeypatch.setitem(MODELS, "own", model)  # taken out again at the end
    del MODELS["own"]
    assert refimpl.register_layer(model) is model is MODELS["own"]
    assert refimpl.register_layer(model) is model
    assert TrainConfig(model=model()).model == TrainConfig(model="own").model


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("model", ModelSettings()),
        ("model", own(**LAYER, matrix="row")()),
        ("model", own(models.Sage)()),
        ("method", refimpl.methods.MethodSettings()),
    ],
)
def test_settings_of_an_unknown_class_are_refused(part, value):
    with pytest.raises(TypeError, match=f"{part} must be of a class that is known by its name"):
        TrainConfig(**{part: value})


SCRIPT = '''
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import PACKAGE as package

calls = {"spmm": 0}


def spmm(graph, data, X, **options):
    """The product of a user: by rows of a dense matrix."""
    calls["spmm"] += 1
    dense = np.zeros((graph.n_dst, graph.n_src), data.dtype)
    for row, (start, end) in enumerate(zip(graph.start, graph.end)):
        np.add.at(dense[row], graph.indices[start:end], data[start:end])
    return dense @ X


class MeanLayer:
    def __init__(self, gnn, f_in, f_out, scale):
        self.gnn, self.scale, self.shapes = gnn, scale, {"W": (f_in, f_out), "b": (f_out,)}

    def forward(self, W, A, X):
        AX = self.scale * self.gnn.spmm(A.graph, A.data, X)
        return np.maximum(AX @ W["W"] + W["b"], 0), AX

    def backward(self, W, A, X, AX, G_out):
        G = G_out * (AX @ W["W"] + W["b"] > 0)
        dX = self.scale * self.gnn.spmm(A.graph_t, A.data_t, G @ W["W"].T)
        return {"W": AX.T @ G, "b": G.sum(axis=0)}, dX


@package.register_layer
@dataclass(frozen=True)
class Mean(package.models.ModelSettings):
    name: ClassVar[str] = "mean"
    title: ClassVar[str] = "Mean"
    matrix: ClassVar[str] = "loop"

    scale: float = 1.0

    def layer(self, gnn, config, f_in, f_out, first):
        return MeanLayer(gnn, f_in, f_out, self.scale)


def every_other(graph, main, *, step=2):
    """A sampler of a user: every step-th node from one that is drawn."""
    first = package.streams.below(main, 0, step)
    nodes, none = np.arange(first, graph.n, step, dtype=np.int32), np.empty(0, np.int32)
    counters = package.graph.Counters(draws=1)
    return package.samplers.NodeSample(nodes, none, none, counters)


gnn = package.backend(package, spmm=spmm)
data = gnn.load_dataset("karate", dtype="float64")
sampler = gnn.Sampler(every_other, step=2)
for sub in gnn.sample_many(data.train_graph, sampler, 5, 0, 4):
    assert np.diff(sub.nodes).tolist() == [2] * (len(sub.nodes) - 1) and len(sub.nodes) > 5

drawn = gnn.methods.SampledGraph(sampler=sampler)
near = gnn.methods.LayerSampling(batch_size=6, fanouts=(3, 3))
fresh = gnn.methods.Fresh(batch_size=6, fanouts=(3, 3), buffer=2**16, t_stale=3)
for method in (drawn, near, fresh, "full"):
    config = gnn.TrainConfig(model=Mean(scale=0.5), method=method, hidden=6, epochs=8, lr=0.03)
    before = calls["spmm"]
    result = gnn.train(data, config)
    assert calls["spmm"] > before, "the backend's kernel is not called"
    plain = package.train(data, config)  # the same layer on the package's own product
    for name, W in plain.weights.items():
        np.testing.assert_allclose(result.weights[name], W, rtol=1e-6, atol=1e-8)
    losses = [record.loss for record in result.history]
    assert losses[-1] < 0.9 * losses[0], losses

model = gnn.TrainedModel.trained(data, config, result.weights)
gnn.save_model(sys.argv[1], model)
again = gnn.load_model(sys.argv[1])
assert again.architecture["model"] == "mean"
p = gnn.predict(again, data.graph, data.features, what="probabilities")
H, A = data.inputs(), data.graph.to_scipy().toarray() + np.eye(data.graph.n)
for layer in ("layer1", "layer2"):
    H = 0.5 * (A / A.sum(axis=1, keepdims=True)) @ H
    H = np.maximum(H @ again.weights[layer + ".W"] + again.weights[layer + ".b"], 0)
logits = H @ again.weights["classifier.W"]
want = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
np.testing.assert_allclose(p, want, rtol=1e-9)
print("done")
'''


def test_a_script_elsewhere_adds_a_backend_a_layer_and_a_sampler(gnn, tmp_path):
    """By public names alone, from a folder that is not this project's."""
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT.replace("PACKAGE", gnn.__name__))
    assert not re.search(r"\b(refimpl|fastimpl)\.\w*\._|import _|patch", script.read_text())
    command = [sys.executable, str(script), str(tmp_path / "model.npz")]
    root = Path(refimpl.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
