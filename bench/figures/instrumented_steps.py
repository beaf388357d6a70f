"""Training steps opened up: what they read of earlier iterations, beside the exact embeddings."""

import numpy as np


class ExactRows:
    """The exact pass over the graph that is trained on, with the weights of the moment."""

    def __init__(self, trainer):
        run = trainer.run
        A = run.stack.adjacency(run.graph, dtype=run.dtype)
        self.trainer, self.X, self.operands = trainer, run.load(), run.stack.operands(A)

    def now(self):
        """Return what layers 1 .. L give every node: a list of (n, width) arrays.

        Without the last of them where it is the classifier. Nothing is sampled or dropped.
        """
        stack, weights = self.trainer.stack, self.trainer.state.weights
        _, kept = stack.forward(weights, self.operands, self.X)
        return [kept[place][0] for place in list(stack.layers)[1:]]  # the input of the next


class WatchedRun:
    """A run whose steps say what they read of earlier iterations, and what they computed with it.

    It is FreshGNN's, or that of a method with histories: these are filled with the rows of `exact`,
    an `ExactRows`, before the first step. The method then reads and writes them through this run.
    """

    def __init__(self, trainer, exact):
        self.trainer, self.fresh = trainer, trainer.config.method.name == "fresh"
        if not self.fresh:
            self.histories, everyone = trainer.iterations.histories, np.arange(trainer.run.graph.n)
            for layer, rows in enumerate(exact.now()[: trainer.config.layers - 1], start=1):
                self.histories.write(layer, everyone, rows)
            trainer.iterations.histories = self

    def read(self, layer, ids):
        """Return a copy of the rows of some nodes in a layer, and note them."""
        rows = self.histories.read(layer, ids)
        self.was_read.append((layer, ids, rows))
        return rows

    def write(self, layer, ids, values):
        """Put in the rows of some nodes in a layer, and note them."""
        self.made.append((layer, ids, values))
        self.histories.write(layer, ids, values)

    def step(self):
        """Do an iteration; return what was read, and what was computed in layers 2 .. L - 1.

        Both are lists of (layer, nodes, rows). Layer 1 is computed from features alone.
        """
        self.was_read, self.made = [], []
        if self.fresh:
            step = fresh_step(self.trainer)
            for layer, cached in enumerate(step.cached[:-1], start=1):
                nodes, rows = step.nodes[layer], step.H[layer]
                self.was_read.append((layer, nodes[cached], rows[cached]))
                self.made.append((layer, nodes[~cached], rows[~cached]))
        else:
            self.trainer.step()
        return self.was_read, [one for one in self.made if one[0] > 1]


def fresh_step(trainer):
    """Do an iteration of FreshGNN or of neighbour sampling; return its `FreshStep`."""
    step, gradients, _ = trainer.iterations.open_iteration()
    trainer.update(gradients)
    return step


def distances(found, exact):
    """Return how far some rows are from the exact ones, and the lengths of these: two arrays.

    `found` is a list of (layer, nodes, rows), `exact` the (n, width) arrays of layers 1, 2, .. The
    Euclidean distances and lengths of all layers stand one behind the other.
    """
    far, long = [np.empty(0)], [np.empty(0)]
    for layer, nodes, rows in found:
        there = exact[layer - 1][nodes].astype(np.float64)
        far.append(np.linalg.norm(rows - there, axis=1))
        long.append(np.linalg.norm(there, axis=1))
    return np.concatenate(far), np.concatenate(long)
