"""What a model is: its settings, its layers, and the matrix that they aggregate with."""

from typing import Any, ClassVar

from refimpl.lab.training.settings import Settings
from refimpl.scheduling import ProductOrders


class ModelSettings(Settings):
    """A base for the settings of a model; its subclasses are frozen dataclasses.

    Not in the papers. A subclass has a `name`, says with which `matrix` it aggregates, and makes
    its layers in `layer`. Its fields are its settings; files of trained models keep them as JSON.
    `register_layer` makes it known. The layer is an object with

    - ``shapes``, a dict of the weights' shapes by short name. A weight called ``b`` is a vector
      and begins as zeros; those named in ``vectors``, if it has that, are initialised row by row;
    - ``forward(W, A, X)``, which returns the output and what `backward` needs of the pass;
    - ``backward(W, A, X, needed, G_out)``, which returns the gradients of the weights by short
      name, and that of X (which may be None in the first layer).

    ``W`` has the weights by short name. ``A`` is an Adjacency, whose pattern is square on a
    subgraph, and a `Block` on sampled neighbours: fewer rows than columns then, and the first rows
    of X are the nodes' own.
    """

    title: ClassVar[str] = ""  # for people
    matrix: ClassVar[str | None] = None  # "row", "sym", "loop"; None: no graph at all
    hops_a_layer: Any = 1  # how many hops away a layer looks

    def layer(self, gnn, config, f_in, f_out, first):
        """Return one layer over `gnn`, from width `f_in` to `f_out`, for a TrainConfig `config`.

        The input of the `first` one needs no gradient.
        """
        raise TypeError(f"{type(self).__name__} must have a method layer")

    def check(self, config):
        """Raise ValueError unless these settings fit the others of the TrainConfig `config`."""

    def fitted(self, graph):
        """Return these settings with what depends on `graph`, for training, filled in."""
        return self

    def check_graph(self, graph):
        """Raise unless the model can work on `graph`."""

    def adjacency(self, gnn, graph, transpose_perm, dtype):
        """Return what a hop aggregates with on a whole `graph`, of float type `dtype`.

        `transpose_perm` is its transpose's permutation; None where there is no backward pass.
        """
        if self.matrix is None:
            return None
        if self.matrix == "row":
            return gnn.adjacency.row_norm(graph, transpose_perm, dtype=dtype)
        whole = {"sym": gnn.adjacency.sym_norm, "loop": gnn.adjacency.loop_norm}[self.matrix]
        return whole(graph, dtype=dtype)

    def block_operand(self, gnn, block, sources, degrees, graph, dtype):
        """Return what a hop aggregates with on a `block` of `graph`, whose nodes are `sources`.

        `degrees` are those of all nodes of the graph, `dtype` the float type.
        """
        of_sources = degrees[sources] if self.matrix == "sym" else None
        return gnn.adjacency.block_norm(self.matrix, block, of_sources, dtype=dtype)

    def operand(self, hops):
        """Return a layer's operand, made of what each of its `hops` aggregates with."""
        return hops[0] if self.hops_a_layer else None


def order_on(A, order):
    """Return the order of products on A: `order` where it is square.

    The order is chosen once, from the widths (section 6.1). It is for square patterns, where both
    orders have the same dense work. A block has fewer rows than columns, so there the layer
    aggregates first, and multiplies the fewer rows by the weights.
    """
    if A.graph.n_dst == A.graph.n_src:
        return order
    return ProductOrders(1, 1, 2 if order.dx else 0)


def bias_shape(config, f_out):
    """Return the shape of a layer's bias by name, of none where the configuration has none."""
    return {"b": (f_out,)} if config.bias else {}


def by_name(layer, gradients):
    """Return the gradients of a layer's weights, which are called as the weights are."""
    return {name: getattr(gradients, name) for name in layer.shapes}
