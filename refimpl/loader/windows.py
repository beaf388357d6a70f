"""Minibatches whose features are read from storage before training reaches them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.distinct import distinct
from refimpl.hints import Integers, Positions
from refimpl.loader.lookahead import Window, window_of
from refimpl.loader.lookahead_features import LookaheadFeatures, ReadFailed

if TYPE_CHECKING:
    from typing_extensions import Self


class CacheTooSmall(ValueError):
    """A cache of features does not hold the rows of two minibatches."""


class Windows:
    """Minibatches, one after another: the features of a window are read while the last one trains.

    Where the rows of a minibatch are known, two windows behind the present one are drawn, and rows
    of the second of them stay in the cache (Belady). Where rows are only `predicted`, from what
    training has done so far, one window is drawn, right before it is read: a later prediction is a
    better one. Rows that were not predicted are read on demand. So are rows that do not fit in the
    cache, where rows are `predicted` or may be read `partly`.

    Parameters
    ----------
    minibatches : iterator without end
        With a method ``close()``.
    inputs : callable
        ``inputs(minibatch)`` returns the rows of features that it loads. It is called once for each
        minibatch, when this one is drawn.
    features : LookaheadFeatures
    predicted : bool
        Whether a minibatch may load other rows.
    partly : bool
        Whether a minibatch may have more rows than fit in half of the cache; others are then read
        on demand.

    Raises
    ------
    CacheTooSmall
        If the rows of two minibatches do not fit in the cache, and all are needed there.
    """

    def __init__(
        self,
        minibatches: Any,
        inputs: Callable[[Any], Integers],
        features: LookaheadFeatures,
        predicted: bool = False,
        partly: bool = False,
    ) -> None:
        self.minibatches, self.inputs = minibatches, inputs
        self.features, self.predicted = features, predicted
        self.partly = predicted or partly
        self.number, self.begun = features.clock, False
        self.drawn: deque[tuple[Any, Positions]] = deque()  # minibatches, and their rows
        self.now: deque[Any] = deque()
        self.known: deque[tuple[list, Window]] = deque()
        try:
            self.known.append(self._draw())  # before a run has written anything
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if not self.now:
            self._advance()
        return self.now.popleft()

    def _advance(self):
        """Go to the next window, and let the one behind it be read."""
        features = self.features
        if not self.begun:  # nothing was read yet
            features.expect(self.known[0][1])
            self.begun = True
        while len(self.known) < (2 if self.predicted else 3):
            self.known.append(self._draw())
        features.finish()
        windows = [window for _, window in self.known]
        features.expect(windows[1], windows[0], windows[2:])
        self.now.extend(self.known.popleft()[0])

    def _draw(self):
        """Return minibatches whose rows are at most half of the cache, and their `Window`."""
        chosen: list = []
        union = np.empty(0, np.int32)  # rows of the first `known` that are chosen
        known = 0
        while len(chosen) < self.features.window:
            if not self.drawn:
                minibatch = next(self.minibatches)
                nodes = np.asarray(self.inputs(minibatch), np.int64)
                rows = self.features.in_file(nodes).astype(np.int32)
                self.drawn.append((minibatch, distinct(rows)))
            both = [*chosen[known:], self.drawn[0]]
            if self._too_many(len(union) + sum(len(rows) for _, rows in both)):
                union = distinct(np.concatenate([union, *(rows for _, rows in both)]))
                known = len(chosen) + 1
            if self._too_many(len(union)):
                if chosen:
                    break
                self.drawn[0] = self.drawn[0][0], self._what_fits(self.drawn[0][1])
                union = self.drawn[0][1]
            chosen.append(self.drawn.popleft())
        window = window_of([rows for _, rows in chosen], self.number)
        self.number = window.end
        return [minibatch for minibatch, _ in chosen], window

    def _too_many(self, rows):
        """Return whether rows do not fit in half of the cache, nor all rows in the whole of it."""
        return min(2 * rows, self.features.shape[0]) > self.features.capacity

    def _what_fits(self, rows):
        """Return rows of a minibatch that half of the cache holds, if that may be; or raise."""
        features = self.features
        if self.partly:
            return rows[: features.capacity // 2]
        needed = min(2 * len(rows), features.shape[0])
        raise CacheTooSmall(
            f"memory must hold the {needed} rows of two minibatches, which are "
            f"{features.bytes_for(needed)} bytes, and holds {features.capacity} rows"
        )

    def close(self) -> None:
        """End the threads that sample ahead, and the read under way."""
        self.minibatches.close()
        with suppress(ReadFailed):  # whoever needs the rows reads them again
            self.features.finish()
