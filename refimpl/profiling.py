"""Where a training run's time and work go: kernels add theirs to the profile in force."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

from refimpl._support.reprs import showing

__all__ = ["Meter"]

PARTS = (
    "normalization",
    "sampling",
    "cache",
    "aggregation",
    "weights",
    "communication",
    "other",
    "evaluation",
)

_in_force: ContextVar[Meter | None] = ContextVar("profile", default=None)
_inside: ContextVar[bool] = ContextVar("inside a timed block", default=False)


class Meter:
    """Seconds by part, and multiply-adds; use as a context manager to put it in force.

    Normalization is the sampling before training that estimates its counts. Sampling includes
    induction and the transpose; cache is FreshGNN's: looking up, pruning, updating; aggregation is
    sparse x dense products; weights is dense products; communication is all that several workers
    do for the mean of their gradients. While no profile is in force, kernels record nothing. The
    papers' breakdown (JPDC'21 Figure 3) has sampling, aggregation and weights.

    Attributes
    ----------
    seconds : dict
        Of each part in `PARTS`.
    macs : dict
        Multiply-adds of the sparse x dense ("sparse") and of the dense products ("dense").
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.macs = {"sparse": 0, "dense": 0}

    __repr__ = showing("seconds", "macs")

    def __enter__(self):
        self._token = _in_force.set(self)
        return self

    def __exit__(self, *exc_info):
        _in_force.reset(self._token)


def metered():
    """Return whether a profile is in force."""
    return _in_force.get() is not None


def record(part, seconds):
    """Add `seconds` to `part` of the profile in force; in a `timed` block they are in its time."""
    profile = _in_force.get()
    if profile is not None and not _inside.get():
        profile.seconds[part] += seconds


def count(sparse=0, dense=0):
    """Add multiply-adds to the profile in force, if there is one."""
    profile = _in_force.get()
    if profile is not None:
        profile.macs["sparse"] += int(sparse)
        profile.macs["dense"] += int(dense)


@contextmanager
def timed(part):
    """Record the duration of a block, or of every call of a function it decorates.

    A block inside another timed block is part of the outer block's time, and is not recorded again.
    """
    if _inside.get():
        yield
        return
    begin, token = perf_counter(), _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)
        record(part, perf_counter() - begin)
