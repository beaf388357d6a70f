"""`minibatch-gnn trace`: write a stepper as an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from refimpl._support.reprs import one_line
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.option import typed_integer
from refimpl.lab.apps.papers import algorithm_text
from refimpl.lab.apps.results import add_overwrite, check_free, output_name
from refimpl.lab.apps.stepper.page import page
from refimpl.lab.apps.stepper.places import shown
from refimpl.lab.apps.stepper.recipes import recipes
from refimpl.lab.training.config import suggestion

if TYPE_CHECKING:
    import argparse

    from refimpl.lab.apps.stepper.recipe import Recipe

DESCRIPTION = (
    "Run an algorithm of the papers on a small graph, in the reference implementation. Write an "
    "HTML page that steps through the run and shows the line, the graph, the arrays and the "
    "counts. The page needs neither a network nor a server."
)


def add_parser(commands: argparse._SubParsersAction[Any], impl: str) -> None:
    """Add the command to `commands`; `impl` is not used: a trace is one of refimpl."""
    parser = commands.add_parser(
        "trace",
        help="write an HTML page to step through an algorithm of the papers",
        description=DESCRIPTION,
        allow_abbrev=False,
    )
    parser.add_argument(
        "algorithm",
        nargs="?",
        metavar="ALGORITHM",
        help="a name that --list shows, or an algorithm of a paper, such as jpdc21:4",
    )
    parser.add_argument(
        "--out",
        type=output_name,
        metavar="FILE.html",
        help="write the page to this file (default: the name and .html)",
    )
    add_overwrite(parser, "the file")
    parser.add_argument(
        "--seed",
        type=typed_integer,
        metavar="SEED",
        help="set the seed of the run (default: the worked example's)",
    )
    parser.add_argument("--list", action="store_true", help="list the names of all runs, and stop")


def run(arguments: dict[str, Any]) -> int:
    """Run the command; `arguments` is what the parser gave, as a dict.

    Raises
    ------
    UserError
        If there is no such algorithm, or the seed or the file cannot be.
    """
    known = recipes()
    if arguments["list"]:
        for name, flag in (("algorithm", "ALGORITHM"), ("out", "--out"), ("seed", "--seed")):
            if arguments[name] is not None:
                raise UserError(f"--list takes no {flag}")
        if arguments["overwrite"]:
            raise UserError("--list takes no --overwrite")
        return _show(known)
    recipe = _find(known, arguments["algorithm"])
    seed, out = arguments["seed"], arguments["out"]
    if seed is not None and recipe.seed is None:
        raise UserError(f"nothing in {recipe.name} is random: it takes no --seed")
    out = Path(f"{recipe.name}.html" if out is None else out)
    if seed is not None and not 0 <= seed < 2**64:
        raise UserError(f"--seed must be in [0, 2**64), got {seed}")
    if out.is_dir() or not out.parent.is_dir():
        raise UserError(f"--out must be a file in a folder that exists, got {out}")
    check_free(out, arguments["overwrite"])
    recording = recipe.record(seed)
    text = page(recipe, recording, seed)
    with replacing(out) as file:
        file.write(text.encode())
    steps, lines = len(shown(recipe, recording)), len(recording.steps)
    print(f"{recipe.title}: {steps} steps, {lines} with every line\n{one_line(out)}")
    return 0


def _show(known: dict[str, Recipe]) -> int:
    width = max(map(len, known))
    for name, recipe in known.items():
        print(f"{name:{width}}  {recipe.title}")
        papers = ", ".join(map(algorithm_text, recipe.algorithms))
        print(f"{'':{width}}  {papers or 'not in the papers'}")
    return 0


def _find(known: dict[str, Recipe], name: str | None) -> Recipe:
    """Return the recipe of this name, or the first that shows the algorithm with this id."""
    if name is None:
        raise UserError("trace needs an ALGORITHM; --list shows them")
    word = name.replace("-", "_")
    showing = [recipe for recipe in known.values() if name in recipe.algorithms]
    if word in known or showing:
        return known[word] if word in known else showing[0]
    close = suggestion(word, known)
    raise UserError(f"ALGORITHM must be one of {', '.join(known)}, got {name!r}{close}")
