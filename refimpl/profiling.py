"""Where a training run's time and work go: kernels add theirs to the profile in force."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter
from typing import ParamSpec, TypeVar

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

P = ParamSpec("P")
R = TypeVar("R")

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


class timed:  # noqa: N801 -- used like a function
    """Record the duration of a block, or of every call of a function it decorates.

    A block inside another timed block is part of the outer block's time, and is not recorded again.
    Without a profile in force, a call of a decorated function is a call of the function alone.
    """

    __slots__ = ("_begin", "_part", "_token")

    def __init__(self, part: str) -> None:
        self._part = part

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        part = self._part

        @functools.wraps(function)
        def measured(*args: P.args, **kwargs: P.kwargs) -> R:
            if _in_force.get() is None or _inside.get():
                return function(*args, **kwargs)
            with timed(part):
                return function(*args, **kwargs)

        return measured

    def __enter__(self) -> None:
        self._token = None if _inside.get() else _inside.set(True)
        self._begin = perf_counter()

    def __exit__(self, *exc_info: object) -> None:
        if self._token is not None:
            seconds = perf_counter() - self._begin
            _inside.reset(self._token)
            record(self._part, seconds)
