"""The commands `conformance` and `vectors`."""

from __future__ import annotations

import difflib
import importlib.util
import os
import shlex
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refimpl._support.reprs import one_line
from refimpl._support.whole_files import is_replaceable
from refimpl.lab.apps.conformance import (
    export,
    matrix,
    report,
    requirements,
    runner,
    showing,
    vectors,
    version,
    xfails,
)
from refimpl.lab.apps.conformance.levels import LEVELS, standings
from refimpl.lab.apps.conformance.protocol import server_command
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import typed_real
from refimpl.lab.apps.results import add_overwrite, check_free, output_name
from refimpl.lab.apps.worker import Lost, Unable
from refimpl.lab.data.writing import new_folder

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from refimpl.lab.apps.conformance.encode import JsonObject

TIMEOUT, TOTAL = 60.0, 3600.0
COPIES = ("copy", "export")
OF_CHECKS = ("level", "only", "xfails", "report", "badge", "summary", "missing")


def add_parser(commands: matrix.Commands, impl: str) -> None:
    """Add both commands to the subparsers `commands`; `impl` is the package asked by default."""
    _add_conformance(commands, impl)
    _add_vectors(commands)


def _add_conformance(commands: matrix.Commands, impl: str) -> None:
    parser = commands.add_parser(
        "conformance",
        help="check any program against the test vectors",
        description="Check a program against the test vectors. Show for each paper and "
        "algorithm whether the program conforms, and where it first differs. The "
        "exit status is 0 if no case differs and at least one passed; 1 if a case "
        "differs, the program died or did not answer, or a level of --level is not "
        "reached; and 2 for bad usage.",
        allow_abbrev=False,
    )
    parts = parser.add_subparsers(dest="action", title="other command", metavar="[matrix]")
    matrix.add_parser(parts)
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument(
        "--impl",
        metavar="PACKAGE",
        help=f"check this package, which Python can import (default: {impl})",
    )
    asked.add_argument(
        "--cmd",
        metavar="COMMAND",
        help="check this program, given with its arguments as one quoted word",
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--level",
        action="append",
        choices=tuple(LEVELS),
        metavar="LEVEL",
        help=f"check only the kernels of this level: {', '.join(LEVELS)}. If the level is not "
        "reached, the exit status is 1; may be repeated (default: check all, require none)",
    )
    chosen.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="check only kernels or cases with this name, such as pin_tile, 'jpdc21/*' or "
        "'jpdc21/pin_tile/path*'; may be repeated (default: all)",
    )
    parser.add_argument(
        "--timeout",
        type=typed_real,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"limit the time of one answer (default: {TIMEOUT:g})",
    )
    parser.add_argument(
        "--total",
        type=typed_real,
        default=TOTAL,
        metavar="SECONDS",
        help=f"limit the time of all answers; later cases are not run (default: {TOTAL:g})",
    )
    _add_results(parser)
    parser.add_argument(
        "--missing",
        action="store_true",
        help="list the missing kernels (default: show only their number)",
    )
    parser.add_argument(
        "--show",
        metavar="CASE",
        help="show one case, such as jpdc21/pin_tile/used: its arguments, its purpose and the "
        "right answer; with --impl or --cmd also the program's answer",
    )
    parser.add_argument(
        "--copy",
        type=output_name,
        metavar="FOLDER",
        help="copy the vectors to this new folder; without --impl and --cmd, check nothing",
    )
    parser.add_argument(
        "--export",
        type=output_name,
        metavar="NAME",
        help="write the vectors as plain JSON, with runners for npm and cargo, to this new folder "
        "or .tar.gz file; without --impl and --cmd, check nothing",
    )


def _add_results(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--xfails",
        metavar="FILE",
        help="expect the failures of the cases in this file, one name or pattern on each line. "
        "They do not change the exit status; a case that passes is named (default: no file)",
    )
    parser.add_argument(
        "--report",
        type=output_name,
        metavar="FILE",
        help="write the verdict on every case to this file as JSON (default: no file)",
    )
    parser.add_argument(
        "--badge",
        type=output_name,
        metavar="FILE",
        help="write the levels reached to this file, as JSON for a badge of shields.io (default: "
        "no file)",
    )
    matrix.add_summary(parser)
    add_overwrite(parser, "the files of --report and --badge")


def _add_vectors(commands: matrix.Commands) -> None:
    parser = commands.add_parser(
        "vectors",
        help="make the test vectors from refimpl",
        description="Make the test vectors from refimpl, or check that they are up to date. If "
        "they are not, the exit status is 1.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--check", action="store_true", help="only check, and write nothing (default: off)"
    )
    parser.add_argument(
        "--out",
        type=output_name,
        metavar="FOLDER",
        help="where the vectors are (default: in the package)",
    )


def run(arguments: dict[str, Any], impl: str = "fastimpl") -> int:
    """Run the command that `arguments`, a dict, is for; return the exit status.

    Raises
    ------
    UserError
        If the usage is bad.
    """
    if arguments["command"] == "vectors":
        folder = vectors.FOLDER if arguments["out"] is None else Path(arguments["out"])
        return _check_vectors(folder) if arguments["check"] else _make_vectors(folder)
    return _matrix(arguments) if arguments["action"] == "matrix" else _conformance(arguments, impl)


def _matrix(arguments: dict[str, Any]) -> int:
    unused = {"timeout": (TIMEOUT,), "total": (TOTAL,), "summary": (arguments["summary"],)}
    for option in ("impl", "cmd", "timeout", "total", "show", *COPIES, "overwrite", *OF_CHECKS):
        if arguments[option] not in unused.get(option, (None, False)):
            raise UserError(f"--{option} does not apply to conformance matrix")
    if arguments["summary"] is not None:
        _check_output("summary", arguments["summary"], False)
    return matrix.run(arguments)


def _make_vectors(folder: Path) -> int:
    try:
        version.stored(folder)  # before anything is written
        written, kept = vectors.write(folder)
        requirements.write(folder)
        complaint = version.write(folder, requirements.versioned(folder))
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error
    print(f"{len(written)} files written in {one_line(folder)}, {len(kept)} left alone: up to date")
    if complaint:
        print(complaint)
    return 1 if complaint else 0


def _check_vectors(folder: Path) -> int:
    found = vectors.check(folder)
    with user_errors():
        complaints = [
            requirements.complaint(folder),
            version.complaint(folder, requirements.versioned(folder)),
        ]
    found["stale"] += filter(None, complaints)
    for line in found["stale"]:
        print(line)
    print(
        f"{len(found['same'])} files are the same byte for byte, {len(found['rounding'])} but for "
        f"rounding, {len(found['stale'])} are not up to date"
    )
    return 1 if found["stale"] else 0


def _conformance(arguments: dict[str, Any], impl: str) -> int:
    package, command = arguments["impl"], arguments["cmd"]
    for option in ("timeout", "total"):
        check_seconds(option, arguments[option])
    if arguments["show"] is not None:
        return _show_case(arguments)
    if arguments["overwrite"] and arguments["report"] is None and arguments["badge"] is None:
        raise UserError("--overwrite does not apply without --report or --badge")
    copies = [name for name in COPIES if arguments[name] is not None]
    only_copy = copies and package is None and command is None
    for option in OF_CHECKS:
        if only_copy and arguments[option] not in (None, False):
            said = f"--{option} goes with --{copies[0]} only where --impl or --cmd does too"
            raise UserError(said)
    if command is None:
        package = impl if package is None else package
    command = _command(package, command)
    required = tuple(arguments["level"] or ())
    in_levels = [kernel for level in required for kernel in LEVELS[level]]
    files = _chosen(arguments["only"] or in_levels or ["*"])
    entries = () if arguments["xfails"] is None else xfails.read(arguments["xfails"])
    outputs = {name: arguments[name] for name in ("report", "badge", "summary") if arguments[name]}
    for option, name in outputs.items():
        _check_output(option, name, arguments["overwrite"])
    if len({os.path.realpath(name) for name in outputs.values()}) < len(outputs):
        raise UserError(
            f"{' and '.join(f'--{name}' for name in outputs)} must name different files"
        )
    for name in copies:
        {"copy": _copy, "export": _export}[name](arguments[name])
    if only_copy:
        return 0
    limits = {"timeout": arguments["timeout"], "total": arguments["total"]}
    with _asking(package, arguments["cmd"]):
        found = runner.run(command, files, **limits)
    found = xfails.applied(found, entries)
    reached = standings(found.verdicts, vectors.load())
    found = found._replace(levels=reached, required=required)
    if arguments["report"] is not None:
        report.write(found, arguments["report"])
    if arguments["badge"] is not None:
        matrix.write_badge(found, arguments["badge"])
    if arguments["summary"] is not None:
        matrix.append([found], arguments["summary"])
    if found.lost is None:
        kit = f"{version.VERSION} of minibatch-gnn {report.kit_version()}"
        table = report.table(found, files, missing=arguments["missing"])
        _show(f"{found.name} {found.version} by the vectors {kit}", *table)
    else:
        _show(found.lost)
    return found.status


def check_seconds(option: str, given: float) -> None:
    """Refuse what is no time to wait.

    Raises
    ------
    UserError
    """
    if not 0 < given <= threading.TIMEOUT_MAX:
        most = f"at most {threading.TIMEOUT_MAX:g}"
        raise UserError(f"--{option} must be above 0 and {most}, got {given:g}")


def _show_case(arguments: dict[str, Any]) -> int:
    """Print one case, and what a program answers to it if one is named; return the exit status."""
    package, command = arguments["impl"], arguments["cmd"]
    for option in (*OF_CHECKS, "overwrite", *COPIES):
        if arguments[option] not in (None, False):
            raise UserError(f"--show is about one case: leave out --{option}")
    file, case = _one_case(arguments["show"])
    if package is None and command is None:
        _show(*showing.case_lines(file, case), "", *showing.answer_lines(file, case))
        return 0
    limits = {"timeout": arguments["timeout"], "total": arguments["total"]}
    with _asking(package, command):
        try:
            answer = runner.ask_one(_command(package, command), file, case, **limits)
            verdict, *_ = runner.judge(file, case, answer)
            lines = showing.answer_lines(file, case, answer)
        except Unable:
            raise
        except Lost as loss:
            right = showing.answer_lines(file, case)
            verdict, lines = runner.LOST, [f"{runner.LOST}: {loss}", "", *right]
        except RecursionError:
            verdict, lines = runner.DIFFERS, ["the answer is nested too deeply"]
    _show(*showing.case_lines(file, case), "", *lines)
    return 0 if verdict == runner.PASS else 1


def _one_case(name: str) -> tuple[JsonObject, JsonObject]:
    """Return the file and the case of a name "paper/kernel/case"; the paper may be left out."""
    files = vectors.load()
    named = {
        showing.case_name(file, case): (file, case) for file in files for case in file["cases"]
    }
    fitting = [full for full in named if name in (full, full.partition("/")[2])]
    if not fitting:
        kernel = [full for full in named if name in (full.split("/")[1], full.rpartition("/")[0])]
        hints = kernel[:3] or difflib.get_close_matches(name, named, 1)
        said = f"; do you mean {' or '.join(hints)}?" if hints else ", such as jpdc21/pin_tile/used"
        raise UserError(f"--show {name!r} is no case{said}")
    return named[fitting[0]]


@contextmanager
def _asking(package: str | None, command: str | None) -> Iterator[None]:
    """Make a UserError of a program that cannot be asked."""
    try:
        yield
    except OSError as error:
        raise UserError(f"--cmd cannot be started: {error}") from error
    except Unable as fault:
        raise UserError(f"--impl {package}: {fault}" if package else f"--cmd: {fault}") from fault


def _show(*lines: str) -> None:
    """Print lines that hold a program's text, each in one line."""
    for line in lines:
        print(one_line(line))


def _check_output(option: str, name: str, overwrite: bool) -> None:
    path = Path(name)
    if path.is_dir():
        raise UserError(f"--{option} must name a file, got {name!r}")
    if not is_replaceable(path):
        raise UserError(f"--{option} {path}: is no ordinary file")
    if not path.parent.is_dir():
        raise UserError(f"--{option} {path}: there is no such folder")
    if option != "summary":  # which grows
        check_free(path, overwrite)


def _chosen(patterns: Sequence[str]) -> list[JsonObject]:
    """Return the files of the vectors that match one of the patterns, each of which must match."""
    files = vectors.load(patterns=patterns)
    cases = [
        (f"{f['source']['paper']}/{f['function']}", c["id"]) for f in files for c in f["cases"]
    ]
    for pattern in patterns:
        if not any(vectors.fits(pattern, *case) for case in cases):
            raise UserError(f"--only {pattern!r} fits no kernel and no case")
    return files


def _copy(name: str) -> None:
    folder = Path(name)
    if os.path.lexists(folder):
        raise UserError(f"--copy {folder}: there is something already")
    schemas = {f"schemas/{name}.schema.json" for name in version.SCHEMAS}
    names = sorted({*requirements.versioned(), *schemas, version.INDEX})
    with user_errors("--copy"):
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with new_folder(folder, False) as place:
            for name in names:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(vectors.FOLDER / name, place / name)
    print(f"{len(names)} files in {one_line(folder)}")


def _export(name: str) -> None:
    if os.path.lexists(name):
        raise UserError(f"--export {name}: there is something already")
    if name.endswith((".tgz", ".tar", ".zip")):
        raise UserError(f"--export must name a folder or a .tar.gz file, got {name}")
    with user_errors("--export"):
        count = export.write(Path(name))
    print(f"{count} files in {one_line(name)}")


def _command(package: str, command: str | None) -> list[str]:
    """Return the words that start the program which is asked."""
    return _package_command(package) if command is None else _split(command)


def _package_command(package: str) -> list[str]:
    try:
        known = importlib.util.find_spec(package) is not None
    except Exception:  # of a package around it, whatever that raises
        known = False
    if not known:
        raise UserError(f"--impl {package}: no such package can be imported (see PYTHONPATH)")
    return server_command(package)


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--cmd {command!r}: {error}") from error
    if not words:
        raise UserError("--cmd must name a program")
    return words
