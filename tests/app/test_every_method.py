"""Laws of every training method: the loss falls, nothing leaks, same bits, resumed runs."""

import numpy as np
import pytest
from dense_histories import bits
from threadpoolctl import threadpool_limits
from tiny_data import tiny_dataset

import fastimpl
import refimpl
from refimpl.lab.data.communities import communities
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import METHODS as KNOWN

pytestmark = pytest.mark.runs

ALL = ("sage", "gcn", "mixhop", "gat", "mlp")
FEW = {"batch_size": 40}  # of 130 nodes
FRESH = {**FEW, "fanouts": (6, 6), "t_stale": 8, "p_grad": 1.0, "hotness": "none"}
OF_A_MODEL = {
    "gat": {"heads": 2, "attention_dropout": 0.3},
    "sage": {"concat": "self_first"},
    "mixhop": {"hops": 3},
}
# A way of training: its models and its settings.
METHODS = {
    "graph": (ALL, {}),
    "graph, normalised": (("sage", "mlp"), {"normalize": "both", "coverage": 6}),
    "graph, loss": (("gcn", "mixhop", "gat"), {"normalize": "loss", "coverage": 6}),
    "layer": (ALL, FEW),
    "full": (ALL, {}),
    "fastgcn": (("sage", "gcn"), {**FEW, "layer_sizes": (30, 50)}),
    "ladies": (("sage", "gcn"), {**FEW, "layer_sizes": (30, 50)}),
    "cluster": (ALL, {"clusters": 12, "clusters_per_batch": 5}),
    "gas": (("sage", "gcn", "gat"), FEW),
    "gas, 3 layers": (("sage", "gcn", "gat"), {**FEW, "layers": 3}),
    "gas, 1 layer": (("sage", "gcn"), {**FEW, "layers": 1}),
    "graphfm": (("sage", "gcn", "gat"), {**FEW, "beta": 0.3}),
    "graphfm, 3 layers": (("sage", "gat"), {**FEW, "beta": 0.3, "layers": 3}),
    "graphfm, 1 layer": (("sage",), {**FEW, "beta": 0.3, "layers": 1}),
    "vrgcn": (("sage", "gcn"), FEW),
    "vrgcn, 3 layers": (("sage", "gcn"), {**FEW, "layers": 3, "fanouts": (1, 3)}),
    "vrgcn, all neighbours": (("sage", "gcn"), {**FEW, "layers": 3, "fanouts": (-1, 2)}),
    "vrgcn, 1 layer": (("sage", "gcn"), {**FEW, "layers": 1}),
    "neighbor": (("sage", "gcn", "gat"), {**FEW, "fanouts": (4, 3)}),
    "fresh": (("sage", "gcn", "gat"), FRESH),
    "fresh, hot features": (("sage",), {**FRESH, "hotness": "degree", "buffer": 9600}),
    "prepropagation": (("sign",), FEW),
    **{
        f"{method}, refreshed": (("sage",), {**settings, "refresh": 2})
        for method, settings in {"gas": FEW, "vrgcn": FEW, "fresh": FRESH}.items()
    },
}
POOLED = ("graph", "layer", "fastgcn", "ladies", "cluster")
EACH = pytest.mark.parametrize(
    ("way", "model"), [(way, model) for way, (models, _) in METHODS.items() for model in models]
)
ONCE = pytest.mark.parametrize(
    ("way", "model"),
    [(way, m) for way, (models, _) in METHODS.items() if "," not in way for m in models],
)


def config_of(way, model, **options):
    """Return a small TrainConfig."""
    common = {"method": way.partition(",")[0], "model": model, "hidden": 8, "rng": 6}
    return config_from({**common, **METHODS[way][1], **options})


def drawing(way, pool=1, background=False, workers=0):
    """Return the settings that say how a method draws ahead, of those it has."""
    method = way.partition(",")[0]
    if method in POOLED:
        return {"pool": pool, "background": background}
    return {"workers": workers} if method in ("vrgcn", "neighbor", "fresh") else {}


def test_every_method_is_in_the_table():
    assert {way.partition(",")[0] for way in METHODS} == KNOWN.keys()


@ONCE
def test_the_loss_falls(gnn, dataset, way, model):
    history = gnn.train(dataset, config_of(way, model, epochs=14, lr=0.02)).history
    losses = [record.loss for record in history]
    assert losses[-1] < 0.9 * losses[0]
    assert losses == sorted(losses, reverse=True) or way != "full"


@EACH
def test_training_never_sees_validation_or_test_nodes(gnn, tmp_path, way, model):
    """Poison them once the data set was checked; training does not notice."""
    poisoned, clean = (tiny_dataset(tmp_path) for _ in range(2))
    poisoned.features[np.concatenate([poisoned.val, poisoned.test])] = np.nan
    config = config_of(way, model, **drawing(way, background=True))
    with gnn.make_trainer(poisoned, config) as bad, gnn.make_trainer(clean, config) as good:
        for _ in range(6):
            loss = bad.step().loss
            assert np.isfinite(loss)
            assert loss == good.step().loss
        assert bits(bad.state) == bits(good.state)


@EACH
def test_weights_do_not_depend_on_pool_or_threads(gnn, dataset, way, model):
    """Weights, histories and scores are the same to the bit, in both dtypes of features."""
    options = {"epochs": 2}
    if gnn is fastimpl:  # large enough for threads
        dataset = communities(0, dtype="float64" if model == "gcn" else "float32")
        options = {"epochs": 1, "hidden": 64}
        options |= {"batch_size": 2048} if "batch_size" in METHODS[way][1] else {}
        options |= {"layer_sizes": (800, 800)} if "layer_sizes" in METHODS[way][1] else {}
    results = set()
    for pool, background, workers, threads in (
        (1, False, 0, 1),
        (2, True, 1, 2),
        (5, False, 0, 5),
        (5, True, 2, 1),
        (1, True, 0, 5),
    ):
        config = config_of(way, model, **drawing(way, pool, background, workers), **options)
        with threadpool_limits(threads):
            result = gnn.train(dataset, config)
        results.add((bits(result.state), tuple(record[:4] for record in result.history)))
    assert len(results) == 1


@EACH
def test_a_run_resumes_from_a_checkpoint_to_the_same_bits(gnn, dataset, tmp_path, way, model):
    """The second run also repeats the first one's history."""
    options = {"bias": True, "dropout": 0.3, "row_l2": True, **OF_A_MODEL.get(model, {})}
    whole = gnn.train(dataset, config_of(way, model, epochs=3, **options))
    first, then = drawing(way, background=True, workers=1), drawing(way, pool=3)
    part = gnn.train(dataset, config_of(way, model, epochs=1, **first, **options))
    gnn.lab.training.save_checkpoint(tmp_path / "c.npz", part.state, {})
    state, _ = gnn.lab.training.load_checkpoint(tmp_path / "c.npz")
    last = gnn.train(dataset, config_of(way, model, epochs=3, **then, **options), state=state)
    assert bits(last.state) == bits(whole.state)
    assert [r[:4] for r in last.history] == [r[:4] for r in whole.history]
    assert last.state.loads == whole.state.loads
    assert (last.test_f1, last.best_epoch) == (whole.test_f1, whole.best_epoch)


@EACH
def test_a_run_resumes_in_the_middle_of_an_epoch(gnn, dataset, way, model):
    """An iteration depends on its number alone."""
    config = config_of(way, model, dropout=0.2)
    with gnn.make_trainer(dataset, config) as whole, gnn.make_trainer(dataset, config) as first:
        losses = [whole.step().loss for _ in range(9)]
        for _ in range(6):
            first.step()
        with gnn.make_trainer(dataset, config, first.state) as second:
            assert [second.step().loss for _ in range(3)] == losses[6:]
            assert bits(second.state) == bits(whole.state)


@EACH
def test_both_packages_train_alike(dataset, way, model):
    """The draws are the same bits; Adam may enlarge the rounding of a tiny gradient."""
    config = config_of(way, model, epochs=2, dropout=0.2)
    slow, fast = (gnn.train(dataset, config) for gnn in (refimpl, fastimpl))
    assert slow.iterations == fast.iterations and slow.state.loads == fast.state.loads
    for record, other in zip(slow.history, fast.history, strict=True):
        assert record.loss == pytest.approx(other.loss, rel=1e-9)
    for name, W in slow.state.weights.items():
        np.testing.assert_allclose(fast.state.weights[name], W, rtol=1e-5, atol=1e-7, err_msg=name)
