"""Any data set as a folder of plain arrays that is opened in no time: ``minibatch-gnn convert``."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from refimpl._support.mpi_start import exit_status
from refimpl._support.reprs import one_line
from refimpl.lab.apps.errors import Interrupted, Terminated, user_errors
from refimpl.lab.apps.option import Option
from refimpl.lab.apps.options import run_options
from refimpl.lab.apps.preparing import TABLES
from refimpl.lab.apps.progress import Stages
from refimpl.lab.data.convert import KINDS, MEMORY, convert
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.settings import parsed_size
from refimpl.loader.packed import PackedFeatures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refimpl.lab.apps.option import Chosen, Options

TAKEN = (*TABLES[1:], "setting", "split", "scaling", "verify")  # as train takes them


def convert_options() -> Options:
    """Return the options of ``convert``."""
    run = {key: option._replace(group="") for key, option in run_options().items()}
    options = (
        run["features"]._replace(
            help="read the nodes of SOURCE EDGES.csv from this file; each line has a name, a "
            "class and numbers"
        ),
        *(run[key] for key in TAKEN),
        Option(
            "feature_dtype",
            "store features in this type; float16 halves a file of float32",
            shown="as in the source",
            choices=KINDS,
        ),
        Option(
            "memory",
            "limit the memory of sorting edges and of packing, in bytes or as 256MB or 1GiB",
            MEMORY,
            shown="256MiB",
            parse=parsed_size,
            metavar="SIZE",
        ),
        Option(
            "pack",
            "store rows of features that training reads together side by side; no result changes",
            False,
            sets=True,
        ),
    )
    return {option.key: option for option in options}


def convert_command(source: str, folder: str, given: Chosen, *, overwrite: bool) -> None:
    """Convert a data set; print what it is then.

    Parameters
    ----------
    source, folder : str
    given : dict
        The values that the user gave, by the keys of `convert_options`.
    overwrite : bool

    Raises
    ------
    UserError
        If the source, the options or the folder are at fault.
    """
    begin = perf_counter()
    with user_errors(), _resumable(folder), Stages() as stages:
        convert(source, folder, overwrite=overwrite, progress=stages.show, say=_say, **given)
    with user_errors():
        data = load_dataset(folder)
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    print(
        f"{one_line(data.name)}: {data.graph.n} nodes, {data.graph.e} directed edges, "
        f"{data.features.shape[1]} features ({data.features.dtype}), {data.classes} classes\n"
        f"{data.train.size} training, {data.val.size} validation, {data.test.size} test nodes, "
        f"{data.setting}{', packed' if isinstance(data.features, PackedFeatures) else ''}\n\n"
        f"wrote {one_line(folder)}: {size / 2**20:.1f} MiB in {perf_counter() - begin:.1f} s"
    )


def _say(line: str) -> None:
    print(one_line(line), flush=True)


@contextmanager
def _resumable(folder: str) -> Iterator[None]:
    """Tell a user who stops the block how to resume."""
    try:
        yield
    except KeyboardInterrupt as stop:
        what = stop if isinstance(stop, Terminated) else "interrupted"
        line = f"{what}; the same command resumes the conversion"
        raise Interrupted(line, exit_status(stop)) from None
