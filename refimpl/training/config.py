"""What a training run is asked to do, checked before it starts."""

from dataclasses import dataclass

from refimpl import _check
from refimpl.samplers.sampling import Sampler
from refimpl.streams import as_seed

METHODS = ("graph", "full")
MODELS = ("sage", "mlp")


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
        _check.real("lr", self.lr, 0, strict=True)
        if not isinstance(self.classifier_relu, bool):
            raise TypeError("classifier_relu must be True or False")
        object.__setattr__(self, "rng", as_seed(self.rng))


def scaled_sampler(graph, name="pin_tile", *, m=None, n=None, **options):
    """Return the Sampler `name` with a budget in proportion to a small training graph.

    n defaults to a fifth of the nodes and m to an eighth of n: the papers' m = 1000 and
    n = 8000 are for graphs of 10^5 nodes and more.

    Raises
    ------
    TypeError, ValueError
        As `Sampler` does.
    """
    n = min(max(graph.n // 5, 1), 8000) if n is None else n
    m = max(min(n // 8, graph.n), 1) if m is None else m
    return Sampler(name, m=m, n=n, **options)
