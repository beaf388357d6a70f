"""What a training run is asked to do, checked before it starts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from refimpl._support import require
from refimpl.hints import Rng
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import Kept
from refimpl.lab.training.methods import METHODS, MethodSettings, SampledGraph
from refimpl.lab.training.models import MODELS, ModelSettings, Sage
from refimpl.lab.training.settings import (
    MOST,
    Check,
    Settings,
    choice,
    custom,
    from_json,
    integer,
    parsed_integer,
    real,
    settings_of,
    size,
    switch,
    to_json,
)
from refimpl.streams import as_seed

MOST_LAYERS = 1000
MOST_WORKERS = 2**16
CLASSIFIERS = ("dense", "layer")
DECAYS = ("first", "all")
MEASURES = ("score", "loss")
PARTITIONS = ("whole", "local")
AUTO = "auto"  # of eval_every
SHUFFLE = 0.1  # where nobody says otherwise
MEMORY, MEMORY_SHOWN = 2**30, "1GiB"  # of evaluation
PARTS: dict[str, dict[str, Any]] = {"model": MODELS, "method": METHODS}  # classes themselves


def _epochs_or_auto(name: str, value: Any) -> int | str:
    """Return a number of epochs, or "auto", or raise."""
    if isinstance(value, str):
        if value != AUTO:
            raise ValueError(f"{name} must be a number of epochs or {AUTO!r}, got {value!r}")
        return AUTO
    return require.integer(name, value, 1, MOST)


def _part(known: Mapping[str, type[Settings]], base: type[Settings]) -> Check:
    """Return the check of a part: an object of its known classes, or the name of one."""

    def check(name: str, value: Any) -> Settings:
        if isinstance(value, str):
            require.choice(name, value, tuple(known))
            return known[value]()
        if not isinstance(value, base):
            example = next(iter(known.values())).__name__
            raise TypeError(
                f"{name} must be a {base.__name__}, such as {example}(), or its name, "
                f"got {type(value).__name__}"
            )
        if known.get(value.name) is not type(value):
            raise TypeError(
                f"{name} must be of a class that is known by its name, but {type(value).__name__} "
                f"is not: register it, or use one of {', '.join(known)}"
            )
        return value

    return check


if TYPE_CHECKING:

    class AnyModel(ModelSettings):
        """Of some class: a checker does not know which settings it has."""

        def __getattr__(self, name: str) -> Any: ...

    class AnyMethod(MethodSettings):
        """Likewise."""

        def __getattr__(self, name: str) -> Any: ...

else:
    AnyModel, AnyMethod = ModelSettings, MethodSettings


@dataclass(frozen=True)
class TrainConfig(Settings):
    """The settings of a run. Settings and data set determine every bit of the result.

    Parameters
    ----------
    model : ModelSettings or str
        The kind of all layers with its settings, such as ``models.Gat(heads=8)``. A name, such as
        "gat", means the class with its defaults.
    method : MethodSettings or str
        The kind of minibatches, such as ``methods.Fresh(t_stale=5)``, or a name, such as "fresh".
    layers, hidden : ints
        The number of layers, and the width of each layer's output after concatenation.
    epochs : int, optional
        The largest number of epochs; see `Trainer.epoch`. Default: 30, or 200 if a minibatch is
        the whole graph.
    lr : float, optional
        Adam's learning rate. Default: 0.01, or 0.003 for GAT.
    weight_decay : float
        This multiple of each decaying weight is added to the weight's gradient.
    decay : {"first", "all"}
        The weights that decay: the first layer's, as in Kipf and Welling 2017, or the weights of
        all layers and the classifier. Biases do not decay.
    best_by : {"score", "loss"}
        The epoch whose weights are kept has the highest F1-micro on the validation nodes, or the
        smallest loss, as in Velickovic et al. 2018. Ties go to the earlier epoch. With few
        validation nodes the loss is less noisy than the score.
    patience : int, optional
        Stop after this many epochs without improvement.
    eval_every : int or "auto"
        Score the validation nodes after every `eval_every` epochs. "auto": after the last epoch,
        and after every E epochs. E is the smallest number for which training has at least 8 times
        the multiply-adds of an evaluation. It follows from the sizes of the data set and the
        settings, and is at most a quarter of `patience`.
    bias : bool
        Add a bias vector, initially zero, in every layer and in the classifier.
    dropout : float in [0, 1)
        This share of the input of each layer and of the classifier is set to 0 in training.
    classifier : {"dense", "layer"}
        "dense": a linear classifier after the last layer computes the logits. "layer": the last
        layer does, without a ReLU and with one output for each class, as in Kipf and Welling
        2017. GraphSAGE then adds its halves, and GAT has one head. MixHop refuses "layer".
    row_l2 : bool
        Scale the rows of the last layer's output to length 1 before the classifier.
    classifier_relu : bool
        Apply a ReLU before the final sigmoid or softmax, as the papers print it (E-E8).
    bfloat16 : bool
        In training, round both factors of each dense product of the layers to bfloat16. Sums,
        weights, Adam and evaluation stay float32. Needs a float32 data set. The last bits of the
        products, and so the weights, depend on the processor and the BLAS.
    workers_a_step : int
        The number of minibatches in a step, one for each logical worker. Adam gets the mean of
        their gradients. The number of processes changes no bit of the result: see `train`. "full",
        and methods that keep a row for every node, have one worker.
    partition : {"whole", "local"}
        Every worker samples in the whole training graph, or in its own part of the graph (JPDC'21
        section 8). Parts are disjoint and need several workers. They are refused with `normalize`,
        and with methods whose minibatches depend on earlier ones.
    shuffle : float in [0, 1]
        This share of each part's nodes moves to other parts after every epoch.
    eval_memory : int
        The memory in bytes for scoring the model: see `Evaluation`. It changes no result.
    rng : int, numpy.random.Generator or None
        The seed. It is converted to an int when the configuration is made.

    Raises
    ------
    TypeError, ValueError
        If a setting has the wrong type or is out of range, or if two settings conflict.

    Examples
    --------
    >>> from refimpl import methods, models
    >>> config = TrainConfig(model=models.Gat(heads=8), method=methods.Fresh(t_stale=5))
    >>> config.model.heads, config.method.t_stale, config.hidden
    (8, 5, 256)
    """

    model: Kept[AnyModel, ModelSettings | str] = custom(
        Sage(), _part(MODELS, ModelSettings), "choose the kind of all layers"
    )
    method: Kept[AnyMethod, MethodSettings | str] = custom(
        SampledGraph(), _part(METHODS, MethodSettings), "choose the minibatches of a step"
    )
    layers: int = integer(
        2, "set the number of layers", high=MOST_LAYERS, metavar="L", computes=True
    )
    hidden: int = integer(
        256,
        "set the width of each layer's output. GraphSAGE's two halves together have this width, "
        "and so have MixHop's powers and GAT's heads",
        metavar="WIDTH",
        computes=True,
    )
    bias: bool = switch(False, "add a bias vector in every layer", computes=True)
    dropout: float = real(
        0.0,
        "set this share of each layer's input to 0 in training",
        metavar="RATE",
    )
    classifier: Literal["dense", "layer"] = choice(
        "dense",
        "choose what computes the logits. dense: a linear classifier after the layers; layer: "
        "the last layer, with one output for each class and without a ReLU",
        CLASSIFIERS,
        computes=True,
    )
    row_l2: bool = switch(
        False,
        "scale the rows of the last layer's output to length 1; the classifier gets the scaled "
        "rows",
        computes=True,
    )
    classifier_relu: bool = switch(
        False,
        "apply a ReLU before the final softmax or sigmoid, as the papers print it",
        computes=True,
    )
    bfloat16: bool = switch(
        False,
        "round the factors of dense products to bfloat16 in training; sums, weights and "
        "evaluation stay float32. Faster on processors with AMX or AVX512_BF16 where MKL is "
        "installed",
    )
    epochs: Kept[int, int | None] = integer(
        None,
        "train for this many epochs. An epoch ends when training has used as many nodes as "
        "there are training nodes",
        low=0,
        metavar="E",
        shown="30; with method full 200",
    )
    lr: Kept[float, float | None] = real(
        None,
        "set the learning rate of Adam",
        strict=True,
        metavar="RATE",
        shown="0.01; with model gat 0.003",
    )
    weight_decay: float = real(
        0.0, "add this multiple of each decaying weight to its gradient", metavar="RATE"
    )
    decay: Literal["first", "all"] = choice(
        "first", "choose the layers whose weights decay", DECAYS
    )
    best_by: Literal["score", "loss"] = choice(
        "score",
        "keep the weights of the best epoch by validation. score: the highest F1-micro; loss: "
        "the smallest loss",
        MEASURES,
    )
    patience: int | None = integer(
        None, "stop after this many epochs without improvement", metavar="E"
    )
    workers_a_step: int = integer(
        1,
        "take this many minibatches in a step, one for each logical worker. Adam uses the mean "
        "of their gradients. Under mpirun, the ranks share the workers, and the number of ranks "
        "changes no bit of the result",
        high=MOST_WORKERS,
        metavar="W",
    )
    partition: Literal["whole", "local"] = choice(
        "whole",
        "choose where each worker samples. whole: in the training graph; local: in the worker's "
        "own part of the graph",
        PARTITIONS,
    )
    shuffle: float = real(
        SHUFFLE,
        "move this share of each part's nodes to other parts after every epoch; only with "
        "--partition local",
        high=1,
        metavar="SHARE",
    )
    eval_every: int | Literal["auto"] = custom(
        1,
        _epochs_or_auto,
        "score the validation nodes after every E epochs. auto: after the last epoch, and so "
        "often that training has at least 8 times the work of evaluation",
        lambda text: text if text == AUTO else parsed_integer(text),
        "E|auto",
    )
    eval_memory: int = size(
        MEMORY,
        "limit the memory of evaluation, in bytes or as 256MB or 1GiB. Rows that do not fit go "
        "to temporary files. The limit changes no result",
        MEMORY_SHOWN,
        low=1,
        free=True,
    )
    rng: Kept[int, Rng] = custom(
        0,
        lambda name, value: as_seed(value),
        "seed the initial weights and the sampling. The built-in data sets do not depend on the "
        "seed",
        int,
        flag="seed",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dropout >= 1:
            raise ValueError(f"dropout must be below 1, got {self.dropout}")
        for name, default in (("epochs", self.method.epochs), ("lr", self.model.lr)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        if self.decay != DECAYS[0] and not self.weight_decay:
            raise ValueError(f'decay must be "{DECAYS[0]}" where weight_decay is 0')
        if self.workers_a_step > 1 and not self.method.several_workers:
            raise ValueError(f'workers_a_step must be 1 where method is "{self.method.name}"')
        self._check_partition()
        if self.classifier == "layer":
            self._check_last_layer()
        self.model.check(self)
        self.method.check(self)

    def _check_partition(self) -> None:
        """Raise ValueError unless each worker may have a part of its own, if it has one."""
        if self.partition == "whole":
            if self.shuffle != SHUFFLE:
                raise ValueError(f'shuffle must be {SHUFFLE} where partition is "whole"')
            return
        if self.workers_a_step == 1:
            raise ValueError('partition must be "whole" where workers_a_step is 1')
        if not self.method.in_parts or getattr(self.method, "normalize", "none") != "none":
            more = " normalised" if self.method.in_parts else ""
            raise ValueError(
                f'partition must be "whole" where method is{more} "{self.method.name}"'
            )

    def _check_last_layer(self) -> None:
        """Raise ValueError unless the model's last layer can be the classifier."""
        if type(self.model).last_layer is ModelSettings.last_layer:
            raise ValueError(f'classifier must be "dense" where model is "{self.model.name}"')
        for name in ("row_l2", "classifier_relu"):
            if getattr(self, name):
                raise ValueError(f'{name} must be False where classifier is "layer"')

    def decays(self, name: str) -> bool:
        """Whether a weight, by its full name, decays where anything does."""
        layer, _, short = name.partition(".")
        return short != "b" and (self.decay == "all" or layer == "layer1")

    @property
    def parts(self) -> int:
        """Into how many parts the training graph is cut."""
        return 1 if self.partition == "whole" else self.workers_a_step

    @property
    def reach(self) -> int:
        """How many hops away the farthest node is that the output for a node depends on."""
        hops: int = self.model.hops_a_layer
        return self.layers * hops

    def fitted(self, dataset: Dataset) -> TrainConfig:
        """Return this configuration with everything filled in that depends on the data set.

        Parameters
        ----------
        dataset : Dataset

        Returns
        -------
        TrainConfig

        Raises
        ------
        TypeError, ValueError
            If a setting does not fit the data set.
        """
        if self.model.trained_by not in (None, self.method.name):
            raise ValueError(
                f'method must be "{self.model.trained_by}" where model is "{self.model.name}", '
                f'got "{self.method.name}"'
            )
        if self.bfloat16 and dataset.dtype != np.float32:
            raise ValueError(f"bfloat16 must be False where the data set is {dataset.dtype}")
        config = replace(self, model=self.model.fitted(dataset.train_graph))
        return replace(config, method=config.method.fitted(config, dataset))

    def flat(self) -> dict[str, Any]:
        """Return all settings that apply, by name, as JSON can hold them; see `config_from`."""
        common = {
            name: to_json(getattr(self, name))
            for name in settings_of(TrainConfig)
            if name not in PARTS
        }
        named = {part: getattr(self, part).name for part in PARTS}
        return named | common | self.model.values() | self.method.values()


def config_from(flat: Mapping[str, Any]) -> TrainConfig:
    """Return the TrainConfig of settings by name, such as `TrainConfig.flat` gives.

    Parameters
    ----------
    flat : dict
        ``model`` and ``method`` are names; a setting may be one of the model's or the method's.
        Those left out have their defaults.

    Raises
    ------
    TypeError, ValueError
        If there is no such setting where these are the model and the method, or as for
        `TrainConfig`.
    """
    known = {name: from_json(value) for name, value in flat.items()}
    parts: dict[str, Any] = {}
    for part, classes in PARTS.items():
        name = known.pop(part, getattr(TrainConfig, part).name)
        require.choice(part, name, tuple(classes))
        own = settings_of(classes[name])
        parts[part] = classes[name](**{one: known.pop(one) for one in list(known) if one in own})
    for name in known:
        if name not in settings_of(TrainConfig):
            raise ValueError(f"{name} is no setting {_why_not(name, parts)}")
    return TrainConfig(**parts, **known)


def _why_not(name: str, parts: Mapping[str, Settings]) -> str:
    """Return where a setting does not apply, or the name that was meant."""
    if name in all_settings():
        return f'where model is "{parts["model"].name}" and method is "{parts["method"].name}"'
    return f"of any model or method{suggestion(name, all_settings())}"


def all_settings() -> list[str]:
    """Return the names of the settings of all models and methods, and of those they share."""
    classes: list[type] = [TrainConfig, *MODELS.values(), *METHODS.values()]
    return list(dict.fromkeys(name for one in classes for name in settings_of(one)))


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ..?", or nothing where no name is close."""
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}?" if close else ""
