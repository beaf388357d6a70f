"""Tables: which column holds what, by its title, whatever library or file the table is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.foreign_graphs import ROW_NUMBERS, WEIGHTS, ends_of, normal
from refimpl._support.user_warnings import warn

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from refimpl.hints import FilePath, Int

ID = ("id", "node", "node_id", "nodeid", "name")
LABEL = ("label", "labels", "y", "class")
SPLIT = ("split",)
MASKS = {
    "train": ("train_mask",),
    "val": ("val_mask", "valid_mask", "validation_mask"),
    "test": ("test_mask",),
}
BARE = {  # where a title of the first row is there
    "train": ("train", "is_train"),
    "val": ("val", "valid", "validation", "is_val", "is_valid"),
    "test": ("test", "is_test"),
}
CHOICES = ("id", "label", "split", "source", "target", "ignore")


class Unclear(ValueError):
    """Input that can be read in several ways: says what the caller has to add.

    Parameters
    ----------
    fault : str
    argument, option : str
        What to give, in Python and on the command line.
    """

    def __init__(self, fault: str, argument: str, option: str) -> None:
        super().__init__(f"{fault}: give {argument}")
        self.as_option = f"{fault}: give {option}"


class Chosen(NamedTuple):
    """The columns that the user names; None: by their titles."""

    id: Any = None
    label: Any = None
    split: Any = None
    ends: Any = None
    ignore: Any = ()

    @classmethod
    def read(cls, label: Any, columns: dict[str, Any] | None) -> Chosen:
        """Return the choices of a dictionary, such as the command line makes."""
        columns = {} if columns is None else columns
        if not isinstance(columns, dict):
            raise TypeError(f"columns must be a dict, got {type(columns).__name__}")
        for name in columns:
            require.choice("a key of columns", name, CHOICES)
        ends = tuple(columns[end] for end in ("source", "target") if end in columns)
        if len(ends) == 1:
            raise ValueError("columns must name both source and target, or neither")
        if "label" in columns and label is not None:
            raise ValueError("columns must not name the label where labels does")
        ignore = listed_titles(columns.get("ignore", ()))
        label = columns.get("label", label)
        return cls(columns.get("id"), label, columns.get("split"), ends or None, ignore)


def listed_titles(ignore: Any) -> tuple[Any, ...]:
    """Return the titles of columns that are ignored: one, or a sequence."""
    return (ignore,) if isinstance(ignore, str) else require.sequence("ignore", ignore, "titles")


class NodeColumns(NamedTuple):
    """The titles of the columns of a table of nodes; None, or no entry, where there is none."""

    id: Any
    label: Any
    split: Any
    masks: dict[str, Any]
    features: list[Any]


def node_columns(
    where: str,
    titles: list[Any],
    chosen: Chosen,
    given: Collection[str] = (),
    id: tuple[str, ...] = ID,
) -> NodeColumns:
    """Return which column of a table of nodes holds what; name those that are ignored.

    Parameters
    ----------
    where : str
        What messages call the table.
    titles : list
    chosen : Chosen
    given : collection
        Parts of the split that the caller gives besides; the table's are ignored then.
    id : tuple of str
        Titles that a column of names may have.

    Raises
    ------
    ValueError
        If a column is missing, or there are several candidates.
    """
    check_titles(where, titles)
    dropped = [named(where, titles, title) for title in chosen.ignore]
    titles = [title for title in titles if title not in dropped]
    label = _found(where, titles, "label", chosen.label, LABEL)
    if label is None:
        raise Unclear(
            f"{where} must have one of the columns {', '.join(map(repr, LABEL))}, "
            f"got {_listed(titles)}",
            "label=TITLE (labels=TITLE to load_dataset)",
            "--labels TITLE",
        )
    name = _found(where, titles, "id", chosen.id, id, label)
    numbers = [title for title in titles if normal(title) in ROW_NUMBERS and title != name]
    split = _found(where, titles, "split", chosen.split, SPLIT, label, name)
    bare = any(normal(title) in BARE["train"] for title in titles if title not in (label, name))
    known_masks = {part: MASKS[part] + BARE[part] for part in MASKS} if bare else MASKS
    masks = {
        part: title
        for part, known in known_masks.items()
        if (title := _found(where, titles, f"{part} mask", None, known, label, name)) is not None
    }
    if masks and split is not None:
        if chosen.split is None and not given:
            raise Unclear(
                f"{where} has the columns {_listed([split, *masks.values()])}, which both split "
                "the nodes",
                "split=TITLE, or ignore=[TITLE]",
                "--columns split=TITLE or --columns ignore=TITLE",
            )
        dropped += masks.values()
        masks = {}
    if given:
        dropped += [title for title in (split, *masks.values()) if title is not None]
        split, masks = None, {}
    if name is None and id and len(numbers) == 1:
        name, numbers = numbers[0], []  # pandas' to_csv of a table whose index has the names
    dropped += numbers
    warn_of_ignored(where, dropped)
    roles = [name, label, split, *masks.values(), *dropped]
    return NodeColumns(name, label, split, masks, [t for t in titles if t not in roles])


def edge_columns(where: str, titles: list[Any], chosen: Chosen) -> tuple[Any, ...]:
    """Return the titles of both ends in a table of edges, and of its weights; name the others.

    The last is None where no column, or more than one, has a title of weights.

    Raises
    ------
    ValueError
        If they cannot be told.
    """
    check_titles(where, titles)
    if chosen.ends is not None:
        ends = tuple(named(where, titles, title) for title in chosen.ends)
        if len(ends) != 2 or ends[0] == ends[1]:
            raise ValueError(f"ends must be two columns of {where}, got {chosen.ends!r:.80}")
    else:
        try:
            ends = tuple(ends_of(titles, where))
        except ValueError as error:
            raise Unclear(
                str(error), "ends=(TITLE, TITLE)", "--columns source=TITLE,target=TITLE"
            ) from None
    others = [title for title in titles if title not in ends]
    weights = [title for title in others if normal(title) in WEIGHTS]
    weight = weights[0] if len(weights) == 1 else None
    warn_of_ignored(where, [title for title in others if title != weight])
    return (*ends, weight)


def warn_of_ignored(where: str, titles: list[Any]) -> None:
    """Name the columns that are ignored, in one line."""
    if titles:
        columns = "column" if len(titles) == 1 else "columns"
        hint = ""
        if any(normal(title) in WEIGHTS for title in titles):
            hint = ": weights are read from one column"
        warn(f"ignored {columns} {', '.join(map(_quoted, titles))} of {where}{hint}")


def warn_of_loops(loops: Int | NDArray[Any], where: FilePath) -> None:
    """Name the self-loops of a graph, which are dropped; `loops`: their nodes, or how many."""
    count = int(loops) if np.ndim(loops) == 0 else np.unique(loops).size
    if count:
        warn(f"ignored {count} self-loop{'s' if count > 1 else ''} of {where}")


def check_titles(where: str, titles: list[Any]) -> None:
    """Raise ValueError unless titles are distinct."""
    seen = set()
    for title in titles:
        if title in seen:
            raise ValueError(f"{where}: its titles must be distinct, but {title!r} is there twice")
        seen.add(title)


def named(where: str, titles: list[Any], wanted: Any) -> Any:
    """Return the title that the user names, in any case if there is no other like it."""
    if wanted in titles:
        return wanted
    alike = [title for title in titles if normal(title) == normal(wanted)]
    if len(alike) != 1:
        raise ValueError(f"{where} must have a column {wanted!r}, got {_listed(titles)}")
    return alike[0]


def _found(
    where: str, titles: list[Any], role: str, chosen: Any, known: tuple[str, ...], *taken: Any
) -> Any:
    """Return the title of the column with a role, or None."""
    if chosen is not None:
        return named(where, titles, chosen)
    found = [title for title in titles if normal(title) in known and title not in taken]
    if len(found) > 1:
        argument, option = f"{role}=TITLE", f"--columns {role}=TITLE"
        if role == "label":
            argument, option = "label=TITLE (labels=TITLE to load_dataset)", "--labels TITLE"
        raise Unclear(
            f"{where} has several columns that may be the {role}: {_listed(found)}",
            argument,
            option,
        )
    return found[0] if found else None


def _listed(titles: list[Any]) -> str:
    shown = ", ".join(map(repr, titles[:20]))
    return shown if len(titles) <= 20 else f"{shown}, .."


def _quoted(title: Any) -> str:
    return f'"{title}"' if isinstance(title, str) else repr(title)
