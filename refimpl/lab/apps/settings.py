"""From the options of a run to its settings: which apply, and what the library makes of them."""

from dataclasses import replace

from refimpl import _check
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.options import (
    CONCATS,
    DEFAULTS,
    OPTIONS,
    PARAMETERS,
    SAMPLERS,
    flag,
    takers_of,
)
from refimpl.lab.apps.values import NO_LIMIT
from refimpl.lab.training.config import APPLIES, TrainConfig
from refimpl.lab.training.fresh import FreshTrainer
from refimpl.lab.training.methods import TRAINERS
from refimpl.lab.training.scaling import scaled_sampler

# What TrainConfig takes as it is, where it applies.
AS_THEY_ARE = (
    "method",
    "model",
    "layers",
    "hidden",
    "epochs",
    "lr",
    "normalize",
    "coverage",
    "classifier_relu",
    "bias",
    "dropout",
    "row_l2",
    "hops",
    "heads",
    "attention",
    "batch",
    "background",
    "workers",
    "p_grad",
    "warmup",
    "buffer",
    "hotness",
    "header",
    "control",
    "cache_layers",
    "rank_base",
    "performance",
    "sample_mode",
    "beta",
    "clusters",
    "clusters_per_batch",
    "layer_sizes",
    "bases",
)

READS_FEATURES = {
    "method": tuple(method for method, kind in TRAINERS.items() if issubclass(kind, FreshTrainer)),
    "dtype": ("float32",),
}

# With which values of other settings an option applies.
CONDITIONS: dict[str, dict[str, tuple]] = {
    **{name: conditions for name, conditions in APPLIES.items() if name in OPTIONS},
    "fanout_order": APPLIES["fanouts"],
    "features": READS_FEATURES,
    "half_features": READS_FEATURES,
    "buffer_overflow": APPLIES["overflow"],
    "no_lookup_roots": APPLIES["lookup_roots"],
    "no_gradient_evict": APPLIES["gradient_evict"],
    "typed_input": APPLIES["node_types"],
    "pool": APPLIES["background"],
    "coverage": {**APPLIES["normalize"], "normalize": (True,)},
    **{name: {**APPLIES["sampler"], "sampler": tuple(takers_of(name))} for name in PARAMETERS},
}


def unmet(name, settings):
    """Return the first setting with which the option `name` does not apply, or None."""
    conditions = CONDITIONS.get(name, {}).items()
    return next((other for other, allowed in conditions if settings[other] not in allowed), None)


def check_applicable(settings, given):
    """Refuse options in `given` that do not apply with the others of `settings`."""
    for name in given:
        other = unmet(name, settings)
        if other == "normalize":
            raise UserError(f"{flag(name)} does not apply without --normalize")
        if other is not None:
            raise UserError(f"{flag(name)} does not apply with {flag(other)} {settings[other]}")


def resolve_sampler(settings, graph):
    """Return (Sampler, its settings) with every default that depends on the graph filled in.

    Settings that do not apply become None.
    """
    options = {parameter: settings[name] for name, parameter in PARAMETERS.items()}
    with user_errors():
        sampler = scaled_sampler(graph, SAMPLERS[settings["sampler"]], **options)
    values = {**sampler.options, "clip": sampler.clip}
    return sampler, {name: values.get(parameter) for name, parameter in PARAMETERS.items()}


def resolve(settings, train_graph):
    """Return (TrainConfig, settings) with every default that depends on the data filled in.

    Settings that do not apply become None, or False where they are switches.
    """
    resolved = dict(settings)
    for name in CONDITIONS:
        if unmet(name, settings) is not None:
            resolved[name] = False if OPTIONS[name].type is bool else None
    taken = {name: resolved[name] for name in AS_THEY_ARE if resolved[name] is not None}
    if settings["pool"] is not None:  # `compare` trains so many iterations, whatever the method
        taken["pool"] = settings["pool"]
    with user_errors():
        _check.word("seed", settings["seed"])
        if settings["method"] == "graph":
            taken["sampler"], found = resolve_sampler(settings, train_graph)
            resolved.update(found)
        if settings["normalize"] and settings["coverage"] is None:
            resolved["coverage"] = DEFAULTS.coverage
        if resolved["concat"] is not None:
            taken["concat"] = CONCATS[resolved["concat"]]
        if resolved["t_stale"] is not None:
            taken["t_stale"] = None if resolved["t_stale"] == NO_LIMIT else resolved["t_stale"]
            taken["overflow"] = resolved["buffer_overflow"]
            taken["staleness"] = resolved["staleness"].replace("-", "_")
            taken["lookup_roots"] = not resolved["no_lookup_roots"]
            taken["gradient_evict"] = not resolved["no_gradient_evict"]
        if settings["model"] == "rgcn":
            taken["relations"] = getattr(train_graph, "relations", 1)
            if resolved["typed_input"]:
                taken["node_types"] = getattr(train_graph, "kinds", 1)
        config = TrainConfig(rng=settings["seed"], fanouts=resolved["fanouts"], **taken)
        if config.fanouts is not None and resolved["fanout_order"] is not None:
            resolved["fanouts"] = [list(f) if isinstance(f, tuple) else f for f in config.fanouts]
            if resolved["fanout_order"] == "code":  # E-G5: the roots' hop last
                config = replace(config, fanouts=config.fanouts[::-1])
    return config, resolved
