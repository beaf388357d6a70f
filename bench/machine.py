"""What a benchmark of a checkout was measured on: one header for all."""

import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import scipy

import fastimpl
from refimpl._support.processor import processor
from refimpl.lab.apps.machine import CORES, blas

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
    used = ", ".join(map(str, threads)) if threads else f"the libraries' choice on {CORES} cores"
    build = fastimpl.build_info()
    words = [build.get("compiler"), build.get("simd"), f"OpenMP {build.get('openmp') or 'off'}"]
    own = f"; of fastimpl: {build['blas']}" if "blas" in build else ""
    return [
        f"- Processor: {processor()}, {CORES} cores, {platform.system()} {platform.machine()}",
        f"- BLAS: {', '.join(blas())}{own}",
        f"- Threads: {used}, for OpenMP and BLAS alike; refimpl runs on 1",
        f"- Versions: Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}; commit {commit()}",
        f"- Build of fastimpl: {', '.join(filter(None, words))}",
        *(f"- Peer: {each}" for each in peers),
        f"- Date: {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        "",
    ]


def commit():
    """Return the revision of the project, marked where files have changed since."""
    command = ["git", "describe", "--always", "--abbrev=11", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
