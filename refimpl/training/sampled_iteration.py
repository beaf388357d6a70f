"""Training on sampled neighbours as GraphSAGE does: one iteration, the baseline of JPDC'21."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from refimpl.block import MFG
from refimpl.hints import Ids, bound
from refimpl.training.graph_iteration import (
    AdamState,
    MinibatchStep,
    check_iteration,
    move_weights,
)


@bound
def sampled_iteration(
    gnn,
    minibatches: Iterator[tuple[MFG, Sequence[Any]]],
    model: Any,
    load_features: Callable[[Ids], Any],
    load_labels: Callable[[Ids], Any],
    adam: AdamState | None = None,
) -> MinibatchStep:
    """Train on one batch of roots, each with sampled neighbours in every layer.

    JPDC'21 section 7.7, the baseline; Hamilton et al. 2017, Algorithm 2 with gradients. A layer
    computes fewer rows than the layer below: in the end those of the roots. Beside
    `graph_iteration` only two things differ: each layer has a matrix of its own, and the features
    are those of all nodes that some layer looks at, most of which are no roots. O(sum over the
    layers of e_l f + s_l f^2) time for s_l rows, made of e_l sampled neighbours.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    minibatches : iterator of pairs
        For each iteration the MFG of a batch, and a sequence of L matrices: what each layer
        aggregates with.
    model : object
        As for `graph_iteration`; ``forward(l, A, X)`` is given the matrix of layer l, and returns a
        row for each of its rows.
    load_features, load_labels : callables
        As for `graph_iteration`; the features are those of ``mfg.nodes[0]``, the labels those of
        the roots, ``mfg.nodes[-1]``.
    adam : AdamState, optional
        As for `graph_iteration`.

    Returns
    -------
    MinibatchStep

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, or the next of `minibatches` is no such pair.
    ValueError
        As the kernels that it calls.
    """
    sampled_arguments(minibatches, model, load_features, load_labels, adam)
    mfg, A = checked_pair(next(minibatches, None))
    X = load_features(mfg.nodes[0])
    Y, node_weights = load_labels(mfg.nodes[-1])

    for l in range(1, model.depth + 1):
        X = model.forward(l, A[l - 1], X)
    logits = model.classify(X)
    loss, G = model.loss(logits, Y, node_weights)

    for l in range(model.depth + 1, 0, -1):
        G = model.backward(l, G)
    if adam is not None:
        move_weights(gnn, adam, model.gradients)
    return MinibatchStep(loss, mfg.nodes[-1], model.gradients)


def sampled_arguments(minibatches, model, load_features, load_labels, adam):
    """Check the arguments of `sampled_iteration` that no kernel checks."""
    functions = {"load_features": load_features, "load_labels": load_labels}
    check_iteration("minibatches", minibatches, model, adam, **functions)


def checked_pair(pair):
    """Return the next minibatch and what its layers aggregate with, or raise."""
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], MFG)):
        raise TypeError(
            f"the next of minibatches must be a pair of an MFG and matrices, "
            f"got {type(pair).__name__}"
        )
    return pair
