"""Cross-entropies and their gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_softmax

from bench import inputs
from bench.work import stream


def loss_case(case, name, labels, logits):
    """Time a loss; return its result. Each array is read or written once."""
    text = f"s={logits.shape[0]:,} C={logits.shape[1]} float32"
    case.describe(name, text, stream(3 * logits.nbytes))
    return case.run(getattr(case.gnn, name), logits, labels)


@pytest.mark.sizes("tiny", "small", "large")
def test_softmax_cross_entropy(case):
    s, C = case.scale.s, case.scale.classes
    logits, labels = 3 * inputs.normal((s, C), 1), inputs.one_hot(s, C, 2)
    got = loss_case(case, "softmax_cross_entropy", labels, logits)
    logs = log_softmax(logits.astype(np.float64), axis=1)
    assert got.value == pytest.approx(-(labels * logs).sum() / s, rel=1e-5)
    assert_allclose(got.gradient * s, np.exp(logs) - labels, atol=1e-5)


@pytest.mark.sizes("tiny", "small", "large")
def test_sigmoid_cross_entropy(case):
    s, C = case.scale.s, case.scale.classes
    logits = 3 * inputs.normal((s, C), 1)
    labels = (inputs.normal((s, C), 2) > 0).astype(np.float32)
    got = loss_case(case, "sigmoid_cross_entropy", labels, logits)
    x = logits.astype(np.float64)
    assert got.value == pytest.approx((np.logaddexp(0, x) - x * labels).sum() / s, rel=1e-5)
    assert_allclose(got.gradient * s, expit(x) - labels, atol=1e-5)
