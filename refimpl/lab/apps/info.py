"""What this program runs on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from threadpoolctl import threadpool_info

from refimpl._support.processor import processor
from refimpl._version import __version__
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.options import load_implementation

if TYPE_CHECKING:
    from types import ModuleType


def versions() -> dict[str, str]:
    """Return the versions of this distribution and of what its numbers depend on."""
    return {
        "minibatch-gnn": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def build_of(gnn: ModuleType) -> dict[str, Any] | None:
    """Return how an implementation was built; None for one that is not compiled."""
    found = getattr(gnn, "build_info", None)
    if found is None:
        return None
    build = found() if callable(found) else found
    if not isinstance(build, dict):
        raise UserError(f"{gnn.__name__}.build_info must return a dict, got {build!r}")
    return build


def threads_of(gnn: ModuleType) -> int:
    """Return how many threads an implementation will use now: 1 for one that is not compiled."""
    if build_of(gnn) is None:
        return 1
    teams = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
    return max(teams, default=1)


def describe(impl: str) -> list[tuple[str, Any]]:
    """Return what there is to know, as (topic, value) pairs."""
    lines: list[tuple[str, Any]] = list(versions().items())
    lines += [("processor", processor()), ("cores", os.cpu_count())]
    try:
        gnn = load_implementation(impl)
    except UserError as error:
        lines.append((impl, error))
    else:
        lines.append((f"{impl} threads", threads_of(gnn)))
        build = build_of(gnn) or {}
        if "openmp" in build:
            build = {**build, "openmp": build["openmp"] or "off"}
        lines += [(f"{impl} {topic}", value) for topic, value in build.items()]
        if not build:
            lines.append((f"{impl} build", "not compiled"))
        if "blas" not in build:
            lines.append((f"{impl} blas", "NumPy's"))
    for pool in threadpool_info():
        words = [pool["internal_api"], pool["version"], pool.get("architecture")]
        words += [f"{pool['num_threads']} threads", Path(pool["filepath"]).name]
        lines.append((pool["user_api"], ", ".join(word for word in words if word)))
    return lines


def info(impl: str) -> None:
    """Print what there is to know."""
    lines = describe(impl)
    width = max(len(topic) for topic, _ in lines)
    for topic, value in lines:
        print(f"{topic:<{width}}  {value}")
