"""What became infinite or NaN first in a training: features, gradients or weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from refimpl.lab.data.dataset import Dataset
    from refimpl.lab.hints import Weights
    from refimpl.lab.training.methods.base import Step

BLOCK = 2**12  # nodes looked at at a time


class Diverged(FloatingPointError):
    """A loss or a weight is infinite or NaN.

    Attributes
    ----------
    first : {"features", "gradients", "weights"}
        Which of them was too large before the others.
    """

    def __init__(self, fault: str, first: str, cause: str) -> None:
        super().__init__(f"{fault}: {cause}")
        self.first = first


def check_step(step: Step, dataset: Dataset, iteration: int) -> None:
    """Raise Diverged unless the loss of a `Step` and its gradients are finite.

    Parameters
    ----------
    step : Step
    dataset : Dataset
    iteration : int
        Its number, from 1.
    """
    if not math.isfinite(step.loss):
        raise _diverged(f"the loss is {step.loss}", "weights", dataset, iteration)
    if not _finite(step.gradients):
        raise _diverged("a gradient is not finite", "gradients", dataset, iteration)


def check_weights(weights: Weights, dataset: Dataset, iteration: int) -> None:
    """Raise Diverged unless the weights are finite after an iteration, the last of an epoch."""
    if not _finite(weights):
        raise _diverged("a weight is not finite", "weights", dataset, iteration)


def _diverged(fault: str, first: str, dataset: Dataset, iteration: int) -> Diverged:
    """Return the error of an iteration: features that are too large come before all else."""
    fault = f"{fault} in iteration {iteration}"
    node, column, largest = _largest_feature(dataset)
    if largest < math.sqrt(float(np.finfo(dataset.dtype).max)):  # its square is finite
        return Diverged(fault, first, f"the {first} became too large first")
    return Diverged(
        fault,
        "features",
        f"the features came first: column {column} of node {node} is {largest:g} once scaled, too "
        f"large for {dataset.dtype}",
    )


def _largest_feature(dataset: Dataset) -> tuple[int, int, float]:
    """Return the node and the column of the feature that is largest once scaled, and its size."""
    found = (0, 0, 0.0)
    for begin in range(0, dataset.graph.n, BLOCK):
        nodes = np.arange(begin, min(begin + BLOCK, dataset.graph.n))
        with np.errstate(all="ignore"):
            sizes = np.nan_to_num(np.abs(dataset.inputs(nodes)), nan=np.inf, posinf=np.inf)
        row, column = divmod(int(sizes.argmax()), sizes.shape[1])
        if sizes[row, column] > found[2]:
            found = (begin + row, column, float(sizes[row, column]))
    return found


def _finite(arrays: Weights) -> bool:
    return all(np.isfinite(array).all() for array in arrays.values())
