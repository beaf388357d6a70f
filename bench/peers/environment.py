"""The peers and their environments: a folder each under .bench-peers/, made by pip when asked for.

A peer that is not there, or cannot be installed, is left out by name and reason.
"""

import subprocess
import sys
import venv
from typing import NamedTuple

from bench.peers.protocol import ROOT, ContestantError

FOLDER = ROOT / ".bench-peers"
TORCH = "torch==2.13.*"  # as the extra `peers` in pyproject.toml


class Peer(NamedTuple):
    """Another project.

    module : what its process runs
    imports : the modules it cannot do without
    packages : of each call of pip, its arguments; what fails after the first is left out
    """

    module: str
    imports: tuple
    packages: tuple


PEERS = {
    "torch": Peer("bench.peers.torch_by_hand", ("torch",), ((TORCH, "numpy", "setuptools"),)),
    "PyG": Peer(
        "bench.peers.geometric",
        ("torch", "torch_geometric"),
        (
            (TORCH, "torch_geometric==2.8.*", "setuptools", "wheel"),
            ("--no-build-isolation", "torch-scatter==2.1.2", "torch-sparse==0.6.18"),  # compiled
        ),
    ),
    "DGL": Peer(  # the last torch that it has libraries for is 2.2.1
        "bench.peers.dgl",
        ("dgl", "torch"),
        (
            ("dgl==2.1.0", "torch==2.2.1", "torchdata==0.7.1", "numpy<2", "pandas<3")
            + ("pydantic", "pyyaml", "setuptools"),
        ),
    ),
    "MKL": Peer(
        "bench.peers.mkl", ("sparse_dot_mkl",), (("sparse_dot_mkl==0.9.*", "mkl", "scipy"),)
    ),
    "littleballoffur": Peer(
        "bench.peers.littleballoffur",
        ("littleballoffur",),
        (("littleballoffur==2.3.1", "numpy<2"),),
    ),
}


def python_of(name):
    """Return the interpreter of a peer's folder, be it there or not."""
    inside = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    return FOLDER / name.lower() / inside


def interpreters(given=None, install=(), own=True):
    """Return the interpreters of the peers that are there, and why the others are missing.

    Parameters
    ----------
    given : Path, optional
        An interpreter, used for each peer that it has.
    install : sequence of str
        Peers to install where they are not there.
    own : bool
        Whether the folders under .bench-peers/ count.

    Returns
    -------
    pythons, missing : dict
        {peer: path of an interpreter} and {peer: reason}.

    Raises
    ------
    ContestantError
        If the given interpreter has none of them.
    """
    pythons, missing = {}, {}
    there = having(given) if given else ()
    if given and not there:
        raise ContestantError(f"{given} cannot import torch, nor any other peer")
    for name in PEERS:
        python = given if name in there else python_of(name)
        if name in there:
            reason = None
        elif not own:
            reason = f"not in {given}" if given else "no --python"
        elif name in having(python):
            reason = None
        else:
            reason = made(name, python) if name in install else f"not installed: --install {name}"
        if reason is None:
            pythons[name] = str(python)
        else:
            missing[name] = reason
    return pythons, missing


def having(python):
    """Return the names of the peers whose modules an interpreter finds."""
    wanted = {module for peer in PEERS.values() for module in peer.imports}
    code = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if u.find_spec(m)])"
    try:
        done = subprocess.run([python, "-c", code, *wanted], capture_output=True, text=True)
    except OSError:
        return []
    found = set(done.stdout.split())
    return [name for name, peer in PEERS.items() if found.issuperset(peer.imports)]


def made(name, python):
    """Make a peer's environment; return None, or why it cannot be made."""
    first, *more = PEERS[name].packages
    print(f"making {python.parents[1]} with {' '.join(first)}", file=sys.stderr)
    venv.create(python.parents[1], with_pip=True, clear=True)
    (FOLDER / ".gitignore").write_text("*\n")
    reason = pip(python, first)
    for packages in more if reason is None else ():
        print(f"adding {packages[-1]} to it", file=sys.stderr)
        if left_out := pip(python, packages):
            print(f"without {packages[-1]}: {left_out}", file=sys.stderr)
    return reason


def pip(python, packages):
    """Install packages; return None, or the reason why not."""
    command = [python, "-m", "pip", "install", "-q", *packages]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not done.returncode:
        return None
    errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR:")]
    return (errors or ["ERROR: pip failed"])[-1].removeprefix("ERROR:").strip()
