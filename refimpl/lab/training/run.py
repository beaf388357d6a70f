"""What a method's iterations work on."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from refimpl.lab.training.methods.base import Step
from refimpl.lab.training.stack import NodePasses, Stack


@dataclass(eq=False)
class Run:
    """One run: its implementation, data, settings, model and state.

    Attributes
    ----------
    gnn : module
        refimpl, fastimpl, or what `backend` returned.
    dataset : Dataset
    config : TrainConfig
        With everything filled in that depends on the data.
    stack : Stack
    state : TrainState
    features : array or None
        Where training reads the features of training node i as row i, if not in the data set.
    """

    gnn: Any
    dataset: Any
    config: Any
    stack: Stack
    state: Any
    features: Any = None

    @property
    def graph(self):
        """The training graph."""
        return self.dataset.train_graph

    @property
    def dtype(self):
        """float32 or float64."""
        return self.dataset.labels.dtype

    @cached_property
    def X(self):
        """The features of the training nodes, in memory."""
        return self.dataset.features[self.dataset.train]

    @cached_property
    def Y(self):
        """The labels of the training nodes."""
        return self.dataset.labels[self.dataset.train]

    @cached_property
    def degrees(self):
        """The degrees of the training nodes in the training graph."""
        return self.graph.degrees()

    def load(self, nodes):
        """Return the features of some training nodes, from where they are kept."""
        if self.features is not None:
            return self.gnn.loader.gather_rows(self.features, nodes)
        return self.gnn.loader.gather_rows(self.dataset.features, self.dataset.train[nodes])

    @property
    def row_bytes(self):
        """Bytes of a node's features where `load` reads them."""
        X = self.dataset.features if self.features is None else self.features
        return X.shape[1] * X.itemsize

    def block_operand(self, block, nodes):
        """Return what a layer aggregates with on a Block whose sources are these nodes."""
        return self.stack.block_operand(block, nodes, self.degrees, self.graph, dtype=self.dtype)

    def passes(self):
        """Return `NodePasses` of the next iteration."""
        return NodePasses(self.gnn, self.stack, self.state.weights, self.state.iterations)

    def pass_over(self, operands, X, Y, node_weights=None):
        """Go forward and back over a minibatch; return its `Step`.

        JPDC'21 Algorithm 1; ``# n`` marks line n.

        Parameters
        ----------
        operands : tuple
            One a layer: what it aggregates with.
        X : (n_src, f) array
            Features of the nodes that the first layer reads.
        Y : (n_dst, C) array
            Labels of the nodes that the loss is taken over.
        node_weights : (n_dst,) array, optional
            Their weights in the loss; default: 1 / n_dst each.
        """
        stack, state = self.stack, self.state
        logits, kept = stack.forward(state.weights, operands, X, state.iterations)  # 7 9 J8:11
        loss = stack.loss(logits, Y, node_weights)  # 13
        gradients = stack.gradients(state.weights, operands, kept, loss.gradient)  # 15 J8:13
        return Step(loss.value, gradients, len(Y))
