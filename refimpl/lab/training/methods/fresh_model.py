"""The model of a FreshGNN run, as its iteration asks for it: one block at a time."""


class BlockModel:
    """A run's layers as `fresh_iteration` asks for them, the classifier behind the last."""

    def __init__(self, run):
        self.run, self.passes = run, run.passes()

    def forward(self, l, block, nodes, H):
        """Return the rows of layer l from those of layer l - 1: FreshGNN Equation 1."""
        return self.passes.forward(l, self.run.block_operand(block, nodes), H, nodes)

    def loss(self, H, nodes):
        """Return the loss, and its gradient by the rows of the last layer."""
        run = self.run
        logits = self.passes.classify(H, nodes)
        loss = run.stack.loss(logits, *run.targets(nodes))
        return loss.value, self.passes.backward(run.config.layers + 1, loss.gradient)

    def backward(self, l, G):
        """Keep the gradients of the weights of layer l; return that of the rows below."""
        return self.passes.backward(l, G)

    @property
    def gradients(self):
        """The gradients of all weights, by name."""
        return self.passes.gradients
