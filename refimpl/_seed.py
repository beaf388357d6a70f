"""The seed that an argument `rng` stands for."""

from __future__ import annotations

import numpy as np

from refimpl import _check
from refimpl.hints import Rng


def as_seed(rng: Rng) -> int:
    """Return `rng` as a 64-bit seed.

    This project's convention, not in the papers.

    Parameters
    ----------
    rng : int in [0, 2**64), numpy.random.Generator or None
        An int is its own seed. A Generator gives one draw. None takes fresh entropy.

    Returns
    -------
    int in [0, 2**64)

    Raises
    ------
    TypeError, ValueError
        If `rng` is of another type, or out of range.
    """
    if rng is None:
        rng = np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(0, 2**64, dtype=np.uint64))
    return _check.word("rng", rng)
