"""Parts of the arguments of a call: every one by its path, and the arguments with one replaced."""

import numpy as np
from scipy.sparse import issparse

from refimpl import Adjacency, Block, Graph

FIELDS = ["graph", "data", "data_t", "graph_t", "perm"]  # of an Adjacency


def walk(value, path=(), depth=5):
    """Yield (path, part) for every part of some arguments that can be put back changed."""
    if path:
        yield path, value
    if depth == 0 or isinstance(value, Graph | Block):
        return  # those check themselves when they are made
    for key in keys(value):
        yield from walk(part(value, key), (*path, key), depth - 1)


def keys(value):
    """Return the names, or the places, of the parts of a value that are looked into."""
    if isinstance(value, dict):
        return [key for key in value if isinstance(key, str)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(value._fields)
    if isinstance(value, Adjacency):
        return FIELDS
    if isinstance(value, tuple | list):
        return sorted({*range(min(2, len(value))), len(value) - 1} - {-1})
    return []


def part(value, key):
    """Return one part."""
    if issparse(value):  # which an earlier change has put there: damaged ones end the process
        raise TypeError("a matrix of scipy.sparse has no parts to change")
    if isinstance(key, str) and not isinstance(value, dict):
        return getattr(value, key)
    return value[key]


def replaced(value, path, new):
    """Return `value` with another part, or another item of a dict; nothing is written into it."""
    if not path:
        return new
    if isinstance(value, np.ndarray):  # which an earlier change has put there
        raise TypeError("an array has no parts to change")
    key, rest = path[0], path[1:]
    inner = replaced(part(value, key), rest, new) if rest else new
    if isinstance(value, dict):
        return {**value, key: inner}
    if isinstance(value, Adjacency):
        return Adjacency(**{**{name: getattr(value, name) for name in FIELDS}, key: inner})
    if isinstance(key, str):
        return value._replace(**{key: inner})
    return type(value)([*value[:key], inner, *value[key + 1 :]])


def is_frame(path):
    """Whether a part says how a call is written, and is no argument: `*parts`, methods, ..."""
    return path in (("calls",), ("parts",), ("options",)) or (path[0] == "calls" and len(path) < 4)
