"""The pool of subgraphs between the samplers and the training loop."""

from collections import deque

from refimpl import _check
from refimpl.graph import Subgraph
from refimpl.profiling import timed
from refimpl.streams import as_seed


class SubgraphPool:
    """Subgraphs first, first + 1, .. of a run, sampled `size` at a time.

    IPDPS'19 Algorithm 5 and JPDC'21 Algorithm 8; ``# n`` marks a line of the latter. First in,
    first out, by number (E-F9): the size changes when subgraphs are drawn, not which. An
    iterator without end.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    graph : Graph
    sampler : Sampler
    rng : int, numpy.random.Generator or None
    size : int
        The paper's p_inter.
    first : int
        Number of the first subgraph.

    Raises
    ------
    TypeError, ValueError
        If an option is of the wrong kind; the sampler's when the first subgraph is taken.
    """

    def __init__(self, gnn, graph, sampler, rng, *, size=1, first=0):
        self.gnn, self.graph, self.sampler, self.seed = gnn, graph, sampler, as_seed(rng)
        self.size = _check.integer("size", size, 1)
        self.next_q = _check.integer("first", first, 0)
        self.waiting: deque[Subgraph] = deque()  # 1

    def __iter__(self):
        return self

    def __next__(self):
        if not self.waiting:  # 3
            self._refill()
        return self.waiting.popleft()  # 10 E-F9

    @timed("sampling")
    def _refill(self):
        drawn = self.gnn.sample_many(
            self.graph, self.sampler, self.seed, self.next_q, self.size
        )  # 4-6
        self.waiting.extend(drawn)  # 7
        self.next_q += self.size
