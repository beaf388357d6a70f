"""refimpl/history/policy.py on kernels."""

import numpy as np

from fastimpl._twin import twin
from fastimpl.history import _policy
from refimpl import _check
from refimpl.history.policy import stable_arguments


@twin
def gradient_norms(G):
    G = _check.floats("G", G, (None, None))
    norms = np.empty(len(G))
    _policy.gradient_norms(G, norms)
    return norms


@twin
def select_stable(score, ids, p):
    score, ids, k = stable_arguments(score, ids, p)
    low = np.empty(len(score), np.bool_)
    _policy.select_stable(score, ids, k, np.empty(len(score), np.uint64), low.view(np.uint8))
    return low
