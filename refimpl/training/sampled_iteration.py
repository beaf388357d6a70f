"""Training on sampled neighbours as GraphSAGE does: one iteration, the baseline of JPDC'21."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from refimpl._support.argument_checks import checked_by
from refimpl.block import MFG
from refimpl.hints import Ids, bound
from refimpl.training.graph_iteration import (
    AdamState,
    MinibatchStep,
    check_iteration,
    move_weights,
)


def sampled_arguments(gnn, minibatches, model, load_features, load_labels, adam):
    """Check the arguments of `sampled_iteration` that no kernel checks; return all."""
    functions = {"load_features": load_features, "load_labels": load_labels}
    check_iteration("minibatches", minibatches, model, adam, **functions)
    return gnn, minibatches, model, load_features, load_labels, adam


@bound
@checked_by(sampled_arguments)
def sampled_iteration(
    gnn,
    minibatches: Iterator[tuple[MFG, Sequence[Any]]],
    model: Any,
    load_features: Callable[[Ids], Any],
    load_labels: Callable[[Ids], Any],
    adam: AdamState | None = None,
) -> MinibatchStep:
    """Train on one batch of roots, each with sampled neighbours in every layer.

    The baseline of JPDC'21 section 7.7. It is Algorithm 2 of Hamilton et al. 2017 (``# H2:n`` marks
    line n), then the gradients. A layer computes fewer rows than the layer below; the last layer
    computes those of the roots. Only two things differ from `graph_iteration`: each layer has a
    matrix of its own, and the features are those of all nodes that some layer reads, most of them
    no roots. O(sum over the layers of e_l f + s_l f^2) time for s_l rows, made of e_l sampled
    neighbours.

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
    mfg, A = checked_pair(next(minibatches, None))  # H2:1-7
    X = load_features(mfg.nodes[0])  # H2:8
    Y, node_weights = load_labels(mfg.nodes[-1])

    for l in range(1, model.depth + 1):  # H2:9
        X = model.forward(l, A[l - 1], X)  # H2:10-13
    logits = model.classify(X)
    loss, G = model.loss(logits, Y, node_weights)

    for l in range(model.depth + 1, 0, -1):
        G = model.backward(l, G)
    if adam is not None:
        move_weights(gnn, adam, model.gradients)
    return MinibatchStep(loss, mfg.nodes[-1], model.gradients)


def checked_pair(pair):
    """Return the next minibatch and what its layers aggregate with, or raise."""
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], MFG)):
        raise TypeError(
            f"the next of minibatches must be a pair of an MFG and matrices, "
            f"got {type(pair).__name__}"
        )
    return pair
