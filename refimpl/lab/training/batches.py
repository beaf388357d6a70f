"""Which nodes an iteration is about: orders that depend on the iteration's number alone."""

from functools import partial

from refimpl.lab.training.methods.base import Step, hop_fanouts
from refimpl.lab.training.shuffle import Shuffle
from refimpl.profiling import timed
from refimpl.streams import LAYER, key
from refimpl.training.subgraph_pool import Pool, one_by_one


class DrawnLayers:
    """The iterations on a `Run` of a method that draws nodes layer by layer, from batches of roots.

    An iteration depends on its number alone: its roots are a batch of a `Shuffle` of all training
    nodes, and what batch b of an epoch draws is ``sample(roots, key)``, with the key (seed, LAYER,
    epoch, b): the MFG of the roots, and what each layer aggregates with on it.
    """

    cache, moves_weights = None, True

    def __init__(self, run, sample):
        settings = run.config.method
        self.run = run
        roots = run.roots
        self.shuffle = Shuffle(run.gnn, len(roots), settings.batch_size, run.config.rng)
        with timed("sampling"):
            pool = Pool(
                one_by_one(partial(drawn, run.config.rng, roots, self.shuffle, sample), run.turns),
                size=settings.pool,
                first=run.begun,
                background=settings.background,
            )
        self.pool = run.ahead(pool, lambda drawn: drawn[0].nodes[0])

    def iteration(self):
        """Do an iteration on the next minibatch; return its `Step`."""
        run = self.run
        step = run.gnn.training.sampled_iteration(
            self.pool, run.passes(), run.load, run.targets, run.adam()
        )
        return Step(step.loss, step.gradients, len(step.nodes))

    def close(self):
        """End the pool's thread."""
        self.pool.close()


def drawn(seed, roots, shuffle, sample, iteration):
    """Return what `sample` draws for an iteration."""
    epoch, b = shuffle.name(iteration)
    return sample(roots[shuffle.batch(iteration)], key(seed, LAYER, epoch, b))


def message_flow_graphs(run):
    """Yield the sampled neighbours of one minibatch after another, of those here, without end.

    FreshGNN (VLDB'24) Algorithm 1, lines 3 to 5, of which ``# V1:n`` marks line n. The threads
    that sample ahead end with ``close()``, or when nobody has the iterator any more.
    """
    gnn, graph, settings, seed = run.gnn, run.graph, run.config.method, run.config.rng
    nodes = run.roots
    batches = -(-len(nodes) // settings.batch_size)  # in an epoch
    begun = run.begun
    while True:
        epoch = run.turns.number(begun) // batches
        with timed("sampling"):  # the prefetcher records the rest
            numbers = of_epoch(run.turns, begun, epoch, batches)
            roots = gnn.samplers.epoch_batches(nodes, settings.batch_size, seed, epoch)  # V1:3
        with gnn.Prefetcher(
            graph,
            roots,
            hop_fanouts(settings),
            seed=seed,
            epoch=epoch,
            workers=settings.workers,
            mode=settings.sample_mode,
            numbers=numbers,
        ) as graphs:
            for _, mfg in graphs:  # V1:4
                yield mfg  # V1:5
        begun += len(numbers)


def of_epoch(turns, begun, epoch, batches):
    """Return which batches of an epoch are here, from the minibatch with the count `begun` on."""
    found: list[int] = []
    while True:
        number = turns.number(begun + len(found)) - epoch * batches
        if number >= batches:
            return found
        found.append(number)
