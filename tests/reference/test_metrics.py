"""F1-micro against sets of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st


def by_sets(predicted, labels):
    """Return the F1 of two sets of (node, class) pairs, by precision and recall."""
    here, there = (set(zip(*np.nonzero(a), strict=True)) for a in (predicted, labels))
    hits = len(here & there)
    if not hits:
        return 0.0
    precision, recall = hits / len(here), hits / len(there)
    return 2 * precision * recall / (precision + recall)


@given(
    s=st.integers(0, 6),
    C=st.integers(1, 4),
    seed=st.integers(0, 9999),
    dtype=st.sampled_from([bool, np.int8, np.float32, np.float64]),
    density=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_f1_against_sets(gnn, s, C, seed, dtype, density):
    """Of (node, class) pairs: predicted ones and true ones."""
    rng = np.random.default_rng(seed)
    predicted, labels = (rng.random((s, C)) < d for d in (density, 0.5))
    got = gnn.f1_micro(predicted.astype(dtype), labels.astype(dtype))
    assert isinstance(got, float)
    assert got == pytest.approx(by_sets(predicted, labels), rel=1e-14)


@given(classes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_f1_of_single_labels_is_accuracy(gnn, classes):
    predicted, labels = np.eye(4)[np.array(classes).T]
    assert gnn.f1_micro(predicted, labels) == np.mean([p == y for p, y in classes])


def test_f1_by_hand(gnn):
    predicted, labels = np.array([[1, 1, 0], [0, 1, 0]]), np.array([[1, 0, 0], [0, 1, 1]])
    assert gnn.f1_micro(predicted, labels) == 4 / (4 + 1 + 1)
    assert gnn.f1_micro(np.zeros((2, 3)), np.zeros((2, 3))) == 0
    assert gnn.f1_micro(np.zeros((0, 3)), np.zeros((0, 3))) == 0


def test_f1_rejects_two_shapes(gnn):
    with pytest.raises(ValueError, match="shape"):
        gnn.f1_micro(np.ones((2, 3)), np.ones((3, 2)))
