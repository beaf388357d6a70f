"""What a benchmark was measured on: one header for all."""

import platform
from datetime import datetime, timezone

import numpy as np
import scipy

from refimpl._processor import processor
from refimpl._version import __version__
from refimpl.lab.apps.machine import CORES, blas


def header(builds, threads=None, more=(), revision=f"minibatch-gnn {__version__}"):
    """Return what is measured on, as lines of Markdown.

    Parameters
    ----------
    builds : dict
        {implementation: what its `build_info` returns}, of those that are compiled.
    threads : list of int, optional
        For OpenMP and BLAS alike; without it, what the libraries take by themselves.
    more : sequence of str
        Other libraries or programs that are measured too, a line each.
    revision : str
    """
    used = ", ".join(map(str, threads)) if threads else f"the libraries' choice on {CORES} cores"
    own = [f"of {name}: {build['blas']}" for name, build in builds.items() if "blas" in build]
    lines = [
        f"- Processor: {processor()}, {CORES} cores, {platform.system()} {platform.machine()}",
        f"- BLAS: {'; '.join([', '.join(blas()), *own])}",
        f"- Threads: {used}, for OpenMP and BLAS alike; refimpl runs on 1",
        f"- Versions: Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}; {revision}",
    ]
    for name, build in builds.items():
        words = [build.get("compiler"), build.get("simd"), f"OpenMP {build.get('openmp') or 'off'}"]
        lines.append(f"- Build of {name}: {', '.join(filter(None, words))}")
    lines += [f"- {each}" for each in more]
    return [*lines, f"- Date: {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC", ""]
