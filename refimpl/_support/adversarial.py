"""The worst that the contract allows, for tests: MINIBATCH_GNN_ADVERSARIAL=1 before the import.

- Arrays of `numpy.empty` and `numpy.empty_like`, in the whole process, hold NaN and extreme
  integers, and so does the memory before and behind them. They begin at an address that only the
  type allows.
- Threads finish every second task before `submit` returns. They begin the other tasks when a
  result is asked for.
- Memory that `fastimpl._memory` gives to kernels holds NaN and extreme integers too.

Without the variable, nothing of this module is used.
"""

import math
import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial, wraps
from typing import Any

import numpy as np

VARIABLE = "MINIBATCH_GNN_ADVERSARIAL"
if os.environ.get(VARIABLE) not in (None, "", "0", "1"):
    raise ValueError(f"{VARIABLE} must be 0 or 1, got {os.environ[VARIABLE]!r}")
ON = os.environ.get(VARIABLE) == "1"

WORD = 0x7FFFFFFF  # repeated: NaN in each float type, the largest int32, nearly the largest int64
AROUND = 64  # bytes before and behind an array
MOST = 2**28  # bytes; filling a larger array takes memory that its user may never touch
PATIENCE = 0.5  # seconds; a task may need what its caller does next
real_empty, real_empty_like = np.empty, np.empty_like


@wraps(np.empty)  # numpy.ma looks into the docstring
def empty(shape: Any, dtype: Any = float, order: Any = "C", **options: Any) -> Any:
    """Return an array as numpy.empty does, with the worst values in it and around it."""
    dtype = np.dtype(dtype)
    sizes = tuple(shape) if np.iterable(shape) else (shape,)
    size = math.prod(map(int, sizes)) * dtype.itemsize
    if options or dtype.kind not in "biufc" or dtype.isnative is False or not 0 < size <= MOST:
        return real_empty(shape, dtype, order or "C", **options)
    memory = real_empty(-(-size // 4) + 2 * AROUND // 4 + 4, np.uint32)
    memory.fill(WORD)
    return np.ndarray(shape, dtype, memory, AROUND + dtype.alignment, order=order or "C")


@wraps(np.empty_like)
def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    **options: Any,
) -> Any:
    """Return an array as numpy.empty_like does, with the worst values in it and around it."""
    made = real_empty_like(prototype, dtype, order, subok, shape, **options)
    if options or type(made) is not np.ndarray or not made.flags.forc:
        return made
    return empty(made.shape, made.dtype, "F" if made.flags.fnc else "C")


class Late(Future[Any]):
    """A task that begins when its result is asked for."""

    def __init__(self, begin: Callable[[], Future[Any]]) -> None:
        super().__init__()
        self._begin = begin
        self._begun: Future[Any] | None = None

    def _now(self) -> Future[Any]:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    def result(self, timeout: float | None = None) -> Any:
        return self._now().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return self._now().exception(timeout)

    def done(self) -> bool:
        return self._begun is not None and self._begun.done()


class WorstThreads(ThreadPoolExecutor):
    """Threads whose tasks run as early and as late as their callers must expect, in turns."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: weakref.WeakSet[Late] = weakref.WeakSet()
        self._late = True

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        begin = partial(super().submit, fn, *args, **options)
        self._late = not self._late
        if self._late:
            task = Late(begin)
            self._waiting.add(task)
            return task
        at_once = begin()
        wait([at_once], PATIENCE)
        return at_once

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for task in () if cancel_futures else tuple(self._waiting):
            task._now()
        super().shutdown(wait, cancel_futures=cancel_futures)


if ON:
    vars(np).update(empty=empty, empty_like=empty_like)
