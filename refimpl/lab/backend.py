"""What a backend is: all public names, those that take an implementation bound to it.

Code that is written once takes the implementation as its first argument `gnn`, or, if it is a
class, has it as the class attribute `gnn`. `refimpl` and `fastimpl` fill it in for their own names
(`fill`), `backend` for any set of kernels.
"""

import difflib
import functools
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from refimpl._support.reprs import short_repr
from refimpl.history.policy import update_arguments, update_with
from refimpl.samplers.sampling import PARTS, sample_with, sampling_arguments
from refimpl.streams import SAMPLE

TOPICS = (
    "streams",
    "graph",
    "block",
    "adjacency",
    "typed",
    "samplers",
    "propagation",
    "partition",
    "layers",
    "losses",
    "optimizers",
    "metrics",
    "scheduling",
    "cost_models",
    "history",
    "loader",
    "training",
    "profiling",
    "lab.data",
    "lab.distributed",
    "lab.training",
    "lab.training.models",
    "lab.training.methods",
    "lab.pyg",
    "lab.backend",
)
AT_THE_TOP = {"models": "lab.training.models", "methods": "lab.training.methods"}
ENTRY = re.compile(r"^( *)gnn : module\n(?:\1 +.*\n)+", re.M)  # of a docstring

__all__ = ["backend"]


def backend(module: ModuleType, **kernels: Callable[..., Any]) -> ModuleType:
    """Return a complete backend: the given kernels, and the rest from `module` and `refimpl`.

    Not in the papers. What takes an implementation (`train`, `estimate_counts`,
    `BidirectionalCache`, ..) is bound to the new backend, so it calls the given kernels: matrices,
    layers, losses, rows, `spmm`, `adam_step`, sampled neighbours, the cache. `sample_many` of
    the backend calls a given sampler, `clip_nodes`, `induced_subgraph` or `transpose_perm`, one
    subgraph after the other.

    Kernels do not call each other by name, and nothing that is bound looks up the following, so a
    backend offers them under their names only: of the streams all but `uniform` (called for the
    first weights, random policies and `calibrate`), `pick_without_replacement` (the order of
    batches) and `key` (of each node's dropout), `alias_build`, `alias_draw`, `add_self_loops`,
    `as_graph`, `relation_blocks`, `spmm_t`, `sample_mfg_many`, `f1_micro`, `grow_clusters`, the
    partition with `feature_propagate`, scheduling, cost models but `calibrate`, data sets, saved
    files, and of the loader all but `gather_rows`.

    Parameters
    ----------
    module : module
        refimpl, fastimpl, or any module that has some of the public names, at its top or in its
        topics; refimpl fills in what it lacks.
    **kernels : functions
        By public name, wherever the name stands: ``backend(fastimpl, spmm=f, row_norm=g)``.

    Returns
    -------
    module
        With the topics and the names of `refimpl`, called "backend of" `module`, whose version
        and build it has. It is not entered in ``sys.modules``.

    Raises
    ------
    TypeError
        If a kernel is not callable.
    ValueError
        If a kernel has no public name.
    """
    known = homes()
    for name, kernel in kernels.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise ValueError(f"there is no public name {name!r}{hint}")
        if not callable(kernel):
            raise TypeError(f"{name} must be callable, got {type(kernel).__name__}")
    reference = sys.modules["refimpl"]
    name = f"backend of {module.__name__.removeprefix('backend of ')}"
    made: Any = ModuleType(name, module.__doc__)
    chosen = {name: _chosen(name, module, kernels) for name in known}
    composed = _composed({name: rank for name, (_, rank) in chosen.items()})
    for topic in TOPICS:
        place = made
        for part in topic.split("."):
            if not hasattr(place, part):
                setattr(place, part, ModuleType(f"{place.__name__}.{part}"))
            place = getattr(place, part)
        ours = find_topic(reference, topic)
        place.__doc__, place.__all__ = ours.__doc__, list(ours.__all__)
        for name in ours.__all__:
            value = chosen[name][0]
            if name in composed:
                value = bind(COMPOSED[name](value), made, place.__name__)
            elif name not in kernels:
                value = bind_again(value, made, place.__name__)
            setattr(place, name, value)
        _offer_later(ours, place, made)
    made.__all__ = list(reference.__all__)
    for name in reference.__all__:
        setattr(made, name, find(made, name))
    given = {n: getattr(module, n) for n in ("__version__", "build_info") if hasattr(module, n)}
    if hasattr(module, "compiled"):
        given["compiled"] = tuple(n for n in module.compiled if n not in kernels.keys() | composed)
    vars(made).update(given)
    return made


def _chosen(name: str, module: ModuleType, kernels: dict[str, Any]) -> tuple[Any, int]:
    """Return a backend's function and where it is from: 2 given, 1 the module's, 0 refimpl's."""
    topic = homes()[name]
    ours = getattr(find_topic(sys.modules["refimpl"], topic), name)
    theirs = getattr(find_topic(module, topic), name, getattr(module, name, ours))
    return (kernels[name], 2) if name in kernels else (theirs, int(theirs is not ours))


def _composed(rank: dict[str, int]) -> set[str]:
    """Return the kernels of which a part is from nearer to the user than they are themselves."""
    names = set()
    for name, parts in (
        ("induced_subgraph", {"transpose_perm"}),
        ("sample_many", {*PARTS, "transpose_perm"}),
        ("prune_layers", {"prune_mfg", "live_layers"}),
        ("cache_update", {"select_stable"}),  # of admission and lookup a cache knows by itself
    ):
        if any(rank[part] > rank[name] for part in parts):
            names.add(name)
    return names


def _with_perm(induced: Callable[..., Any]) -> Callable[..., Any]:
    """Return `induced_subgraph` that takes `transpose_perm` from a backend."""

    @functools.wraps(induced)
    def induced_subgraph(gnn: ModuleType, graph: Any, nodes: Any) -> Any:
        sub = induced(graph, nodes)
        return sub._replace(transpose_perm=gnn.graph.transpose_perm(sub.graph))

    del induced_subgraph.__wrapped__
    return induced_subgraph


def _with_parts(whole: Callable[..., Any]) -> Callable[..., Any]:
    """Return `sample_many` that takes all that it is made of from a backend."""

    @functools.wraps(whole)
    def sample_many(
        gnn: Any,
        graph: Any,
        sampler: Any,
        rng: Any,
        first: Any,
        count: Any,
        *,
        domain: Any = SAMPLE,
    ) -> Any:
        parts = {name: find(gnn, name) for name in PARTS}
        arguments = sampling_arguments(graph, sampler, rng, first, count, domain)
        return sample_with(parts, *arguments)

    del sample_many.__wrapped__
    return sample_many


def _pruned(whole: Callable[..., Any]) -> Callable[..., Any]:
    """Return `prune_layers` that takes its two steps from a backend."""

    @functools.wraps(whole)
    def prune_layers(gnn: ModuleType, mfg: Any, hit: Any) -> Any:
        return gnn.history.live_layers(gnn.prune_mfg(mfg, hit))

    del prune_layers.__wrapped__
    return prune_layers


def _with_selection(whole: Callable[..., Any]) -> Callable[..., Any]:
    """Return `cache_update` that takes `select_stable` from a backend."""

    @functools.wraps(whole)
    def cache_update(
        gnn: ModuleType,
        cache: Any,
        layer: Any,
        ids: Any,
        score: Any,
        comp: Any,
        values: Any,
        i: Any,
        *,
        p: Any,
        rank_base: Any = "all",
        gradient_evict: Any = True,
        allow: Any = None,
    ) -> Any:
        options = rank_base, gradient_evict
        arguments = cache, layer, ids, score, comp, values, i, p, *options, allow
        return update_with(gnn.history.select_stable, *update_arguments(*arguments))

    del cache_update.__wrapped__
    return cache_update


COMPOSED = {
    "induced_subgraph": _with_perm,
    "sample_many": _with_parts,
    "prune_layers": _pruned,
    "cache_update": _with_selection,
}


def find(gnn: ModuleType, name: str) -> Any:
    """Return what has the public name `name`, in its topic or at the top.

    A module that has a few kernels only may have them at its top.

    Raises
    ------
    AttributeError
        If the backend has no such name.
    """
    if name in AT_THE_TOP:
        return find_topic(gnn, AT_THE_TOP[name])
    topic = find_topic(gnn, homes()[name]) if name in homes() else None
    return getattr(topic if hasattr(topic, name) else gnn, name)


def completed(module: ModuleType) -> ModuleType:
    """Return a module that is to be an implementation: itself if it is whole, else a `backend`.

    Raises
    ------
    ValueError
        If it has no public name.
    """
    if is_whole(module):
        return module
    names = homes()
    if not any(hasattr(find_topic(module, t), n) or hasattr(module, n) for n, t in names.items()):
        raise ValueError(f"{module.__name__} is no implementation: it has no kernel")
    return backend(module)


def is_whole(module: ModuleType) -> bool:
    """Whether a module has all public names, each in its topic."""
    return all(hasattr(find_topic(module, topic), name) for name, topic in homes().items())


def own(module: ModuleType, name: str) -> Any:
    """Return what has the public name `name` in a module, or None if that is not its own.

    What a module of some kernels imported from refimpl, to build on, is not its own.
    """
    try:
        value = find(module, name)
    except AttributeError:
        return None
    theirs = name in homes() and value is find(sys.modules["refimpl"], name)
    return None if theirs and not is_whole(module) else value


def find_topic(gnn: Any, topic: str) -> Any:
    """Return the topic of a backend, or None."""
    for part in topic.split("."):
        gnn = getattr(gnn, part, None)
    return gnn


@functools.cache
def homes() -> dict[str, str]:
    """Return a dict from each public name to its topic."""
    reference = sys.modules["refimpl"]
    return {name: t for t in TOPICS for name in find_topic(reference, t).__all__}


def fill(package: str) -> tuple[str, ...]:
    """Give `package` its public names; return those that it has compiled.

    A topic that the package has no file for is made. A name is what the package's own module of
    the same path defines (fastimpl.layers.sage as refimpl.layers.sage), else the reference's; if
    that takes an implementation, bound to this package.
    """
    gnn, compiled = sys.modules[package], []
    for topic in TOPICS:
        ours = importlib.import_module(f"refimpl.{topic}")
        place = _module(package, topic)
        place.__doc__, place.__all__ = place.__doc__ or ours.__doc__, list(ours.__all__)
        for name in ours.__all__:
            value = getattr(ours, name)
            if inspect.isclass(value) and hasattr(value, "_fields"):
                type.__setattr__(value, "__repr__", short_repr)  # of a named tuple with arrays
            own = _own(package, value)
            if own is not None:
                compiled.append(name)
            setattr(place, name, own or bind_again(value, gnn, place.__name__))
        _offer_later(ours, place, gnn)
    for name in sys.modules["refimpl"].__all__:
        setattr(gnn, name, find(gnn, name))
    return tuple(sorted(compiled))


def _offer_later(ours: ModuleType, place: Any, gnn: ModuleType) -> None:
    """Give a topic the names that are made when they are asked for, if the reference has some."""
    if hasattr(ours, "later"):
        place.__getattr__ = functools.partial(ours.later, place, gnn=gnn, bind=bind)


def _module(package: str, topic: str) -> Any:
    """Return a topic of a package; make it, and enter it, if there is none."""
    gnn, path = sys.modules[package], package
    for part in topic.split("."):
        path = f"{path}.{part}"
        if not hasattr(gnn, part):
            if path not in sys.modules and not _has_file(path):
                sys.modules[path] = ModuleType(path)
                sys.modules[path].__path__ = []
            setattr(gnn, part, importlib.import_module(path))
        gnn = getattr(gnn, part)
    return gnn


def _has_file(path: str) -> bool:
    """Whether there is code of a module; a folder with stubs alone holds none."""
    spec = importlib.util.find_spec(path)
    return spec is not None and spec.origin is not None


def _own(package: str, value: Any) -> Any:
    """Return the package's own version of the reference's function `value`, or None."""
    home = getattr(value, "__module__", "").removeprefix("refimpl.")
    path = f"{package}.{home}"
    if package == "refimpl" or not inspect.isfunction(value) or hasattr(value, "unbound"):
        return None
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError:
        return None
    own = vars(module).get(value.__name__)
    return own if getattr(own, "__module__", None) == path else None


def bind_again(value: Any, gnn: ModuleType, module: str) -> Any:
    """Return what takes an implementation bound to `gnn`; anything else as it is."""
    value = getattr(value, "unbound", value)
    return bind(value, gnn, module) if takes_implementation(value) else value


def takes_implementation(value: Any) -> bool:
    """Whether a public function has the first argument `gnn`, or a class the attribute."""
    if inspect.isclass(value):
        return hasattr(value, "gnn")
    return inspect.isfunction(value) and next(iter(inspect.signature(value).parameters), 0) == "gnn"


def bind(unbound: Any, gnn: ModuleType, module: str) -> Any:
    """Return a function with its first argument filled in, or a subclass with its attribute `gnn`.

    It says that it stands in `module`, shows nothing of `gnn`, and has the original as its
    attribute `unbound`.
    """
    if inspect.isclass(unbound):
        names = {"gnn": gnn, "unbound": unbound, "__module__": module, "__doc__": unbound.__doc__}
        return type(unbound)(unbound.__name__, (unbound,), names)  # type: ignore[misc]
    signature = inspect.signature(unbound)

    @functools.wraps(unbound)
    def bound_function(*args: Any, **kwargs: Any) -> Any:
        return unbound(gnn, *args, **kwargs)

    bound: Any = bound_function
    bound.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    bound.__module__ = module
    bound.__doc__ = ENTRY.sub("", unbound.__doc__ or "")
    bound.unbound = unbound
    return bound
