"""FreshGNN watched from outside: what a step was made of, and the same in dense algebra."""

from types import SimpleNamespace

import numpy as np
from oracles import matrix

import refimpl
from refimpl.lab.training.config import config_from
from refimpl.streams import NODE_DROPOUT

COUNTED = ("inputs", "live", "feature_hits", "loaded", "lookups", "hits", "admitted", "evicted")


def config_of(method="fresh", **options):
    """Return a small TrainConfig; nothing of the features is cached, and all draws are made."""
    layers = options.get("layers", 3)
    usual = {"layers": 3, "hidden": 4, "batch_size": 24, "rng": 6, "fanouts": (3, 2, 2)[:layers]}
    if method == "fresh":
        usual |= {"hotness": "none", "t_stale": np.inf, "p_grad": 0.7, "buffer": 2**20}
        usual["draw_all"] = True
    return config_from({"method": method, **usual, **options})


class Watched:
    """A trainer of FreshGNN that remembers what its last step was made of.

    `mfg`, `hit` (of all nodes of layers 1 .. L, dead ones too) and `cached` (their embeddings,
    NaN elsewhere), `weights` at its beginning, `nodes` and `live` after pruning, `H` of layers 0
    .. L and the logits (which are those of layer L where it is the classifier), `gradients` of
    the weights, `G` of the rows of layers 0 .. L. Everything else is the trainer's. With other
    methods it is their trainer.
    """

    def __init__(self, gnn, dataset, config, state=None):
        self.gnn = gnn
        watching = gnn.backend(gnn, fresh_iteration=self._watch)
        self.trainer = watching.make_trainer(dataset, config, state)
        self.settings = self.trainer.config.method

    def __getattr__(self, name):
        return getattr(self.trainer, name)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.trainer.close()

    @property
    def cache(self):
        return self.trainer.iterations.cache

    def _watch(self, graphs, cache, model, load_feature, i, **options):
        """Do an iteration of FreshGNN, and keep what it was made of."""
        self.mfg = mfg = next(graphs)
        self.weights = {name: W.copy() for name, W in self.trainer.state.weights.items()}
        self.hit, self.cached = [], []
        for l, nodes in enumerate(mfg.nodes[1:], start=1):
            slots = np.full(len(nodes), -1)
            if l in options["cached_layers"]:
                slots = cache.lookup(l, nodes, i)
                if not options["lookup_roots"]:
                    slots[: len(mfg.nodes[-1])] = -1
            rows = np.full((len(nodes), self.trainer.config.hidden), np.nan)
            if (slots >= 0).any():
                rows[slots >= 0] = cache.read(slots[slots >= 0])
            self.hit.append(slots >= 0)
            self.cached.append(rows)
        step = self.gnn.fresh_iteration(iter([mfg]), cache, model, load_feature, i, **options)
        self.nodes, self.G, self.gradients = step.nodes, step.G, model.gradients
        pairs = zip(mfg.nodes, step.nodes, strict=True)
        order = [positions(all_of, some) for all_of, some in pairs]
        self.live = SimpleNamespace(order=order, computed=[~read for read in step.cached])
        self.H = list(step.H)
        if self.trainer.config.classifier == "dense":
            _, _, logits, _ = model.passes.kept[len(mfg.blocks) + 1]
            self.H.append(logits)
        return step

    def live_hits(self, layer):
        """Return how many rows of a layer were read from the cache."""
        return int((~self.live.computed[layer - 1]).sum())


def positions(nodes, some):
    """Return where each of some nodes stands among `nodes`, which are distinct."""
    order = np.argsort(nodes)
    return order[np.searchsorted(nodes, some, sorter=order)]


def watched(gnn, dataset, config, steps=0):
    """Return a Watched trainer after some steps."""
    trainer = Watched(gnn, dataset, config)
    for _ in range(steps):
        trainer.step()
    return trainer


def counted_step(trainer):
    """Do a step; return what it added to the counts."""
    before = trainer.counts_of_epoch
    counts = trainer.step().counts
    assert before.plus(counts) == trainer.counts_of_epoch
    return counts


def trajectory(trainer, steps):
    """Return (loss, bytes of all weights) after each of the next steps."""
    result = []
    for _ in range(steps):
        loss = trainer.step().loss
        result.append((loss, tuple(W.tobytes() for W in trainer.state.weights.values())))
    return result


def dense_forward(trainer, weights, masks, shift=None):
    """Return (H, loss) of the last step in dense algebra, on the graph that was not pruned.

    Rows that were read from the cache are constants; ``shift[l]`` is added to the rows of layer
    l. For `masks` see `masks_of`.
    """
    dataset, mfg, kind = trainer.dataset, trainer.mfg, trainer.config.model.name
    top = len(mfg.blocks) if trainer.config.classifier == "layer" else None
    H = [dataset.inputs(dataset.in_graph(mfg.nodes[0]))]
    for layer, block in enumerate(mfg.blocks, start=1):
        own = {n.split(".")[1]: W for n, W in weights.items() if n.startswith(f"layer{layer}.")}
        degrees = dataset.train_graph.degrees()[mfg.nodes[layer - 1]]
        S = matrix(block)
        X = H[-1] * masks[layer - 1]
        rows = (_sage_sum if layer == top and kind == "sage" else LAYERS[kind])(S, X, own, degrees)
        rows += own.get("b", 0)
        if layer == top:
            H.append(rows)
            break
        rows = np.maximum(rows, 0)
        rows = np.where(trainer.hit[layer - 1][:, None], trainer.cached[layer - 1], rows)
        H.append(rows if shift is None else rows + shift[layer])
    if top is None:
        H.append(H[-1] * masks[-1] @ weights["classifier.W"] + weights.get("classifier.b", 0))
    chances = H[-1] - np.log(np.exp(H[-1]).sum(axis=1, keepdims=True))
    Y = dataset.targets(dataset.in_graph(mfg.nodes[-1]))
    return H, -(Y * chances).sum(axis=1).mean()


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


def _sage_sum(S, X, W, degrees):
    return np.add(*np.split(_sage(S, X, W, degrees), 2, axis=1))


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
