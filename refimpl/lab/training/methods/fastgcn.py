"""FastGCN: every layer draws its nodes by importance, from all training nodes.

Chen, Ma and Xiao 2018, "FastGCN: Fast Learning with Graph Convolutional Networks via Importance
Sampling".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from refimpl.hints import Integers
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import Kept
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings
from refimpl.lab.training.methods.layer import DrawnLayers
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import integers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from refimpl.adjacency import Adjacency
    from refimpl.block import Block
    from refimpl.hints import Floats, Ids
    from refimpl.lab.training.methods.layer import Drawn
    from refimpl.samplers.importance import ImportanceSample

LAYER_SIZE = 512  # where nobody says otherwise


def layer_sizes() -> Any:
    """Make the field `layer_sizes`."""
    return integers(
        None,
        "draw this many nodes for each layer; the first number is for the neighbours of the batch",
        shown=f"{LAYER_SIZE} each",
    )


@dataclass(frozen=True)
class FastGcn(MethodSettings):
    """FastGCN: each layer draws nodes by importance from all nodes.

    FastGCN, Chen, Ma and Xiao 2018.

    Parameters
    ----------
    batch_size : int
        Roots of a minibatch.
    layer_sizes : sequence of ints, optional
        How many nodes each layer draws, the roots' first; `layers` in all. Default: 512 each.
    pool, background
        As for `SampledGraph`.
    """

    name: ClassVar[str] = "fastgcn"
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

    def fitted(self, config: RunConfig, dataset: Dataset) -> FastGcn:
        """Return these settings with what depends on the model filled in."""
        return replace(self, layer_sizes=fitted_sizes(self, config))

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        P = run.stack.adjacency(run.graph, dtype=run.dtype)
        law = run.gnn.samplers.importance_law(P.graph, P.data)
        sample = partial(run.gnn.samplers.fastgcn_sample, P.graph, P.data, law=law)
        return importance_iterations(run, sample)


def fitted_sizes(settings: Any, config: RunConfig) -> tuple[int, ...]:
    """Return how many nodes each layer draws, or raise."""
    if settings.layer_sizes is None:
        return (LAYER_SIZE,) * config.reach
    sizes: tuple[int, ...] = settings.layer_sizes
    return base.one_a_hop("layer_sizes", sizes, config.reach)


def importance_iterations(run: Run, sample: Callable[..., ImportanceSample]) -> DrawnLayers:
    """Return the iterations of FastGCN and of LADIES, which differ in how a layer is drawn.

    ``sample(roots, sizes, key)`` returns the nodes of every layer, and the matrices between them:
    entries of P, the matrix that the model aggregates with on the whole training graph, over the
    chance to be drawn.
    """
    return DrawnLayers(run, partial(drawn_batch, run, sample))


def drawn_batch(
    run: Run, sample: Callable[..., ImportanceSample], roots: Ids, stream: int
) -> Drawn:
    """Return the MFG of a batch of roots, and what each layer aggregates with on it."""
    mfg, values = sample(roots, run.config.method.layer_sizes, stream)
    pairs = zip(mfg.blocks, values, strict=True)
    return mfg, tuple(with_transpose(run.gnn, block, data) for block, data in pairs)


def with_transpose(gnn: ModuleType, block: Block, data: Floats[Any]) -> Adjacency:
    """Return the Adjacency of a Block with these values."""
    transposed, perm = gnn.block.transpose_block(block)
    return gnn.Adjacency(block, data, data[perm], transposed, perm)
