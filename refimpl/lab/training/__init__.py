"""Training over an implementation: models, methods, the loop; written once, for both packages."""

from refimpl.lab.training import methods as methods
from refimpl.lab.training import models as models
from refimpl.lab.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.lab.training.classifier import NodeClassifier
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.methods.cluster import grow_clusters
from refimpl.lab.training.methods.graph import scaled_sampler
from refimpl.lab.training.model import TrainedModel, load_model, predict, save_model
from refimpl.lab.training.paper_defaults import as_printed
from refimpl.lab.training.prefetch import Prefetcher
from refimpl.lab.training.presets import preset
from refimpl.lab.training.registration import register_layer
from refimpl.lab.training.state import EpochRecord, TrainResult, TrainState
from refimpl.lab.training.trainer import make_trainer, train

__all__ = [
    "EpochRecord",
    "NodeClassifier",
    "TrainedModel",
    "Prefetcher",
    "TrainConfig",
    "TrainResult",
    "TrainState",
    "as_printed",
    "grow_clusters",
    "load_checkpoint",
    "load_model",
    "make_trainer",
    "predict",
    "preset",
    "register_layer",
    "save_checkpoint",
    "save_model",
    "scaled_sampler",
    "train",
]
