"""FreshGNN watched from outside: what a step was made of, and the same in dense algebra."""

import numpy as np
from oracles import matrix
from refimpl.lab.training.fresh import FreshTrainer

import refimpl
from refimpl.lab.training.counts import LoadCounts
from refimpl.streams import NODE_DROPOUT

COUNTED = ("inputs", "live", "feature_hits", "loaded", "lookups", "hits", "admitted", "evicted")


def config_of(method="fresh", **options):
    """Return a small TrainConfig; nothing of the features is cached."""
    layers = options.get("layers", 3)
    usual = {"layers": 3, "hidden": 4, "batch": 24, "rng": 6, "fanouts": (3, 2, 2)[:layers]}
    if method == "fresh":
        usual |= {"hotness": "none", "t_stale": None, "p_grad": 0.7, "buffer": 2**20}
    return refimpl.TrainConfig(method=method, **{**usual, **options})


class Watched(FreshTrainer):
    """A FreshTrainer that remembers what its last step was made of.

    `mfg`, `hit` (of all nodes of layers 1 .. L, dead ones too) and `cached` (their embeddings,
    NaN elsewhere), `weights` at its beginning, `nodes` and `live` after pruning, `H` of layers 0
    .. L and the logits, `gradients` of the weights, `G` of the rows of layers 1 .. L.
    """

    def _lookup(self, mfg, i):
        slots = super()._lookup(mfg, i)
        self.mfg, self.weights = mfg, {name: W.copy() for name, W in self.state.weights.items()}
        self.hit = [found >= 0 for found in slots]
        self.cached = [np.full((len(found), self.config.hidden), np.nan) for found in slots]
        for rows, found in zip(self.cached, slots, strict=True):
            if (found >= 0).any():
                rows[found >= 0] = self.cache.read(found[found >= 0])
        return slots

    def _forward(self, X, nodes, slots, live):
        self.nodes, self.live = nodes, live
        self.H, kept = super()._forward(X, nodes, slots, live)
        return self.H, kept

    def _backward(self, kept, live, G):
        self.gradients, self.G = super()._backward(kept, live, G)
        return self.gradients, self.G

    def live_hits(self, layer):
        """Return how many rows of a layer were read from the cache."""
        return int((~self.live.computed[layer - 1]).sum())


def watched(gnn, dataset, config, steps=0):
    """Return a Watched trainer after some steps."""
    trainer = Watched(gnn, dataset, config)
    for _ in range(steps):
        trainer.step()
    return trainer


def counted_step(trainer):
    """Do a step; return what it added to the counts."""
    before = trainer.counts_of_epoch
    trainer.step()
    return LoadCounts(*(b - a for a, b in zip(before, trainer.counts_of_epoch, strict=True)))


def trajectory(trainer, steps):
    """Return (loss, bytes of all weights) after each of the next steps."""
    result = []
    for _ in range(steps):
        loss, _ = trainer.step()
        result.append((loss, tuple(W.tobytes() for W in trainer.state.weights.values())))
    return result


def dense_forward(trainer, weights, masks, shift=None):
    """Return (H, loss) of the last step in dense algebra, on the graph that was not pruned.

    Rows that were read from the cache are constants; ``shift[l]`` is added to the rows of layer
    l. For `masks` see `masks_of`.
    """
    dataset, mfg = trainer.dataset, trainer.mfg
    H = [dataset.features[dataset.train][mfg.nodes[0]]]
    for layer, block in enumerate(mfg.blocks, start=1):
        own = {n.split(".")[1]: W for n, W in weights.items() if n.startswith(f"layer{layer}.")}
        degrees = dataset.train_graph.degrees()[mfg.nodes[layer - 1]]
        S = matrix(block)
        X = H[-1] * masks[layer - 1]
        rows = LAYERS[trainer.config.model](S, X, own, degrees)
        rows = np.maximum(rows + own.get("b", 0), 0)
        rows = np.where(trainer.hit[layer - 1][:, None], trainer.cached[layer - 1], rows)
        H.append(rows if shift is None else rows + shift[layer])
    logits = H[-1] * masks[-1] @ weights["classifier.W"] + weights.get("classifier.b", 0)
    chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    Y = dataset.labels[dataset.train][mfg.nodes[-1]]
    return [*H, logits], -(Y * chances).sum(axis=1).mean()


def masks_of(trainer):
    """Return what the rows of layers 0 .. L are multiplied by in the last step: dropout by node."""
    config, i, masks = trainer.config, trainer.state.iterations - 1, []
    for layer, (ids, rows) in enumerate(zip(trainer.mfg.nodes, trainer.H, strict=False)):
        columns = np.arange(rows.shape[1], dtype=np.uint64)
        keys = [refimpl.streams.key(config.rng, NODE_DROPOUT, i, layer, v) for v in ids.tolist()]
        kept = np.array([refimpl.streams.uniform(k, columns) >= config.dropout for k in keys])
        masks.append(kept / (1 - config.dropout))
    return masks


def _sage(S, X, W, degrees):
    mean = S @ X / np.maximum(S.sum(axis=1, keepdims=True), 1)
    return np.hstack([mean @ W["W_neigh"], X[: len(S)] @ W["W_self"]])


def _gcn(S, X, W, degrees):
    n, d = len(S), degrees + 1.0
    scale = degrees[:n, None] / np.maximum(S.sum(axis=1, keepdims=True), 1)
    A = S * scale / np.sqrt(d[:n, None] * d)
    A[np.arange(n), np.arange(n)] += 1 / d[:n]
    return A @ X @ W["W"]


def _gat(S, X, W, degrees):
    """One head, attention by softmax over the sampled and the node itself."""
    Z = X @ W["W"]
    score = (Z[: len(S)] @ W["a_recv"][0])[:, None] + Z @ W["a_send"][0]
    score = np.where(score > 0, score, 0.2 * score)
    power = np.exp(score) * (S + np.eye(*S.shape))
    return power / power.sum(axis=1, keepdims=True) @ Z


LAYERS = {"sage": _sage, "gcn": _gcn, "gat": _gat}
