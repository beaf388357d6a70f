"""The iterations of FreshGNN in training, with the caches of all workers (VLDB'24 Algorithm 1)."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refimpl.lab.distributed.worker_caches import kept_caches, state_of
from refimpl.lab.training.live_inputs import live_inputs
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import LoadCounts, Step
from refimpl.lab.training.prefetch import message_flow_graphs
from refimpl.lab.training.stack import BlockModel, ForwardOnly
from refimpl.lab.training.undrawn import InputCounts, undrawn_minibatches
from refimpl.profiling import timed
from refimpl.streams import WORKER, key

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from refimpl.hints import Absent, Ids, Matrix, Sparse
    from refimpl.history.cache import BidirectionalCache
    from refimpl.history.iteration import FreshStep
    from refimpl.history.performance import PerformancePolicy
    from refimpl.lab.hints import Weights
    from refimpl.lab.training.run import Run


class Pass(NamedTuple):
    """A minibatch of a step, of a worker; `number` is that of a forward-only pass, else None."""

    minibatch: Any
    step: int
    worker: int
    number: int | None


class FreshIterations:
    """The iterations of FreshGNN on a `Run`; see `fresh_iteration`."""

    def __init__(self, run: Run) -> None:
        self.run, self.settings = run, run.config.method
        s = self.settings
        self.draws_all = s.draw_all or s.workers > 0 or s.sample_mode != "layered"
        self.draws_all |= run.stored is not None  # windows of whole minibatches
        minibatches = message_flow_graphs if self.draws_all else undrawn_minibatches
        self.minibatches = minibatches(run)
        self.counts_all = s.draw_all or s.sample_mode != "layered"
        self.counted = InputCounts(run)
        # with p_grad = 0 or t_stale = 0 this is neighbour sampling (4.1.3)
        self.cached_layers = s.cache_layers[::-1] if s.p_grad and s.t_stale else ()
        # minibatches of forward-only passes, once there are such passes
        self.others: list[Generator[Any, None, None]] = []
        self.floats = s.buffer // np.dtype(run.dtype).itemsize
        self.performance = self._performance() if s.performance and self.cached_layers else None
        self.caches = {w: self._cache(w) for w in run.turns.mine}
        self.cache = kept_caches(self.caches, run.turns)
        # nothing here holds `self`: without a cycle, threads end as soon as the trainer goes
        passes = all_passes(run, self.minibatches, self.others, minibatches)
        inputs = partial(expected_inputs, run, self.caches, self.cached_layers)
        self.passes = run.read_ahead(passes, inputs, predicted=True)

    def iteration(self) -> Step:
        """Do lines 5 to 20 of Algorithm 1 on the next minibatch; return the `Step`.

        Each worker has a cache of its own, in which only its own minibatches put embeddings.
        """
        cache = self.caches[self.run.worker]
        before = cache.lost, cache.dropped
        caching = self.run.state.iterations >= self.settings.warmup
        numbers = range(self.settings.refresh) if caching else ()
        passes = [self.open_iteration(number) for number in numbers]
        done = [load_counts(step, 0, held, self.run.row_bytes) for step, _, held in passes]
        step, gradients, held = self.open_iteration()
        inputs = step.inputs if self.counts_all else self.counted.inputs(step)
        others = {"lost": cache.lost - before[0], "dropped": cache.dropped - before[1]}
        counts = load_counts(step, inputs, held, self.run.row_bytes, **others)
        counts = counts.plus(*done) if done else counts
        return Step(step.loss, gradients, len(step.nodes[-1]), counts)

    def open_iteration(self, number: int | None = None) -> tuple[FreshStep, Weights, int]:
        """Do what `iteration` does; return the `FreshStep`, gradients, and features not loaded.

        With the `number` of a forward-only pass, do this pass instead.
        """
        run, settings, cache = self.run, self.settings, self.caches[self.run.worker]
        steps, held = run.state.iterations, []
        i = number_of_pass(settings, steps, number)

        def load_feature(nodes: Ids) -> Matrix[Any] | Sparse:
            if settings.hotness == "none":
                return run.load(nodes)
            X, hit = cache.fetch_features(nodes)
            X[~hit] = run.load(nodes[~hit])
            held.append(int(hit.sum()))
            return X

        model = BlockModel(run) if number is None else ForwardOnly(run)
        iteration, minibatches = self._next_minibatch(number)
        step = iteration(
            minibatches,
            cache,
            model,
            load_feature,
            i,
            cached_layers=self.cached_layers if steps >= settings.warmup else (),
            lookup_roots=settings.lookup_roots,
            performance=self.performance,
            seed=self._control_seed(),
            control=settings.control,
            p=settings.p_grad if number is None else 1.0,
            rank_base=settings.rank_base,
            gradient_evict=settings.gradient_evict,
        )
        return step, model.gradients, sum(held)

    def _next_minibatch(self, number: int | None) -> tuple[Callable[..., FreshStep], Iterator[Any]]:
        """Return a function that does an iteration, and an iterator over what it asks for."""
        gnn, forward_only = self.run.gnn, number is not None
        minibatches = (ahead.minibatch for ahead in self.passes)
        if self.draws_all:
            return gnn.fresh_iteration, minibatches
        minibatch = next(minibatches)
        if forward_only or minibatch.batch != self.counted.counted_batch(minibatch.batch):
            return gnn.history.lazy_fresh_iteration, iter([minibatch])
        with timed("sampling"):
            return gnn.fresh_iteration, iter([minibatch.drawn_whole(gnn)])

    def _control_seed(self) -> int:
        """Return the seed of ranks at random: the run's, with the worker where there are more."""
        seed, worker = self.run.config.rng, self.run.worker
        return key(seed, WORKER, worker) if worker else seed

    @timed("normalization")
    def _cache(self, worker: int) -> BidirectionalCache:
        """Return a worker's cache: as it was left, or with the hottest features."""
        run, settings, graph = self.run, self.settings, self.run.graph
        d = run.dataset.features.shape[1]
        cache: BidirectionalCache = run.gnn.BidirectionalCache(
            graph.n,
            d,
            run.config.hidden,
            run.config.layers - 1,
            self.floats,
            t_stale=None if settings.t_stale == inf else settings.t_stale,
            dtype=run.dtype,
            header=settings.header,
            overflow=settings.overflow,
            staleness=settings.staleness,
            start_iter=settings.warmup * (settings.refresh + 1),
        )
        found = run.state.cache
        if found is not None:
            cache.load_state_dict(state_of(found, worker, run.turns))
            return cache
        if run.state.iterations and self.cached_layers:
            raise ValueError("state.cache must have the embeddings of a run that has begun")
        if settings.hotness != "none":
            cache.fill(run.load, self.hottest)
        return cache

    @cached_property
    def hottest(self) -> Any:
        """How hot each node's features are, the same for all workers."""
        run, settings, roots = self.run, self.settings, self.run.roots
        if settings.hotness == "degree":
            return run.gnn.history.degree_hotness(run.graph)
        if settings.hotness == "pagerank":
            return run.gnn.history.reverse_pagerank(run.graph, roots)
        if self.performance is not None:
            return self.performance.hotness
        visits = run.gnn.history.count_visits(
            run.graph,
            roots,
            base.hop_fanouts(settings),
            settings.batch_size,
            seed=run.config.rng,
            mode=settings.sample_mode,
        )
        return visits.rho[0]

    @timed("normalization")
    def _performance(self) -> PerformancePolicy:
        """Return which embeddings save most memory access for the room they take."""
        run, settings = self.run, self.settings
        return run.gnn.history.plan_performance(
            run.graph,
            run.roots,
            base.hop_fanouts(settings),
            settings.batch_size,
            seed=run.config.rng,
            floats=self.floats,
            d=run.dataset.features.shape[1],
            h=run.config.hidden,
            p=settings.p_grad,
            t_stale=None if settings.t_stale == inf else settings.t_stale,
            cache_layers=settings.cache_layers,
            mode=settings.sample_mode,
        )

    def close(self) -> None:
        """End the threads that sample ahead, and the reads ahead."""
        for minibatches in (self.passes, self.minibatches, *self.others):
            minibatches.close()


def all_passes(
    run: Run,
    minibatches: Iterator[Any],
    others: list[Generator[Any, None, None]],
    draw: Callable[[Run, int], Generator[Any, None, None]],
) -> Generator[Pass, None, None]:
    """Yield each `Pass` here, a step's forward-only passes before the others.

    Parameters
    ----------
    run : Run
    minibatches : iterator
        Of the training passes.
    others : list
        To which the iterators of the forward-only passes are added once there are such passes.
    draw : callable
        ``draw(run, steps)`` returns the minibatches from the step that is `steps` ahead on.
    """
    settings = run.config.method
    ahead = base.refreshed_ahead(run, -(-len(run.roots) // settings.batch_size))
    for step in count(run.state.iterations):
        for worker in run.turns.mine:
            for number, steps in enumerate(ahead if step >= settings.warmup else ()):
                if number == len(others):
                    # counted from now, and this step may lie in a window ahead
                    others.append(draw(run, steps + step - run.state.iterations))
                yield Pass(next(others[number]), step, worker, number)
            yield Pass(next(minibatches), step, worker, None)


@timed("sampling")
def expected_inputs(
    run: Run, caches: Mapping[int, BidirectionalCache], cached_layers: Sequence[int], ahead: Pass
) -> Ids:
    """Return whose features a `Pass` would load if its worker's cache stayed as it is now."""
    settings, cache = run.config.method, caches[ahead.worker]
    layers = cached_layers if ahead.step >= settings.warmup else ()
    i = number_of_pass(settings, ahead.step, ahead.number)
    nodes = live_inputs(
        run.gnn, ahead.minibatch, cache, i, layers, lookup_roots=settings.lookup_roots
    )
    return nodes if settings.hotness == "none" else nodes[~cache.feature_mask(nodes)]


def number_of_pass(settings: Any, step: int, number: int | None) -> int:
    """Return the number of a step's pass among passes of both kinds."""
    refresh: int = settings.refresh
    return step * (refresh + 1) + (refresh if number is None else number)


def load_counts(
    step: FreshStep, inputs: int | Absent, held: int, row_bytes: int, **others: int
) -> LoadCounts:
    """Return what an iteration needed, found and loaded; `held` features were in the cache."""
    loaded = len(step.nodes[0]) - held
    looked_up = [step.cached[l - 1] for l in step.updates]
    return LoadCounts(
        inputs=inputs,
        live=len(step.nodes[0]),
        feature_hits=held,
        loaded=loaded,
        bytes=loaded * row_bytes,
        lookups=sum(map(len, looked_up)),
        hits=sum(int(np.count_nonzero(rows)) for rows in looked_up),
        admitted=sum(done.admitted for done in step.updates.values()),
        evicted=sum(done.evicted for done in step.updates.values()),
        **others,
    )
