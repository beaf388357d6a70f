"""The built-in communities, and standardised features."""

import zlib

import numpy as np
import pytest

from refimpl import streams
from refimpl.lab.data import preparation
from refimpl.lab.data.communities import SHARES, SPLIT, communities
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.data.preparation import standardise

pytestmark = pytest.mark.runs


def same(one, other):
    """Whether two data sets are equal in all parts."""
    return (
        all(
            np.array_equal(getattr(one, part), getattr(other, part))
            for part in ("features", "labels", "train", "val", "test")
        )
        and one.multilabel == other.multilabel
        and all(
            np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
            for a, b in ((one.graph, other.graph), (one.train_graph, other.train_graph))
        )
    )


# ---- standardise -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standardise_uses_the_given_rows_only_and_float64(dtype, monkeypatch):
    monkeypatch.setattr(preparation, "BLOCK", 7)  # many blocks, the last one shorter
    features = np.random.default_rng(0).normal(1000, [1, 0.5, 20], (50, 3)).astype(dtype)
    rows = np.arange(0, 50, 3)
    exact = features[rows].astype(np.float64)
    expected = (features - exact.mean(axis=0)) / exact.std(axis=0)
    result = standardise(features, rows)
    assert result.dtype == dtype and result.flags.c_contiguous
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
    poisoned = features.copy()
    poisoned[np.delete(np.arange(50), rows)] = np.nan
    assert np.array_equal(standardise(poisoned, rows)[rows], result[rows])


def test_standardise_gives_constant_columns_std_1():
    features = np.full((1001, 2), 0.1, np.float32)
    features[1000] = [0.1, 3.1]  # constant on the rows asked for, not beyond
    result = standardise(features, np.arange(1000))
    assert np.array_equal(result[:1000], np.zeros((1000, 2)))
    np.testing.assert_allclose(result[1000], [0, 3], rtol=1e-6)


def test_standardise_reads_integers_and_memory_maps(tmp_path):
    features = np.arange(12, dtype=np.int64).reshape(4, 3) ** 2
    np.save(tmp_path / "f.npy", features)
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    expected = standardise(features.astype(np.float64), [0, 1, 3])
    assert np.array_equal(standardise(mapped, [0, 1, 3], "float64"), expected)


@pytest.mark.parametrize(
    ("features", "rows", "error", "words"),
    [
        (np.zeros(3), [0], TypeError, "features must be 2-D"),
        (np.array([["a"]]), [0], TypeError, "real numbers"),
        (np.zeros((2, 2), int), [0], TypeError, "dtype must be float32 or float64"),
        (np.zeros((2, 2)), [], ValueError, "rows must name at least one row"),
        (np.zeros((2, 2)), [2], ValueError, r"rows must be in \[0, 2\)"),
        (np.array([[0, 0], [1, 1e200]]), [0, 1], ValueError, "column 1"),
        (np.array([[0, 0], [1, np.nan]]), [0, 1], ValueError, "column 1"),
    ],
)
def test_standardise_refuses(features, rows, error, words):
    with pytest.raises(error, match=words):
        standardise(features, rows)


# ---- communities -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built_in():
    return communities(0, dtype="float64")


def test_communities_depend_on_the_seed_alone(built_in):
    assert same(built_in, load_dataset("communities", rng=0, dtype="float64"))
    assert not np.array_equal(communities(1).graph.indptr, built_in.graph.indptr)
    generator = np.random.default_rng(5)
    seed = streams.as_seed(np.random.default_rng(5))
    assert same(communities(generator), communities(seed))
    graph = built_in.graph  # pinned: every machine makes this graph, in every version
    crc = [
        zlib.crc32(part.astype(t)) for part, t in ((graph.indptr, "<i8"), (graph.indices, "<i4"))
    ]
    assert (graph.e, built_in.train_graph.e, *crc) == (170_792, 74_064, 1579538233, 3332121827)


def test_communities_draw_from_streams_of_the_data_domain_only(monkeypatch):
    keys = []
    make = streams.key
    monkeypatch.setattr(streams, "key", lambda *parts: keys.append(parts) or make(*parts))
    monkeypatch.setattr(np.random, "default_rng", None)
    communities(3, multilabel=True)
    assert {parts[:2] for parts in keys} == {(3, streams.DATA)}
    assert len(set(keys)) == len(keys) >= 7  # no stream serves two purposes


def test_communities_degrees_follow_a_power_law(built_in):
    graph, degrees = built_in.graph, built_in.graph.degrees()
    assert graph.n == 10_000 and graph.symmetric and built_in.train_graph.symmetric
    assert 15 < degrees.mean() < 20
    assert degrees.max() > 10 * degrees.mean() and np.median(degrees) < 0.8 * degrees.mean()
    assert 1 <= np.count_nonzero(degrees == 0) < 100
    rows = np.repeat(np.arange(graph.n), degrees)
    assert not np.any(rows == graph.indices)
    community = built_in.labels
    assert 0.6 < np.mean(community[rows] == community[graph.indices]) < 0.72
    assert np.abs(100 * built_in.targets().mean(axis=0) - SHARES).max() < 1


def test_communities_split_is_random_and_the_training_graph_sees_nothing_else(built_in):
    parts = built_in.train, built_in.val, built_in.test
    assert [len(part) for part in parts] == [100 * share for share in SPLIT]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(10_000))
    assert abs(built_in.train.mean() - 5000) < 100  # not the first ones
    train = built_in.train
    expected = built_in.graph.to_scipy()[train][:, train]
    assert (expected != built_in.train_graph.to_scipy()).nnz == 0
    np.testing.assert_allclose(built_in.inputs(train).mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(built_in.inputs(train).std(axis=0), 1, rtol=1e-12)
    assert np.abs(built_in.inputs(built_in.val).mean(axis=0)).min() > 1e-9


def linear_accuracy(data, inputs):
    """Test accuracy of least squares on the training rows; the graph enters by `inputs` only."""
    inputs = np.column_stack([inputs, np.ones(len(inputs))])
    weights = np.linalg.lstsq(inputs[data.train], data.targets(data.train), rcond=None)[0]
    predicted = (inputs[data.test] @ weights).argmax(axis=1)
    return np.mean(predicted == data.labels[data.test])


def test_communities_are_hard_without_the_graph_and_easy_with_it(built_in):
    x, graph = built_in.inputs(), built_in.graph
    mean = graph.to_scipy() / np.maximum(graph.degrees(), 1)[:, None]
    near = mean @ x
    assert 0.55 < linear_accuracy(built_in, x) < 0.65
    assert linear_accuracy(built_in, np.column_stack([x, near, mean @ near])) > 0.88


def test_multilabel_communities_share_graph_and_features(built_in):
    several = load_dataset("communities-multilabel", dtype="float64")
    assert several.multilabel and several.labels.shape == (10_000, 20)
    assert np.array_equal(several.features, built_in.features)
    assert np.array_equal(several.graph.indices, built_in.graph.indices)
    community = built_in.labels
    held = np.stack([several.labels[community == c].mean(axis=0) for c in range(len(SHARES))])
    assert np.all((held > 0.9).sum(axis=0) == 3)  # each label holds in three communities
    assert np.all((held > 0.9) | ((held > 0) & (held < 0.1)))  # but for some flips
    assert 0.25 < several.labels.mean() < 0.4


def test_communities_dtype():
    single = communities(2)
    double = communities(2, dtype=np.float64)
    assert single.inputs().dtype == single.targets().dtype == np.float32
    assert np.array_equal(double.inputs().astype(np.float32), single.inputs())
    with pytest.raises(TypeError, match="dtype must be float32 or float64"):
        communities(2, dtype="int32")
    with pytest.raises(ValueError, match="rng must be in"):
        communities(-1)


def test_communities_of_another_size():
    dataset = communities(4, nodes=3000)
    assert dataset.graph.n == 3000 and 14 < dataset.graph.e / 3000 < 18
    assert (len(dataset.train), len(dataset.val), len(dataset.test)) == (1980, 360, 660)
    with pytest.raises(ValueError, match="nodes"):
        communities(nodes=99)
