"""LADIES: every layer draws its nodes by importance, from the neighbours of the layer above.

Zou, Hu, Wang, Jiang, Sun and Gu 2019, "Layer-Dependent Importance Sampling for Training Deep and
Large Graph Convolutional Networks".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from refimpl.hints import Integers
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import Kept
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings
from refimpl.lab.training.methods.fastgcn import fitted_sizes, importance_iterations, layer_sizes
from refimpl.lab.training.run import Run, RunConfig


@dataclass(frozen=True)
class Ladies(MethodSettings):
    """LADIES: each layer draws nodes by importance among the neighbours of the layer above.

    LADIES, Zou et al. 2019.

    Parameters
    ----------
    batch_size, layer_sizes, pool, background
        As for `FastGcn`.
    """

    name: ClassVar[str] = "ladies"
    description: ClassVar[str] = "batches"
    sparse_features: ClassVar[bool] = True
    in_parts: ClassVar[bool] = True

    batch_size: int = base.batch_size()
    layer_sizes: Kept[tuple[int, ...] | None, Integers | None] = layer_sizes()
    pool: int = base.pool_size()
    background: bool = base.background()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless the model is one that aggregates by one matrix."""
        base.only(config, "sage", "gcn")

    def fitted(self, config: RunConfig, dataset: Dataset) -> Ladies:
        """Return these settings with what depends on the model filled in."""
        return replace(self, layer_sizes=fitted_sizes(self, config))

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        P = run.stack.adjacency(run.graph, dtype=run.dtype)
        sample = partial(run.gnn.samplers.ladies_sample, P.graph, P.data)
        return importance_iterations(run, sample)
