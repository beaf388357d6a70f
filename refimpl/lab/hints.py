"""What the annotations of `refimpl.lab` are made of, besides those of `refimpl.hints`.

Arrays
------
`Classes` and `Nodes` are what may be given as labels, and as a part of the nodes. `Weights`: arrays
of floats of any shape, by name.

Others
------
`Scaling`: how features are read, as it is kept; `SomeScaling`, as it may be given. `HopFanouts`:
fan-outs, as they are kept. `Setting`: over which part of a graph messages pass. `Comm`: ranks that
work together, `Ranks` or `MpiRanks`. `Kept`: the type of a field that is kept in another form than
it may be given in. `TrainSettings`: the settings of a `TrainConfig`, by name.
"""

from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np

from refimpl.hints import Integers

__all__ = [
    "Classes",
    "Comm",
    "HopFanouts",
    "Kept",
    "MpiRanks",
    "Nodes",
    "Ranks",
    "Scaling",
    "Setting",
    "SomeScaling",
    "TrainSettings",
    "Weights",
    "as_default",
]

Classes: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.integer[Any] | np.bool_]]
Nodes: TypeAlias = Integers | np.ndarray[tuple[int], np.dtype[np.bool_]]
Weights: TypeAlias = dict[str, np.ndarray[tuple[Any, ...], np.dtype[Any]]]

MeanAndStd: TypeAlias = tuple[
    np.ndarray[tuple[int], np.dtype[np.floating[Any]]],
    np.ndarray[tuple[int], np.dtype[np.floating[Any]]],
]
Scaling: TypeAlias = MeanAndStd | Literal["rows"] | None
SomeScaling: TypeAlias = MeanAndStd | Literal["standard", "rows", "none"]
Setting: TypeAlias = Literal["transductive", "inductive"]
HopFanouts: TypeAlias = tuple[int | tuple[int, ...], ...]


class TrainSettings(TypedDict, total=False):
    """The fields of `TrainConfig`; a checker then knows the settings of `NodeClassifier`."""

    model: Any
    method: Any
    layers: int
    hidden: int
    bias: bool
    dropout: float
    classifier: Literal["dense", "layer"]
    row_l2: bool
    classifier_relu: bool
    bfloat16: bool
    epochs: int | None
    lr: float | None
    weight_decay: float
    decay: Literal["first", "all"]
    best_by: Literal["score", "loss"]
    patience: int | None
    workers_a_step: int
    partition: Literal["whole", "local"]
    shuffle: float
    eval_every: int | Literal["auto"]
    eval_memory: int
    rng: Any


class Ranks(Protocol):
    """An MPIComm, a SimComm, or another `Communicator`."""

    @property
    def rank(self) -> Any: ...

    @property
    def size(self) -> Any: ...


class MpiRanks(Protocol):
    """A communicator of mpi4py."""

    def Get_rank(self) -> int: ...

    def Get_size(self) -> int: ...


Comm: TypeAlias = Ranks | MpiRanks

Held = TypeVar("Held", covariant=True)
Given = TypeVar("Given", contravariant=True)


class Kept(Generic[Held, Given]):
    """The type of a field that is a `Held` in every object, whichever `Given` it was made with.

    ``model: Kept[ModelSettings, ModelSettings | str]`` says that the name of a model may be given,
    and that the field is the model. For type checkers alone: no object of this class is made.
    """

    if TYPE_CHECKING:

        def __get__(self, owner: object, kind: type | None = None) -> Held: ...

        def __set__(self, owner: object, value: Given) -> None: ...


def as_default(value: Any) -> Any:
    """Return a value that is the default of a `Kept` field: what is kept, not a `Kept`."""
    return value
