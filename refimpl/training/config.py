"""What a training run is asked to do, checked before it starts."""

import inspect
from dataclasses import dataclass

from refimpl import _check
from refimpl.samplers.sampling import KERNELS, Sampler
from refimpl.streams import as_seed

METHODS = ("graph", "full")
MODELS = ("sage", "mlp")
MOST_NODES, WALK_LENGTH = 8000, 2  # a sampler's, where nobody says otherwise


@dataclass(frozen=True)
class TrainConfig:
    """The settings of a run; together with the data set they determine its result to the bit.

    Parameters
    ----------
    method : {"graph", "full"}
        Train on sampled subgraphs, or on the whole training graph at once (the baseline).
    sampler : Sampler, optional
        For method "graph"; default: `scaled_sampler` of the training graph.
    model : {"sage", "mlp"}
        GraphSAGE, or the same stack without the graph (a control).
    layers, hidden : ints
        Depth, and width of each layer after concatenation.
    epochs : int
        An epoch ends when as many nodes were sampled as the training graph has (E-G3).
    lr : float
        Adam's learning rate.
    pool : int
        Subgraphs sampled at a time, in parallel; it never changes a result.
    normalize : bool
        Weight the loss and the aggregation by how often the sampler picks each node and edge
        (JPDC'21 section 4.4); for method "graph".
    coverage : float
        How often a node is met on average while that is estimated, before training.
    classifier_relu : bool
        The ReLU that the papers print before the classifier's sigmoid or softmax (E-E8).
    rng : int, numpy.random.Generator or None
        Reduced to an int when the configuration is made.

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

    def __post_init__(self):
        _check.choice("method", self.method, METHODS)
        _check.choice("model", self.model, MODELS)
        if self.sampler is not None and not isinstance(self.sampler, Sampler):
            raise TypeError(f"sampler must be a Sampler, got {type(self.sampler).__name__}")
        if self.sampler is not None and self.method == "full":
            raise ValueError('sampler must be None where method is "full"')
        for name in ("layers", "hidden", "pool"):
            _check.integer(name, getattr(self, name), 1, 2**31 - 1)
        _check.integer("epochs", self.epochs, 0)
        object.__setattr__(self, "lr", _check.real("lr", self.lr, 0, strict=True))
        _check.real("coverage", self.coverage, 0, strict=True)
        for name in ("normalize", "classifier_relu"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False")
        if self.normalize and self.method == "full":
            raise ValueError('normalize must be False where method is "full"')
        object.__setattr__(self, "rng", as_seed(self.rng))


def scaled_sampler(graph, name="pin_tile", **options):
    """Return the Sampler `name`, its sizes in proportion to a small training graph.

    The budget n is a fifth of the nodes, at most 8000, where `options` has no other. From it
    follow the sizes that the sampler needs and `options` leaves out: m = n / 8, b = n / 2, h = 2,
    r = n / (h + 1). The papers' m = 1000 and n = 8000 are for graphs of 10^5 nodes and more.

    Parameters
    ----------
    graph : Graph
    name : str
    **options
        As for `Sampler`; None stands for the default.

    Returns
    -------
    Sampler

    Raises
    ------
    TypeError, ValueError
        As `Sampler` does.
    """
    _check.choice("name", name, tuple(KERNELS))
    _check.symmetric(graph)
    given = {key: value for key, value in options.items() if value is not None}
    n = _check.integer("n", given.get("n", min(max(graph.n // 5, 1), MOST_NODES)), 1)
    h = _check.integer("h", given.get("h", WALK_LENGTH), 0)
    m, b, r = (max(size, 1) for size in (min(n // 8, graph.n), n // 2, min(n // (h + 1), graph.n)))
    sizes = {"n": n, "m": m, "b": b, "r": r, "h": h}
    known = inspect.signature(KERNELS[name]).parameters
    if "n" not in known:  # the budget has set the other sizes
        given.pop("n", None)
    return Sampler(name, **{key: sizes[key] for key in sizes if key in known} | given)
