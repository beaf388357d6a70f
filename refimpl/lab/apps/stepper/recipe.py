"""What a stepper shows: the run, the functions to follow, and the panels beside the code."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from refimpl.hints import Int
from refimpl.lab.apps.stepper.recorder import Recording, View, record

KINDS = ("graph", "array", "table", "counters")


class Panel(NamedTuple):
    """A picture that changes from step to step.

    Attributes
    ----------
    kind : {"graph", "array", "table", "counters"}
        "graph": `fixed` is what `graph_picture` returns, a state what `graph_state` does.
        "array": rows of cells; a state is what `array_state` returns.
        "table": `fixed` is {"columns": names}; a state is what `table_state` returns.
        "counters": a state is a dict of name -> number, drawn as numbers and as lines so far.
    id : str
        The name under which the view returns its states.
    title : str
    help : str
        What is seen here, in one or two sentences.
    fixed : dict
        What is the same at every step.
    wide : bool
        Whether it takes the whole width beside the code.
    """

    kind: str
    id: str
    title: str
    help: str
    fixed: dict[str, Any] = {}
    wide: bool = False


class Recipe(NamedTuple):
    """A stepper: `minibatch-gnn trace` and its name.

    Attributes
    ----------
    name : str
        On the command line.
    title : str
    algorithms : tuple of str
        Ids as "jpdc21:3": paper and number in docs/algorithms.toml. None: not in the papers.
    functions : dict of str to (str or None)
        "module:name" of each function to follow (a class: all its methods) -> the algorithm
        whose lines its bare marks are. Those that docs/algorithms.toml lists, and others of use.
    call : callable
        ``call(seed)`` runs the reference.
    view : callable
        ``view(stack)`` returns panel id -> state; see `recorder.record`.
    panels : tuple of Panel
    about : str
        What is run and what to look at, in a few sentences; shown at the top.
    seed : int or None
        The default of `--seed`; None: the run has no seed.
    callers : dict of str to str
        The name of a function -> whose calls of it are followed; all, where it is not named.
    begin : str or None
        The place (see `places.step_at`) that a page begins with, where the first line of the
        papers that runs is the end of something else. What runs before is seen with every line.
    """

    name: str
    title: str
    algorithms: tuple[str, ...]
    functions: dict[str, str | None]
    call: Callable[[Any], Any]
    view: View
    panels: tuple[Panel, ...]
    about: str
    seed: int | None = 0
    callers: dict[str, str] = {}
    begin: str | None = None

    def record(self, seed: int | None = None) -> Recording:
        """Run the reference and return the `Recording`; `seed` None takes the recipe's own."""
        seed = self.seed if seed is None else seed
        run = partial(self.call, seed)
        return record(run, self.functions, self.view, self.callers)


def graph_picture(
    positions: Mapping[Any, tuple[float, float]],
    edges: Iterable[tuple[Any, Any]],
    roles: Mapping[str, tuple[str, str]],
    *,
    directed: bool = False,
    faint: bool = False,
) -> dict[str, Any]:
    """Return what is `fixed` of a "graph" panel.

    Parameters
    ----------
    positions : mapping of node to (x, y)
        Any unit, y downwards; the page scales it.
    edges : iterable of (node, node)
    roles : mapping of str to (letter, label)
        What a node can be, at most 8, in the order of the legend and the colours; the letter
        stands in the picture for those who do not see the colour. A node without a role is
        drawn plain.
    directed : bool
        Whether edges get arrowheads.
    faint : bool
        Whether nodes without a role, and edges not in use, are hardly seen.

    Returns
    -------
    dict
    """
    return {
        "positions": {str(node): [float(x), float(y)] for node, (x, y) in positions.items()},
        "edges": [[str(u), str(v)] for u, v in edges],
        "roles": {role: list(pair) for role, pair in roles.items()},
        "directed": directed,
        "faint": faint,
    }


def graph_state(
    roles: Mapping[Any, str] | Iterable[tuple[Any, str]],
    *,
    notes: Mapping[Any, object] | Iterable[tuple[Any, object]] = (),
    edges: Iterable[tuple[Any, Any]] = (),
) -> dict[str, Any]:
    """Return a state of a "graph" panel.

    Parameters
    ----------
    roles : mapping of node to role
        Nodes that are left out have none.
    notes : mapping of node to str
        A short text beside a node.
    edges : iterable of (node, node)
        Edges drawn thick: those in use now.

    Returns
    -------
    dict
    """
    return {
        "roles": {str(node): role for node, role in dict(roles).items()},
        "notes": {str(node): str(text) for node, text in dict(notes).items()},
        "edges": [[str(u), str(v)] for u, v in edges],
    }


def cell(value: Any, group: Int | None = None, mark: str = "") -> list[Any]:
    """Return a cell of an array or a table.

    Parameters
    ----------
    value : str, number, bool or None
        None is drawn as a dot, for an empty cell.
    group : int >= 0, optional
        Colours the cell; cells of one group have one colour. The value must tell it as well.
    mark : str
        A few letters at the cell, such as "probe".

    Returns
    -------
    list

    Raises
    ------
    ValueError
        If the group is negative.
    """
    if group is not None and group < 0:
        raise ValueError(f"group must be at least 0, got {group}")
    return [value, None if group is None else int(group), str(mark)]


def array_state(**rows: Iterable[list[Any]]) -> list[list[Any]]:
    """Return a state of an "array" panel: each row's name and its cells (see `cell`)."""
    return [[name, list(cells)] for name, cells in rows.items()]


def table_state(rows: Iterable[Iterable[list[Any]]]) -> list[list[list[Any]]]:
    """Return a state of a "table" panel: a list of rows, each a list of cells (see `cell`)."""
    return [list(cells) for cells in rows]
