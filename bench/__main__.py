"""Benchmarks of both packages, and the papers' figures: ``python -m bench NAME [--help]``.

``python -m bench`` lists them; ``python -m bench quick`` runs those that need no other
library once, tiny, as a test.
"""

import difflib
import sys

from bench import command, readme, report
from bench.figures import command as figure

USAGE = """usage: python -m bench NAME [options]    python -m bench NAME --help
       python -m bench quick [NAME ..]   each of them once, tiny, as a test; without names, all
                                         that need no other library
       python -m bench figure ID|all|list
       python -m bench report [FILE]   python -m bench readme
"""
OTHERS = {"figure": figure, "report": report, "readme": readme}  # command lines of their own
NEEDS = {
    "depth": "fio",
    "peers": "torch",
    "loaders": "PyG",
    "patterns": "PyG",
}  # not run by `quick` unless named


def main(arguments=None):
    """Run a command line; return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if not words or words[0] in ("-h", "--help"):
        print(listing(), end="")
        return 0
    name, *options = words
    if name == "quick":
        return quick(options)
    if name in OTHERS:
        return OTHERS[name].main(options)
    return command.run(name, options) if name in command.BENCHMARKS else unknown(name)


def listing():
    """Return the usage and a line for each benchmark."""
    width = max(map(len, command.BENCHMARKS))
    about = {name: command.summary_of(name) for name in command.BENCHMARKS}
    about |= {name: module.__doc__.splitlines()[0] for name, module in OTHERS.items()}
    lines = [f"  {name:<{width}}  {text}" for name, text in about.items()]
    return "\n".join([USAGE, *lines]) + "\n"


def quick(names):
    """Run benchmarks with --quick, one after another; return the first status that is not 0."""
    for name in names:
        if name not in command.BENCHMARKS:
            return unknown(name)
    for name in names or command.BENCHMARKS:
        if not names and name in NEEDS:
            print(f"left out: {name}, which needs {NEEDS[name]}", file=sys.stderr)
            continue
        status = command.run(name, ["--quick"])
        if status:
            return status
        print()
    return 0


def unknown(name):
    """Say that there is no such benchmark; return the exit status of it."""
    near = difflib.get_close_matches(name, [*command.BENCHMARKS, "quick", *OTHERS], 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    print(f"python -m bench: there is no benchmark {name!r}{hint}", file=sys.stderr)
    print("python -m bench lists them", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
