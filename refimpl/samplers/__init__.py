"""Samplers: each draws the nodes of one subgraph; `sampling` induces and numbers them.

Every module of this folder is imported, and every function under `@sampler` is a public name.
"""

import importlib
import pkgutil

from refimpl.samplers.alias import AliasTable, alias_build, alias_draw
from refimpl.samplers.bucket import bucket
from refimpl.samplers.clip import clip_nodes
from refimpl.samplers.dashboard import dashboard
from refimpl.samplers.edge import edge
from refimpl.samplers.forest_fire import forest_fire
from refimpl.samplers.frontier import frontier
from refimpl.samplers.importance import (
    ColumnLaw,
    ImportanceSample,
    fastgcn_sample,
    importance_law,
    ladies_sample,
)
from refimpl.samplers.layer import layer_sample
from refimpl.samplers.multiple_walks import multiple_walks
from refimpl.samplers.neighbor import Minibatch, epoch_batches, sample_mfg, sample_mfg_many
from refimpl.samplers.nodes import KERNELS, NodeSample
from refimpl.samplers.normalization import SamplingCounts, aggregator, estimate_counts, loss_weights
from refimpl.samplers.pin_tile import pin_tile
from refimpl.samplers.random_walk import random_walk
from refimpl.samplers.relabelling import Relabelled, relabel
from refimpl.samplers.row_draws import EntryTable, RowDraws, build_entry_table, draw_rows
from refimpl.samplers.sampling import Sampler, sample_many

__all__ = [
    "AliasTable",
    "ColumnLaw",
    "EntryTable",
    "ImportanceSample",
    "Minibatch",
    "NodeSample",
    "Relabelled",
    "RowDraws",
    "Sampler",
    "SamplingCounts",
    "aggregator",
    "alias_build",
    "alias_draw",
    "bucket",
    "build_entry_table",
    "clip_nodes",
    "dashboard",
    "draw_rows",
    "edge",
    "epoch_batches",
    "estimate_counts",
    "fastgcn_sample",
    "forest_fire",
    "frontier",
    "importance_law",
    "ladies_sample",
    "layer_sample",
    "loss_weights",
    "multiple_walks",
    "pin_tile",
    "random_walk",
    "relabel",
    "sample_many",
    "sample_mfg",
    "sample_mfg_many",
]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
globals().update(KERNELS)
__all__ += [name for name in KERNELS if name not in __all__]
