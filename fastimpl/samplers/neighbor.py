"""refimpl/samplers/neighbor.py on kernels."""

import numpy as np

from fastimpl._lending import lent
from fastimpl._twin import twin
from fastimpl.samplers import _neighbor
from fastimpl.samplers._relabelling import Relabelling
from fastimpl.samplers.inclusion import draw_by_importance
from fastimpl.streams import key, permutation
from refimpl.block import as_mfg
from refimpl.samplers.labor import ROUNDS
from refimpl.samplers.neighbor import (
    REPEATED,
    batches_arguments,
    by_relation,
    draws_of_hop,
    mfg_arguments,
    mfgs_arguments,
    with_rows_before,
)
from refimpl.samplers.normal_quantiles import TABLE
from refimpl.samplers.typed_neighbor import typed_mfg
from refimpl.streams import NODES


@twin
def sample_mfg(graph, roots, fanouts, *, seed, epoch, batch, mode="layered", batch_dependency=1):
    graph, roots, fanouts, *name, mode, kappa = mfg_arguments(
        graph, roots, fanouts, seed, epoch, batch, mode, batch_dependency, compare_roots=False
    )
    return _named(graph, [roots], fanouts, [name], mode, kappa)[0]


@twin
def sample_mfg_many(
    graph, batches, fanouts, *, seed, epoch, first_batch=0, mode="layered", batch_dependency=1
):
    graph, batches, fanouts, seed, epoch, first_batch, mode, kappa = mfgs_arguments(
        graph, batches, fanouts, seed, epoch, first_batch, mode, batch_dependency
    )
    names = [(seed, epoch, first_batch + i) for i in range(len(batches))]
    return _named(graph, batches, fanouts, names, mode, kappa)


def _named(graph, batches, fanouts, names, mode, batch_dependency):
    """Return the MFGs of the batches that `names` name, each (seed, epoch, batch)."""
    if by_relation(fanouts):
        every = zip(batches, names, strict=True)
        return [typed_mfg(_draw_rows, graph, roots, fanouts, name) for roots, name in every]
    layers = range(len(fanouts), 0, -1)
    draws = [
        [draws_of_hop(name, layer, mode, batch_dependency) if fanout else None for name in names]
        for layer, fanout in zip(layers, fanouts, strict=True)
    ]
    together = _neighbor.threads()  # as many relabellings; the rows of all are shared out
    mfgs = []
    for i in range(0, len(batches), together):
        part = slice(i, i + together)
        mfgs += _sample(graph, batches[part], fanouts, [every[part] for every in draws], mode)
    return mfgs


def _draw_rows(graph, dst, fanout, hop_key):
    (mfg,) = _sample(graph, [dst], (fanout,), [[hop_key]], "layered")
    block = mfg.blocks[0]
    return np.append(block.start, block.e), block.edge_ids


@twin
def epoch_batches(ids, batch_size, seed, epoch):
    ids, batch_size, seed, epoch = batches_arguments(ids, batch_size, seed, epoch)
    shuffled = ids[permutation(key(seed, NODES, epoch), len(ids))]
    return [shuffled[i : i + batch_size] for i in range(0, len(ids), batch_size)]


def _sample(graph, batches, fanouts, draws, mode):
    """Return the MFGs of some batches, all in step; `draws` has those of each hop, by batch."""
    nodes = [[roots] for roots in batches]
    patterns: list[list] = [[] for _ in batches]
    shared = mode == "shared"
    with lent(Relabelling, graph, len(batches)) as known:
        for relabelling, roots in zip(known, batches, strict=True):
            if not relabelling.enter(roots):
                raise ValueError(REPEATED)
        for hop, (fanout, of_batches) in enumerate(zip(fanouts, draws, strict=True)):
            # all neighbours, where no node has more: that also bounds the scratch memory
            most = graph.max_degree if fanout < 0 else min(fanout, graph.max_degree)
            firsts = [len(met[1]) if shared and hop else 0 for met in nodes]
            dsts = [met[0] for met in nodes]
            if most == 0:
                weights = [np.empty(0)] if mode in ROUNDS else []
                drawn = [
                    _nothing(dst, first, weights) for dst, first in zip(dsts, firsts, strict=True)
                ]
            elif mode in ROUNDS:
                drawn = _by_importance(known, graph, dsts, most, of_batches)
            else:
                drawn = _neighbor.hop(
                    known, graph.indptr, graph.indices, dsts, firsts, most,
                    graph.max_degree, of_batches, TABLE,
                )  # fmt: skip
            for met, hops, (src, pattern) in zip(nodes, patterns, drawn, strict=True):
                met.insert(0, src)
                hops.append(pattern)
        for relabelling, met in zip(known, nodes, strict=True):
            relabelling.leave(met[0])
    if shared:
        patterns = [with_rows_before(hops) for hops in patterns]
    return [as_mfg(met, hops) for met, hops in zip(nodes, patterns, strict=True)]


def _by_importance(known, graph, dsts, fanout, variates):
    """Return what `_neighbor.hop` does, in the modes of LABOR-i: with weights."""
    every = graph.max_degree
    rows = known, graph.indptr, graph.indices, dsts, [0 for _ in dsts]
    whole = _neighbor.hop(*rows, every, every, [0 for _ in dsts], TABLE)
    drawn = []
    for relabelling, (src, pattern), shared in zip(known, whole, variates, strict=True):
        relabelling.leave(src)  # not all of them stay
        drawn.append(draw_by_importance(src, pattern, fanout, shared))
        relabelling.enter(drawn[-1][0])
    return drawn


def _nothing(dst, first, weights):
    """Return what `_neighbor.hop` does where the rows dst[first:] draw nothing."""
    bounds = np.zeros(len(dst) - first + 1, np.int64)
    return dst.copy(), (bounds, np.empty(0, np.int32), np.empty(0, np.int64), *weights)
