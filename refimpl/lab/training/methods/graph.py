"""Training on sampled subgraphs: the method of both graph-sampling papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from refimpl._support import require
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Int
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.training.edge_weights import saint_factors
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings, Step
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import choice, custom, real
from refimpl.profiling import timed
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.sampling import Sampler, parameters_of, sampler_kernel

if TYPE_CHECKING:
    from refimpl.graph import Subgraph
    from refimpl.hints import Floats, Ids, Matrix
    from refimpl.samplers.normalization import SamplingCounts

COVERAGE = 50.0  # where nobody says otherwise
NORMALIZE = ("none", "loss", "both")


def _check_sampler(name: str, value: object) -> Sampler | None:
    if value is not None and not isinstance(value, Sampler):
        raise TypeError(f"{name} must be a Sampler, got {type(value).__name__}")
    return value


@dataclass(frozen=True)
class SampledGraph(MethodSettings):
    """Sampled subgraphs (JPDC'21 Algorithm 1).

    Parameters
    ----------
    sampler : Sampler, optional
        Default: `scaled_sampler` of the training graph.
    normalize : {"none", "loss", "both"}
        Weight by how often the sampler picks each node and edge (JPDC'21 section 4.4). "loss"
        weights the loss, for any model. "both" weights the aggregation too, for the models "sage"
        and "mlp". Default: "none", for every sampler (E-B30).
    coverage : float
        How often a node is met on average while that is estimated, before training.
    pool : int
        Subgraphs sampled at a time; never changes a result.
    background : bool
        Sample the next subgraphs in a thread while training runs; never changes a result.
    """

    name: ClassVar[str] = "graph"
    description: ClassVar[str] = "subgraphs"
    sparse_features: ClassVar[bool] = True
    in_parts: ClassVar[bool] = True
    epoch_covers_graph: ClassVar[bool] = True

    sampler: Sampler | None = custom(None, _check_sampler, "how subgraphs are drawn", flag="")
    normalize: Literal["none", "loss", "both"] = choice(
        "none",
        "correct the sampler's bias by probabilities that are estimated before training. loss: "
        "weight the loss; both: weight loss and aggregation, only for models sage and mlp",
        NORMALIZE,
    )
    coverage: float = real(
        COVERAGE,
        "draw each node this often, on average, for that estimate",
        strict=True,
        metavar="TIMES",
        needs="normalize",
    )
    pool: int = base.pool_size()
    background: bool = base.background()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless these settings fit the model."""
        if self.normalize == "both" and config.model.name not in ("sage", "mlp"):
            raise ValueError(
                f'normalize must be none or loss where model is "{config.model.name}": its layers '
                "have no weights of sampled edges"
            )
        if self.normalize == "none" and self.coverage != COVERAGE:
            raise ValueError(f"coverage must be {COVERAGE} where normalize is none")

    def fitted(self, config: RunConfig, dataset: Dataset) -> SampledGraph:
        """Return these settings with a sampler."""
        parts = config.parts
        sampler = self.sampler or scaled_sampler(dataset.train_graph, parts=parts)
        return replace(self, sampler=sampler)

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return GraphIterations(run)


class GraphIterations:
    """The iterations on subgraphs from a pool, on a `Run`; see `graph_iteration`."""

    cache, moves_weights = None, True

    def __init__(self, run: Run) -> None:
        settings = run.config.method
        self.run, self.sampler = run, settings.sampler
        self.counts = None if settings.normalize == "none" else self._estimated_counts()
        with timed("sampling"):
            pool = run.gnn.SubgraphPool(
                run.graph,
                settings.sampler,
                run.config.rng,
                size=settings.pool,
                first=run.begun,
                turns=run.turns,
                background=settings.background,
            )
        self.pool = run.ahead(pool, attrgetter("nodes"))

    def iteration(self) -> Step:
        """Do an iteration on the next subgraph; return its `Step`."""
        run = self.run
        done = run.gnn.graph_iteration(
            self.pool, run.passes(), self._normalised, run.load, self._labels, run.adam()
        )
        return Step(done.loss, done.gradients, len(done.nodes))

    @timed("normalization")
    def _estimated_counts(self) -> SamplingCounts:
        run = self.run
        return run.gnn.estimate_counts(
            run.graph,
            self.sampler,
            run.config.rng,
            coverage=run.config.method.coverage,
            pool=run.config.method.pool,
        )

    def _normalised(self, sub: Subgraph) -> Any:
        """Return what each layer aggregates with on a subgraph."""
        run = self.run
        if not len(sub.nodes):
            raise ValueError(f"sampler must draw nodes, but {self.sampler} drew none")
        if run.config.method.normalize != "both":
            return run.normalized(run.with_types(sub))
        if run.config.model.name == "mlp":
            return None
        A = run.gnn.samplers.aggregator(self.counts, run.graph, sub, dtype=run.dtype)
        if run.config.model.uses_weights(run.graph):
            data = A.data * saint_factors(run.graph, sub).astype(run.dtype)
            A = run.gnn.Adjacency(A.graph, data, data[sub.transpose_perm])
        return run.stack.operand(A)

    def _labels(self, nodes: Ids) -> tuple[Matrix[Any], Floats[Any] | None]:
        """Return the labels of a subgraph's nodes, and their weights in the loss."""
        run = self.run
        if self.counts is None:
            return run.targets(nodes)
        weights = run.gnn.samplers.loss_weights(self.counts, nodes, dtype=run.dtype)
        chosen = run.in_loss(nodes)
        if chosen is not None:  # then the mean over the training nodes is what is expected
            weights *= chosen * run.dtype.type(run.graph.n / len(run.roots))
        return run.labels(nodes), weights

    def close(self) -> None:
        """End the pool's thread."""
        self.pool.close()


MOST_NODES, WALK_LENGTH = 8000, 2  # where nobody says otherwise


def scaled_sampler(
    graph: Graph,
    name: str | Callable[..., NodeSample] = "pin_tile",
    *,
    parts: Int = 1,
    **options: Any,
) -> Sampler:
    """Return the Sampler `name`, its sizes in proportion to a small training graph.

    The budget n is a fifth of the nodes, at most 8000, where `options` has no other. From it
    follow the sizes that the sampler needs and `options` leaves out: m = n / 8, b = n / 2, h = 2,
    r = n / (h + 1). The papers' m = 1000 and n = 8000 (JPDC'21 section 7.6) are for graphs of 10^5
    nodes and more.

    Parameters
    ----------
    graph : Graph
    name : str or callable
        The kernel, as for `Sampler`.
    parts : int
        Sizes are in proportion to one of so many parts of the graph, all of one size.
    **options
        As for `Sampler`; None stands for the default.

    Returns
    -------
    Sampler

    Raises
    ------
    TypeError, ValueError
        As `Sampler` does.
    """
    function = sampler_kernel(name, "name")[1]
    undirected(graph)
    given = {key: value for key, value in options.items() if value is not None}
    nodes = graph.n // require.integer("parts", parts, 1)
    n = require.integer("n", given.get("n", min(max(nodes // 5, 1), MOST_NODES)), 1)
    h = require.integer("h", given.get("h", WALK_LENGTH), 0)
    m, b, r = (max(size, 1) for size in (min(n // 8, nodes), n // 2, min(n // (h + 1), nodes)))
    sizes = {"n": n, "m": m, "b": b, "r": r, "h": h}
    known = parameters_of(name, function, "name")
    if "n" not in known:  # the budget has set the other sizes
        given.pop("n", None)
    return Sampler(name, **{key: sizes[key] for key in sizes if key in known} | given)
