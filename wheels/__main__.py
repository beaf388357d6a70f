"""``python -m wheels build``: what is published. ``python -m wheels try``: what runs where."""

import argparse
import re
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from bench.markdown import table
from refimpl._files import replacing
from refimpl._processor import processor
from refimpl._version import __version__
from wheels.build import LEVELS, build
from wheels.places import Failed
from wheels.trying import LIBRARIES, Row, tried

TITLES = ["system", "Python", "libraries", "processor", "level", "outcome"]


def main(arguments=None):
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m wheels", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("build", help="the source distribution, and a wheel for each Python")
    one.add_argument("pythons", nargs="*", help="interpreters with pip")
    one.add_argument("--out", type=Path, default=Path("dist"), help="folder (default: dist)")
    one.add_argument("--arch", default=LEVELS, help=f"MINIBATCH_GNN_ARCH (default: {LEVELS})")
    two = commands.add_parser("try", help="install and test in fresh places without a compiler")
    two.add_argument("pythons", nargs="+", help="interpreters; DIR:PATH for one of another root")
    two.add_argument("--wheels", type=Path, default=Path("dist"), help="folder (default: dist)")
    two.add_argument(
        "--emulate", action="append", default=[], help="a processor of QEMU's, for the first Python"
    )
    two.add_argument(
        "--libraries", choices=LIBRARIES, action="append", help="NumPy and SciPy (default: both)"
    )
    two.add_argument("--out", type=Path, help="Markdown file whose table gets these rows")
    options = parser.parse_args(arguments)
    if options.command == "build":
        for path in build(options.pythons, options.out.resolve(), options.arch):
            print(f"{path}: {path.stat().st_size:,} bytes", flush=True)
        return 0
    return try_all(options)


def try_all(options):
    """Try every interpreter; print rows as they come, write the table; return 1 if one failed."""
    rows, status, which = [], 0, options.libraries or LIBRARIES
    for number, name in enumerate(options.pythons):
        root, _, python = name.rpartition(":")
        root = Path(root).resolve() if root else None
        emulated = options.emulate if number == 0 else ()
        with tempfile.TemporaryDirectory(dir=root and root / "tmp") as work:
            try:
                place = python, options.wheels.resolve(), Path(work), which, root, emulated
                for row in tried(*place):
                    print(" | ".join(row), flush=True)
                    rows.append(row)
            except Failed as error:
                print(error, file=sys.stderr)
                status = 1
        if options.out:  # after each: what follows may take long
            with replacing(options.out) as file:
                file.write(("\n".join(lines(joined(options.out, rows))) + "\n").encode())
    return status


def joined(path, rows):
    """Return the rows of a table that is there, but for those run again, and the new ones."""
    text = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    before = [Row(*line.strip("| ").split(" | ")) for line in text if line.startswith("| ")][2:]
    again = {(row.system, row.python) for row in rows}
    kept = [row for row in before if (row.system, row.python) not in again]
    return sorted(kept + rows, key=lambda row: (row.system, minor(row.python)))


def minor(python):
    """Return the second number of a Python's version; 0 of what is none."""
    found = re.match(r"\d+\.(\d+)", python)
    return int(found[1]) if found else 0


def lines(rows):
    """Return the table of rows as Markdown, and what it was made by."""
    said = f"Version {__version__} on {processor()}, last on {datetime.now(timezone.utc):%Y-%m-%d}:"
    tried = {f"3.{minor(row.python)}" for row in rows if row.outcome.endswith("passed")}
    left = [python for python in claimed() if python not in tried]
    last = ["", f"Not yet tried as a wheel: Python {', '.join(left)}."] if left else []
    return [said, "", *table(TITLES, rows, left=len(TITLES)), *last]


def claimed():
    """Return the versions of Python that the classifiers of pyproject.toml name."""
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r"Programming Language :: Python :: (3\.\d+)", text)


if __name__ == "__main__":
    sys.exit(main())
