"""Training on a sampled subgraph: IPDPS'19 and JPDC'21 Algorithm 1, one turn of the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph import Subgraph
from refimpl.hints import Ids, Values, bound


class AdamState(NamedTuple):
    """The weights that Adam moves, and the two means that Adam keeps, for `graph_iteration`.

    Attributes
    ----------
    weights : dict of str to float arrays of any shape
        By name; they change in place.
    m, v : dict of str to float arrays of the same shapes and dtype
        The running means of the gradients and of their squares; they change in place.
    t : int
        Number of this iteration, from 1.
    lr : float
    decay : dict of str to float
        By name. The gradient of weight W becomes G + decay W. Other weights do not decay.
    """

    weights: dict[str, Values]
    m: dict[str, Values]
    v: dict[str, Values]
    t: int
    lr: float
    decay: dict[str, float]


class MinibatchStep(NamedTuple):
    """What one iteration computed: `graph_iteration` and `sampled_iteration` return it.

    Attributes
    ----------
    loss : float
    nodes : (s,) int32 array
        The nodes that the loss is taken over.
    gradients : dict of str to float arrays of any shape
        Of every weight, by name.
    """

    loss: float
    nodes: Ids
    gradients: dict[str, Values]


def graph_arguments(gnn, subgraphs, model, normalize, load_features, load_labels, adam):
    """Check the arguments of `graph_iteration` that no kernel checks; return all."""
    functions = {"load_features": load_features, "load_labels": load_labels}
    check_iteration("subgraphs", subgraphs, model, adam, normalize=normalize, **functions)
    return gnn, subgraphs, model, normalize, load_features, load_labels, adam


def check_iteration(name, minibatches, model, adam, **callables):
    """Check the arguments of an iteration, which no kernel checks."""
    if not isinstance(minibatches, Iterator):
        raise TypeError(f"{name} must be an iterator, got {type(minibatches).__name__}")
    for method in ("forward", "classify", "loss", "backward"):
        if not callable(getattr(model, method, None)):
            raise TypeError(f"model must have a method {method}, got {type(model).__name__}")
    require.integer("model.depth", getattr(model, "depth", None), 1)
    for argument, function in callables.items():
        if not callable(function):
            raise TypeError(f"{argument} must be callable, got {type(function).__name__}")
    if adam is not None and not isinstance(adam, AdamState):
        raise TypeError(f"adam must be an AdamState, got {type(adam).__name__}")


@bound
@checked_by(graph_arguments)
def graph_iteration(
    gnn,
    subgraphs: Iterator[Subgraph],
    model: Any,
    normalize: Callable[[Subgraph], Any],
    load_features: Callable[[Ids], Any],
    load_labels: Callable[[Ids], Any],
    adam: AdamState | None = None,
) -> MinibatchStep:
    """Train on one subgraph: sample, go forward layer by layer, take the loss, go back, move.

    JPDC'21 Algorithm 1, lines 3 to 15; ``# n`` marks line n. IPDPS'19 Algorithm 1 is the same with
    other names. Every layer works on the nodes and edges of the subgraph, so nothing grows with the
    number of layers. The loop of line 2 is `train`. The subgraphs are those of a
    `SubgraphPool`. A layer (line 10) is, for example, `sage_forward`. O(L (e f + s f^2)) time for a
    subgraph of s nodes and e edges, L layers and widths f.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    subgraphs : iterator of Subgraph
        One subgraph for each iteration (line 3).
    model : object
        The L layers with their classifier, in this iteration. ``depth`` is L; ``forward(l, A, X)``
        returns the (s, f_l) rows of layer l from the (s, f) rows of layer l - 1; ``classify(X)``
        returns the (s, C) logits; ``loss(logits, Y, node_weights)`` returns the loss and its (s, C)
        gradient; ``backward(l, G)`` takes the gradient of the output of layer l (L + 1: of the
        logits), adds those of the weights to the dict ``gradients``, and returns that of the
        layer's input.
    normalize : callable
        ``normalize(subgraph)`` returns what the layers aggregate with, such as the `row_norm` of
        the subgraph.
    load_features : callable
        ``load_features(nodes)`` returns the (s, f) features of some nodes.
    load_labels : callable
        ``load_labels(nodes)`` returns the (s, C) labels of some nodes, and their (s,) weights in
        the loss, or None: 1 / s each.
    adam : AdamState, optional
        Without it no weight is moved: the caller moves the weights by the mean of several
        minibatches.

    Returns
    -------
    MinibatchStep

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, or the next of `subgraphs` is no Subgraph.
    ValueError
        As the kernels that it calls.
    """
    sub = checked_subgraph(next(subgraphs, None))  # 3
    A = normalize(sub)  # 4 E-A4: normalised by its own degrees
    X = load_features(sub.nodes)  # 5
    Y, node_weights = load_labels(sub.nodes)  # 6

    for l in range(1, model.depth + 1):  # 7 9 J8:11
        X = model.forward(l, A, X)  # 10
    logits = model.classify(X)  # 12
    loss, G = model.loss(logits, Y, node_weights)  # 13

    for l in range(model.depth + 1, 0, -1):
        G = model.backward(l, G)  # 15 J8:13
    if adam is not None:
        move_weights(gnn, adam, model.gradients)  # 15
    return MinibatchStep(loss, sub.nodes, model.gradients)


def move_weights(gnn, adam, gradients):
    """Let Adam move all weights by their gradients: the end of line 15 of `graph_iteration`."""
    for name, W in adam.weights.items():
        G = gradients[name]
        if decay := adam.decay.get(name):
            G = G + W.dtype.type(decay) * W
        gnn.adam_step(W, G, adam.m[name], adam.v[name], adam.t, lr=adam.lr)  # 15


def checked_subgraph(sub):
    """Return the next subgraph, or raise."""
    if not isinstance(sub, Subgraph):
        raise TypeError(f"the next of subgraphs must be a Subgraph, got {type(sub).__name__}")
    return sub
