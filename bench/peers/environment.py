"""The interpreter that has the peers: an isolated virtual environment, made once."""

import subprocess
import sys
import venv

from bench.peers.protocol import ROOT, ContestantError

FOLDER = ROOT / ".bench-peers"
PACKAGES = ("torch==2.13.*", "torch_geometric==2.8.*")  # as the extra `peers` in pyproject.toml


def interpreter(given=None):
    """Return the path of an interpreter with torch and torch_geometric.

    Parameters
    ----------
    given : Path, optional
        An existing interpreter; by default that of ``.bench-peers/`` in the project's root,
        which is made if it is not there (pip's settings decide which build of torch it gets).

    Raises
    ------
    ContestantError
        If it cannot import them, or they cannot be installed.
    """
    python = given
    if python is None:
        python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        if not imports_peers(python):
            install(python)
    if not imports_peers(python):
        raise ContestantError(f"{python} cannot import torch and torch_geometric")
    return str(python)


def install(python):
    """Make the environment."""
    print(f"making {FOLDER} with {', '.join(PACKAGES)}", file=sys.stderr)
    venv.create(FOLDER, with_pip=True, clear=True)
    (FOLDER / ".gitignore").write_text("*\n")
    command = [python, "-m", "pip", "install", "-q", *PACKAGES]
    if subprocess.call(command, stdout=sys.stderr):
        raise ContestantError(f"{PACKAGES} cannot be installed into {FOLDER}")


def imports_peers(python):
    """Whether an interpreter is there and has the peers."""
    command = [python, "-c", "import torch, torch_geometric"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False
