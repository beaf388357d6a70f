"""FastGCN and LADIES: minibatches whose layers are drawn by importance."""

from functools import partial

from refimpl.lab.training.minibatches import LayerSampler, Minibatch
from refimpl.lab.training.pool import Pool
from refimpl.streams import LAYER, key


class ImportanceBatches:
    """Batches of training nodes, each with nodes drawn for every layer by importance.

    Roots are those of `LayerSampler`. What batch b of an epoch draws is
    ``sample(roots, sizes, key)``, with the key (seed, LAYER, epoch, b).
    """

    def __init__(self, gnn, stack, graph, X, Y, first, sample):
        self.gnn, self.X, self.Y = gnn, X, Y
        config = stack.config
        draw = partial(_draw, gnn, LayerSampler(gnn, graph, config), sample)
        self.pool = Pool(draw, size=config.pool, first=first, background=config.background)

    def __next__(self):
        mfg, operands = next(self.pool)
        X = self.gnn.loader.gather_rows(self.X, mfg.nodes[0])
        return Minibatch(operands, X, self.Y[mfg.nodes[-1]], None)

    def close(self):
        """End the pool's thread."""
        self.pool.close()


class FastGcnBatches(ImportanceBatches):
    """Every layer draws from all training nodes (Chen, Ma and Xiao 2018).

    P is the matrix that the model aggregates with on the whole training graph.
    """

    def __init__(self, gnn, stack, graph, X, Y, first):
        P = stack.adjacency(graph, dtype=X.dtype)
        law = gnn.samplers.importance_law(P.graph, P.data)
        sample = partial(gnn.samplers.fastgcn_sample, P.graph, P.data, law=law)
        super().__init__(gnn, stack, graph, X, Y, first, sample)


class LadiesBatches(ImportanceBatches):
    """Every layer draws from the neighbours of the layer above (Zou et al. 2019).

    P is the matrix that the model aggregates with on the whole training graph.
    """

    def __init__(self, gnn, stack, graph, X, Y, first):
        P = stack.adjacency(graph, dtype=X.dtype)
        sample = partial(gnn.samplers.ladies_sample, P.graph, P.data)
        super().__init__(gnn, stack, graph, X, Y, first, sample)


def _draw(gnn, sampler, sample, first, count):
    """Return (MFG, operands) of iterations first, .., first + count - 1."""
    drawn = []
    for iteration in range(first, first + count):
        stream = key(sampler.config.rng, LAYER, *divmod(iteration, sampler.batches))
        mfg, values = sample(sampler.roots(iteration), sampler.config.layer_sizes, stream)
        pairs = zip(mfg.blocks, values, strict=True)
        drawn.append((mfg, tuple(_with_transpose(gnn, block, data) for block, data in pairs)))
    return drawn


def _with_transpose(gnn, block, data):
    transposed, perm = gnn.block.transpose_block(block)
    return gnn.Adjacency(block, data, data[perm], transposed, perm)
