"""What a benchmark of a checkout was measured on: one header for all."""

import subprocess
from pathlib import Path

import fastimpl
from refimpl.lab.apps.bench import header as app
from refimpl.lab.apps.machine import CORES

ROOT = Path(__file__).parents[1]
THREADS = [1, 2] if fastimpl.build_info()["openmp"] and CORES > 1 else [1]


def header(threads=None, peer=None):
    """Return what is measured on, as lines of Markdown.

    Parameters
    ----------
    threads : list of int, optional
        For OpenMP and BLAS alike; without it, what the libraries take by themselves.
    peer : str or list of str, optional
        Other libraries that are measured too: their versions and backends, a line each.
    """
    peers = [peer] if isinstance(peer, str) else peer or []
    builds = {"fastimpl": fastimpl.build_info()}
    more = [f"Peer: {each}" for each in peers]
    return app.header(builds, threads, more, revision=f"commit {commit()}")


def commit():
    """Return the revision of the project, marked where files have changed since."""
    command = ["git", "describe", "--always", "--abbrev=11", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
