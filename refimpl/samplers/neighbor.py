"""FreshGNN's neighbour sampling: a key for every node of every batch, so order never matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.block import MFG, Block, as_mfg, sources
from refimpl.graph import Graph
from refimpl.graph.csr import checked
from refimpl.hints import Fanouts, Ids, Int, Integers, SampleMode
from refimpl.samplers.labor import ROUNDS, draw_shared_rows, variates_of_hop
from refimpl.samplers.typed_neighbor import typed_mfg
from refimpl.streams import NEIGHBOR, NODES, SHARED, Stream, key, permutation
from refimpl.typed import TypedGraph

LABOR_MODES = ("labor", "labor_exact", *ROUNDS)
REPEATED = "roots must be distinct"
MODES = ("layered", "shared", *LABOR_MODES)


def mfg_arguments(
    graph, roots, fanouts, seed, epoch, batch, mode, batch_dependency, compare_roots=True
):
    """Check the arguments of `sample_mfg`; return them. `compare_roots` as below."""
    roots, fanouts = neighbor_arguments(graph, roots, fanouts, mode, compare_roots)
    seed, epoch = require.word("seed", seed), require.word("epoch", epoch)
    kappa = dependency_argument(mode, batch_dependency)
    return graph, roots, fanouts, seed, epoch, require.word("batch", batch), mode, kappa


def dependency_argument(mode, batch_dependency):
    """Return `batch_dependency`, which is 1 where `mode` has no variates of nodes, or raise."""
    most = 2**31 - 1 if mode in LABOR_MODES else 1
    if require.integer("batch_dependency", batch_dependency, 1) > most:
        what = f"at most {most}" if most > 1 else f'1 where mode is "{mode}"'
        raise ValueError(f"batch_dependency must be {what}, got {batch_dependency}")
    return int(batch_dependency)


def neighbor_arguments(graph, roots, fanouts, mode, compare_roots=True):
    """Check what describes the sampling of a batch; return (roots, fanouts).

    With `compare_roots` False, the caller finds out whether a node is there twice, unless there are
    fan-outs by relation, or none.
    """
    checked(graph)
    require.choice("mode", mode, MODES)
    roots = require.ids("roots", roots, 0, graph.n, np.int32)
    fanouts = require.sequence("fanouts", fanouts)
    by_relation = any(isinstance(fanout, list | tuple | np.ndarray) for fanout in fanouts)
    if compare_roots or by_relation or not fanouts:
        ascending = np.sort(roots)
        if np.any(ascending[1:] == ascending[:-1]):
            raise ValueError(REPEATED)
    return roots, fanouts_arguments(graph, fanouts, mode)


def fanouts_arguments(graph, fanouts, mode):
    """Check the fan-outs of all layers; return them as a tuple of ints and tuples of ints."""
    fanouts = tuple(
        tuple(require.integer("fanouts", f, -1, 2**31 - 1) for f in fanout)
        if isinstance(fanout, list | tuple) or (isinstance(fanout, np.ndarray) and fanout.ndim)
        else require.integer("fanouts", fanout, -1, 2**31 - 1)
        for fanout in fanouts
    )
    for fanout in fanouts:
        if not isinstance(fanout, tuple):
            continue
        if TypedGraph in type(graph).__mro__:  # kernels read the graphs of its relations
            require.instance("graph", graph, (TypedGraph,), "a TypedGraph")
        if not isinstance(graph, TypedGraph) or len(fanout) != graph.relations:
            known = getattr(graph, "relations", "no")
            raise ValueError(
                f"fanouts must have a number for each of {known} relations, got {len(fanout)}"
            )
        if mode != "layered":
            raise ValueError(f'mode must be "layered" for fanouts by relation, got "{mode}"')
    return fanouts


@checked_by(mfg_arguments)
def sample_mfg(
    graph: Graph,
    roots: Integers,
    fanouts: Fanouts,
    *,
    seed: Int,
    epoch: Int,
    batch: Int,
    mode: SampleMode = "layered",
    batch_dependency: Int = 1,
) -> MFG:
    """Draw the message-flow graph of one batch by sampling neighbours on every layer.

    The sampling under FreshGNN (VLDB'24 section 2). Hop by hop, from the roots: nodes
    draw neighbours without replacement, and those not met before join them. What a node draws
    depends on its own key alone, neither on the other nodes nor on their order: (seed, NEIGHBOR,
    epoch, batch, layer, node), or (seed, SHARED, epoch, batch, node) if `mode` is "shared". Any
    batch can be drawn at any time, on any thread. O(entries drawn x fan-out) time, O(entries
    drawn) memory.

    The modes "labor" and "labor_exact" are LABOR (Balin and Catalyurek 2023), which is not in
    the three papers. Every node t has one uniform variate r_t a layer, draw t of the stream (seed,
    LABOR, epoch, batch, layer), for all destinations: destinations that share neighbours choose
    the same ones, and fewer distinct nodes are loaded. They take O(degree) time for a node. LABOR-i
    takes O((i + 1) degree), and memory for all neighbours of a hop.

    Parameters
    ----------
    graph : Graph
        Row v lists whom v aggregates; it need not be undirected.
    roots : (b,) integer array
        Distinct nodes, in any order.
    fanouts : sequence of ints
        How many neighbours a node draws: one number a layer, the last layer's, which is the
        roots', first. -1 is all of them, and so is any number that is not below the degree. A
        DGL sampler reads its list from the other end: pass ``fanouts[::-1]`` for that.
        In a `TypedGraph`, an item may be a sequence of R ints instead: a node draws so many of
        its neighbours in each of the R relations; then the mode is "layered".
    seed, epoch, batch : ints in [0, 2**64)
        They name the draws.
    mode : str
        "layered": on every layer all destinations draw anew. "shared": a node draws once, in the
        hop behind the one that met it, and its row is the same in all blocks; they are the
        beginnings of one pattern, and share its memory. "labor" (LABOR-0): a node of degree
        d keeps the neighbours with r_t below fan-out / d, that many on average, perhaps none.
        "labor_exact": it keeps as many as the fan-out, those with the smallest r_t. "labor_1",
        "labor_2", "labor_3" (LABOR-i, after i rounds of importance sampling): it keeps neighbour t
        with its own chance, which is larger for a t that other destinations have as well; fewer
        distinct nodes are kept. Blocks then have weights.
    batch_dependency : int in [1, 2**31)
        In the modes of LABOR, kappa: consecutive batches of an epoch have variates that change
        from one draw to another in kappa batches, so that they load nearly the same nodes (Balin,
        LaSalle and Catalyurek 2025; not in the three papers). 1: batches are independent.

    Returns
    -------
    MFG
        The sources of a block are its destinations, then the new nodes, ascending. The entries
        of a row stand in the order of `graph.indices`; `edge_ids` says where.

    Raises
    ------
    TypeError, ValueError
        If `graph` is no Graph, `roots` repeats a node or is out of range, `mode` is another, or
        a number is not an integer, or not in range.

    Notes
    -----
    With "labor" an entry of a row of degree d is kept with probability c = min(1, fan-out / d), and
    its Horvitz-Thompson weight is 1 / c, the same in the whole row. `block_norm` divides by the
    number that was kept: these weights, normalised to the mean. The mean of an empty row is 0.

    LABOR-i keeps entry (t, s) with probability min(1, c_s pi_t) for numbers pi_t of the layer's
    sources, and its weight is 1 over this chance. c_s makes the sum of the weights of all d
    neighbours d**2 / fan-out. This sum is the same with LABOR-0, so the mean of independent
    features has the same variance. At least as many entries as the fan-out are kept on average.
    """
    return _sample(graph, roots, fanouts, (seed, epoch, batch), mode, batch_dependency)


class Minibatch(NamedTuple):
    """A minibatch whose neighbours are not drawn yet: the arguments of `sample_mfg`.

    For `lazy_fresh_iteration`. Not in the papers.

    Attributes
    ----------
    graph : Graph
    roots : (b,) int32 array
    fanouts : (L,) sequence of ints
        One number a layer, the roots' first.
    seed, epoch, batch : ints
        They name the draws.
    """

    graph: Graph
    roots: Ids
    fanouts: Fanouts
    seed: Int
    epoch: Int
    batch: Int

    def drawn_whole(self, gnn: Any) -> MFG:
        """Return the MFG that `sample_mfg` draws, in the mode "layered"."""
        name = {"seed": self.seed, "epoch": self.epoch, "batch": self.batch}
        return gnn.sample_mfg(self.graph, self.roots, self.fanouts, **name)

    def drawn_hop(self, gnn: Any, l: Int, nodes: Ids) -> tuple[Ids, Block]:
        """Return (sources, block) of layer `l`: what some of its nodes draw there.

        A draw depends on its node and layer alone. The layers below, which draw nothing, give this
        one its number.
        """
        fanouts = (self.fanouts[len(self.fanouts) - l], *(l - 1) * (0,))
        mfg = Minibatch(self.graph, nodes, fanouts, *self[3:]).drawn_whole(gnn)
        return mfg.nodes[l - 1], mfg.blocks[l - 1]


def checked_minibatch(minibatch):
    """Return a checked Minibatch; who draws finds out whether a root is there twice."""
    if not isinstance(minibatch, Minibatch):
        kind = type(minibatch).__name__
        raise TypeError(f"the next of minibatches must be a Minibatch, got {kind}")
    graph, roots, fanouts, *name = require.record("minibatch", minibatch, Minibatch)
    roots, fanouts = neighbor_arguments(graph, roots, fanouts, "layered", compare_roots=False)
    return Minibatch(graph, roots, fanouts, *name)


def _sample(graph, roots, fanouts, name, mode, batch_dependency):
    """Return the MFG of the batch that `name` names, (seed, epoch, batch)."""
    if by_relation(fanouts):
        return typed_mfg(draw_rows, graph, roots, fanouts, name)
    nodes, hops = [roots], []
    for hop, fanout in enumerate(fanouts):
        first = len(nodes[1]) if hop and mode == "shared" else 0  # rows above it are drawn already
        draws = draws_of_hop(name, len(fanouts) - hop, mode, batch_dependency)
        draw = draw_shared_rows if mode in LABOR_MODES else draw_rows
        bounds, edge_ids, *weights = draw(graph, nodes[0][first:], fanout, draws)
        src, indices = sources(nodes[0], graph.indices[edge_ids])
        nodes.insert(0, src)
        hops.append((bounds, indices, edge_ids, *weights))
    return as_mfg(nodes, with_rows_before(hops) if mode == "shared" else hops)


def by_relation(fanouts):
    """Return whether any layer has a fan-out for each relation."""
    return any(isinstance(fanout, tuple) for fanout in fanouts)


def draws_of_hop(name, layer, mode, batch_dependency):
    """Return the Variates of a hop, or its key; that of a node in it has the node as one more."""
    if mode in LABOR_MODES:
        return variates_of_hop(name, layer, mode, batch_dependency)
    seed, epoch, batch = name
    if mode == "shared":
        return key(seed, SHARED, epoch, batch)
    return key(seed, NEIGHBOR, epoch, batch, layer)


def draw_rows(graph, dst, fanout, hop_key):
    """Return (row bounds, positions in `graph.indices`) of what the nodes `dst` draw."""
    hop = Stream(hop_key)
    rows = [_pick(graph, v, fanout, hop.of(v)) for v in dst.tolist()]
    return np.cumsum([0, *map(len, rows)]), np.array([j for row in rows for j in row], np.int64)


def _pick(graph, v, fanout, stream):
    """Return where the neighbours that v draws stand in `graph.indices`, ascending."""
    start, end = graph.indptr[v : v + 2].tolist()
    if fanout < 0 or end - start <= fanout:
        return range(start, end)
    return [start + i for i in stream.floyd(end - start, fanout)]


def with_rows_before(hops):
    """Return hops (bounds, indices, edge_ids) that begin with the rows of those before.

    They are the beginnings of one pattern.
    """
    if not hops:
        return []
    bounds, indices, edge_ids = _one_behind_another(hops)
    rows = np.cumsum([len(own) - 1 for own, _, _ in hops])
    return [(bounds[: n + 1], indices[: bounds[n]], edge_ids[: bounds[n]]) for n in rows]


def _one_behind_another(hops):
    """Return one hop with the rows of all."""
    bounds, indices, edge_ids = zip(*hops, strict=True)
    lengths = np.concatenate([np.diff(own) for own in bounds])
    whole = np.concatenate([[0], np.cumsum(lengths)])
    return whole, np.concatenate(indices), np.concatenate(edge_ids)


def mfgs_arguments(graph, batches, fanouts, seed, epoch, first_batch, mode, batch_dependency):
    """Check the arguments of `sample_mfg_many`; return them."""
    batches = require.sequence("batches", batches, "arrays")
    _, fanouts = neighbor_arguments(graph, np.empty(0, np.int32), fanouts, mode)
    batches = [neighbor_arguments(graph, roots, (), mode)[0] for roots in batches]
    seed, epoch = require.word("seed", seed), require.word("epoch", epoch)
    highest = require.WORD - max(len(batches), 1)
    first_batch = require.integer("first_batch", first_batch, 0, highest)
    kappa = dependency_argument(mode, batch_dependency)
    return graph, batches, fanouts, seed, epoch, first_batch, mode, kappa


@checked_by(mfgs_arguments)
def sample_mfg_many(
    graph: Graph,
    batches: Sequence[Integers],
    fanouts: Fanouts,
    *,
    seed: Int,
    epoch: Int,
    first_batch: Int = 0,
    mode: SampleMode = "layered",
    batch_dependency: Int = 1,
) -> list[MFG]:
    """Draw the message-flow graphs of several batches, in parallel: `sample_mfg` for each.

    With fan-outs by relation the batches are drawn one after another.

    FreshGNN section 5, asynchronous sampling, without the waiting. O(entries drawn x fan-out) time.

    Parameters
    ----------
    graph, fanouts, seed, epoch, mode, batch_dependency
        As in `sample_mfg`.
    batches : sequence of (any,) integer arrays
        The roots of each batch.
    first_batch : int
        Number of the first batch; the others follow. All are below 2**64.

    Returns
    -------
    list of MFG

    Raises
    ------
    TypeError, ValueError
        As for `sample_mfg`, before anything is drawn.
    """
    return [
        _sample(graph, roots, fanouts, (seed, epoch, first_batch + i), mode, batch_dependency)
        for i, roots in enumerate(batches)
    ]


def batches_arguments(ids, batch_size, seed, epoch):
    """Check the arguments of `epoch_batches`; return them."""
    ids = require.ids("ids", ids, 0, 2**31 - 1, np.int32)
    size = require.integer("batch_size", batch_size, 1)
    return ids, size, require.word("seed", seed), require.word("epoch", epoch)


@checked_by(batches_arguments)
def epoch_batches(ids: Integers, batch_size: Int, seed: Int, epoch: Int) -> list[Ids]:
    """Return the batches of an epoch: the nodes `ids` in a random order, cut in pieces.

    VLDB'24 Algorithm 1, line 3. The order is ``permutation(key(seed, NODES, epoch), len(ids))``.
    The last batch may be short. O(len(ids)) time and memory.

    Parameters
    ----------
    ids : (n,) integer array
        Ids below 2**31.
    batch_size : int, at least 1
    seed, epoch : ints in [0, 2**64)

    Returns
    -------
    list of (batch_size,) int32 arrays
        The last one may be shorter.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    Examples
    --------
    >>> epoch_batches(np.arange(5), 2, seed=0, epoch=0)
    [array([3, 4], dtype=int32), array([0, 2], dtype=int32), array([1], dtype=int32)]
    """
    order = permutation(key(seed, NODES, epoch), len(ids))
    shuffled = np.asarray(ids, np.int32)[order]
    return [shuffled[i : i + batch_size] for i in range(0, len(ids), batch_size)]
