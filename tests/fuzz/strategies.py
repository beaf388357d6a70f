"""Hypothesis strategies of calls: a valid one, or one made from annotations, and changes of it.

A call is a recipe, which JSON can hold: the name of a callable, the name of a valid call to start
from, changes as (path, expression), and a number of threads.
"""

import collections.abc
import functools
import inspect
import types
import typing

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import issparse

import refimpl
from fuzz.fickle import FickleInt
from fuzz.judge import DRAWN
from fuzz.parts import is_frame, walk
from fuzz.values import EXAMPLES, LIARS, MATRICES, WILD, changes_of, value_of
from refimpl.lab.backend import find

# What a caller may ask for and wait for: up to these sizes time or memory is in proportion, and the
# fuzzer asks for less. Beyond them a call must be refused.
MOST = 2**31 - 1
ASKED_FOR = {
    **dict.fromkeys(("n", "b", "h", "r", "sizes", "count", "pool", "capacity"), MOST),
    **{"floats": 2**48, "layers": 2**16, "workers": 2**10},
    "SubgraphPool.size": MOST,
    "calibrate.entries": MOST,
    "calibrate.repeats": MOST,
    "dashboard.eta": 2**32,
    "estimate_counts.coverage": 1e6,
    "floyd.f": MOST,
    "kronecker.scale": 30,
    "partition_order.Q": MOST,
    "partition_plan.f": MOST,
    "pick_without_replacement.m": MOST,
    "pin_tile.eta": 2**32,
    "plan_performance.rounds": MOST,
    "reverse_pagerank.iterations": MOST,
}
ENOUGH = 300  # of anything but an exponent
ENOUGH_OF = {"kronecker.scale": 16}
SIDES = st.sampled_from((4, 4, 4, 3, 2, 2, 1, 0, 5))  # of an array
SMALL_INTS = st.one_of(st.integers(0, 5), st.integers(0, 40))
INTS = st.one_of(SMALL_INTS, SMALL_INTS, st.integers(-(2**65), 2**65)).map(repr)
SMALL_FLOATS = st.one_of(st.sampled_from((0.5, 1.0, 2.0, 3.0, 9.0)), st.floats(0.125, 50, width=16))
FLOATS = st.one_of(SMALL_FLOATS, SMALL_FLOATS, st.floats()).map(repr)
WILD_ONES, LIARS_AND_MATRICES = st.sampled_from(WILD), st.sampled_from(LIARS + MATRICES)
SCALARS = {bool: st.sampled_from(("True", "False")), int: INTS, float: FLOATS, str: st.just("'a'")}


@st.composite
def calls(draw, name, starts):
    """Draw a recipe: a call of `name`, none to three of the arguments changed."""
    hints = hints_of(name)
    begins = [*sorted(starts), *([DRAWN] if can_be_drawn(name) else [])]
    start = draw(st.sampled_from(begins))
    args = starts[start](refimpl) if start in starts else {}
    changes = [] if start in starts else [*draw(arguments(name, hints))]
    found = walk(args) if args else [((path[0],), None) for path, _ in changes]
    places = [(path, value) for path, value in found if not is_frame(path)]
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 1, 2, 2, 3))) if places else 0):
        path, value = draw(st.sampled_from(places))
        fits = functools.partial(allowed, name, path, value, args)
        changes.append([list(path), draw(replacements(path, value, args, hints).filter(fits))])
    return {"name": name, "start": start, "changes": changes, "threads": draw(st.integers(1, 4))}


@st.composite
def arguments(draw, name, hints):
    """Draw a change for each argument that a call needs, and for some of the others."""
    found = []
    for key, parameter in inspect.signature(find(refimpl, name)).parameters.items():
        optional = parameter.default is not parameter.empty
        if key in hints and not (optional and draw(st.integers(0, 2))):
            fits = functools.partial(allowed, name, (key,), None, {})
            value = draw(of(hints[key]).filter(fits))
            various = parameter.kind is parameter.VAR_POSITIONAL
            found.append([[key], f"[{value}]" if various else value])
    return found


def replacements(path, value, args, hints):
    """Return a strategy of what may stand instead of a part of the arguments."""
    others = [key for key in args if key != path[0] and type(args[key]) is type(value)]
    fitting = [of(hints[path[0]])] if len(path) == 1 and path[0] in hints else []
    fitting += [one_of_these(tuple(changes_of(value)))] * 2 if changes_of(value) else []
    fitting += [st.sampled_from([f"args[{key!r}]" for key in others])] if others else []
    return st.one_of(*fitting, *fitting, WILD_ONES, WILD_ONES, LIARS_AND_MATRICES)


@functools.cache
def one_of_these(expressions):
    """Return a strategy, which takes longer to make than to draw from."""
    return st.sampled_from(expressions)


@functools.cache
def hints_of(name):
    """Return the annotations of a callable; of a class, those of what makes an instance."""
    code = inspect.unwrap(find(refimpl, name))
    plain = inspect.isclass(code) and code.__init__ in (object.__init__, tuple.__init__)
    try:
        hints = typing.get_type_hints(
            code.__init__ if inspect.isclass(code) and not plain else code
        )
    except NameError:  # an annotation that only a type checker sees
        return {}
    left_out = "return", "overwrite"  # with the last a call may change its arguments
    return {k: hint for k, hint in hints.items() if k not in left_out and not of(hint).is_empty}


@functools.cache
def can_be_drawn(name):
    """Whether annotations are enough to call a callable."""
    parameters = inspect.signature(find(refimpl, name)).parameters.values()
    return all(p.name in hints_of(name) or p.default is not p.empty for p in parameters)


@functools.cache
def of(hint):
    """Return a strategy of expressions, whose values most often are what an annotation says."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if isinstance(hint, typing.TypeVar):
        return st.one_of([of(kind) for kind in hint.__constraints__ or (float,)])
    if origin in (typing.Union, types.UnionType):
        return st.one_of([of(part) for part in inside])
    if origin is typing.Literal:
        return st.sampled_from([repr(part) for part in inside])
    if origin is np.ndarray:
        return arrays(*inside)
    if origin in (collections.abc.Sequence, tuple, list):
        parts = st.lists(of(inside[0]), min_size=1, max_size=3) if inside else st.just([])
        if origin is tuple and Ellipsis not in inside:
            parts = st.tuples(*map(of, inside))
        return parts.map(lambda parts: f"[{', '.join(parts)}]")
    if origin is type:
        return st.sampled_from(["np.float32", "np.float64"])
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, np.integer):
        return st.integers(0, 9).map(lambda value: f"np.{kind_of(kind)}({value})")
    if isinstance(kind, type) and issubclass(kind, np.floating):
        return st.sampled_from((0.5, 2.0)).map(lambda value: f"np.{kind_of(kind)}({value})")
    if getattr(kind, "__name__", "") == "Kept":
        return of(inside[1])
    if kind is type(None):
        return st.just("None")
    examples = EXAMPLES.get(getattr(kind, "__name__", ""))
    return st.sampled_from(examples) if examples else st.nothing()


def kind_of(kind):
    """Return the name of a scalar type of NumPy, of a family one of it."""
    return {"integer": "int64", "floating": "float64", "number": "float64"}.get(
        kind.__name__, kind.__name__
    )


@st.composite
def arrays(draw, shape, dtype):
    """Draw an array of the dimensions and one of the dtypes that an annotation names."""
    sizes = typing.get_args(shape)
    dimensions = draw(st.integers(0, 2)) if Ellipsis in sizes else len(sizes)
    kinds = dtypes(typing.get_args(dtype)[0])
    sides = tuple(draw(SIDES) for _ in range(dimensions))
    way = draw(st.sampled_from(("steps", "mixed", "zeros")))
    return f"filled({sides}, {draw(st.sampled_from(kinds))!r}, {way!r})"


def dtypes(scalar):
    """Return the dtypes that fit a scalar type, a union of them, or a variable."""
    if scalar is typing.Any:
        return ["f8"]
    if isinstance(scalar, typing.TypeVar):
        return [found for kind in scalar.__constraints__ for found in dtypes(kind)]
    if typing.get_origin(scalar) in (typing.Union, types.UnionType):
        return [found for kind in typing.get_args(scalar) for found in dtypes(kind)]
    kind = typing.get_origin(scalar) or scalar
    return ["bool" if kind is np.bool_ else kind_of(kind)]


def allowed(name, path, value, args, expression):
    """Whether a change asks for no more than a fuzzer can wait for."""
    own_function = callable(value) and not isinstance(value, type)
    if own_function and (expression in ("len", "int") or expression.startswith("args[")):
        return False  # what the caller's own function returns is the caller's
    argument = [key for key in path if isinstance(key, str)][-1]
    own = f"{name}.{argument}"
    limit, enough = ASKED_FOR.get(own, ASKED_FOR.get(argument)), ENOUGH_OF.get(own, ENOUGH)
    if limit is None:
        return True
    try:
        asked = value_of(expression, value, args)
        if issparse(asked):  # to compare a damaged one ends the process
            return True
        asked = int(asked.real) if isinstance(asked, FickleInt) else asked  # its own digits
        return not enough < asked <= limit
    except Exception:  # no number
        return True
