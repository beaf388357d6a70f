"""What annotations say is what functions take and give; the twins' and the stubs' are the same."""

import collections.abc
import copy
import dataclasses
import functools
import inspect
import types
import typing
from pathlib import Path

import numpy as np
import pytest

import fastimpl
import refimpl
from refimpl.hints import F, Ids, Int, Integers, Matrix, Rng, SamplerOptions
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.vectors import apply
from refimpl.lab.backend import TOPICS, find, find_topic, homes
from refimpl.lab.hints import TrainSettings
from refimpl.samplers.sampling import KERNELS

NAMES = [n for topic in TOPICS for n in find_topic(refimpl, topic).__all__]
STRANGE = ("no_blocks",)  # a graph of int64 nodes, where samplers give int32
SCALARS = {int: (int, np.integer), float: (float, int), bool: (bool, np.bool_)}


def fits(value, hint, floats):
    """Whether a value is what an annotation says; `floats` collects the dtypes that stand for F."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any or hint is object:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part, floats) for part in parts)
    if origin is typing.Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if origin is np.ndarray or hint is np.ndarray:
        return isinstance(value, np.ndarray) and (not parts or array_fits(value, *parts, floats))
    if origin is np.dtype:
        return isinstance(value, np.dtype) and dtype_fits(value, parts[0], floats)
    if origin is type:
        return isinstance(value, type) and issubclass(value, parts[0])
    if origin in (tuple, list, collections.abc.Sequence, dict):
        return isinstance(value, origin) and parts_fit(value, origin, parts, floats)
    if origin is collections.abc.Callable:
        return callable(value)
    if hint in (None, type(None)):
        return value is None
    if hint is int or hint is float:
        return isinstance(value, SCALARS[hint]) and not isinstance(value, bool | np.bool_)
    kind = SCALARS.get(hint, origin or hint)
    if not isinstance(value, kind):
        return getattr(hint, "_is_protocol", False)
    return fields_fit(value, floats) if inspect.isclass(hint) else True


def array_fits(value, shape, dtype, floats):
    """Whether an array has the dimensions and the dtype of ``np.ndarray[shape, dtype]``."""
    dimensions = typing.get_args(shape)
    some = Ellipsis in dimensions
    return (some or value.ndim == len(dimensions)) and fits(value.dtype, dtype, floats)


def dtype_fits(dtype, scalar, floats):
    """Whether a dtype is that of ``np.dtype[scalar]``, a type, a union of them or F."""
    if scalar is typing.Any:
        return True
    if scalar is F:
        floats.add(dtype)
        return len(floats) == 1 and dtype in (np.float32, np.float64)
    union = typing.get_origin(scalar) in (typing.Union, types.UnionType)
    kinds = typing.get_args(scalar) if union else (scalar,)
    return any(issubclass(dtype.type, typing.get_origin(kind) or kind) for kind in kinds)


def parts_fit(value, origin, parts, floats):
    """Whether the parts of a container are what is said of them."""
    if not parts:
        return True
    if origin is dict:
        return all(
            fits(k, parts[0], floats) and fits(v, parts[1], floats) for k, v in value.items()
        )
    if origin is tuple and parts[-1] is not Ellipsis:
        return len(value) == len(parts) and all(map(fits, value, parts, [floats] * len(parts)))
    return not isinstance(value, str) and all(fits(part, parts[0], floats) for part in value)


def fields_fit(value, floats):
    """Whether the fields of a named tuple or dataclass are what its class says."""
    names = getattr(value, "_fields", ())
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    hints = hints_of(type(value)) if names else {}
    return all(fits(getattr(value, name), hints[name], set()) for name in names if name in hints)


@functools.cache
def hints_of(code):
    return typing.get_type_hints(code)


def misfits(function, case):
    """Return what of the arguments and the result of a case is not what annotations say."""
    hints = hints_of(function.__init__ if inspect.isclass(function) else function)
    args, floats = copy.deepcopy(dict(case.args)), set()
    found = [
        f"{case.id}: {name} {value!r} is no {hints[name]}"
        for name, value in args.items()
        if name in hints and name != "parts" and not fits(value, hints[name], floats)
    ]
    result = apply(function, args)
    hint = function if inspect.isclass(function) else hints["return"]
    if "calls" not in args and not fits(result, hint, floats):
        found.append(f"{case.id}: the result {result!r} is no {hint}")
    return found


@pytest.mark.parametrize("kernel", kernels().values(), ids=list(kernels()))
def test_arguments_and_results_are_what_annotations_say(kernel):
    """So that a checker refuses no right call, and knows what comes back."""
    function = find(refimpl, kernel.name)
    cases = [case for case in kernel.cases if case.error is None and case.id not in STRANGE]
    assert cases
    assert [line for case in cases for line in misfits(function, case)] == []


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (2.5, Int),
        (True, Int),
        ("7", Rng),
        ([0.5], Integers),
        (np.zeros(2), Integers),
        (np.zeros((1, 2), int), Integers),
        ("edge", Integers | None),
        (np.zeros((2, 2), np.float16), Matrix[F]),
        (np.zeros(2), Matrix[F]),
        (np.zeros(2, np.int64), Ids),
        ((np.zeros(2, np.int32), 1), tuple[Ids, ...]),
        (refimpl.MFG((np.zeros(1),), ()), refimpl.MFG),
        ("pop", typing.Literal["popped"]),
    ],
)
def test_what_is_something_else_does_not_fit(value, hint):
    assert not fits(value, hint, set())


def test_arrays_of_one_call_have_one_dtype():
    floats = set()
    assert fits(np.zeros((2, 2)), Matrix[F], floats)
    assert not fits(np.zeros((2, 2), np.float32), Matrix[F], floats)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_and_result_is_annotated(name):
    """Of public functions, and of the public methods of classes."""
    value = getattr(find(refimpl, name), "unbound", find(refimpl, name))
    functions = {name: value} if inspect.isfunction(value) else methods(value)
    for where, function in functions.items():
        code = inspect.unwrap(function)
        wanted = [p for p in inspect.signature(code).parameters if p not in ("self", "cls", "gnn")]
        assert [p for p in (*wanted, "return") if p not in code.__annotations__] == [], where
        assert homes()[name].startswith("lab.") or hints_of(function)  # imports in circles there


def methods(code):
    """Return the public methods and properties that a class of refimpl adds, by name."""
    found = {}
    for base in code.__mro__:
        if base.__module__.startswith("refimpl"):
            for name, member in vars(base).items():
                for part in ("__func__", "fget", "func"):
                    member = getattr(member, part, member)
                if inspect.isfunction(member) and name[0] != "_":
                    found.setdefault(f"{code.__name__}.{name}", member)
    return found


@pytest.mark.parametrize("name", sorted(fastimpl.compiled))
def test_twins_have_the_references_annotations(name):
    """And all that they name is found, so that tools that read annotations can."""
    ref, fast = find(refimpl, name), find(fastimpl, name)
    assert fast.__annotations__ == ref.__annotations__ != {}
    assert typing.get_type_hints(fast) == typing.get_type_hints(ref)


@pytest.mark.parametrize("topic", TOPICS)
def test_stubs_give_each_topic_of_fastimpl_the_names_of_refimpl(topic):
    folder = Path(fastimpl.__file__).parent.joinpath(*topic.split("."))
    path = folder / "__init__.pyi" if folder.is_dir() else folder.with_suffix(".pyi")
    lines = path.read_text().splitlines()
    inner = [t.rpartition(".")[2] for t in TOPICS if t.rpartition(".")[0] == topic]
    place = f"fastimpl.{topic}"
    plugged = getattr(find_topic(refimpl, topic), "PLUGGED", ())  # made when they are asked for
    assert lines == [
        *(f"from {place} import {part} as {part}" for part in sorted(inner)),
        f"from refimpl.{topic} import *",
        f"from refimpl.{topic} import __all__ as __all__",
        *(f"from refimpl.{topic}.loaders import {name} as {name}" for name in plugged),
    ]


def test_stub_of_fastimpl_has_its_topics_and_what_refimpl_lacks():
    text = (Path(fastimpl.__file__).parent / "__init__.pyi").read_text()
    for name in {topic.partition(".")[0] for topic in TOPICS}:
        assert f"from fastimpl import {name} as {name}\n" in text
    assert "from refimpl import *\n" in text
    for name in vars(fastimpl).keys() - vars(refimpl).keys():
        assert name[0] == "_" or name in text, name


def test_both_packages_say_that_they_are_typed():
    for package in (refimpl, fastimpl):
        assert (Path(package.__file__).parent / "py.typed").is_file()


def test_a_checker_knows_every_setting_and_every_option_of_a_sampler():
    names = {field.name for field in dataclasses.fields(refimpl.TrainConfig)}
    assert TrainSettings.__annotations__.keys() == names
    options = set()
    for sampler in KERNELS.values():
        parameters = inspect.signature(sampler).parameters.values()
        options |= {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    assert SamplerOptions.__annotations__.keys() == options
