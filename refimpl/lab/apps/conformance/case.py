"""What a test vector is made from: a kernel, its cases, and how results are compared."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

from refimpl.lab.apps.papers import TITLES

PAPERS = ("common", *TITLES)
ERRORS = {"value": ValueError, "type": TypeError}

# Flags that cases of many kernels carry: what a port that fails only there has overlooked.
FLAGS = {
    "DIRECTED": "The pattern is not symmetric.",
    "DUPLICATE": "A value, or an id, comes more than once.",
    "EMPTY": "An array, a list or a set of nodes without entries.",
    "FLOAT32": "Numbers in single precision: the result has the dtype of the input.",
    "HUB": "One node is a neighbour of all others, so rows differ much in length.",
    "ISOLATED": "A row of length 0: code that finds rows by searching indptr breaks here.",
    "LARGE_WORD": "An integer above 2**53, written as a decimal string.",
    "NO_EDGES": "A graph with nodes and no edges: every row is empty.",
    "NO_NODES": "A graph without nodes: indptr is [0].",
    "ONE_NODE": "A graph, or a set, of a single node.",
    "SELF_LOOP": "An edge (v, v) is one entry, stays on the diagonal and counts once in a degree.",
    "SPECIAL": "Infinities, NaN or numbers at the end of their range.",
    "WORKED": "Worked out by hand, see `working`.",
}


class Exact(NamedTuple):
    """Numbers must be equal: NaN equals NaN, and 0.0 equals -0.0."""

    rule: Literal["exact"] = "exact"


class Close(NamedTuple):
    """Floats may differ: at most atol + rtol * abs(want); `why` says where that comes from."""

    rtol: float
    atol: float
    why: str
    rule: Literal["close"] = "close"


Rule: TypeAlias = Exact | Close
EXACT = Exact()


class Case(NamedTuple):
    """One call of a kernel.

    Attributes
    ----------
    id : str
        Names the case within its kernel.
    args : dict
        Argument name -> value; every argument by its name, `*parts` as one list. Where the kernel
        is a class, ``calls`` is a list of pairs of a method and its arguments.
    flags : tuple of str
        Of `FLAGS`, or of the kernel's own; SELF_LOOP is added by itself.
    result : object, optional
        What the kernel returns, typed in from `working`; None: the reference says. For a kernel
        that writes into its arguments, ``{"returned": value, "changed": {name: value}}``.
    working : str
        How the result was worked out by hand; goes with `result`.
    error : {"value", "type"}, optional
        The call must raise a ValueError or a TypeError.
    """

    id: str
    args: dict[str, Any]
    flags: tuple[str, ...] = ()
    result: Any = None
    working: str = ""
    error: str | None = None


class Kernel(NamedTuple):
    """A kernel and its cases: one file of vectors.

    Attributes
    ----------
    name : str
        Public in refimpl, wherever it stands.
    paper : {"ipdps19", "jpdc21", "vldb24", "common"}
    place : str
        Such as "Algorithm 6" or "Equation 5".
    cases : tuple of Case
    lines : str
        Of the algorithm, such as "1-11".
    compare : Exact or Close
    flags : dict
        Flag -> meaning, for flags that are not in `FLAGS`.
    writes : tuple of str
        The arguments that a call changes: their values after it are part of the result.
    states : callable, optional
        Takes the arguments of a case by name, returns the state after each step: a list of
        dicts, recorded while the reference runs.
    """

    name: str
    paper: str
    place: str
    cases: tuple[Case, ...]
    lines: str = ""
    compare: Rule = EXACT
    flags: dict[str, str] = {}
    writes: tuple[str, ...] = ()
    states: Callable[..., list[dict[str, Any]]] | None = None


def flagged(cases: Iterable[Case], **flags: str) -> tuple[Case, ...]:
    """Return the cases with more flags: ``FLAG="id id .."`` names the cases that get it."""
    more = {case.id: [flag for flag in flags if case.id in flags[flag].split()] for case in cases}
    return tuple(case._replace(flags=(*case.flags, *more[case.id])) for case in cases)
