"""Making a model of one's own known."""

from __future__ import annotations

from typing import TypeVar

from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods import METHODS
from refimpl.lab.training.models import MODELS, ModelSettings
from refimpl.lab.training.settings import settings_of

Model = TypeVar("Model", bound=ModelSettings)


def register_layer(model: type[Model]) -> type[Model]:
    """Make a model known by its name to `TrainConfig`, and so to saved models; return it.

    May decorate the class. Not in the papers: how a layer of one's own is trained. The command
    line knows the models that were registered before it reads its arguments.

    Parameters
    ----------
    model : type
        A frozen dataclass on `ModelSettings` with a `name`, which no other model has, and a
        method `layer`; with a method `last_layer` its last layer may be the classifier. It has a
        `matrix`, or 0 as `hops_a_layer`, or methods `adjacency` and `block_operand`; where
        `hops_a_layer` may be above 1, a method `operand`.

    Returns
    -------
    type
        `model`.

    Raises
    ------
    TypeError
        If it is no such class.
    ValueError
        If another model has its name, or a setting of all models or of a method has the name of
        one of its fields.
    """
    if not (isinstance(model, type) and issubclass(model, ModelSettings)):
        raise TypeError(f"model must be a class on ModelSettings, got {model!r}")
    if "__dataclass_fields__" not in vars(model):
        raise TypeError(f"{model.__name__} must be a dataclass: put @dataclass(frozen=True) on it")
    if "name" not in vars(model) or not str(model.name).isidentifier():
        raise TypeError(f"{model.__name__} must have a name of its own, an identifier")
    _check_methods(model)
    known = MODELS.get(model.name, model)
    if (known.__module__, known.__qualname__) != (model.__module__, model.__qualname__):
        raise ValueError(f'name "{model.name}" is taken by {known.__qualname__}')
    _check_fields(model)
    MODELS[model.name] = model  # or the same class again, from a module that was reloaded
    return model


def _check_methods(model: type[ModelSettings]) -> None:
    """Raise TypeError unless a model has the methods that its matrix and hops need."""
    if model.layer is ModelSettings.layer:
        raise TypeError(f"{model.__name__} must have a method layer")
    hops = model.hops_a_layer  # or a property, which depends on a setting
    for name in ("adjacency", "block_operand"):
        own = getattr(model, name) is not getattr(ModelSettings, name)
        if model.matrix is None and hops != 0 and not own:
            raise TypeError(
                f"{model.__name__} must have a matrix, or hops_a_layer = 0, or a method {name}"
            )
    if hops not in (0, 1) and model.operand is ModelSettings.operand:
        raise TypeError(f"{model.__name__} must have a method operand: it has several hops a layer")


def _check_fields(model: type[ModelSettings]) -> None:
    """Raise ValueError if a name of a field stands for a setting beside the model already."""
    others: list[type] = [TrainConfig, *METHODS.values()]
    for other in others:
        taken = {n for name, one in settings_of(other).items() for n in (name, one.flag)}
        for name in settings_of(model):
            if name in taken:
                where = other.__name__
                raise ValueError(f"{name} of {model.__name__} is a setting of {where} already")
