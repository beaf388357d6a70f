"""What a training run is asked to do, checked before it starts."""

from dataclasses import dataclass, fields
from functools import partial

from refimpl import _check
from refimpl.history.policy import CONTROLS
from refimpl.history.ring import HEADERS, OVERFLOWS
from refimpl.history.validity import STALENESS
from refimpl.layers.gat import NORMS
from refimpl.layers.sage import CONCAT
from refimpl.samplers.neighbor import MODES as SAMPLE_MODES
from refimpl.samplers.sampling import Sampler
from refimpl.streams import as_seed
from refimpl.training.fanouts import checked_fanouts, one_a_hop
from refimpl.typed import MOST_TYPES

IMPORTANCE = ("fastgcn", "ladies")  # layers are drawn by importance
METHODS = (
    *("graph", "layer", "full", "fresh", "neighbor", "gas", "graphfm", "vrgcn", "cluster"),
    *IMPORTANCE,
)
SAMPLED = ("layer", "fresh", "neighbor", "vrgcn")  # neighbours of batches of nodes
CLUSTERED = ("gas", "graphfm")  # batches are clusters
MODELS_OF = {  # where it is not all
    **dict.fromkeys(("fresh", "neighbor"), ("sage", "gcn", "gat", "rgcn")),
    **dict.fromkeys(CLUSTERED, ("sage", "gcn", "gat")),
    **dict.fromkeys(("vrgcn", *IMPORTANCE), ("sage", "gcn")),
}
RANK_BASES = ("all", "new")
HOTNESS = ("none", "degree", "pagerank", "profile")
MODELS = ("sage", "gcn", "mixhop", "gat", "rgcn", "mlp")
SWITCHES = (
    "normalize",
    "classifier_relu",
    "bias",
    "row_l2",
    "background",
    "lookup_roots",
    "gradient_evict",
    "performance",
)
LAYER_SIZE = 512  # of FastGCN and LADIES, where nobody says otherwise

# With which values of other settings a setting applies; elsewhere it must keep its default.
APPLIES: dict[str, dict[str, tuple]] = {
    "sampler": {"method": ("graph",)},
    "normalize": {"method": ("graph",), "model": ("sage", "mlp")},
    "background": {"method": ("graph", "layer", "cluster", *IMPORTANCE)},
    "workers": {"method": ("fresh", "neighbor", "vrgcn")},
    "p_grad": {"method": ("fresh",)},
    "t_stale": {"method": ("fresh",)},
    "warmup": {"method": ("fresh",)},
    "buffer": {"method": ("fresh",)},
    "hotness": {"method": ("fresh",)},
    "header": {"method": ("fresh",)},
    "overflow": {"method": ("fresh",)},
    "control": {"method": ("fresh",)},
    "cache_layers": {"method": ("fresh",)},
    "lookup_roots": {"method": ("fresh",)},
    "rank_base": {"method": ("fresh",)},
    "gradient_evict": {"method": ("fresh",)},
    "staleness": {"method": ("fresh",)},
    "performance": {"method": ("fresh",), "hotness": ("profile",)},
    "sample_mode": {"method": ("fresh", "neighbor")},
    "beta": {"method": ("graphfm",)},
    "batch": {"method": SAMPLED + CLUSTERED + IMPORTANCE},
    "fanouts": {"method": SAMPLED, "model": ("sage", "gcn", "mixhop", "gat", "rgcn")},
    "layer_sizes": {"method": IMPORTANCE},
    "clusters": {"method": ("cluster",)},
    "clusters_per_batch": {"method": ("cluster",)},
    "concat": {"model": ("sage",)},
    "hops": {"model": ("mixhop",)},
    "heads": {"model": ("gat",)},
    "attention": {"model": ("gat",)},
    "relations": {"model": ("rgcn",)},
    "bases": {"model": ("rgcn",)},
    "node_types": {"model": ("rgcn",)},
}


@dataclass(frozen=True)
class TrainConfig:
    """The settings of a run; together with the data set they determine its result to the bit.

    Parameters
    ----------
    method : {"graph", "layer", "full", "fresh", "neighbor", "gas", "graphfm", "vrgcn", "cluster", \
            "fastgcn", "ladies"}
        Train on sampled subgraphs; on batches of nodes with sampled neighbours, layer by layer
        (GraphSAGE, a baseline); on the whole training graph at once (another); on batches with
        sampled neighbours and a cache of embeddings (FreshGNN), or without the cache; on clusters
        with all neighbours, those outside from histories (GNNAutoScale), which then have momentum
        (GraphFM); on batches with few sampled neighbours, corrected by histories (VR-GCN); on
        unions of clusters (Cluster-GCN); on batches whose layers are drawn by importance, from
        all nodes (FastGCN) or from the neighbours of the layer above (LADIES).
    sampler : Sampler, optional
        For method "graph"; default: `scaled_sampler` of the training graph.
    model : {"sage", "gcn", "mixhop", "gat", "rgcn", "mlp"}
        The kind of all layers; "rgcn" is for typed graphs, "mlp" does not look at the graph (a
        control).
    layers, hidden : ints
        Depth, and width of each layer's output: after concatenation, all heads together.
    epochs : int
        An epoch ends when as many nodes were seen as the training graph has (E-G3); with method
        "layer" each of them once, as a root.
    lr : float
        Adam's learning rate.
    pool : int
        Subgraphs or batches sampled at a time; it never changes a result.
    normalize : bool
        Weight the loss and the aggregation by how often the sampler picks each node and edge
        (JPDC'21 section 4.4); for method "graph" and the models "sage" and "mlp".
    coverage : float
        How often a node is met on average while that is estimated, before training.
    classifier_relu : bool
        The ReLU that the papers print before the classifier's sigmoid or softmax (E-E8).
    rng : int, numpy.random.Generator or None
        Reduced to an int when the configuration is made.
    bias : bool
        Add a vector, at first zero, in every layer and the classifier.
    dropout : float in [0, 1)
        Share of the elements of each layer's input, and the classifier's, that are set to 0 in
        training.
    row_l2 : bool
        Scale the rows of the last layer's output to length 1 before the classifier.
    concat : {"neigh_first", "self_first"}
        Which half of a GraphSAGE layer's output comes first (E-E1).
    hops : int
        MixHop's K: a layer has the powers 0 .. K of the adjacency side by side.
    heads : int
        GAT's attention heads, a divisor of `hidden`.
    attention : {"softmax", "row", "none"}
        How GAT's attention is normalised (E-E6). "row" does not depend on which neighbours a
        subgraph shows.
    relations : int
        For model "rgcn": of the data set, as ``train_graph.relations``.
    bases : int
        R-GCN's basis matrices in each layer, of which those of all relations are mixtures; 0
        gives every relation a matrix of its own.
    node_types : int
        For model "rgcn": how many types of nodes have a matrix of their own that the features
        are multiplied by before the first layer; 0 for none.
    batch : int
        Roots of a batch, for method "layer".
    fanouts : sequence of ints, optional
        For method "layer": at most so many neighbours of each node are sampled in each hop, the
        roots' hop first; -1 for all. One a hop, so `layers` in all, for MixHop layers x hops.
        Default: 25, then 10 for every other hop. For model "rgcn" with methods "fresh" and
        "neighbor", an item may be a tuple with a number for each relation.
    layer_sizes : sequence of ints, optional
        For methods "fastgcn" and "ladies": how many nodes each layer draws, the roots' first;
        `layers` in all. Default: 512 each.
    clusters, clusters_per_batch : ints
        For method "cluster": into how many clusters the training graph is cut, at most one a
        node, and how many of them a batch has, at most all.
    background : bool
        Sample the next subgraphs or batches in a thread while training runs; it never changes a
        result. For methods "graph", "layer", "cluster", "fastgcn" and "ladies".
    workers : int
        The same for methods "fresh" and "neighbor": threads that sample ahead; 0 for none.
    p_grad : float in [0, 1]
        For method "fresh", as what follows: the share of the live rows of a layer, those with the
        smallest gradients, whose embeddings may be in the cache.
    t_stale : int or None
        The age, in iterations, up to which an embedding is used; None for any.
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
    beta : float in [0, 1]
        For method "graphfm": the weight of what a batch says about a node outside it, against
        the node's history; 0 is method "gas".
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
        see `plan_performance`. With `hotness` "profile" only.
    sample_mode : {"layered", "shared"}
        For methods "fresh" and "neighbor": see `sample_mfg`.

    Raises
    ------
    TypeError, ValueError
        If a setting is of the wrong kind or out of range.
    """

    method: str = "graph"
    sampler: Sampler | None = None
    model: str = "sage"
    layers: int = 2
    hidden: int = 256
    epochs: int = 30
    lr: float = 0.01
    pool: int = 4
    normalize: bool = False
    coverage: float = 50.0
    classifier_relu: bool = False
    rng: int | None = 0
    bias: bool = False
    dropout: float = 0.0
    row_l2: bool = False
    concat: str = "neigh_first"
    hops: int = 2
    heads: int = 1
    attention: str = "softmax"
    relations: int = 1
    bases: int = 0
    node_types: int = 0
    batch: int = 512
    fanouts: tuple[int, ...] | None = None
    layer_sizes: tuple[int, ...] | None = None
    clusters: int = 50
    clusters_per_batch: int = 5
    background: bool = False
    workers: int = 0
    p_grad: float = 0.9  # V1:1 E-V3
    t_stale: int | None = 200
    warmup: int = 0
    buffer: int = 2**28
    hotness: str = "degree"
    header: str = "continue"
    overflow: str = "wrap"
    control: str = "gradient"
    beta: float = 0.5
    cache_layers: tuple[int, ...] | None = None
    lookup_roots: bool = True
    rank_base: str = "all"
    gradient_evict: bool = True
    staleness: str = "stamp"
    performance: bool = False
    sample_mode: str = "layered"

    def __post_init__(self):
        _check.choice("method", self.method, METHODS)
        _check.choice("model", self.model, MODELS)
        _check.choice("concat", self.concat, CONCAT)
        _check.choice("attention", self.attention, NORMS)
        if self.sampler is not None and not isinstance(self.sampler, Sampler):
            raise TypeError(f"sampler must be a Sampler, got {type(self.sampler).__name__}")
        counts = ("layers", "hidden", "pool", "heads", "batch", "clusters", "clusters_per_batch")
        for name in counts:
            _check.integer(name, getattr(self, name), 1, 2**31 - 1)
        for name in ("epochs", "hops"):
            _check.integer(name, getattr(self, name), 0)
        object.__setattr__(self, "lr", _check.real("lr", self.lr, 0, strict=True))
        object.__setattr__(self, "dropout", _check.real("dropout", self.dropout, 0))
        if self.dropout >= 1:
            raise ValueError(f"dropout must be below 1, got {self.dropout}")
        _check.real("coverage", self.coverage, 0, strict=True)
        for name in SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False")
        self._refuse_what_does_not_apply()
        if self.hidden % self.heads:
            raise ValueError(
                f"hidden must be a multiple of heads ({self.heads}), got {self.hidden}"
            )
        if self.method in SAMPLED:
            object.__setattr__(self, "fanouts", checked_fanouts(self))
        _check.integer("relations", self.relations, 1, MOST_TYPES)
        for name in ("bases", "node_types"):
            _check.integer(name, getattr(self, name), 0, MOST_TYPES)
        self._check_cache()
        if self.clusters_per_batch > self.clusters:
            raise ValueError(
                f"clusters_per_batch must be at most clusters ({self.clusters}), "
                f"got {self.clusters_per_batch}"
            )
        if self.method in IMPORTANCE:
            object.__setattr__(self, "layer_sizes", self._checked_layer_sizes())
        object.__setattr__(self, "rng", as_seed(self.rng))

    def _refuse_what_does_not_apply(self):
        for name, default in ((field.name, field.default) for field in fields(self)):
            for other, allowed in APPLIES.get(name, {}).items():
                found = getattr(self, other)
                if getattr(self, name) != default and found not in allowed:
                    raise ValueError(f'{name} must be {default!r} where {other} is "{found}"')

    def _check_cache(self):
        for name in ("workers", "warmup", "buffer"):
            _check.integer(name, getattr(self, name), 0, 2**62)
        if self.t_stale is not None:
            _check.integer("t_stale", self.t_stale, 0, 2**31 - 1)
        object.__setattr__(self, "p_grad", _check.real("p_grad", self.p_grad, 0, high=1))
        _check.choice("hotness", self.hotness, HOTNESS)
        _check.choice("header", self.header, HEADERS)
        _check.choice("overflow", self.overflow, OVERFLOWS)
        _check.choice("control", self.control, CONTROLS)
        _check.choice("rank_base", self.rank_base, RANK_BASES)
        _check.choice("staleness", self.staleness, STALENESS)
        _check.choice("sample_mode", self.sample_mode, SAMPLE_MODES)
        if self.cache_layers is not None:
            object.__setattr__(self, "cache_layers", self._checked_cache_layers())
        object.__setattr__(self, "beta", _check.real("beta", self.beta, 0, high=1))
        models = MODELS_OF.get(self.method, MODELS)
        if self.model not in models:
            raise ValueError(
                f'model must be one of {", ".join(models)} where method is "{self.method}", '
                f'got "{self.model}"'
            )

    def _checked_cache_layers(self):
        layers = self.cache_layers
        if not isinstance(layers, list | tuple):
            raise TypeError(f"cache_layers must be a tuple of ints, got {type(layers).__name__}")
        for layer in layers:
            if _check.integer("cache_layers", layer, 1) >= self.layers:
                raise ValueError(
                    f"cache_layers must be below the last of {self.layers} layers, got {layer}"
                )
        if len(set(layers)) < len(layers):
            raise ValueError("cache_layers must be distinct")
        return tuple(sorted(int(layer) for layer in layers))

    def _checked_layer_sizes(self):
        if self.layer_sizes is None:
            return (LAYER_SIZE,) * self.hops_sampled
        size = partial(_check.integer, "layer_sizes", low=1, high=2**31 - 1)
        return one_a_hop("layer_sizes", self.layer_sizes, self.hops_sampled, size)

    @property
    def hops_sampled(self):
        """How many hops are sampled: VR-GCN's first layer has the features of all neighbours."""
        return self.reach - (self.method == "vrgcn")

    @property
    def reach(self):
        """How many hops away the farthest node is that the output for a node depends on."""
        return {"mixhop": self.layers * self.hops, "mlp": 0}.get(self.model, self.layers)
