"""Python values as JSON and back; docs/conformance.md describes the form."""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

import refimpl
from refimpl import Block, Graph, Sampler, TypedGraph
from refimpl._support.untrusted_files import read_npz, reading
from refimpl.lab.backend import find, homes

GRAPH = ("indptr", "indices")
UNSEEN = ("overwrite", "probing")  # arguments of which no result shows anything: vectors go without
LARGEST = 1000  # numbers of an array that a JSON file holds; longer ones go to an .npz file
EXACT_FLOAT = 2**53  # integers from here on are decimal strings
LARGEST_INTEGER = 10**40
NUMBER = re.compile(r"-?[0-9]{1,40}|nan|-?inf")

JsonObject: TypeAlias = dict[str, Any]
ArraysOf: TypeAlias = Callable[[str], Mapping[str, NDArray[Any]]]  # of an .npz file

# Types whose fields are not simply the arguments that make them.
TO_FIELDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "TypedGraph": lambda graph: {
        "graph": Graph(graph.indptr, graph.indices),
        "edge_types": graph.edge_types,
        "relations": graph.relations,
        "node_types": graph.node_types,
    },
    "Sampler": lambda sampler: {
        "name": sampler.name,
        "clip": sampler.clip,
        "options": {k: value for k, value in sampler.options.items() if k not in UNSEEN},
    },
}
FROM_FIELDS: dict[str, Callable[..., Any]] = {
    "TypedGraph": TypedGraph,
    "Sampler": lambda name, clip, options: Sampler(name, clip=clip, **options),
}


class Arrays:
    """The long arrays of one file of vectors, collected while its values are encoded."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.arrays: dict[str, NDArray[Any]] = {}
        self._keys: dict[tuple[np.dtype[Any], tuple[int, ...], str], str] = {}

    def add(self, array: NDArray[Any]) -> JsonObject:
        """Keep an array, if it is a new one; return the JSON value that stands for it."""
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest = hashlib.sha256(array.tobytes()).hexdigest()
        key = self._keys.setdefault((array.dtype, array.shape, digest), f"array{len(self.arrays)}")
        self.arrays[key] = array
        return {"npz": self.file, "key": key, "sha256": digest}


def encode(value: Any, arrays: Arrays | None = None) -> Any:
    """Return `value` as what `json` can write.

    Parameters
    ----------
    value : None, bool, int, float, str, dtype, array, Graph, or a list, tuple or dict of values,
        or a NamedTuple or dataclass of them
    arrays : Arrays, optional
        Takes the arrays of more than `LARGEST` numbers; without it they are written out.

    Raises
    ------
    TypeError
        If the value, or one inside it, is of another type.
    ValueError
        If a string reads as a number.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float):
        return _number(value)
    if isinstance(value, str):
        if NUMBER.fullmatch(value):
            raise ValueError(f"the string {value!r} would be read as a number")
        return value
    if isinstance(value, np.ndarray):
        return _array(value, arrays)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).name
    if type(value) is Graph:
        return {"graph": {name: _ids(getattr(value, name), arrays) for name in GRAPH}}
    fields = fields_of(value)
    if fields is not None:
        inside = {name: encode(part, arrays) for name, part in fields.items()}
        return {"fields": inside} if type(value) is dict else {**_type(value), "fields": inside}
    if isinstance(value, list | tuple):
        return [encode(part, arrays) for part in value]
    raise TypeError(f"there is no JSON form of {type(value).__name__}")


def _number(value: bool | float | None) -> bool | float | str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    large = isinstance(value, int) and abs(value) >= EXACT_FLOAT
    return str(value) if large else value


def _array(array: NDArray[Any], arrays: Arrays | None) -> JsonObject:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"there is no JSON form of an array of {array.dtype}")
    if arrays is not None and array.size > LARGEST:
        return arrays.add(array)
    data = [_number(x) for x in array.ravel().tolist()]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def _ids(array: NDArray[Any], arrays: Arrays | None) -> Any:
    """Return integers whose dtype does not matter as a list."""
    if arrays is not None and array.size > LARGEST:
        return arrays.add(array)
    return array.tolist()


def _type(value: object) -> dict[str, str]:
    """Return the name of a type of refimpl; those of another package have names of their own."""
    name = type(value).__name__
    return {"type": name} if name in homes() else {}


def fields_of(value: Any) -> dict[str, Any] | None:
    """Return the parts of a value that has named ones, or None."""
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("there is no JSON form of a dict whose keys are not strings")
        return value
    special = TO_FIELDS.get(type(value).__name__)
    if special is not None:
        return special(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = [field.name for field in dataclasses.fields(value) if field.init]
        if isinstance(value, Block) and value.weights is None:
            given.remove("weights")
        return {name: getattr(value, name) for name in given}
    return None


def decode(value: Any) -> Any:
    """Return the Python value that `encode` wrote as `value`.

    Lists stay lists, but for fields that are tuples. Of arrays, those of an .npz file must have
    been put back by `inline`.

    Raises
    ------
    KeyError, TypeError, ValueError
        If `value` is not of the form, or names a type that refimpl does not have.
    """
    if isinstance(value, str):
        return number(value)
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "data" in value:
        data = [number(x) for x in value["data"]]
        return np.array(data, value["dtype"]).reshape(value["shape"])
    if "graph" in value:
        return Graph(*(_integers(value["graph"][name]) for name in GRAPH))
    fields = {name: decode(part) for name, part in value["fields"].items()}
    return build(value["type"], fields) if "type" in value else fields


def _integers(ids: Any) -> NDArray[np.int64]:
    return np.array(ids["data"] if isinstance(ids, dict) else ids, np.int64)


def build(name: str, fields: dict[str, Any]) -> Any:
    """Return the value of a public type of refimpl with these fields; lists become tuples."""
    if name not in homes():
        raise ValueError(f"there is no type {name!r}")
    if name in FROM_FIELDS:
        return FROM_FIELDS[name](**fields)
    kind = find(refimpl, name)
    for field, hint in get_type_hints(kind).items():
        if tuple in (hint, get_origin(hint)) and isinstance(fields.get(field), list):
            fields[field] = tuple(fields[field])
    return kind(**fields)


def number(value: Any) -> Any:
    """Return the number that a JSON string stands for; anything else as it is."""
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return str(value)  # no number of ours; Python cannot compare it with a float
    if not isinstance(value, str) or not NUMBER.fullmatch(value):
        return value
    return float(value) if value[-1] in "nf" else int(value)


def archives_in(folder: Path) -> ArraysOf:
    """Return a function that gives the arrays, by name, of an .npz file in `folder`."""

    def arrays_of(name: str) -> Any:
        if Path(name).name != name:
            raise ValueError(f"{name!r} must be a file beside it")
        with reading(folder / name, "an archive of arrays") as file:
            return read_npz(file)

    return arrays_of


def inline(value: Any, arrays_of: ArraysOf) -> Any:
    """Return `value` with its arrays in .npz files, which ``arrays_of(name)`` gives, written out.

    Raises
    ------
    ValueError
        If an array is not the one that was written: its SHA-256 differs.
    """
    if isinstance(value, list):
        return [inline(part, arrays_of) for part in value]
    if not isinstance(value, dict):
        return value
    if "npz" not in value:
        return {name: inline(part, arrays_of) for name, part in value.items()}
    array = arrays_of(value["npz"])[value["key"]]
    if hashlib.sha256(array.tobytes()).hexdigest() != value["sha256"]:
        raise ValueError(f"{value['npz']} is damaged: {value['key']} has another SHA-256")
    return encode(array)


def dumps(value: Any) -> str:
    """Return a value made by `encode` as one line of JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
