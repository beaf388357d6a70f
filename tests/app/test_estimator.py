"""NodeClassifier under scikit-learn's checks of an estimator, and what of them does not apply.

The checks fit on rows of X alone. Here each row is a node without edges.
"""

import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.runs

WORDS = "it is refused, in words of ours"
ROWS = "rows of X are an array of numbers here; the graph says how many there are"
FITTED = "a graph and its nodes are fitted: there is no fit_transform of another X"
# What does not hold, and why. All others must pass.
EXPECTED = {
    "check_no_attributes_set_in_init": "its parameters are those of any model and method",
    "check_complex_data": WORDS,
    "check_dtype_object": "text is no feature, and numbers have a dtype",
    "check_estimators_empty_data_messages": WORDS,
    "check_estimators_nan_inf": WORDS,
    "check_estimator_sparse_tag": WORDS,
    "check_estimator_sparse_array": WORDS,
    "check_estimator_sparse_matrix": WORDS,
    "check_classifier_data_not_an_array": ROWS,
    "check_transformer_data_not_an_array": ROWS,
    "check_classifiers_regression_target": WORDS,
    "check_classifiers_one_label": "it has classes 1.0, and real numbers are no classes",
    "check_supervised_y_no_nan": WORDS,
    "check_supervised_y_2d": "columns of y are classes that a node has or has not",
    "check_transformer_general": FITTED,
    "check_transformer_preserve_dtypes": FITTED,
    "check_fit2d_predict1d": WORDS,
    "check_requires_y_none": WORDS,
}
SETTINGS = {"model": "mlp", "epochs": 20, "hidden": 8}


def of_rows(gnn):
    """Return the class whose graph has a node without edges for each row."""

    def alone(X):
        return gnn.as_graph(np.zeros((0, 2), np.int64), n=np.shape(X)[0])

    class OfRows(gnn.NodeClassifier):
        def fit(self, X, y):
            return super().fit(alone(X), X, y)

        def predict(self, X, *of_score, nodes=None):
            X = of_score[0] if of_score else X  # which gives a graph before it
            return super().predict(alone(X), X, nodes=nodes)

        def predict_proba(self, X):
            return super().predict_proba(alone(X), X)

        def transform(self, X):
            return super().transform(alone(X), X)

        def score(self, X, y):
            return super().score(y, alone(X), X)

    OfRows.__qualname__ = f"OfRows{gnn.__name__}"  # where pickle finds it
    globals()[OfRows.__qualname__] = OfRows
    return OfRows


def test_the_checks_of_an_estimator_hold(gnn):
    pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn 1.6 is not installed")
    from unittest import SkipTest

    from sklearn.utils.estimator_checks import estimator_checks_generator

    held, failed = set(), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is no BaseEstimator, and of the checks' own
        for estimator, check in estimator_checks_generator(of_rows(gnn)(**SETTINGS)):
            name = check.func.__name__
            try:
                check(estimator)
            except SkipTest:
                continue
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
            else:
                held.add(name)
    assert not {name: why for name, why in failed.items() if name not in EXPECTED}
    assert not EXPECTED.keys() & held, "these hold by now"
    assert len(held) >= 25


def test_it_is_a_classifier_that_says_so(gnn):
    pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn 1.6 is not installed")
    from sklearn.base import is_classifier
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    classifier = gnn.NodeClassifier(**SETTINGS)
    assert is_classifier(classifier)
    with pytest.raises(NotFittedError):
        classifier.predict()
    with pytest.raises(NotFittedError):
        check_is_fitted(classifier)
    X = np.arange(12.0).reshape(6, 2)
    graph = gnn.as_graph([(0, 1)], n=6, symmetrize=True)
    check_is_fitted(classifier.fit(graph, X, [0, 1, 0, 1, 0, 1]))
    with pytest.raises(ValueError, match="X has 3 features, but NodeClassifier is expecting 2"):
        classifier.predict(graph, np.ones((6, 3)))
