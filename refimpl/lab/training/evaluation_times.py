"""How often a run scores its validation nodes where it chooses that itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refimpl.lab.training.evaluation import passes_of
from refimpl.lab.training.full_neighborhoods import Needed

if TYPE_CHECKING:
    from refimpl.lab.data.dataset import Dataset
    from refimpl.lab.training.config import TrainConfig
    from refimpl.lab.training.evaluation import Evaluation, Pass
    from refimpl.lab.training.stack import Stack

TIMES = 8  # the work of the training between evaluations, at least, in evaluations
A_PATIENCE = 4  # evaluations, at least, in as many epochs as `patience` says
FORWARD = 1, 1  # products for a product of the first layer, and of the others
AND_BACK = 2, 3  # the gradient of W too, and except in the first layer that of the input


def epochs_between(
    dataset: Dataset, config: TrainConfig, stack: Stack, evaluation: Evaluation
) -> int:
    """Return after how many epochs ``eval_every="auto"`` scores the validation nodes.

    Training between two evaluations has at least 8 times the multiply-adds of an evaluation's
    dense products. Those of an epoch are counted as one pass forward and back over all nodes of
    the training graph, or over the rows that the training nodes depend on where an epoch is
    these nodes. The number depends on the graph, the split and the settings alone: not on the
    implementation, threads, ranks or time, and a resumed run finds the same.
    """
    graph, passes = dataset.train_graph, passes_of(stack)
    counts = [graph.n] * len(evaluation.needed.counts)
    if not config.method.epoch_covers_graph:
        roots = np.unique(np.asarray(dataset.roots, np.int32))
        counts = Needed(graph, roots, len(counts) - 1).counts
    of_epoch = work_of(passes, counts, evaluation.width, AND_BACK)
    of_evaluation = work_of(passes, evaluation.needed.counts, evaluation.width, FORWARD)
    epochs = -(-TIMES * of_evaluation // max(of_epoch, 1))
    if config.patience is not None:
        epochs = min(epochs, config.patience // A_PATIENCE)
    return max(epochs, 1)


def work_of(passes: list[Pass], counts: list[int], width: int, products: tuple[int, int]) -> int:
    """Return the multiply-adds of dense products.

    Parameters
    ----------
    passes : list of Pass
    counts : list of ints
        Rows that are needed after each hop, from the features on: as in `Needed`.
    width : int
        Numbers in a row of features.
    products : (first, rest)
        How many products of this size there are for a product of the first layer, and of others.
    """
    work, hop, times = 0, 0, products[0]
    for one in passes:
        rows, hop = counts[hop], hop + one.hops
        for stage in one.stages:
            work += times * rows * width * stage.width
            rows, width, times = counts[hop], stage.width, products[1]
    return work
