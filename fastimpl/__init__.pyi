from typing import Any

from fastimpl import adjacency as adjacency
from fastimpl import block as block
from fastimpl import cost_models as cost_models
from fastimpl import graph as graph
from fastimpl import history as history
from fastimpl import lab as lab
from fastimpl import layers as layers
from fastimpl import loader as loader
from fastimpl import losses as losses
from fastimpl import metrics as metrics
from fastimpl import optimizers as optimizers
from fastimpl import partition as partition
from fastimpl import profiling as profiling
from fastimpl import propagation as propagation
from fastimpl import samplers as samplers
from fastimpl import scheduling as scheduling
from fastimpl import streams as streams
from fastimpl import training as training
from fastimpl import typed as typed
from refimpl import *
from refimpl import __all__ as __all__
from refimpl import __version__ as __version__

compiled: tuple[str, ...]

def build_info() -> dict[str, Any]: ...
