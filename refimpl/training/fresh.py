"""FreshGNN: training on sampled neighbours, with embeddings of earlier iterations (VLDB'24)."""

from itertools import count
from typing import Any

import numpy as np

from refimpl.profiling import timed
from refimpl.streams import key
from refimpl.training.node_batches import LoadCounts, NodeTrainer
from refimpl.training.stack import weights_of

CONTROL = 7  # domain of the keys that rank rows at random


class MessageFlowGraphs:
    """The sampled neighbours of iterations first, first + 1, ..: an iterator without end."""

    def __init__(self, gnn, graph, config, first):
        self.gnn, self.graph, self.config = gnn, graph, config
        self.batches = -(-graph.n // config.batch)  # in an epoch
        self._graphs = self._from(first)

    def _from(self, first):
        config = self.config
        start, done = divmod(first, self.batches)
        for epoch in count(start):
            nodes = np.arange(self.graph.n, dtype=np.int32)
            with timed("sampling"):  # the prefetcher records the rest
                roots = self.gnn.epoch_batches(nodes, config.batch, config.rng, epoch)  # V1:3
            with self.gnn.Prefetcher(
                self.graph,
                roots,
                config.fanouts,
                seed=config.rng,
                epoch=epoch,
                workers=config.workers,
                mode=config.sample_mode,
            ) as graphs:
                for batch, mfg in graphs:  # V1:4
                    if batch >= done:  # others were done before the run was interrupted
                        yield mfg  # V1:5
            done = 0

    def __next__(self):
        return next(self._graphs)

    def close(self):
        """End the threads that sample ahead."""
        self._graphs.close()


def cached_layers(config):
    """Return the layers whose embeddings are cached, the last first (E-V1)."""
    if config.method != "fresh" or not config.p_grad or config.t_stale == 0:
        return ()
    if config.cache_layers is None:
        return tuple(range(config.layers - 1, 0, -1))
    return config.cache_layers[::-1]


class FreshTrainer(NodeTrainer):
    """One run of FreshGNN's Algorithm 1, an iteration at a time; see `Trainer`.

    ``# V1:n`` marks line n. Layers 1 .. L - 1 of L are cached (E-V1). A row that is read from the
    cache is a constant for the weights below it, but has a gradient, which says whether it stays
    in the cache. With method "neighbor" nothing is cached: neighbour sampling, the baseline.

    Parameters
    ----------
    gnn, dataset, config, state
        As for `Trainer`.
    features : (number of training nodes, f) array, optional
        Where training reads the features of node ``dataset.train[i]`` as row i: a memory map,
        say. In the data set's dtype, or in float16 where that is float32. Default:
        ``dataset.features``. Evaluation always reads those.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or does not fit another.
    """

    def __init__(self, gnn, dataset, config, state=None, features=None):
        super().__init__(gnn, dataset, config, state)
        if features is not None:
            self.features, self.rows = self._checked(features), np.arange(dataset.train.size)
        self.cached_layers = cached_layers(config)
        with self.profile:
            self.plan = self._plan() if config.performance and self.cached_layers else None
            self.cache: Any = self._cache() if config.method == "fresh" else None
        if self.state.cache is not None:
            self._take_over(self.state.cache)
        self.state.cache = self.cache

    def _take_over(self, cache):
        """Go on with the content of a cache, or with what its state_dict() gave."""
        if self.cache is None:
            raise ValueError(f'state.cache must be None where method is "{self.config.method}"')
        self.cache.load_state_dict(cache if isinstance(cache, dict) else cache.state_dict())

    def _checked(self, features):
        """Return `features` if training can read its rows from there, or raise."""
        shape = (self.dataset.train.size, self.dataset.features.shape[1])
        if not isinstance(features, np.ndarray):
            raise TypeError(f"features must be an array, got {type(features).__name__}")
        if features.shape != shape or not features.flags.c_contiguous:
            raise ValueError(f"features must be C-contiguous {shape}, got {features.shape}")
        if np.result_type(features, np.float32) != self.dtype:
            raise TypeError(f"features must be {self.dtype} as the data set, got {features.dtype}")
        return features

    @timed("normalization")
    def _cache(self):
        """Return the cache: with the hottest features, unless there is one to go on with."""
        config, graph = self.config, self.dataset.train_graph
        cache = self.gnn.BidirectionalCache(
            graph.n,
            self.features.shape[1],
            config.hidden,
            config.layers - 1,
            config.buffer // np.dtype(self.dtype).itemsize,
            t_stale=config.t_stale,
            dtype=self.dtype,
            header=config.header,
            overflow=config.overflow,
            staleness=config.staleness,
            start_iter=config.warmup,
        )
        if config.hotness != "none" and self.state.cache is None:
            hottest = self._hotness(graph, np.arange(graph.n, dtype=np.int32))
            X = self.features
            cache.fill(X if len(X) == graph.n else X[self.rows], hottest)
        return cache

    def _hotness(self, graph, nodes):
        gnn, config = self.gnn, self.config
        if config.hotness == "degree":
            return gnn.degree_hotness(graph)
        if config.hotness == "pagerank":
            return gnn.reverse_pagerank(graph, nodes)
        if self.plan is not None:
            return self.plan.hotness
        met = gnn.profile(
            graph,
            nodes,
            config.fanouts,
            config.batch,
            seed=config.rng,
            mode=config.sample_mode,
        )
        return met.rho[0]

    @timed("normalization")
    def _plan(self):
        """Return which embeddings save most memory access for the room they take."""
        config, graph = self.config, self.dataset.train_graph
        return self.gnn.plan_performance(
            graph,
            np.arange(graph.n, dtype=np.int32),
            config.fanouts,
            config.batch,
            seed=config.rng,
            floats=config.buffer // np.dtype(self.dtype).itemsize,
            d=self.features.shape[1],
            h=config.hidden,
            p=config.p_grad,
            t_stale=config.t_stale,
            cache_layers=config.cache_layers,
            mode=config.sample_mode,
        )

    def _minibatches(self):
        config, graph = self.config, self.dataset.train_graph
        return MessageFlowGraphs(self.gnn, graph, config, self.state.iterations)

    def _passes(self):
        i = self.state.iterations  # V1:2 V1:18 E-V6
        mfg = next(self.minibatches)  # V1:5
        nodes, slots, live = self._pruned(mfg, self._lookup(mfg, i))
        X, held = self._load(nodes[0])  # V1:11
        H, kept = self._forward(X, nodes, slots, live)
        loss = self.stack.loss(H[-1], self.Y[nodes[-1]], None)  # V1:16
        gradients, G = self._backward(kept, live, loss.gradient)  # V1:17
        counts = self._update_cache(nodes, live, H, G, i)._replace(
            inputs=len(mfg.nodes[0]), live=len(nodes[0]), feature_hits=held
        )
        loaded = counts.live - held
        counts = counts._replace(loaded=loaded, bytes=loaded * self.row_bytes)
        self.counts_of_epoch = self.counts_of_epoch.plus(counts)
        return loss.value, gradients, len(nodes[-1])

    def _cached_layers(self, i):
        """Return the layers whose embeddings are looked up in iteration i, and then updated."""
        return self.cached_layers if i >= self.config.warmup else ()

    @timed("cache")
    def _pruned(self, mfg, slots):
        """Return what is live: the nodes and slots of every layer, and the `LiveLayers`."""
        pruned = self.gnn.prune_mfg(mfg, [found >= 0 for found in slots])  # V1:8-9 E-V2
        live = self.gnn.live_layers(pruned)
        nodes = [ids[rows] for ids, rows in zip(mfg.nodes, live.order, strict=True)]
        slots = [found[rows] for found, rows in zip(slots, live.order[1:], strict=True)]
        return nodes, slots, live

    @timed("cache")
    def _lookup(self, mfg, i):
        """Return the cache's slot for every node of layers 1 .. L, -1 where it has none."""
        slots = [np.full(len(ids), -1, np.int32) for ids in mfg.nodes[1:]]
        for layer in self._cached_layers(i):  # V1:6 E-V1
            slots[layer - 1] = self.cache.lookup(layer, mfg.nodes[layer], i)  # V1:7
            if not self.config.lookup_roots:
                slots[layer - 1][: len(mfg.nodes[-1])] = -1  # they stand first in every layer
        return slots

    def _forward(self, X, nodes, slots, live):
        """Return the rows of every layer, the logits last, and what `_backward` needs."""
        state, kept, H = self.state, [], [X]
        for number, (place, layer) in enumerate(self.places[:-1]):  # V1:12
            X, masks = self._dropped(H[-1], nodes[number], number)
            A = self._adjacency(live.blocks[number], nodes[number])
            Y, needed = layer.forward(weights_of(state.weights, place), A, X)  # V1:14
            kept.append((A, X, needed, masks))
            computed = live.computed[number]
            if not computed.all():
                rows = np.empty((len(computed), Y.shape[1]), Y.dtype)
                rows[computed] = Y
                rows[~computed] = self.cache.read(slots[number][~computed])  # V1:13
                Y = rows
            H.append(Y)
        place, classifier = self.places[-1]
        X, masks = self._dropped(H[-1], nodes[-1], len(self.places) - 1)
        logits, needed = classifier.forward(weights_of(state.weights, place), None, X)
        kept.append((None, X, needed, masks))
        return [*H, logits], kept

    def _backward(self, kept, live, G):
        """Return the gradients of the weights, and of the rows of layers 1 .. L."""
        gradients: dict[str, np.ndarray] = {}
        G_rows = [G]
        for number in reversed(range(len(self.places))):
            place, layer = self.places[number]
            A, X, needed, masks = kept[number]
            if number < len(live.blocks):
                computed = live.computed[number]
                G = G if computed.all() else np.ascontiguousarray(G[computed])
            dW, G = layer.backward(weights_of(self.state.weights, place), A, X, needed, G)
            if G is not None and masks is not None:
                G = self.gnn.dropout(G, self.config.dropout, masks)
            gradients |= {f"{place}.{name}": grad for name, grad in dW.items()}
            G_rows.append(G)
        return gradients, G_rows[-2:0:-1]

    @timed("cache")
    def _update_cache(self, nodes, live, H, G, i):
        """Admit what is stable, evict what is not; return the counts of this iteration."""
        counts, layers, cache = LoadCounts(), self._cached_layers(i), self.cache
        if not layers:
            return counts
        lost, dropped = cache.lost, cache.dropped
        cache.begin_update(i)
        for layer in layers:  # V1:19
            score, computed = self.gnn.row_norms(G[layer - 1]), live.computed[layer - 1]
            rows = nodes[layer], score, computed, H[layer]
            done = self._update_layer(layer, *rows, i)  # V1:20 E-V7
            counts = counts.plus(
                LoadCounts(
                    lookups=len(computed),
                    hits=int((~computed).sum()),
                    admitted=done.admitted,
                    evicted=done.evicted,
                )
            )
        return counts._replace(lost=cache.lost - lost, dropped=cache.dropped - dropped)

    def _update_layer(self, layer, ids, score, computed, values, i):
        """Update the cache of one layer; with a plan, first what it holds to be densest."""
        config, allow = self.config, None
        if self.plan is not None:
            order = np.lexsort((ids, -self.plan.density[layer - 1, ids]))
            ids, score, computed, values = (a[order] for a in (ids, score, computed, values))
            allow = self.plan.ok[layer - 1, ids]
        return self.gnn.policy_update(
            self.cache,
            layer,
            ids,
            score,
            computed,
            values,
            i,
            p=config.p_grad,
            rank_base=config.rank_base,
            gradient_evict=config.gradient_evict,
            control=config.control,
            key=key(config.rng, CONTROL, i, layer) if config.control == "random" else None,
            allow=allow,
        )

    def _load(self, ids):
        """Return the features of `ids`, and how many of them were in the cache."""
        if self.cache is None or self.config.hotness == "none":
            return self.gnn.gather_rows(self.features, self.rows[ids]), 0
        X, held = self.cache.fetch_features(ids)
        X[~held] = self.gnn.gather_rows(self.features, self.rows[ids[~held]])
        return X, int(held.sum())
