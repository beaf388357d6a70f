"""The exercises, a file each, in the order in which they are best done."""

import difflib

from refimpl.lab.apps.course.exercise import Exercise, exercise

LEVELS = (
    (
        "mix",
        "key",
        "uniform",
        "below",
        "pick_without_replacement",
        "floyd",
        "transpose_perm",
        "induced_subgraph",
    ),
    (
        "frontier",
        "edge",
        "random_walk",
        "alias_build",
        "row_norm",
        "spmm",
        "feature_propagate",
        "sage_forward",
        "softmax_cross_entropy",
    ),
    (
        "dashboard",
        "pop",
        "clean_up",
        "pin_tile",
        "sample_mfg",
        "select_stable",
        "cache_lookup",
        "cache_admit",
        "prune_mfg",
        "policy",
    ),
)
TITLES = ("random numbers and graphs", "samplers and layers", "Dashboards and FreshGNN")


def names() -> list[str]:
    """Return the names of all exercises, in order."""
    return [name for level in LEVELS for name in level]


def exercises() -> dict[str, Exercise]:
    """Return name -> Exercise of all exercises, in order."""
    return {name: find(name) for name in names()}


def find(name: str) -> Exercise:
    """Return the Exercise of a name.

    Raises
    ------
    ValueError
        If there is none.
    """
    for level, inside in enumerate(LEVELS, 1):
        if name in inside:
            return exercise(name, level)
    close = difflib.get_close_matches(name, names(), 1)
    meant = f"; did you mean {close[0]}?" if close else ""
    raise ValueError(f"there is no exercise {name!r}{meant} (minibatch-gnn exercise list)")
