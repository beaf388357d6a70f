"""NodeClassifier: the functions of the package beneath, in scikit-learn's manner."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from tiny_data import tiny_dataset

pytestmark = pytest.mark.runs
SETTINGS = {"model": "gcn", "epochs": 3, "hidden": 8, "rng": 5}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn 1.6 is not installed")
    return tiny_dataset(tmp_path_factory.mktemp("data") / "tiny")


def names_of(data):
    return np.array(["d", "a", "c", "b"])[data.labels]


def fitted(gnn, data, **settings):
    """Fit on some nodes, with the features of all."""
    classifier = gnn.NodeClassifier(**{**SETTINGS, **settings})
    nodes = np.union1d(data.train, data.val)[::-1]
    val = np.isin(nodes, data.val)
    return classifier.fit(
        data.features, names_of(data)[nodes], graph=data.graph, nodes=nodes, val=val
    )


def test_it_is_train_and_predict_of_the_same_data(gnn, data):
    """Classes are numbered in the order of their names, here other than the data's own."""
    order = np.array([3, 0, 2, 1])
    unknown = np.full(data.graph.n, -1)
    known = np.union1d(data.train, data.val)
    unknown[known] = order[data.labels[known]]
    same = gnn.Dataset(
        "nodes", data.graph, data.features, unknown, data.train, data.val, [], "transductive"
    )
    config = gnn.TrainConfig(**SETTINGS)
    weights = gnn.train(same, config).weights
    classifier = fitted(gnn, data)
    assert classifier.classes_.tolist() == ["a", "b", "c", "d"]
    for name, W in weights.items():
        np.testing.assert_array_equal(classifier.model_.weights[name], W)
    model = gnn.TrainedModel.trained(same, config, weights)
    labels = gnn.predict(model, data.graph, data.features)
    assert classifier.predict().tolist() == classifier.classes_[labels].tolist()
    nodes = [7, 3, 11]
    for ask, what in (("predict_proba", "probabilities"), ("transform", "embeddings")):
        theirs = gnn.predict(model, data.graph, data.features, nodes, what)
        np.testing.assert_array_equal(getattr(classifier, ask)(nodes=nodes), theirs)
        np.testing.assert_array_equal(getattr(classifier, ask)(data.features, nodes=nodes), theirs)


def test_rows_of_some_nodes_only(gnn, data):
    """Training sees the graph between them; predictions see whatever rows there are by then."""
    some, y = np.flatnonzero(np.arange(data.graph.n) % 3 > 0)[::-1], names_of(data)
    classifier = gnn.NodeClassifier(**SETTINGS)
    classifier.fit(data.features[some], y[some], graph=data.graph, nodes=some)
    between = gnn.as_graph(data.graph.to_scipy()[np.sort(some)][:, np.sort(some)])
    same = gnn.NodeClassifier(**SETTINGS)
    same.fit(data.features[np.sort(some)], y[np.sort(some)], graph=between)
    for name, W in same.model_.weights.items():
        np.testing.assert_array_equal(classifier.model_.weights[name], W)
    np.testing.assert_array_equal(classifier.predict(), same.predict()[::1])
    others = np.setdiff1d(np.arange(data.graph.n), some)[[3, 0, 2]]
    seen = np.union1d(some, others)
    part = gnn.as_graph(data.graph.to_scipy()[seen][:, seen])
    at = np.searchsorted(seen, others)
    wanted = gnn.predict(same.model_, part, data.features[seen], at, "probabilities")
    found = classifier.predict_proba(data.features[others], nodes=others)
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="fit had no features of node"):
        classifier.predict(nodes=others)


def test_the_score_is_the_share_that_is_right(gnn, data):
    classifier, names = fitted(gnn, data), names_of(data)
    right = [a == b for a, b in zip(classifier.predict(), names, strict=True)]
    assert classifier.score(data.features, names) == pytest.approx(sum(right) / len(right))
    part = classifier.score(None, names[data.test], nodes=data.test)
    assert part == pytest.approx(sum(right[v] for v in data.test) / len(data.test))
    assert classifier.score(None, names) > 0.5  # 4 classes: it has learnt
    weights = np.arange(200) % 3
    wanted = np.average(right, weights=weights)
    assert classifier.score(None, names, sample_weight=weights) == pytest.approx(wanted)


def test_other_graphs_and_all_nodes_without_validation(gnn, data):
    classifier = gnn.NodeClassifier(**SETTINGS)
    classifier.fit(data.features, data.labels, graph=data.graph)
    assert classifier.classes_.tolist() == [0, 1, 2, 3]
    small = gnn.as_graph([(0, 1), (1, 2)], symmetrize=True)
    found = classifier.predict(data.features[:3], graph=small)
    assert found.shape == (3,)
    assert classifier.predict(data.features[:3], graph=small, nodes=[2]) == found[2]


def test_rows_of_several_classes(gnn, data):
    rows = np.eye(4, dtype=int)[data.labels] | np.eye(4, dtype=int)[(data.labels + 1) % 4]
    classifier = gnn.NodeClassifier(**SETTINGS).fit(data.features, rows, graph=data.graph)
    found = classifier.predict()
    both, either = (found & rows).sum(), found.sum() + rows.sum()
    assert classifier.score(None, rows) == pytest.approx(2 * both / either)


def test_nodes_without_a_known_class(gnn, data):
    """-1 among numbers, as in scikit-learn's estimators that take such samples."""
    some = np.where(np.isin(np.arange(200), data.train), data.labels * 3, -1)
    one = gnn.NodeClassifier(**SETTINGS).fit(data.features, some, graph=data.graph)
    two = gnn.NodeClassifier(**SETTINGS)
    two.fit(data.features, some[data.train], graph=data.graph, nodes=data.train)
    assert one.classes_.tolist() == two.classes_.tolist() == [0, 3, 6, 9]
    np.testing.assert_array_equal(one.predict_proba(), two.predict_proba())
    known = one.score(None, some)
    assert known == one.score(None, some[data.train], nodes=data.train)
    with pytest.raises(ValueError, match="give y > 0 for two classes"):
        one.fit(data.features, np.where(data.labels > 1, 1, -1), graph=data.graph)


def test_it_behaves_as_an_estimator(gnn, data):
    from sklearn.base import clone

    classifier = gnn.NodeClassifier(**SETTINGS)
    assert clone(classifier).get_params() == classifier.get_params()
    assert repr(classifier) == "NodeClassifier(epochs=3, hidden=8, model='gcn', rng=5)"
    assert classifier.set_params(hidden=4) is classifier
    assert classifier.get_params()["hidden"] == 4 and SETTINGS["hidden"] == 8
    first = fitted(gnn, data)
    assert not hasattr(clone(first), "model_")
    found = first.predict()
    assert fitted(gnn, data).predict().tolist() == found.tolist()  # again: the same
    again = pickle.loads(pickle.dumps(first))
    assert again.predict().tolist() == found.tolist() and type(again) is type(first)


def test_parameters_are_checked_at_once(gnn, data):
    classifier = gnn.NodeClassifier(**SETTINGS)
    for wrong, error, what in (
        ({"hiden": 3}, TypeError, "no parameter hiden; did you mean hidden"),
        ({"t_stale": 3}, TypeError, r"give method=methods.Fresh\(t_stale=..\)"),
        ({"heads": 3}, TypeError, r"give model=models.Gat\(heads=..\)"),
        ({"hidden": 0}, ValueError, "hidden must be"),
        ({"model": "gnc"}, ValueError, "model must be"),
        ({"model": gnn.models.Gat}, TypeError, "model must be"),
    ):
        with pytest.raises(error, match=what):
            gnn.NodeClassifier(**wrong)
        with pytest.raises((error, ValueError)):
            classifier.set_params(**{"epochs": 9, **wrong})
        assert classifier.get_params()["epochs"] == 3


def test_the_order_of_earlier_releases_is_refused(gnn, data):
    X, y, graph = data.features, data.labels, data.graph
    classifier = gnn.NodeClassifier(**SETTINGS)
    for call, order in (
        (lambda: classifier.fit(graph, X, y), r"fit\(X, y, \*, graph"),
        (lambda: classifier.fit(graph.to_scipy(), X, y), r"fit\(X, y, \*, graph"),
        (lambda: classifier.predict(graph, X), r"predict\(X, \*, graph"),
        (lambda: classifier.predict_proba(graph, X), r"predict_proba\(X, \*, graph"),
        (lambda: classifier.score(y, graph, X), r"score\(X, y, \*, graph"),
        (lambda: classifier.score(y, graph), r"score\(X, y, \*, graph"),
        (lambda: classifier.fit(X, y, graph=graph, train=[1, 2]), "train is now nodes"),
    ):
        with pytest.raises(TypeError, match=order):
            call()


def test_what_it_refuses(gnn, data):
    X, y, graph = data.features, data.labels, data.graph
    classifier = gnn.NodeClassifier(**SETTINGS)
    for more, error, what in (
        ({"y": y[:5]}, ValueError, "nodes must say which nodes the samples are"),
        ({"y": y + 0.5}, ValueError, "continuous"),
        ({"y": np.full((200, 2), 2)}, ValueError, "y must have rows of 0 and 1"),
        ({"y": np.array(["a", 1] * 100, object)}, (TypeError, ValueError), "y|str"),
        ({"graph": graph.to_scipy()}, TypeError, "graph must be a Graph, made by as_graph"),
        ({"graph": None, "nodes": np.arange(200)}, ValueError, "give graph, too"),
        ({"nodes": [200], "y": y[:1]}, ValueError, "nodes"),
        ({"nodes": [0.5], "y": y[:1]}, TypeError, "nodes"),
        ({"nodes": [1, 1], "y": y[:2]}, ValueError, "each node once"),
        ({"nodes": [1, 1], "y": y[:2], "X": X[:2]}, ValueError, "each node once"),
        ({"nodes": np.arange(200)[::-1]}, ValueError, "nodes must ascend"),
        ({"nodes": [1, 2], "y": y[:2], "X": X[:3]}, ValueError, "X must have 200 rows"),
        ({"nodes": [1, 2], "y": y[:3]}, ValueError, "nodes must have 3 samples"),
        ({"val": np.ones(200, bool)}, ValueError, "known class that is not in val"),
        ({"val": [1, 2]}, (TypeError, ValueError), "val"),
    ):
        with pytest.raises(error, match=what):
            classifier.fit(**{"X": X, "y": y, "graph": graph, **more})
    classifier.fit(X, y, graph=graph)
    with pytest.raises(ValueError, match="graph needs X"):
        classifier.predict(graph=graph)
    with pytest.raises(ValueError, match=r"y must have shape \(1,\), got"):
        classifier.score(None, y[:3], nodes=[7])
    with pytest.raises(ValueError, match="X has 3 features, but NodeClassifier is expecting"):
        classifier.predict(np.ones((200, 3)))


def test_without_scikit_learn_the_extra_is_named(gnn):
    code = (
        f"import sys; sys.modules['sklearn'] = None\nimport {gnn.__name__} as gnn\n"
        "try: gnn.NodeClassifier()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "minibatch-gnn[sklearn]" in done.stdout
