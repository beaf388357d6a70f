"""The models: a class for each, with its own settings; `register_layer` adds one."""

from refimpl.lab.training.models.base import ModelSettings
from refimpl.lab.training.models.gat import Gat
from refimpl.lab.training.models.gcn import Gcn
from refimpl.lab.training.models.mixhop import MixHop
from refimpl.lab.training.models.mlp import Mlp
from refimpl.lab.training.models.rgcn import Rgcn
from refimpl.lab.training.models.sage import Sage

__all__ = ["Gat", "Gcn", "MixHop", "Mlp", "ModelSettings", "Rgcn", "Sage"]

MODELS: dict[str, type[ModelSettings]] = {
    model.name: model for model in (Sage, Gcn, MixHop, Gat, Rgcn, Mlp)
}


def register_layer(model):
    """Make a model known by its name, to `TrainConfig` and the command line; return it.

    May decorate the class. Not in the papers: how a layer of one's own is trained.

    Parameters
    ----------
    model : type
        A frozen dataclass on `ModelSettings` with a `name`, which no other model has, and a
        method `layer`.

    Returns
    -------
    type
        `model`.

    Raises
    ------
    TypeError, ValueError
        If it is no such class, or another model has its name.
    """
    if not (isinstance(model, type) and issubclass(model, ModelSettings)):
        raise TypeError(f"model must be a class on ModelSettings, got {model!r}")
    if not model.name.isidentifier() or model.layer is ModelSettings.layer:
        raise TypeError(f"{model.__name__} must have a name, an identifier, and a method layer")
    known = MODELS.setdefault(model.name, model)
    if (known.__module__, known.__qualname__) != (model.__module__, model.__qualname__):
        raise ValueError(f'name "{model.name}" is taken by {known.__qualname__}')
    MODELS[model.name] = model  # the same class again, from a module that was reloaded
    return model
