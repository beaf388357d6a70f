"""From a seed and a number to a subgraph, whatever the sampler."""

from __future__ import annotations

import inspect
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, overload

from refimpl import streams
from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.graph import Subgraph, induced_subgraph
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Int, Rng, SamplerOptions
from refimpl.samplers.clip import clip_nodes
from refimpl.samplers.nodes import KERNELS, NodeSample

if TYPE_CHECKING:
    from typing_extensions import Unpack

PARTS: Mapping[str, Callable] = ChainMap(  # all that `sample_many` is made of
    {"clip_nodes": clip_nodes, "induced_subgraph": induced_subgraph}, KERNELS
)


class Sampler:
    """A sampler and its options, such as ``Sampler("pin_tile", m=100, n=800, eta=2)``.

    For `sample_many` and `train`.

    Parameters
    ----------
    kernel : str or callable
        Which function draws the nodes: the name of a sampler of ``refimpl.samplers``, such as
        "pin_tile" (or with a hyphen), or a function of your own, called as
        ``kernel(graph, main, **options)`` or, if its third parameter is named so, as
        ``kernel(graph, main, probe, **options)``, that returns a NodeSample. `main` and `probe`
        are keys of streams; all else is by keyword only, and not called `clip`.
    clip : int, optional
        Drop random nodes until their number is a multiple of this; see `clip_nodes`.
    **options
        That function's keyword arguments.

    Attributes
    ----------
    name : str
        Of the function.
    function : callable or None
        The one of your own.
    streams : int
        How many keys it takes, 1 or 2.

    Raises
    ------
    ValueError, TypeError
        If there is no such sampler, or it takes no such option, or one is missing, or a function
        has other parameters than those.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(
            self, kernel: str, /, *, clip: Int | None = None, **options: Unpack[SamplerOptions]
        ) -> None: ...
        @overload
        def __init__(
            self, kernel: Callable[..., NodeSample], /, *, clip: Int | None = None, **options: Any
        ) -> None: ...

    def __init__(
        self, kernel: str | Callable[..., NodeSample], /, *, clip: Int | None = None, **options: Any
    ) -> None:
        name, function = sampler_kernel(kernel)
        self.function = function if callable(kernel) else None
        self.clip = None if clip is None else require.integer("clip", clip, 1, 2**31 - 1)
        parameters = parameters_of(name, function).values()
        places = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        if places not in (["graph", "main"], ["graph", "main", "probe"]):
            raise TypeError(
                f"kernel must have the parameters graph, main and perhaps probe, and options by "
                f"keyword only, but {name} has {', '.join(places)}"
            )
        self.streams = len(places) - 1
        if self.function and any(p.name == "clip" for p in parameters):
            raise TypeError(f"kernel must not have the parameter clip, which Sampler has: {name}")
        known = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        if unknown := sorted(options.keys() - known.keys()):
            raise TypeError(f"{name} takes {', '.join(known)}, clip; got {', '.join(unknown)}")
        filled = {**known, **options}
        if missing := [k for k, value in filled.items() if value is inspect.Parameter.empty]:
            raise TypeError(f"{name} needs {', '.join(missing)}")
        self.name, self.options = name, filled

    def __eq__(self, other):
        return isinstance(other, Sampler) and self._parts() == other._parts()

    def _parts(self):
        return self.name, self.function, self.options, self.clip

    def __repr__(self):
        options = "".join(f", {k}={v!r}" for k, v in (*self.options.items(), ("clip", self.clip)))
        return f"Sampler({self.name if self.function else repr(self.name)}{options})"


def parameters_of(name, function, argument="kernel"):
    """Return the parameters of a sampler's function by name, or raise."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some that are written in C
        raise TypeError(f"{argument} must have a signature, but {name} has none") from None


def sampler_kernel(kernel, argument="kernel"):
    """Return (name, function) of a sampler's name, with hyphens or underscores, or function."""
    if callable(kernel):
        return getattr(kernel, "__name__", type(kernel).__name__), kernel
    name = kernel.replace("-", "_") if isinstance(kernel, str) else kernel
    return name, KERNELS[require.choice(argument, name, tuple(KERNELS))]


def sampling_arguments(graph, sampler, rng, first, count, domain):
    """Check all but the sampler's options; return all arguments, a seed instead of `rng`."""
    graph = undirected(graph)
    sampler = checked_sampler(sampler)
    first = require.integer("first", first, 0, 2**63 - 1)
    domain = require.integer("domain", domain, streams.SAMPLE, streams.SAINT)
    seed = streams.as_seed(rng)
    return graph, sampler, seed, first, require.integer("count", count, 0, 2**31 - 1), domain


@checked_by(sampling_arguments)
def sample_many(
    graph: Graph,
    sampler: Sampler,
    rng: Rng,
    first: Int,
    count: Int,
    *,
    domain: Int = streams.SAMPLE,
) -> list[Subgraph]:
    """Return subgraphs number first, first + 1, .., first + count - 1 of a run.

    JPDC'21 Algorithm 8, lines 4-8. Subgraph q depends on the seed and q alone, so it does not
    matter how many are drawn at once, or on how many threads. O(count) times the time of the
    sampler, `induced_subgraph` and `transpose_perm`.

    Parameters
    ----------
    graph : Graph
        Undirected.
    sampler : Sampler
    rng : int, numpy.random.Generator or None
        See `as_seed`. An int gives the same subgraphs each time.
    first, count : ints >= 0
    domain : int
        What the subgraphs are for: SAMPLE (0), training, or SAINT (1), estimates for it. Each
        has subgraphs of its own.

    Returns
    -------
    list of Subgraph

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, or an option does not fit it.
    """
    seed = streams.as_seed(rng)
    subgraphs = []
    for q in range(first, first + count):  # 4
        # E-F6: each has its own place in the list
        subgraphs.append(sample_one(PARTS, graph, sampler, seed, domain, q))  # 5-7
    return subgraphs


def sample_with(parts, graph, sampler, seed, first, count, domain):
    """Return what `sample_many` does, made by other functions than `PARTS`, under its names.

    The arguments are those that `sampling_arguments` returns.
    """
    every = range(first, first + count)
    return [sample_one(parts, graph, sampler, seed, domain, q) for q in every]


def sample_one(parts, graph, sampler, seed, domain, q):
    """Return subgraph number q."""
    keys = [streams.key(seed, domain, q, s) for s in range(sampler.streams)]
    kernel = sampler.function or parts[sampler.name]
    sample = kernel(graph, *keys, **sampler.options)  # J8:5
    if not isinstance(sample, NodeSample):
        raise TypeError(f"{sampler.name} must return a NodeSample, got {type(sample).__name__}")
    nodes = sample.nodes
    if sampler.clip is not None:
        nodes = parts["clip_nodes"](nodes, sampler.clip, keys[0], sample.counters.draws)
    subgraph = parts["induced_subgraph"](graph, nodes)  # J2:9 J3:31 J5:5 17 J8:5-6 I3:26
    return subgraph._replace(counters=sample.counters)  # J2:10 J3:32


def checked_sampler(sampler):
    """Return a Sampler with the same parts, each read once and checked, or raise."""
    if not isinstance(sampler, Sampler):
        raise TypeError(f"sampler must be a Sampler, got {type(sampler).__name__}")
    made = object.__new__(Sampler)
    made.name, made.function, options, clip = sampler._parts()
    if made.function is None:
        require.choice("sampler", made.name, tuple(KERNELS))
    made.options, made.streams = dict(options), sampler.streams
    made.clip = None if clip is None else require.integer("clip", clip, 1, 2**31 - 1)
    return made
