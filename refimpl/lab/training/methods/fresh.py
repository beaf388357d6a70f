"""FreshGNN: training on sampled neighbours, with embeddings of earlier iterations (VLDB'24)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from typing import Any, ClassVar, Literal

from refimpl._support import require
from refimpl.hints import Fanouts, Integers, SampleMode
from refimpl.history.entries import STALENESS
from refimpl.history.policy import CONTROLS
from refimpl.history.ring import HEADERS, OVERFLOWS
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import HopFanouts, Kept
from refimpl.lab.training.fresh_iterations import FreshIterations
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import (
    MOST,
    choice,
    custom,
    integer,
    integers,
    parsed_integer,
    real,
    size,
    switch,
)

FANOUTS = (20, 15, 10)  # FreshGNN section 7.1
RANK_BASES = ("all", "new")
HOTNESS = ("none", "degree", "pagerank", "profile")


def _check_age(name: str, value: Any) -> Any:
    """Return an age as an int, infinity for any, None for the default, or raise."""
    if value is None or (isinstance(value, Real) and value == inf):
        return value and inf
    return require.integer(name, value, 0, MOST)


def parsed_age(text: str) -> float:
    """Return a number of iterations, or infinity."""
    return inf if text == "inf" else parsed_integer(text)


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
    graph_in: ClassVar[tuple[str, ...]] = ("memory", "lookahead")

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
