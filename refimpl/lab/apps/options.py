"""The options of a run: a table made of the settings of models and methods."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from refimpl._support.beside import import_package
from refimpl.lab.apps import sampler_options
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.option import Option, flag, listed
from refimpl.lab.backend import completed
from refimpl.lab.data.dataset import SETTINGS
from refimpl.lab.data.formats import BUILT_IN, FORMATS
from refimpl.lab.data.label_encoding import MINUS_ONE
from refimpl.lab.data.preparation import SCALINGS
from refimpl.lab.data.table_files import TITLES
from refimpl.lab.data.tables import CHOICES
from refimpl.lab.training.config import PARTS, TrainConfig
from refimpl.lab.training.settings import parsed_integers, parsed_size, settings_of
from refimpl.loader.lookahead_features import CACHES

if TYPE_CHECKING:
    from types import ModuleType

    from refimpl.hints import Absent
    from refimpl.lab.apps.option import Options

DTYPES = ("float32", "float64")
PACKAGES = ("refimpl", "fastimpl")  # that a file may name as --impl
PLACES = ("memory", "mmap", "parts", "lookahead")  # of features
GRAPH_PLACES = ("memory", "lookahead")
MEMORY = 2**30  # bytes of a cache of features
RUN, COMMON = "run", "model and training"  # headings


def data_source(text: str) -> str:
    """Return a built-in name as it is, and a folder as an absolute path."""
    if not text:  # which would be the current folder
        raise ValueError(text)
    return text if text in BUILT_IN else os.path.realpath(text)


def split_asked(text: str) -> int | str:
    """Return a number as an int, and a name as it is."""
    return int(text) if text.lstrip("+-").isdecimal() else text


def columns_asked(text: str) -> dict[str, str | list[str]]:
    """Return what ROLE=TITLE,.. says as a dictionary; titles to ignore are a list."""
    columns: dict[str, str | list[str]] = {}
    for part in text.split(","):
        role, equals, title = part.partition("=")
        if not equals or role not in CHOICES or (role in columns and role != "ignore"):
            raise ValueError(text)
        columns[role] = [*columns.get(role, []), title] if role == "ignore" else title
    return columns


def rounds_asked(text: str) -> list[int] | str | None:
    """Return None, "pairwise", or the numbers of a tree's branches."""
    if text in ("none", "pairwise"):
        return None if text == "none" else text
    branches = list(parsed_integers(text))
    if min(branches) < 1:
        raise ValueError(text)
    return branches


def run_options(impl: str = "fastimpl") -> Options:
    """Return the options that are no settings of `TrainConfig`, with this default for ``--impl``.

    Returns
    -------
    dict of Option
    """
    reading = {"dtype": ("float32",)}
    only = "only with --dtype float32"
    methods = PARTS["method"].items()
    from_storage = tuple(name for name, cls in methods if "lookahead" in cls.graph_in)
    options = (
        Option(
            "data",
            "choose the data set by a built-in name, a folder or a file. Built-in names: "
            f"{', '.join(BUILT_IN)}. Formats: {', '.join(form.name for form in FORMATS)}",
            "communities",
            parse=data_source,
            metavar="FOLDER|NAME|FILE.npz|EDGES.csv",
        ),
        Option(
            "features",
            "read the nodes of --data EDGES.csv from this file; each line has a name, a class "
            "and numbers",
            parse=data_source,
            metavar="NODES.csv",
        ),
        Option(
            "labels",
            "name the column of --features that has the class",
            shown="label, labels, y or class",
            metavar="TITLE",
        ),
        Option(
            "columns",
            "name other columns, for example id=user,split=fold,ignore=city,ignore=age. The "
            "roles in --features are id, split and ignore; the roles in --data are source and "
            "target",
            shown="by known titles",
            parse=columns_asked,
            metavar="ROLE=TITLE,..",
        ),
        Option(
            "titles",
            "say whether the first line of --data EDGES.csv has titles. Without titles the "
            "columns are named 1, 2, ..",
            shown="yes if a title is known or neither name is a node",
            choices=TITLES,
        ),
        Option(
            "minus_one",
            "say what the label -1 means in a table",
            shown="unknown; labels that are only -1 and 1 are refused",
            choices=MINUS_ONE,
        ),
        Option(
            "setting",
            "pass messages over the whole graph, or only between training nodes",
            shown="the setting of the data; inductive for GraphSAINT's and built-in data, "
            "otherwise transductive",
            choices=SETTINGS,
        ),
        Option(
            "split",
            "choose the split by a name or a number. The names fastgcn and public are for "
            "Planetoid's files; the Open Graph Benchmark and geom-gcn have other names. A "
            "number draws this many training nodes of each class, 500 other nodes for "
            "validation, and the rest for test",
            shown="the data's split; fastgcn for Planetoid's files",
            parse=split_asked,
            metavar="NAME|COUNT",
        ),
        Option(
            "scaling",
            "scale features. standard: subtract the mean of the training rows and divide by "
            "their standard deviation; rows: divide each row by its sum; none: do not scale",
            shown="the data's scaling; rows for Planetoid's files, otherwise standard",
            choices=SCALINGS,
        ),
        Option(
            "verify",
            "check every file of a folder made by convert before training; use it for folders "
            "that you did not make yourself",
            False,
            sets=True,
            free=True,
        ),
        Option(
            "impl",
            "choose the implementation by its import name. fastimpl is fast; refimpl is slow "
            "and easy to read",
            impl,
            metavar="MODULE",
        ),
        Option("dtype", "choose the precision of features and weights", DTYPES[0], choices=DTYPES),
        Option(
            "threads",
            "use this many threads; the number changes no result",
            shown="all",
            parse=int,
            metavar="COUNT",
            free=True,
        ),
        Option(
            "features_in",
            "choose where training reads features. memory: from an array; mmap: from a "
            "temporary file in the output folder; parts: from the ranks of mpirun, which hold a "
            "share of the rows each; lookahead: from a folder of convert into a cache of --memory, "
            "before they are needed. Evaluation reads features in memory, or maps the file of a "
            f"folder. The choice changes no result; {only}",
            PLACES[0],
            choices=PLACES,
            only=reading,
            free=True,
        ),
        Option(
            "memory",
            "limit the cache of features to this size, in bytes or as 256MB or 1GiB; 64 reads of "
            "storage are under way at a time",
            MEMORY,
            shown="1GiB",
            parse=parsed_size,
            metavar="SIZE",
            only={"features_in": ("lookahead",)},
            free=True,
        ),
        Option(
            "evict",
            "choose the row that makes room in the cache of features. belady: the row that is "
            "needed latest; sieve: a row that was not used lately. The choice changes no result",
            "belady",
            choices=tuple(CACHES),
            only={"features_in": ("lookahead",)},
            free=True,
        ),
        Option(
            "graph_in",
            "choose where training reads neighbours. memory: from the arrays of the data, which a "
            "folder of convert maps; lookahead: from the file of such a folder into a cache of "
            "--graph-memory, for a window of batches at a time. Evaluation reads the arrays. The "
            f"choice changes no result; only for methods {listed(from_storage)}",
            GRAPH_PLACES[0],
            choices=GRAPH_PLACES,
            only={"method": from_storage},
            free=True,
        ),
        Option(
            "graph_memory",
            "limit the cache of neighbours to this size, in bytes or as 256MB or 1GiB; 8 bytes a "
            "node come on top",
            MEMORY,
            shown="1GiB",
            parse=parsed_size,
            metavar="SIZE",
            only={"graph_in": ("lookahead",)},
            free=True,
        ),
        Option(
            "rounds",
            "order the reads of other ranks' features. none: all at once; pairwise: in rounds "
            "of pairs of ranks; 2,4: in rounds for a tree of two machines with four ranks each. "
            "In a round no link carries two reads. The order changes no result",
            shown="none",
            parse=rounds_asked,
            metavar="none|pairwise|COUNT,..",
            only={"features_in": ("parts",)},
            free=True,
        ),
        Option(
            "half_features",
            f"read features in float16 in training; {only}",
            False,
            sets=True,
            only=reading,
        ),
        Option(
            "as_printed",
            "use the papers' literal choices for all options that you do not give; "
            "docs/as_printed.md lists them",
            False,
            sets=True,
        ),
    )
    return {option.key: option._replace(group=RUN) for option in options}


def train_options(impl: str = "fastimpl") -> Options:
    """Return all options of ``train``: of the run, of `TrainConfig`, of methods and of models.

    Nothing but a setting's field says what its option is. The table is made anew each time: a
    model may have been registered.

    Parameters
    ----------
    impl : str
        The default of ``--impl``.

    Returns
    -------
    dict of Option
        By key, in the order of the help.

    Raises
    ------
    ValueError
        If two settings have one flag and are not read in the same way.
    """
    table = run_options(impl)
    several = list(table.values()) + _common_options()
    for kind in reversed(PARTS):
        several += _options_of(kind)
    for option in several + sampler_options.training_options():
        if option.key in table and table[option.key] is not option:
            raise ValueError(f"two settings have the flag {option.flag}")
        table[option.key] = option
    order = list(groups())
    return dict(sorted(table.items(), key=lambda item: order.index(item[1].group)))


def groups() -> dict[str, str]:
    """Return the headings of the help in their order, each with a line that explains it."""
    titles = {RUN: "", COMMON: ""}
    for kind in reversed(PARTS):
        titles[f"several {kind}s"] = ""
        titles |= {f"--{kind} {name}": summary(cls) for name, cls in PARTS[kind].items()}
    return titles


def summary(cls: type[Any]) -> str:
    """Return the first line of a class's documentation; "" if it has none of its own."""
    line = next(iter((cls.__doc__ or "").splitlines()), "")
    made = line.startswith(f"{cls.__name__}(")  # by dataclass
    return "" if made else line.replace("`", "")


def option_of(cls: type[Any], name: str, **more: Any) -> Option | Absent:
    """Return the Option of a class's setting, or None if the command line has none."""
    known = settings_of(cls)
    setting, default = known[name], getattr(cls, name)
    if setting.flag == "":
        return None
    word, sets = setting.flag or name, None
    if setting.parse is bool:
        sets = not default
        word = f"no_{word}" if default else word
    text = setting.help
    if setting.needs is not None:
        needed = known[setting.needs].flag or setting.needs
        text = f"{text}; only with {flag(needed)}"
    return Option(
        name,
        text,
        default,
        shown=setting.shown,
        parse=setting.parse,
        metavar=setting.metavar,
        choices=setting.choices,
        word=word,
        sets=sets,
        needs=setting.needs,
        free=setting.free,
        **more,
    )


def _common_options() -> list[Option]:
    """Return the options of the settings that all models and methods have."""
    options = []
    for name, setting in settings_of(TrainConfig).items():
        if name in PARTS:
            default = getattr(TrainConfig, name).name
            words = [_described(one, cls) for one, cls in PARTS[name].items()]
            text, choices = f"{setting.help}. {'; '.join(words)}", tuple(PARTS[name])
            options.append(Option(name, text, default, choices=choices, group=COMMON))
        else:
            options.append(option_of(TrainConfig, name, group=COMMON))
    return [option for option in options if option is not None]


def _described(name: str, cls: type[Any]) -> str:
    if getattr(cls, "title", ""):
        return f"{name} ({cls.title})"
    head, colon, tail = summary(cls).rstrip(".").rpartition(": ")
    if not tail:
        return name
    return f"{name} ({head}): {tail}" if colon else f"{name}: {tail[0].lower()}{tail[1:]}"


def _options_of(kind: str) -> list[Option]:
    """Return the options of all models, or of all methods; a shared flag is one option."""
    found: dict[str, dict[str, Option]] = {}
    for owner, cls in PARTS[kind].items():
        for name in settings_of(cls):
            option = option_of(cls, name)
            if option is not None:
                found.setdefault(option.key, {})[owner] = option
    return [_shared(kind, of) for of in found.values()]


def _shared(kind: str, of: Options) -> Option:
    """Return one option for those of several classes, by name, that have one flag."""
    first, owners = next(iter(of.values())), tuple(of)
    for owner, option in of.items():
        for part in ("name", "parse", "choices", "sets", "needs", "free"):
            if getattr(option, part) != getattr(first, part):
                raise ValueError(
                    f"{first.flag} must have one {part} for {kind}s {owners[0]} and {owner}"
                )
    group = f"--{kind} {owners[0]}"
    text = _by_owner({owner: option.help for owner, option in of.items()})
    if len(owners) > 1:
        group, text = f"several {kind}s", f"{text}; only for {kind}s {listed(owners)}"
    shown = _by_owner({owner: option.default_shown() for owner, option in of.items()})
    return first._replace(help=text, shown=shown, only={kind: owners}, group=group)


def _by_owner(texts: dict[str, str]) -> str:
    """Return the text that all have, or each with the names of those that have it."""
    owners: dict[str, list[str]] = {}
    for owner, text in texts.items():
        owners.setdefault(text, []).append(owner)
    if len(owners) == 1:
        return next(iter(owners))
    return "; ".join(f"{listed(names)}: {text}" for text, names in owners.items())


def load_implementation(name: str) -> ModuleType:
    """Return the implementation `name`: the module, made complete if it has some kernels only."""
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise UserError(f"--impl must be an import name, got {name!r}")
    try:
        gnn = import_package(name)
    except (ImportError, ValueError) as error:  # of what is installed, or of the environment
        raise UserError(f"--impl {name} cannot be imported: {error}") from error
    try:
        return completed(gnn)
    except ValueError as error:
        raise UserError(f"--impl {error}") from error
