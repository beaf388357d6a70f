"""Calling both packages, and what they may answer: the same, or the same words of refusal."""

import copy
import dataclasses
import inspect
import itertools
import linecache
import re
import types
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import issparse
from threadpoolctl import ThreadpoolController

import fastimpl
import refimpl
from fuzz.fickle import Fickle
from fuzz.parts import part, replaced
from fuzz.values import value_of
from refimpl.lab.backend import find

# Dense products and exponentials, and what is made of them, may differ by rounding; nothing else.
LAYERS = ("dense", "sage", "gcn", "mixhop", "gat", "rgcn", "row_l2")
ROUNDED = {f"{layer}_{way}" for layer in LAYERS for way in ("forward", "backward")}
ROUNDED |= {"softmax_cross_entropy", "sigmoid_cross_entropy"}
ROUNDED |= {"train", "predict", "load_checkpoint"}
RTOL = {4: 1e-4, 8: 1e-10}  # by the bytes of a number
TRAINED = {4: 1e-2, 8: 1e-6}  # after some steps, which add up
OURS = (ValueError, TypeError, OverflowError)
# Refusals of another kind that a docstring names, and what its text must name.
NAMED = {FileNotFoundError: "no ", FloatingPointError: "NaN", IsADirectoryError: "directory"}
# Asked for 2**31 - 1 numbers or nodes they may need more memory than there is.
LARGE = {"permutation", "pick_without_replacement", "pin_tile"}
MEASURED = {"calibrate", "io_counters"}  # never twice the same
TIMES = {"seconds", "normalization", "sampling", "aggregation", "weights", "other"}
TIMES |= {"evaluation", "cache", "val_f1", "test_f1"}
ROOTS = [str(Path(package.__file__).parent) for package in (refimpl, fastimpl)]
DEEP = 12
DRAWN = "from annotations"  # the start without an argument: changes give them all
CONTROLLER = ThreadpoolController()  # of both packages' libraries; to look for them takes long


class Unbuildable(Exception):
    """The changed arguments cannot be made: a type refused what it was to hold."""


def arguments(gnn, recipe, starts):
    """Return the arguments of a recipe, made for a package."""
    drawn = recipe["start"] == DRAWN
    args = {} if drawn else starts[recipe["name"]][recipe["start"]](gnn)
    for path, expression in recipe["changes"]:
        try:
            old = args
            for key in path:
                old = old.get(key) if isinstance(old, dict) else part(old, key)
            if issparse(old) and "old" in expression:  # to slice a damaged one ends the process
                raise TypeError("a matrix of scipy.sparse is not changed again")
            args = replaced(args, path, value_of(expression, old, args, gnn))
        except Exception as error:  # of NumPy, or of a type of ours
            raise Unbuildable(f"{path} {expression}: {error}") from None
    return args


def apply(function, args):
    """Call `function` with all arguments by name; return what it, or its object's `calls`, do."""
    args, listed = dict(args), []
    calls = args.pop("calls", None)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            listed = args.pop(name)
        elif parameter.kind is parameter.POSITIONAL_ONLY and name in args:
            listed = [args.pop(name)]
        elif parameter.kind is parameter.VAR_KEYWORD:
            args |= args.pop(name, {})
    made = function(*listed, **args)
    if calls is None:
        return made
    try:
        return [copy.deepcopy(asked(made, method, rest)) for method, rest in calls]
    finally:
        if hasattr(made, "close"):
            made.close()


def asked(made, method, rest):
    """Return what a method of an object does; of an iterator at its end, that it is there."""
    try:
        return getattr(made, method)(**rest)
    except StopIteration:
        if method != "__next__":
            raise
        return "at its end"


@dataclasses.dataclass
class Outcome:
    """What one package did."""

    result: object = None
    error: BaseException | None = None
    complaint: str = ""
    before: object = None
    after: object = None
    args: dict = dataclasses.field(default_factory=dict)


def outcome(gnn, recipe, starts):
    """Return what a package does with a recipe; raise Unbuildable if there is no such call."""
    args = arguments(gnn, recipe, starts)
    done = Outcome(args=args, before=snapshot(args))
    try:
        with CONTROLLER.limit(limits=recipe["threads"]), warnings.catch_warnings():
            warnings.simplefilter("error")
            done.result = apply(find(gnn, recipe["name"]), args)
    except Exception as error:
        done.error, done.complaint = error, complaint(recipe["name"], args, error)
    done.after = snapshot(args)
    return done


def judge(recipe, starts, writes=()):
    """Return ("equal" | "refused" | "not compared" | "unbuildable", "") or ("finding", what)."""
    try:
        want, got = (outcome(gnn, recipe, starts) for gnn in (refimpl, fastimpl))
    except Unbuildable as error:
        return "unbuildable", str(error)
    if recipe["name"] in LARGE and isinstance(want.error, MemoryError):
        return "not compared", ""
    for package, done in (("refimpl", want), ("fastimpl", got)):
        if done.complaint:
            return "finding", f"{package}: {done.complaint}"
        kept = () if done.error else writes
        for name in done.before.keys() - set(kept):
            if done.before[name] != done.after.get(name):
                return "finding", f"{package} changed its argument {name}"
    if (want.error is None) != (got.error is None):
        which = "refimpl" if want.error else "fastimpl"
        return "finding", f"only {which} refused: {described(want.error or got.error)}"
    if want.error is not None:
        if described(want.error) != described(got.error):
            return "finding", f"two texts: {described(want.error)} | {described(got.error)}"
        return "refused", described(want.error)
    if recipe["name"] in MEASURED or contradicts(recipe):
        return "not compared", ""
    found = difference(recipe, starts, want, got, writes)
    return ("finding", f"not the same: {found}") if found else ("equal", "")


def contradicts(recipe):
    """Whether one of A and its transpose is changed, and not the other: a kernel may use either."""
    return any(path[0] in ("A", "hops") and len(path) > 1 for path, _ in recipe["changes"])


def described(error):
    """Return an error in one line."""
    return f"{type(error).__name__}: {str(error)[:300]}"


def complaint(name, args, error):
    """Return what is wrong with an error, or "" if it is one of ours that names an argument."""
    text = described(error)
    if type(error) is UserWarning:  # which pytest and this make an error
        return ""
    if type(error) in NAMED:
        return "" if NAMED[type(error)] in text else f"names nothing: {text}"
    file = args.get("path", args.get("source"))
    named = isinstance(file, str | Path) and str(Path(file)) in text
    if isinstance(error, OSError) and (named or error.filename):
        return ""  # about the file that it names
    if not isinstance(error, OURS):
        return f"{text} ({place(error)})"
    if not raised_by_us(error):
        return f"not of ours: {text} ({place(error)})"
    if not named and not names_of(name, args) & set(re.findall(r"\w+", str(error))):
        return f"names no argument: {text} ({place(error)})"
    return ""


def frames(error):
    """Return the file and the line of every step to an error."""
    found, step = [], error.__traceback__
    while step is not None:
        found.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return found


def place(error):
    """Return the innermost line of the packages on the way to an error."""
    inside = [frame for frame in frames(error) if frame[0].startswith(tuple(ROOTS))]
    file, line = inside[-1] if inside else frames(error)[-1]
    return f"{Path(file).name}:{line}"


def raised_by_us(error):
    """Whether a `raise` of the packages raised it, and not Python or NumPy under them."""
    file, line = frames(error)[-1]
    if file.endswith(".pyx"):
        return True
    return file.startswith(tuple(ROOTS)) and linecache.getline(file, line).lstrip().startswith(
        "raise"
    )


def names_of(name, args):
    """Return all words that name an argument of a call, or a part of one."""
    names = set(inspect.signature(find(refimpl, name)).parameters)
    if name in ("as_graph", "graph_and_names"):  # whose source may be a pair of them
        names |= {"indptr", "indices"}
    if name in ("sample_mfg_many", "Prefetcher"):  # each of their batches is checked as its is
        names |= set(inspect.signature(refimpl.sample_mfg).parameters)
    places = (place for place, _, _ in itertools.islice(leaves(args, ""), 5000))
    return names | {word for place in places for word in re.findall(r"[A-Za-z_]\w*", place)}


def leaves(value, place, depth=DEEP):
    """Yield (place, type, data) of a value and of all that it holds; None for what is no data.

    Of what holds something, the data are the names of its parts.
    """
    kind = type(value).__name__
    if isinstance(value, Fickle) or issparse(value) or not depth:
        yield place, kind, None
    elif isinstance(value, np.ndarray | np.generic | float | complex | int | str | bytes):
        yield place, kind, value
    else:
        parts = held_by(value)
        yield place, kind, None if parts is None else list(parts)
        for name, part in (parts or {}).items():
            yield from leaves(part, f"{place}.{name}", depth - 1)


def held_by(value):
    """Return the parts of a value by name, without times of an epoch; None for what has none."""
    if isinstance(value, dict):
        names = {key if isinstance(key, str) else repr(key): key for key in value}
        return {name: value[key] for name, key in sorted(names.items())}
    if isinstance(value, list | tuple):
        names = getattr(value, "_fields", range(len(value)))
        times = TIMES if "evaluation" in names else ()
        return {k: part for k, part in zip(names, value, strict=True) if k not in times}
    ours = type(value).__module__.startswith(("refimpl", "fastimpl"))
    return dict(sorted(data_of(value).items())) if ours else None


def snapshot(args):
    """Return what each argument holds, comparable, so that a change of it shows later."""
    return {
        name: [(place, kind, frozen(data)) for place, kind, data in leaves(value, "")]
        for name, value in args.items()
    }


def frozen(data):
    """Return a copy of data, which later changes do not reach."""
    if not isinstance(data, np.ndarray):
        return data if isinstance(data, int | list) else repr(data)[:1000]
    items = [type(x).__name__ for x in data.flat] if data.dtype.hasobject else data.tobytes()
    return str(data.dtype), data.shape, data.strides, items


def data_of(value):
    """Return the attributes of an object that are data, but for what is worked out when asked."""
    # fastimpl finds edge ids and transposes when they are asked for.
    if isinstance(value, refimpl.Subgraph | refimpl.Adjacency):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    slots = getattr(value, "__slots__", ())
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    held |= getattr(value, "__dict__", {})
    skipped = {"start", "end", "max_degree", "symmetric", "_weight_sums", "relation_graphs"}
    skipped |= {"train_graph", "roots"}  # of a data set
    ignored = types.ModuleType | types.FunctionType | types.MethodType
    return {k: v for k, v in held.items() if k not in skipped and not isinstance(v, ignored)}


def difference(recipe, starts, want, got, writes):
    """Return where two results, or what was written, differ; "" if nowhere."""
    pairs = [("result", want.result, got.result)]
    pairs += [(name, want.args.get(name), got.args.get(name)) for name in writes]
    rounded = recipe["name"] in ROUNDED
    rtol = TRAINED if recipe["name"] == "train" else RTOL
    if rounded and "float32" in str(want.before):
        rtol = dict.fromkeys(rtol, rtol[4])  # of sums of such numbers
    found = ""
    for at, a, b in pairs:
        found = found or compared(a, b, at, rtol if rounded else None)
    if found and rounded and not found.startswith("!"):
        bound = bound_of(recipe, starts)
        if bound is None or not np.isfinite(bound):
            # sums of what is near the end of the range: any order may overflow; and terms may be
            return ""  # left out that are 0, or NaN where a factor is infinite
        found = compared(want.result, got.result, "result", rtol, bound)
    return found.lstrip("!")


def bound_of(recipe, starts):
    """Return the largest number of the result for absolute values: the size of the terms."""
    args = arguments(refimpl, recipe, starts)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return largest(apply(find(refimpl, recipe["name"]), absolute(args)))
    except Exception:
        return None


def absolute(value):
    """Return a value with the size of every float in it."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.abs(value)
    if isinstance(value, dict):
        return {key: absolute(part) for key, part in value.items()}
    if isinstance(value, refimpl.Adjacency):
        data_t = None if value.data_t is None else np.abs(value.data_t)
        return dataclasses.replace(value, data=np.abs(value.data), data_t=data_t)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(absolute, value))
    return type(value)(map(absolute, value)) if type(value) in (list, tuple) else value


def largest(value):
    """Return the largest size of a float in a result; NaN if one of them is."""
    floats = (x for _, _, x in leaves(value, "") if isinstance(x, np.ndarray | float))
    sizes = [np.max(np.abs(x), initial=0) for x in floats if np.asarray(x).dtype.kind == "f"]
    return float(np.max([0.0, *sizes]))


def compared(a, b, place, rtol, bound=0.0):
    """Return where two values differ; with a "!" in front if rounding cannot be why."""
    for one, two in itertools.zip_longest(leaves(a, place), leaves(b, place)):
        if one is None or two is None or one[:2] != two[:2]:
            return f"!{(one or two)[0]}: {one and one[1]} and {two and two[1]}"
        x, y = one[2], two[2]
        if isinstance(x, np.ndarray | float):
            found = arrays_compared(np.asarray(x), np.asarray(y), one[0], rtol, bound)
        else:
            found = "" if x == y or (x != x and y != y) else f"!{one[0]}: {x!r} and {y!r}"[:300]
        if found:
            return found
    return ""


def arrays_compared(a, b, at, rtol, bound):
    """Return how two arrays differ."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"!{at}: {a.dtype}{a.shape} and {b.dtype}{b.shape}"
    if a.dtype.hasobject:
        return "" if frozen(a) == frozen(b) else f"!{at}: other objects"
    if a.dtype.kind != "f":
        return "" if a.tobytes() == b.tobytes() else f"!{at}: {a} and {b}"[:300]
    both_nan = np.isnan(a) & np.isnan(b)
    with np.errstate(all="ignore"):
        same = both_nan | ((a == b) & (np.signbit(a) == np.signbit(b)))
        if rtol is not None:
            tolerance = rtol[a.dtype.itemsize]
            size = np.maximum(np.maximum(np.abs(a), np.abs(b)), bound)
            same |= (a == b) | (np.abs(a - b) <= tolerance * size)
            same |= ~np.isfinite(a) & ~np.isfinite(b) & (bound > 0)
    if same.all():
        return ""
    k = np.flatnonzero(~same.ravel())[0]
    return f"{at}: {a.ravel()[k]!r} and {b.ravel()[k]!r} at {k}"
