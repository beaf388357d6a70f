"""`minibatch-gnn completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refimpl.lab.apps.errors import UserError

if TYPE_CHECKING:
    import argparse

SHELLS = "bash", "zsh", "tcsh"


def add_completion(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to `commands`."""
    parser = commands.add_parser(
        "completion",
        help="print what a shell needs to complete commands and options",
        description='Print a script for a shell; bash: eval "$(minibatch-gnn completion bash)". '
        "It needs the package shtab: pip install 'minibatch-gnn[completion]'.",
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=" or ".join(SHELLS))


def print_completion(parser: argparse.ArgumentParser, shell: str) -> int:
    """Print the script for a shell.

    Raises
    ------
    UserError
        If shtab is not installed.
    """
    try:
        import shtab
    except ImportError as error:
        raise UserError(
            "completion needs shtab: pip install 'minibatch-gnn[completion]'"
        ) from error
    print(shtab.complete(parser, shell))
    return 0
