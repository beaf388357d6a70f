"""Sizes of runs that a user changes: ``--size NAME=VALUE``, with values as in JSON."""

import argparse
import json
import math

from refimpl._support.require import shown
from refimpl.lab.apps.errors import UserError


def typed_size(text):
    """Return the name and the value that a user typed; argparse reports the errors."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        form = f"must be NAME=VALUE, VALUE as in JSON, got {shown(text)}"
        raise argparse.ArgumentTypeError(form) from None


def changed(figure, sizes, wanted):
    """Return the sizes of a figure with those that a user wants, [(name, value), ..].

    Raises
    ------
    UserError
        If there is no such size, or the value is not of the kind of the figure's own.
    """
    for name, value in wanted:
        if name not in sizes:
            raise UserError(f"--size: {figure.id} has no size {name!r}; it has {', '.join(sizes)}")
        if not _alike(value, figure.full[name]):
            example = json.dumps(figure.full[name])
            got = shown(json.dumps(value))
            raise UserError(f"--size {name} must be of the kind of {example}, got {got}")
    return {**sizes, **dict(wanted)}


def _alike(value, own):
    """Say whether a value has the kind of a figure's own.

    Lists may be longer or shorter; where the figure has an empty one, it is of words.
    """
    if isinstance(own, list):
        kind = own[0] if own else ""
        return isinstance(value, list) and all(_alike(one, kind) for one in value)
    if isinstance(own, dict):
        return (
            isinstance(value, dict)
            and value.keys() == own.keys()
            and all(_alike(value[key], own[key]) for key in own)
        )
    if isinstance(own, str) or isinstance(value, bool):
        return isinstance(value, type(own))
    number = isinstance(value, int if isinstance(own, int) else int | float)
    return number and math.isfinite(value) and value >= 0
