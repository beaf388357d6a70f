"""What makes a class an estimator of scikit-learn: bases, parameters, order of arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from refimpl.graph import Graph
from refimpl.lab.training.config import PARTS, TrainConfig, all_settings, suggestion
from refimpl.lab.training.settings import settings_of

DEFAULTS = {name: getattr(TrainConfig, name) for name in settings_of(TrainConfig)}
DEFAULTS |= {part: DEFAULTS[part].name for part in PARTS}  # scikit-learn wants plain values
Method = TypeVar("Method", bound=Callable[..., Any])


def in_order(method: Method) -> Method:
    """Refuse the positional arguments of releases in which the graph came first."""
    names = list(inspect.signature(method).parameters)[1:]
    order = f"{method.__name__}({', '.join(names[: 2 if 'y' in names else 1])}, *, graph=.., "

    @functools.wraps(method)
    def checked(self: Any, *arguments: Any, **named: Any) -> Any:
        most = 2 if "y" in names else 1
        if len(arguments) > most or any(isinstance(one, Graph) for one in arguments):
            raise TypeError(f"the order is now {order}nodes=..): X comes first, graph is named")
        if "train" in named:
            raise TypeError("train is now nodes: give the nodes to learn from, and y of these only")
        return method(self, *arguments, **named)

    return checked  # type: ignore[return-value]


def signature() -> inspect.Signature:
    """Return the signature of `__init__`, where scikit-learn looks for the parameters."""
    kinds = inspect.Parameter
    named = [kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in DEFAULTS.items()]
    return inspect.Signature([kinds("self", kinds.POSITIONAL_OR_KEYWORD), *named])


@functools.cache
def estimator(cls: Any) -> Any:
    """Return a NodeClassifier class with scikit-learn's bases."""
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin
    except ImportError as error:
        raise ImportError(
            "NodeClassifier needs scikit-learn 1.6 or later: python -m pip install "
            "'minibatch-gnn[sklearn]'; train and predict do the same without it"
        ) from error
    if issubclass(cls, BaseEstimator):
        return cls

    def reduced(self: Any) -> Any:  # pickle finds `cls` by its name, but not the class made here
        return _unfitted, (cls,), self.__getstate__()

    names = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__reduce__": reduced}
    return type(cls.__name__, (cls, ClassifierMixin, BaseEstimator), names)


def _unfitted(cls: Any) -> Any:
    return cls.__new__(cls)


def no_parameter(name: str) -> str:
    """Return what is wrong with a parameter that NodeClassifier does not have."""
    for part, classes in PARTS.items():
        for one in classes.values():
            if name in settings_of(one):
                given = f"{part}={part}s.{one.__name__}({name}=..)"
                return f"{name} is a setting of a {part}: give {given}"
    close = suggestion(name, all_settings())
    return f"NodeClassifier has no parameter {name}{close}"
