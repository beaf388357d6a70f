"""The steps that are compared: shapes, inputs written to a file, dense products they hold."""

from functools import cache
from typing import NamedTuple

import numpy as np

from bench import inputs
from bench.figures.training import settings
from refimpl import Adjacency, as_graph
from refimpl.lab.training.stack import Stack

gnn = inputs.fastest()

MODELS = ("sage", "gcn", "gat", "mixhop")
HOPS = 2


class Case(NamedTuple):
    """A step of two layers and a classifier on one subgraph.

    degree : mean degree of the undirected random graph, whose degrees follow a power law
    hidden : width of each layer after concatenation
    s, f, classes : nodes, width of the features, width of the logits
    """

    model: str
    degree: int
    hidden: int
    s: int = 8000
    f: int = 602
    classes: int = 41


WIDTHS = (512, 1024)
FULL = [Case(m, degree, hidden) for hidden in WIDTHS for m in MODELS for degree in (15, 60)]
SMALL = [Case(m, 15, h, 1500, f) for m in MODELS[:2] for f, h in ((256, 256), (602, 128))]
TINY = [Case(m, 6, hidden, 100, 20, 5) for m in MODELS for hidden in (14, 48)]
PASSES = [Case(m, 50, 256, 50_000, 602) for m in MODELS[:3]]
TINY_PASSES = [Case(m, 6, 16, 300, 20, 5) for m in MODELS[:3]]


@cache
def adjacency(model, s, degree):
    """Return the matrix that a model multiplies by, float32."""
    pattern = inputs.power_law(s, degree)
    stack = stack_of(Case(model, degree, 1, s), gnn)
    return stack.adjacency(pattern, gnn.transpose_perm(pattern), dtype=np.float32)


def stack_of(case, package):
    """Return the layers of a case, over one of the packages."""
    options = {"gat": {"heads": 1, "attention": "softmax"}, "mixhop": {"hops": HOPS}}
    config = settings(
        "graph",
        model=case.model,
        model_options=options.get(case.model),
        layers=2,
        hidden=case.hidden,
    )
    return Stack(package, config, case.f, case.classes, multilabel=False)


def orders_of(stack):
    """Return each layer's order of products: of a chain, or MixHop's depth; None for GAT."""
    layers = [stack.layers[place] for place in ("layer1", "layer2")]
    return [getattr(layer, "order", getattr(layer, "depth", None)) for layer in layers]


def dense_products(case, stack):
    """Return the step's dense products as (transpose_a, transpose_b, rows, inner, cols).

    Those with the weight matrices: X W, X^T G and, but for the first layer, G W^T. What GAT does
    with its score vectors is left out.
    """
    products = []
    for name, (f_in, f_out) in stack.shapes().items():
        place, short = name.split(".")
        if short.startswith("W"):
            products.append((False, False, case.s, f_in, f_out))
            products.append((True, False, f_in, case.s, f_out))
            if place != "layer1":
                products.append((False, True, case.s, f_out, f_in))
    return products


def export(case, path):
    """Write a case's inputs and first weights to an .npz file; return what else describes it."""
    described, arrays = inputs_of(case)
    np.savez(path, **arrays)
    return {**described, "path": str(path)}


def inputs_of(case):
    """Return what describes a case, and its inputs and first weights by name."""
    A = adjacency(case.model, case.s, case.degree)
    perm = A.perm if A.perm is not None else gnn.transpose_perm(A.graph)
    stack = stack_of(case, gnn)
    weights = stack.initial_weights(inputs.SEED, np.float32)
    labels = np.random.default_rng(inputs.SEED).integers(0, case.classes, case.s)
    arrays = {
        "indptr": A.graph.indptr,
        "indices": A.graph.indices,
        "data": A.data,
        "data_t": A.data_t,
        "perm": perm,
        "X": inputs.normal((case.s, case.f), 1),
        "labels": labels,
        **weights,
    }
    described = {"orders": orders_of(stack), "products": dense_products(case, stack)}
    return {**case._asdict(), **described}, arrays


@cache
def inputs_at(model, size):
    """Return `inputs_of` a case at a size of `inputs.SIZES`."""
    scale = inputs.SIZES[size]
    shape = scale.hidden, scale.s, scale.f, scale.classes
    return inputs_of(Case(model, scale.degree, *shape))


class Passes:
    """Forward and backward pass of a case over one of the packages.

    Parameters
    ----------
    case : dict
    held : dict
        The inputs and first weights by name.
    package : module
    """

    def __init__(self, case, held, package):
        held = dict(held)
        pattern = as_graph((held.pop("indptr"), held.pop("indices")))
        data, data_t, perm = held.pop("data"), held.pop("data_t"), held.pop("perm")
        self.X = held.pop("X")
        self.Y = np.eye(case["classes"], dtype=np.float32)[held.pop("labels")]
        self.weights = held
        self.stack = stack_of(Case(*(case[name] for name in Case._fields)), package)
        self.operands = self.stack.operands(Adjacency(pattern, data, data_t, perm=perm))

    def backward(self):
        """Return loss and gradients."""
        logits, kept = self.stack.forward(self.weights, self.operands, self.X)
        loss = self.stack.loss(logits, self.Y)
        gradients = self.stack.gradients(self.weights, self.operands, kept, loss.gradient)
        return loss.value, gradients


def pass_stack(case):
    """Return the two layers of an exact pass, the last of which gives the logits.

    They are those of PyG's models: with biases, and GraphSAGE's halves are added.
    """
    options = {"gat": {"heads": 1, "attention": "softmax"}, "sage": {"concat": "sum"}}
    config = settings(
        "graph",
        model=case.model,
        model_options=options.get(case.model),
        layers=2,
        hidden=case.hidden,
        classifier="layer",
        bias=True,
    )
    return Stack(gnn, config, case.f, case.classes, multilabel=False)


def export_pass(case, path):
    """Write the inputs of an exact pass to an .npz file; return what else describes it."""
    graph, stack = inputs.power_law(case.s, case.degree), pass_stack(case)
    A = stack.adjacency(graph, dtype=np.float32)
    rng = np.random.default_rng(inputs.SEED)
    weights = stack.initial_weights(inputs.SEED, np.float32)
    for name, W in weights.items():
        if name.endswith(".b"):
            W[:] = rng.standard_normal(W.shape) / 10
    np.savez(
        path,
        graph_indptr=graph.indptr,
        graph_indices=graph.indices,
        indptr=A.graph.indptr,
        indices=A.graph.indices,
        data=A.data,
        X=inputs.normal((case.s, case.f), 1),
        **weights,
    )
    described = {**case._asdict(), "orders": orders_of(stack)}
    return {**described, "e": A.graph.e, "path": str(path)}


def export_product(s, degree, width, path):
    """Write the inputs of a sparse x dense product to an .npz file; return its description."""
    A = adjacency("sage", s, degree)
    X = inputs.normal((s, width), 2)
    np.savez(path, indptr=A.graph.indptr, indices=A.graph.indices, data=A.data, X=X)
    return {"s": s, "degree": degree, "width": width, "e": A.graph.e, "path": str(path)}
