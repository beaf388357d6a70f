"""NodeClassifier: the functions of the package beneath, in scikit-learn's manner."""

import pickle

import numpy as np
import pytest
from tiny_data import tiny_dataset

pytestmark = pytest.mark.runs
SETTINGS = {"model": "gcn", "epochs": 3, "hidden": 8, "rng": 5}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tiny_dataset(tmp_path_factory.mktemp("data") / "tiny")


def names_of(data):
    return np.array(["d", "a", "c", "b"])[data.labels]


def fitted(gnn, data, **settings):
    classifier = gnn.NodeClassifier(**{**SETTINGS, **settings})
    return classifier.fit(data.graph, data.features, names_of(data), train=data.train, val=data.val)


def test_it_is_train_and_predict_of_the_same_data(gnn, data):
    """Classes are numbered in the order of their names, here other than the data's own."""
    order = np.array([3, 0, 2, 1])
    unknown = np.full(data.graph.n, -1)
    known = np.union1d(data.train, data.val)
    unknown[known] = order[data.labels[known]]
    same = gnn.Dataset(
        "nodes", data.graph, data.features, unknown, data.train, data.val, [], "transductive"
    )
    config = gnn.TrainConfig(
        model=gnn.models.Gcn(), **{k: v for k, v in SETTINGS.items() if k != "model"}
    )
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


def test_the_score_is_the_share_that_is_right(gnn, data):
    classifier, names = fitted(gnn, data), names_of(data)
    right = [a == b for a, b in zip(classifier.predict(), names, strict=True)]
    assert classifier.score(names) == pytest.approx(sum(right) / len(right))
    assert classifier.score(names, nodes=data.test) == pytest.approx(
        sum(right[v] for v in data.test) / len(data.test)
    )
    assert classifier.score(names) > 0.5  # 4 classes: it has learnt


def test_other_graphs_and_all_nodes_without_validation(gnn, data):
    classifier = gnn.NodeClassifier(**SETTINGS).fit(data.graph, data.features, data.labels)
    assert classifier.classes_.tolist() == [0, 1, 2, 3]
    small = gnn.as_graph([(0, 1), (1, 2)], symmetrize=True)
    assert classifier.predict(small, data.features[:3]).shape == (3,)
    matrix = small.to_scipy(np.ones(small.e))
    again = classifier.predict(matrix, data.features[:3], nodes=[2])
    assert again == classifier.predict(small, data.features[:3])[2]


def test_rows_of_several_classes(gnn, data):
    rows = np.eye(4, dtype=int)[data.labels] | np.eye(4, dtype=int)[(data.labels + 1) % 4]
    classifier = gnn.NodeClassifier(**SETTINGS).fit(
        data.graph, data.features, rows, train=data.train, val=data.val
    )
    found = classifier.predict()
    both, either = (found & rows).sum(), found.sum() + rows.sum()
    assert classifier.score(rows) == pytest.approx(2 * both / either)


def test_labels_of_other_nodes_are_not_looked_at(gnn, data):
    names = names_of(data).astype(object)
    names[data.test] = "nobody knows"
    classifier = gnn.NodeClassifier(**SETTINGS).fit(
        data.graph, data.features, names, train=data.train, val=np.isin(np.arange(200), data.val)
    )
    assert classifier.classes_.tolist() == ["a", "b", "c", "d"]
    assert classifier.predict().tolist() == fitted(gnn, data).predict().tolist()


def test_it_behaves_as_an_estimator(gnn, data):
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    classifier = gnn.NodeClassifier(**SETTINGS)
    assert base.clone(classifier).get_params() == classifier.get_params() == SETTINGS
    assert repr(classifier) == "NodeClassifier(model='gcn', epochs=3, hidden=8, rng=5)"
    assert classifier.set_params(hidden=4) is classifier
    assert classifier.get_params()["hidden"] == 4 and SETTINGS["hidden"] == 8
    first = fitted(gnn, data)
    assert not hasattr(base.clone(first), "model_")
    found = first.predict()
    assert fitted(gnn, data).predict().tolist() == found.tolist()  # again: the same
    assert pickle.loads(pickle.dumps(first)).predict().tolist() == found.tolist()


def test_what_it_refuses(gnn, data):
    with pytest.raises(ValueError, match="not fitted: call fit"):
        gnn.NodeClassifier().predict()
    fit = (data.graph, data.features, data.labels)
    with pytest.raises(ValueError, match="no setting"):
        gnn.NodeClassifier(t_stale=3).fit(*fit)
    for y, error, what in (
        (data.labels[:5], ValueError, r"y must have shape \(200,\) or \(200, C\), got \(5,\)"),
        (data.labels + 0.5, TypeError, "y must hold integers, text or booleans"),
        (np.full((200, 2), 2), ValueError, "y must have rows of 0 and 1"),
    ):
        with pytest.raises(error, match=what):
            gnn.NodeClassifier(**SETTINGS).fit(data.graph, data.features, y)
    for nodes, error, what in (([200], ValueError, "train"), ([0.5], TypeError, "train")):
        with pytest.raises(error, match=what):
            gnn.NodeClassifier(**SETTINGS).fit(*fit, train=nodes)
    with pytest.raises(ValueError, match="disjoint"):
        gnn.NodeClassifier(**SETTINGS).fit(*fit, train=[1, 2], val=[2, 3])
    classifier = gnn.NodeClassifier(**SETTINGS).fit(*fit)
    with pytest.raises(ValueError, match="graph and X must be given together"):
        classifier.predict(data.graph)
    for wrong in (data.labels[:3], np.tile(data.labels, 2)):
        with pytest.raises(ValueError, match=r"y must have shape \(200,\), got"):
            classifier.score(wrong, nodes=[7])
    with pytest.raises(ValueError, match="nodes"):
        classifier.score(data.labels, nodes=[200])
    with pytest.raises(ValueError, match="train must have at least one node"):
        gnn.NodeClassifier(**SETTINGS).fit(*fit, train=[])
    with pytest.raises(TypeError, match="y must hold classes of one kind"):
        gnn.NodeClassifier(**SETTINGS).fit(*fit[:2], np.array(["a", 1] * 100, object))
