"""NodeClassifier under scikit-learn: its checks of an estimator, folds, searches and pipelines.

The checks fit on rows of X alone: each row is a node without edges.
"""

import importlib.util
import warnings

import numpy as np
import pytest
from tiny_data import tiny_dataset

pytestmark = pytest.mark.runs
pytestmark = [
    pytestmark,
    pytest.mark.skipif(not importlib.util.find_spec("sklearn"), reason="no scikit-learn"),
]

STEP = "it has no fit_transform: the embeddings of nodes are no columns of a pipeline"
# What does not hold, and why. All other checks must pass.
EXPECTED = {
    "check_do_not_raise_errors_in_init_or_set_params": "parameters are checked at once",
    "check_classifiers_classes": "-1 is a node without a known class, so -1 and 1 are refused",
    "check_transformer_data_not_an_array": STEP,
    "check_transformer_general": STEP,
}
SETTINGS = {"model": "mlp", "method": "full", "epochs": 40, "hidden": 8}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tiny_dataset(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture
def routing():
    sklearn = pytest.importorskip("sklearn", minversion="1.6")
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_the_checks_of_an_estimator_hold(gnn):
    pytest.importorskip("sklearn", minversion="1.6")
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks' own
        done = check_estimator(
            gnn.NodeClassifier(**SETTINGS),
            expected_failed_checks=EXPECTED,
            on_skip=None,
            on_fail="raise",
        )
    failed = {one["check_name"] for one in done if one["status"] == "xfail"}
    assert failed == EXPECTED.keys(), "the others hold by now"
    assert sum(one["status"] == "passed" for one in done) >= 50


def test_it_is_an_estimator_and_a_classifier(gnn):
    from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
    from sklearn.exceptions import NotFittedError

    classifier = gnn.NodeClassifier(model=gnn.models.Gat(heads=2), epochs=3)
    assert isinstance(classifier, gnn.NodeClassifier | BaseEstimator)
    assert isinstance(classifier, BaseEstimator) and isinstance(classifier, ClassifierMixin)
    assert is_classifier(classifier)
    given = classifier.get_params()
    assert given["model"].heads == 2 and given["epochs"] == 3 and given["hidden"] == 256
    assert clone(classifier).get_params() == given
    with pytest.raises(NotFittedError):
        classifier.predict()


def test_each_fold_trains_on_its_own_nodes_and_is_scored_in_the_whole_graph(gnn, data, routing):
    from sklearn.model_selection import KFold, cross_val_score

    X, y, graph = data.features, data.labels, data.graph
    classifier = gnn.NodeClassifier(model="gcn", epochs=5, hidden=8)
    folds = KFold(2, shuffle=True, random_state=1)
    more = {"graph": graph, "nodes": np.arange(graph.n)}
    scores = cross_val_score(classifier, X, y, cv=folds, params=more, error_score="raise")
    for (train, test), score in zip(folds.split(X), scores, strict=True):
        between = gnn.as_graph(graph.to_scipy()[train][:, train])
        alone = gnn.Dataset("fold", between, X[train], y[train], np.arange(len(train)), [], [])
        config = gnn.TrainConfig(model="gcn", epochs=5, hidden=8)
        weights = gnn.train(alone, config, progress=False).weights
        model = gnn.TrainedModel.trained(alone, config, weights)
        found = gnn.predict(model, graph, X.astype(model.dtype), test)
        assert np.mean(found == y[test]) == score
    assert len(set(scores)) == 2 and min(scores) > 0.3  # 4 classes


def test_samples_without_a_class_take_part_in_folds(gnn, data, routing):
    from sklearn.model_selection import cross_val_score

    few = np.where(np.arange(data.graph.n) % 4 == 0, data.labels, -1)
    classifier = gnn.NodeClassifier(model="gcn", epochs=5, hidden=8)
    more = {"graph": data.graph, "nodes": np.arange(data.graph.n)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(
            classifier, data.features, few, cv=3, params=more, error_score="raise"
        )
    assert scores.min() > 0.3


def test_a_search_finds_settings_and_models(gnn, data, routing):
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), gnn.NodeClassifier(epochs=3, hidden=4))
    search = GridSearchCV(
        pipeline,
        {
            "nodeclassifier__model": ["mlp", gnn.models.Gat(heads=2)],
            "nodeclassifier__lr": [1e-9, 0.02],
        },
        cv=2,
        error_score="raise",
    )
    nodes = np.arange(data.graph.n)
    search.fit(data.features, data.labels, graph=data.graph, nodes=nodes)
    assert search.best_params_["nodeclassifier__lr"] == 0.02
    found = search.best_estimator_
    best = found[-1]
    assert best.graph_ is data.graph and best.model_.features == data.features.shape[1]
    asked = found.predict(data.features[:5], graph=data.graph, nodes=[0, 1, 2, 3, 4])
    np.testing.assert_array_equal(asked, found.predict(data.features)[:5])


def test_without_routing_folds_are_refused_with_advice(gnn, data):
    from sklearn.model_selection import cross_val_score

    more = {"graph": data.graph, "nodes": np.arange(data.graph.n)}
    classifier = gnn.NodeClassifier(model="mlp", method="full", epochs=1, hidden=4)
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        cross_val_score(
            classifier, data.features, data.labels, cv=2, params=more, error_score="raise"
        )
