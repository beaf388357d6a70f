"""FreshGNN: training on sampled neighbours, with embeddings of earlier iterations (VLDB'24)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import inf
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl.hints import Fanouts, Integers, SampleMode
from refimpl.history.entries import STALENESS
from refimpl.history.policy import CONTROLS
from refimpl.history.ring import HEADERS, OVERFLOWS
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.distributed.worker_caches import kept_caches, state_of
from refimpl.lab.hints import HopFanouts, Kept
from refimpl.lab.training.live_inputs import live_inputs
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, LoadCounts, MethodSettings, Step
from refimpl.lab.training.prefetch import message_flow_graphs
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import (
    MOST,
    choice,
    custom,
    integer,
    integers,
    real,
    size,
    switch,
)
from refimpl.lab.training.stack import BlockModel, ForwardOnly
from refimpl.lab.training.undrawn import InputCounts, undrawn_minibatches
from refimpl.profiling import timed
from refimpl.streams import WORKER, key

FANOUTS = (20, 15, 10)  # FreshGNN section 7.1
RANK_BASES = ("all", "new")
HOTNESS = ("none", "degree", "pagerank", "profile")


def _check_age(name, value):
    """Return an age as an int, infinity for any, None for the default, or raise."""
    if value is None or (isinstance(value, Real) and value == inf):
        return value and inf
    return require.integer(name, value, 0, MOST)


def parsed_age(text):
    """Return a number of iterations, or infinity."""
    return inf if text == "inf" else int(text)


@dataclass(frozen=True)
class Fresh(MethodSettings):
    """FreshGNN: batches of nodes with sampled neighbours, and a cache of embeddings and features.

    VLDB'24 Algorithm 1. An iteration is `lazy_fresh_iteration`, which draws no neighbours of cached
    nodes. The first minibatch of an epoch and every 64th behind it are done by `fresh_iteration`,
    to the same bit, and what neighbour sampling would load is counted there. The other minibatches
    are taken to load as much per root, so `LoadCounts.inputs` is an estimate.

    Parameters
    ----------
    batch_size : int
        Roots of a minibatch.
    fanouts : sequence of ints, optional
        At most so many neighbours of each node are sampled in each hop, the roots' hop first; -1
        for all. One a hop. Default: 20, 15, then 10 for every other hop. For R-GCN an item may be
        a tuple with a number for each relation.
    fanout_order : {"roots_first", "code"}
        "code" reads `fanouts` backwards (E-G5).
    sample_mode : {"layered", "shared", "labor", "labor_exact", "labor_1", "labor_2", "labor_3"}
        See `sample_mfg`. All but "layered" draw all neighbours, also those of cached nodes.
    batch_dependency : int
        See `sample_mfg`.
    workers : int
        Threads that sample ahead, for which all neighbours are drawn; 0 for none. Never changes a
        result.
    draw_all : bool
        True draws all neighbours, then prunes, as printed. `LoadCounts.inputs` is then exact, as it
        is with other `sample_mode`, which draw all. Nothing else changes.
    p_grad : float in [0, 1]
        The share of the live rows of a layer, those with the smallest gradients, whose embeddings
        may be in the cache (E-V3).
    t_stale : int or inf, optional
        The age, in iterations, up to which an embedding is used. Default: a sixth of the
        iterations of an epoch, at least 1.
    warmup : int
        Iterations before the first embedding is cached.
    buffer : int
        Bytes for embeddings and features together.
    hotness : {"degree", "pagerank", "profile", "none"}
        Which features are cached first; "none" caches none.
    header : {"continue", "cycle"}
        Where the next embedding goes: to a slot that is free, or, as printed, to the next one
        whatever it holds: see `BidirectionalCache`.
    overflow : {"wrap", "drop"}
        What a full buffer does with another embedding: see `BidirectionalCache`.
    control : {"gradient", "random", "anti"}
        Rank rows by their gradients, or, to see what that is worth, at random or the other way.
    cache_layers : sequence of ints in [1, layers - 1], optional
        The layers whose embeddings are cached; default: all of them.
    lookup_roots : bool
        Whether the roots' own rows, too, may be read from the cache.
    rank_base : {"all", "new"}
        The live rows that `p_grad` is a share of: all, or those that were computed.
    gradient_evict : bool
        False leaves embeddings in the cache when their gradients grow.
    staleness : {"stamp", "header_only"}
        "header_only" bounds no age, as the public code: see `BidirectionalCache`.
    performance : bool
        Admit only embeddings that save more memory access than the features that they displace:
        see `plan_performance`. With `hotness` "profile" only. The estimate is for `header` "cycle",
        whichever is chosen.
    refresh : int
        As for `Gas`. A forward-only pass has no gradients: it caches every row that it computes,
        and evicts none for its gradient. Ages, and `t_stale`, count passes of both kinds. There
        are none in the first `warmup` iterations, which cache nothing.
    """

    name: ClassVar[str] = "fresh"
    description: ClassVar[str] = "batches"
    state_description: ClassVar[str] = "cached embeddings"
    setup_step: ClassVar[str] = "filling the cache"
    counts_loads: ClassVar[bool] = True

    batch_size: int = base.batch_size()
    fanouts: Kept[HopFanouts | None, Fanouts | None] = base.fanouts("20,15,10,10,..")
    fanout_order: Literal["roots_first", "code"] = base.fanout_order()
    sample_mode: SampleMode = base.sample_mode()
    batch_dependency: int = base.batch_dependency()
    workers: int = base.workers()
    draw_all: bool = switch(
        False,
        "draw all neighbours and then prune, as printed in the paper. This is slower. I/O saved "
        "is then counted instead of estimated; all other results stay the same",
        free=True,
    )
    p_grad: float = real(  # V1:1 E-V3: the share that is admitted
        0.9,
        "cache this share of a layer's nodes, smallest gradients first",
        high=1,
        metavar="SHARE",
    )
    t_stale: float | None = custom(  # V1:1
        None,
        _check_age,
        "reuse an embedding for at most this many iterations; forward-only passes (refresh) count "
        "as iterations; inf means no limit",
        parsed_age,
        "AGE|inf",
        shown="a sixth of an epoch's iterations",
    )
    warmup: int = integer(0, "cache no embedding in the first COUNT iterations", low=0)
    buffer: int = size(
        2**28,
        "limit the memory of the cache, in bytes or as 256MB or 1GiB. Embeddings and features "
        "share the cache",
        "256MiB",
    )
    hotness: Literal["none", "degree", "pagerank", "profile"] = choice(
        "degree",
        "choose the nodes whose features are cached at the start. degree: nodes with the most "
        "neighbours; pagerank: nodes with the highest reverse PageRank; profile: nodes that a "
        "trial run loads most often; none: no nodes",
        HOTNESS,
    )
    header: Literal["continue", "cycle"] = choice(
        "continue",
        "choose the slot of a new embedding. continue: the next free slot; cycle, as printed in "
        "the paper: the next slot, free or not, and the first slot again every t-stale "
        "iterations",
        HEADERS,
    )
    overflow: Literal["wrap", "drop"] = choice(
        "wrap",
        "choose what happens if the cache is full. wrap: a new embedding replaces the one at "
        "the header; drop: a new embedding is not cached",
        OVERFLOWS,
        flag="buffer_overflow",
    )
    control: Literal["gradient", "random", "anti"] = choice(
        "gradient",
        "choose the embeddings to cache. gradient: small gradients first; random: at random; "
        "anti: large gradients first. Compare with random and anti to see how useful gradients "
        "are",
        CONTROLS,
    )
    cache_layers: Kept[tuple[int, ...] | None, Integers | None] = integers(
        None, "cache the embeddings of these layers", metavar="LAYER,..", shown="all but the last"
    )
    lookup_roots: bool = switch(True, "never read the embeddings of a batch's roots from the cache")
    rank_base: Literal["all", "new"] = choice(
        "all",
        "choose the rows of which p-grad is a share. all: all live rows; new: only computed rows",
        RANK_BASES,
    )
    gradient_evict: bool = switch(
        True,
        "keep cached embeddings with grown gradients, like the public code",
    )
    staleness: Literal["stamp", "header_only"] = choice(
        "stamp",
        "choose how an embedding becomes invalid. stamp: by its age in iterations; header-only, "
        "as in the public code: only when it is overwritten",
        STALENESS,
    )
    performance: bool = switch(
        False,
        "cache only embeddings that save more loads than features of the same size would; only "
        "with --hotness profile",
    )
    refresh: int = base.refresh()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless these settings fit the model and what all methods have."""
        base.check_one_hop(config)
        base.check_fanouts(self, config)
        base.check_labor(self, config)
        base.check_refresh(self, config)
        for name, nothing in (("p_grad", 0), ("t_stale", 0), ("cache_layers", ())):
            if self.refresh and getattr(self, name) == nothing:
                raise ValueError(
                    f"refresh must be 0 where {name} is {nothing}, got {self.refresh}: no "
                    "embedding is cached"
                )
        for layer in self.cache_layers or ():
            if layer >= config.layers:
                raise ValueError(
                    f"cache_layers must be below the last of {config.layers} layers, got {layer}"
                )
        if len(set(self.cache_layers or ())) < len(self.cache_layers or ()):
            raise ValueError("cache_layers must be distinct")
        if self.performance and self.hotness != "profile":
            raise ValueError('performance must be False where hotness is not "profile"')

    def fitted(self, config: RunConfig, dataset: Dataset) -> Fresh:
        """Return these settings with what depends on the model and the data set filled in."""
        layers = self.cache_layers
        layers = tuple(range(1, config.layers)) if layers is None else tuple(sorted(layers))
        batches = -(-len(dataset.roots) // self.batch_size)
        return replace(
            self,
            fanouts=base.fitted_fanouts(self, config.reach, FANOUTS),
            # E-V21: not 200 for all graphs
            t_stale=max(batches // (6 * config.workers_a_step), 1)
            if self.t_stale is None
            else self.t_stale,
            cache_layers=layers,
        )

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return FreshIterations(run)


class Pass(NamedTuple):
    """A minibatch of a step, of a worker; `number` is that of a forward-only pass, else None."""

    minibatch: Any
    step: int
    worker: int
    number: int | None


class FreshIterations:
    """The iterations of FreshGNN on a `Run`; see `fresh_iteration`."""

    def __init__(self, run):
        self.run, self.settings = run, run.config.method
        s = self.settings
        self.draws_all = s.draw_all or s.workers > 0 or s.sample_mode != "layered"
        minibatches = message_flow_graphs if self.draws_all else undrawn_minibatches
        self.minibatches = minibatches(run)
        self.draw = minibatches
        self.counts_all = s.draw_all or s.sample_mode != "layered"
        self.counted = InputCounts(run)
        # with p_grad = 0 or t_stale = 0 this is neighbour sampling (4.1.3)
        self.cached_layers = s.cache_layers[::-1] if s.p_grad and s.t_stale else ()
        self.others: list = []  # minibatches of forward-only passes, once there are such passes
        self.floats = s.buffer // np.dtype(run.dtype).itemsize
        self.performance = self._performance() if s.performance and self.cached_layers else None
        self.caches = {w: self._cache(w) for w in run.turns.mine}
        self.cache = kept_caches(self.caches, run.turns)
        self.passes = run.read_ahead(self._passes(), self._expected, predicted=True)

    def _passes(self):
        """Yield each `Pass` here, a step's forward-only passes before the others."""
        run, settings = self.run, self.settings
        ahead = base.refreshed_ahead(run, -(-len(run.roots) // settings.batch_size))
        for step in count(run.state.iterations):
            for worker in run.turns.mine:
                for number, steps in enumerate(ahead if step >= settings.warmup else ()):
                    if number == len(self.others):
                        # counted from now, and this step may lie in a window ahead
                        steps += step - run.state.iterations
                        self.others.append(self.draw(run, steps))
                    yield Pass(next(self.others[number]), step, worker, number)
                yield Pass(next(self.minibatches), step, worker, None)

    @timed("sampling")
    def _expected(self, ahead):
        """Return whose features a `Pass` would load if the cache stayed as it is now."""
        settings, cache = self.settings, self.caches[ahead.worker]
        layers = self.cached_layers if ahead.step >= settings.warmup else ()
        i = self._number_of_pass(ahead.step, ahead.number)
        nodes = live_inputs(
            self.run.gnn, ahead.minibatch, cache, i, layers, lookup_roots=settings.lookup_roots
        )
        return nodes if settings.hotness == "none" else nodes[~cache.feature_mask(nodes)]

    def _number_of_pass(self, step, number):
        """Return the number of a step's pass among passes of both kinds."""
        refresh = self.settings.refresh
        return step * (refresh + 1) + (refresh if number is None else number)

    def iteration(self):
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
        counts = load_counts(step, inputs, held, self.run.row_bytes).plus(*done)
        counts = counts._replace(lost=cache.lost - before[0], dropped=cache.dropped - before[1])
        return Step(step.loss, gradients, len(step.nodes[-1]), counts)

    def open_iteration(self, number=None):
        """Do what `iteration` does; return the `FreshStep`, gradients, and features not loaded.

        With the `number` of a forward-only pass, do this pass instead.
        """
        run, settings, cache = self.run, self.settings, self.caches[self.run.worker]
        steps, held = run.state.iterations, []
        i = self._number_of_pass(steps, number)

        def load_feature(nodes):
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

    def _next_minibatch(self, number):
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

    def _control_seed(self):
        """Return the seed of ranks at random: the run's, with the worker where there are more."""
        seed, worker = self.run.config.rng, self.run.worker
        return key(seed, WORKER, worker) if worker else seed

    @timed("normalization")
    def _cache(self, worker):
        """Return a worker's cache: as it was left, or with the hottest features."""
        run, settings, graph = self.run, self.settings, self.run.graph
        d = run.dataset.features.shape[1]
        cache = run.gnn.BidirectionalCache(
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
    def hottest(self):
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
    def _performance(self):
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

    def close(self):
        """End the threads that sample ahead, and the reads ahead."""
        for minibatches in (self.passes, self.minibatches, *self.others):
            minibatches.close()


def load_counts(step, inputs, held, row_bytes):
    """Return what an iteration needed, found and loaded; `held` features were in the cache."""
    loaded = len(step.nodes[0]) - held
    return LoadCounts(
        inputs=inputs,
        live=len(step.nodes[0]),
        feature_hits=held,
        loaded=loaded,
        bytes=loaded * row_bytes,
        lookups=sum(len(step.cached[l - 1]) for l in step.updates),
        hits=sum(int(step.cached[l - 1].sum()) for l in step.updates),
        admitted=sum(done.admitted for done in step.updates.values()),
        evicted=sum(done.evicted for done in step.updates.values()),
    )
