"""The models: a class for each, with its own settings; `register_layer` adds one."""

from refimpl.lab.training.models.base import ModelSettings
from refimpl.lab.training.models.gat import Gat
from refimpl.lab.training.models.gcn import Gcn
from refimpl.lab.training.models.mixhop import MixHop
from refimpl.lab.training.models.mlp import Mlp
from refimpl.lab.training.models.rgcn import Rgcn
from refimpl.lab.training.models.sage import Sage
from refimpl.lab.training.models.sign import Sign

__all__ = ["Gat", "Gcn", "MixHop", "Mlp", "ModelSettings", "Rgcn", "Sage", "Sign"]

MODELS: dict[str, type[ModelSettings]] = {
    model.name: model for model in (Sage, Gcn, MixHop, Gat, Rgcn, Mlp, Sign)
}
