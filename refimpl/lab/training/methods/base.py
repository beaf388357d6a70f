"""What a method is: its settings, and what starts its iterations."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from refimpl._support import require
from refimpl.hints import Ids
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import HopFanouts, Weights
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import (
    MOST,
    Settings,
    choice,
    custom,
    integer,
    parsed_integer,
    switch,
)
from refimpl.samplers.labor import ROUNDS
from refimpl.samplers.neighbor import LABOR_MODES, MODES
from refimpl.streams import SHUFFLE, key

MOST_PASSES = 32  # forward-only, before a step
Numbers = TypeVar("Numbers", bound=HopFanouts)


class LoadCounts(NamedTuple):
    """Rows that iterations needed and loaded, in all.

    Attributes
    ----------
    inputs : input nodes of the sampled graphs of training passes: what they alone would load
    live : needed after pruning, in passes of both kinds
    feature_hits : of the live, read from the cache
    loaded, bytes : the others, read from the features, and their size there
    lookups, hits : live rows of the cached layers, and of these those read from the cache
    admitted, evicted : embeddings put into the cache, and valid ones taken out for their gradient
    lost, dropped : valid embeddings that others were written over, and embeddings refused
    """

    inputs: int = 0
    live: int = 0
    feature_hits: int = 0
    loaded: int = 0
    bytes: int = 0
    lookups: int = 0
    hits: int = 0
    admitted: int = 0
    evicted: int = 0
    lost: int = 0
    dropped: int = 0

    def plus(self, *others: LoadCounts) -> LoadCounts:
        """Return the sum of these and the others."""
        return LoadCounts(*map(sum, zip(self, *others, strict=True)))

    @property
    def io_saving(self) -> float:
        """Share of the rows of neighbour sampling that were not loaded, for both reasons."""
        return 1 - self.loaded / self.inputs if self.inputs else float("nan")

    @property
    def embedding_saving(self) -> float:
        """Share of the rows of neighbour sampling that cached embeddings spared; NaN for none."""
        return 1 - self.live / self.inputs if self.inputs else float("nan")

    @property
    def feature_hit_rate(self) -> float:
        """Share of the live rows whose features were in the cache; NaN for none."""
        return self.feature_hits / self.live if self.live else float("nan")

    @property
    def embedding_hit_rate(self) -> float:
        """Share of the live rows of cached layers that were read from the cache; NaN for none."""
        return self.hits / self.lookups if self.lookups else float("nan")


class Step(NamedTuple):
    """What one iteration gives.

    Attributes
    ----------
    loss : float
    gradients : dict of arrays
        Of every weight, by its full name.
    nodes : int
        How many nodes the loss was taken over.
    counts : LoadCounts or None
        Rows loaded, for methods that count them.
    """

    loss: float
    gradients: Weights
    nodes: int
    counts: LoadCounts | None = None


class Iterations(Protocol):
    """What `MethodSettings.start` returns."""

    @property
    def cache(self) -> Any:
        """None, or what a checkpoint keeps, with ``state_dict`` and ``load_state_dict``."""

    def iteration(self) -> Step:
        """Go forward and back on the next minibatch."""

    def close(self) -> None:
        """End the threads that there may be."""


class MethodSettings(Settings):
    """A base for the settings of a method; its subclasses are frozen dataclasses.

    Not in the papers. `start` returns `Iterations`: an object with

    - ``iteration()``, which goes forward and back on the next minibatch and returns a `Step`;
    - ``close()``, which ends the threads that it may have;
    - ``cache``: None, or what a checkpoint keeps, with ``state_dict`` and ``load_state_dict``;
    - ``moves_weights`` (optional; default False): True if, in a step of one worker, `iteration`
      moves the weights by ``run.adam()``. Otherwise the trainer moves them.
    """

    description: ClassVar[str] = ""  # what it trains on, for people
    state_description: ClassVar[str] = ""  # what it has of earlier iterations, for people
    setup_step: ClassVar[str] = "normalization"  # what it does before training, for people
    counts_loads: ClassVar[bool] = False  # whether its steps have counts
    epochs: ClassVar[int] = 30  # where nobody says otherwise
    several_workers: ClassVar[bool] = True  # whether a step may be of several minibatches
    in_parts: ClassVar[bool] = False  # whether a worker may have a part of the graph of its own
    epoch_covers_graph: ClassVar[bool] = False  # all its nodes, or the roots alone
    sparse_features: ClassVar[bool] = False  # whether it only passes them on: not as dense rows
    features_in: ClassVar[tuple[str, ...]] = ("memory", "mmap", "parts", "lookahead")
    graph_in: ClassVar[tuple[str, ...]] = ("memory",)

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless these settings fit the others of the TrainConfig `config`."""

    def fitted(self, config: RunConfig, dataset: Dataset) -> MethodSettings:
        """Return these settings with what `config` and the `dataset` decide filled in."""
        return self

    def start(self, run: Run) -> Iterations:
        """Return the iterations of `run`, a `Run`."""
        raise TypeError(f"{type(self).__name__} must have a method start")


def only(config: RunConfig, *names: str) -> None:
    """Raise ValueError unless the model is one of `names`."""
    if config.model.name not in names:
        raise ValueError(
            f'model must be one of {", ".join(names)} where method is "{config.method.name}", '
            f'got "{config.model.name}"'
        )


def pool_size() -> Any:
    """Make the field `pool`."""
    return integer(
        4,
        "sample this many subgraphs or batches at a time. Subgraphs are sampled in parallel. "
        "The number changes no result",
        free=True,
    )


def background() -> Any:
    """Make the field `background`."""
    return switch(
        False,
        "sample the next subgraphs or batches while training runs; this changes no result",
        free=True,
    )


def workers() -> Any:
    """Make the field `workers`."""
    return integer(
        0,
        "sample the next batches in this many threads; 0 samples in the training thread. The "
        "number changes no result",
        low=0,
        free=True,
    )


def batch_size() -> Any:
    """Make the field `batch_size`."""
    return integer(512, "put this many nodes in a batch")


def fanouts(shown: str) -> Any:
    """Make the field `fanouts`; `shown` is the default, as the user writes it."""
    return custom(
        None,
        _check_fanouts,
        "sample at most this many neighbours of each node in each hop; all takes every "
        "neighbour. Give one number for each layer; MixHop needs one for each hop of each "
        "layer. For model rgcn with method fresh or neighbor, 5:10:5 gives one number for each "
        "relation",
        parsed_fanouts,
        "COUNT|all,..",
        shown=shown,
    )


def sample_mode() -> Any:
    """Make the field `sample_mode`."""
    return choice(
        "layered",
        "layered, shared: draw neighbours anew for each layer, or once for all layers; labor: let "
        "all nodes of a layer choose the same neighbours where they can, which loads fewer; "
        "labor-exact: the same, with exactly as many as the fan-out; labor-1, labor-2, labor-3: "
        "prefer neighbours that several nodes have, after this many rounds of importance sampling. "
        "LABOR is not in the papers",
        MODES,
    )


def batch_dependency() -> Any:
    """Make the field `batch_dependency`."""
    return integer(
        1,
        "change the draws of LABOR slowly, from one to another in this many batches, so that "
        "consecutive batches load nearly the same nodes; 1: independent batches. Needs a "
        "sample-mode of LABOR. Not in the papers",
    )


def refresh() -> Any:
    """Make the field `refresh`."""
    return integer(
        0,
        "before each step, go forward over this many other batches, which renews the rows that "
        "the method keeps; the weights stay as they are (REST). Not in the papers",
        low=0,
        high=MOST_PASSES,
    )


def check_refresh(settings: Any, config: RunConfig) -> None:
    """Raise ValueError where forward passes are asked for, and no layer keeps rows."""
    if settings.refresh and config.layers == 1:
        raise ValueError(
            f"refresh must be 0 where layers is 1, got {settings.refresh}: the rows of the last "
            "layer are not kept"
        )


def refreshed_ahead(run: Run, batches: int) -> list[int]:
    """Return how many steps ahead each forward-only pass of a step is (REST).

    Pass j of F takes the minibatch of the training pass that comes j / (F + 1) of an epoch later.
    So the kept rows of a node are renewed F + 1 times an epoch, at about equal distances, and its
    age in weight updates is about 1 / (F + 1) of what it is otherwise.
    """
    passes = run.config.method.refresh
    steps = -(-batches // run.turns.workers)  # in an epoch
    return [-(-steps * j // (passes + 1)) for j in range(1, passes + 1)]


def check_labor(settings: Any, config: RunConfig) -> None:
    """Raise ValueError where batches depend on each other, and the mode has no such draws.

    Also where LABOR-i gives entries weights, and the model has no mean that could use them.
    """
    if settings.sample_mode in ROUNDS and config.model.name == "gat":
        raise ValueError(
            f"sample_mode must not be {settings.sample_mode} for model gat, whose attention has no "
            "weights of neighbours; choose labor or labor_exact"
        )
    if settings.batch_dependency > 1 and settings.sample_mode not in LABOR_MODES:
        raise ValueError(
            f"batch_dependency must be 1 where sample_mode is {settings.sample_mode}, "
            f"got {settings.batch_dependency}"
        )


def fanout_order() -> Any:
    """Make the field `fanout_order`."""
    return choice(
        "roots_first",
        "choose the hop of the first fan-out. roots-first: the hop next to the roots; code, as "
        "in GraphSAGE's code: the last hop",
        FANOUT_ORDERS,
    )


FANOUT_ORDERS = ("roots_first", "code")


def _check_fanouts(name: str, value: Any) -> HopFanouts | None:
    """Return fan-outs as a tuple of ints and of tuples of ints, or None, or raise."""
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be a tuple of ints, got {type(value).__name__}")
    return tuple(_one_fanout(name, fanout) for fanout in value)


def _one_fanout(name: str, fanout: Any) -> int | tuple[int, ...]:
    if isinstance(fanout, list | tuple):
        numbers = tuple(require.integer(name, number, -1, MOST) for number in fanout)
        if not any(numbers):
            raise ValueError(f"{name} must draw from a relation, got 0 for each of them")
        return numbers
    if require.integer(name, fanout, -1, MOST) == 0:
        raise ValueError(f"{name} must be -1 or at least 1, got 0")
    return int(fanout)


def parsed_fanouts(text: str) -> HopFanouts:
    """Return numbers separated by commas, "all" as -1, a tuple for those with colons."""
    return tuple(
        tuple(map(_parsed_fanout, hop.split(":"))) if ":" in hop else _parsed_fanout(hop)
        for hop in text.split(",")
    )


def _parsed_fanout(text: str) -> int:
    return -1 if text == "all" else parsed_integer(text)


def shown_fanouts(fanouts: HopFanouts) -> str:
    """Return fan-outs as the user writes them."""
    return ",".join(
        ":".join(map(_shown, hop)) if isinstance(hop, list | tuple) else _shown(hop)
        for hop in fanouts
    )


def _shown(fanout: int) -> str:
    return "all" if fanout < 0 else str(fanout)


def one_a_hop(name: str, numbers: Numbers, hops: int) -> Numbers:
    """Return `numbers` if there is one for each hop sampled, or raise."""
    if len(numbers) != hops:
        raise ValueError(
            f"{name} must have {hops} numbers, one for each hop sampled, got {len(numbers)}"
        )
    return numbers


def fitted_fanouts(settings: Any, hops: int, first: tuple[int, ...]) -> HopFanouts:
    """Return the fan-outs of `hops` hops: those asked for, or `first`, its last number repeated."""
    if settings.fanouts is None:
        return (first + hops * first[-1:])[:hops]
    return one_a_hop("fanouts", settings.fanouts, hops)


def hop_fanouts(settings: Any) -> HopFanouts:
    """Return the fan-outs with the roots' hop first, whatever the order they were given in."""
    # E-G5: the code has the roots' hop last
    return settings.fanouts[:: 1 if settings.fanout_order == "roots_first" else -1]


def check_one_hop(config: RunConfig) -> None:
    """Raise ValueError unless each layer of the model looks at the next neighbours."""
    model = config.model
    if model.hops_a_layer != 1 or model.name == "mixhop":
        raise ValueError(
            f'model must have layers of one hop where method is "{config.method.name}", '
            f'got "{model.name}"'
        )


def check_fanouts(settings: Any, config: RunConfig) -> None:
    """Raise ValueError where fan-outs have a number for each relation, and may not."""
    found = [fanout for fanout in settings.fanouts or () if isinstance(fanout, tuple)]
    if not found:
        return
    if config.model.name != "rgcn" or not hasattr(settings, "sample_mode"):
        raise ValueError(
            "fanouts by relation are for model rgcn with method fresh or neighbor, not for "
            f"model {config.model.name} with method {settings.name}"
        )
    if settings.sample_mode != "layered":
        raise ValueError(
            f"fanouts by relation need sample_mode layered, not {settings.sample_mode}"
        )
    relations = config.model.relations
    for fanout in found:
        if relations is not None and len(fanout) != relations:
            raise ValueError(
                f"fanouts must have a number for each of {relations} relations, got {len(fanout)}"
            )


class Shuffle:
    """Numbers 0, .., count - 1, `size` of them an iteration, so that an epoch has each once.

    An epoch is all of them in the order of a Fisher-Yates shuffle with the key (seed, SHUFFLE,
    epoch), cut into batches; the last one of an epoch may be smaller.
    """

    def __init__(self, gnn: ModuleType, count: int, size: int, seed: int) -> None:
        self.gnn, self.count, self.size, self.seed = gnn, count, size, seed
        self.batches = -(-count // size)  # in an epoch
        self._shuffled: dict[int, Ids] = {}  # the orders of the latest epoch and the next

    def batch(self, iteration: int) -> Ids:
        """Return the numbers of an iteration, in their order."""
        epoch, b = divmod(iteration, self.batches)
        if epoch not in self._shuffled:
            stream = key(self.seed, SHUFFLE, epoch)
            order = self.gnn.streams.pick_without_replacement(stream, 0, self.count, self.count)
            near = (one for one in self._shuffled.items() if abs(one[0] - epoch) == 1)
            self._shuffled = {**dict(near), epoch: order}
        return self._shuffled[epoch][b * self.size : (b + 1) * self.size]

    def name(self, iteration: int) -> tuple[int, int]:
        """Return (epoch, number of the batch in it)."""
        return divmod(iteration, self.batches)
