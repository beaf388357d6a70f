"""A plugin for pytest: implementations of minibatch-gnn as a fixture, and the vectors as tests.

    pytest --impl my_backend                    # fixture `gnn`: each test on my_backend
    pytest --impl refimpl,my_backend            # and on refimpl
    pytest --impl my_backend --gnn-conformance  # and a test for each case of the test vectors

The benchmarks of a checkout use the same option: ``pytest bench --impl refimpl,my_backend``. They
also take a program of any language, as ``cmd:PROGRAM``.

Nothing of minibatch-gnn is imported until one of these options is given.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import pytest

OPTION, CONFORMANCE = "impl", "gnn_conformance"
PROGRAM = "cmd:"
COMMA = re.compile(r""",(?=(?:[^'"]|'[^']*'|"[^"]*")*$)""")  # outside of quotes


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("minibatch-gnn")
    group.addoption(
        "--impl",
        metavar="NAME,..",
        help="packages or modules with kernels of minibatch-gnn: run each test with the argument "
        "`gnn` on each of them, completed by refimpl; the project's benchmarks also take "
        "cmd:PROGRAM",
    )
    group.addoption(
        "--gnn-conformance",
        action="store_true",
        help="also run the test vectors on them, a test a case; kernels that one lacks are skipped",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that would do nothing, and what cannot be imported."""
    config.addinivalue_line("markers", "gnn_conformance: a case of the test vectors")
    names = implementations(config)
    if names is None:
        if config.getoption(CONFORMANCE):
            raise pytest.UsageError("--gnn-conformance needs --impl NAME")
        return
    if not all(names):
        got = config.getoption(OPTION)
        raise pytest.UsageError(f"--impl must be names separated by commas, got {got!r}")
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise pytest.UsageError(f"--impl names {twice[0]!r} twice")
    for name in names:
        if not name.startswith(PROGRAM):
            _loaded(name)
        elif config.getoption(CONFORMANCE):
            raise pytest.UsageError(
                f"--gnn-conformance takes packages, got {name!r}: give a program to "
                "`minibatch-gnn conformance`"
            )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the argument `gnn` on each implementation."""
    if "gnn" not in metafunc.fixturenames:
        return
    names = implementations(metafunc.config)
    if names is not None:
        packages = [name for name in names if not name.startswith(PROGRAM)]
        if not packages:
            raise pytest.UsageError("--impl names only programs: the argument `gnn` is a package")
        metafunc.parametrize("gnn", packages, indirect=True, scope="session")


@pytest.fixture(scope="session")
def gnn(request: pytest.FixtureRequest) -> ModuleType:
    """An implementation of minibatch-gnn, with all public names; --impl says which."""
    if not hasattr(request, "param"):
        pytest.fail("the fixture `gnn` needs --impl NAME", pytrace=False)
    return _loaded(request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the test vectors, before -k and -m choose."""
    if config.getoption(CONFORMANCE):
        from refimpl.lab.apps.conformance.testing import Vectors

        for name in implementations(config):
            found: list[Any] = list(Vectors.of(session, name).collect())
            items.extend(found)
            report = pytest.CollectReport(f"gnn-conformance/{name}", "passed", None, found)
            config.hook.pytest_collectreport(report=report)  # so that they are counted


def implementations(config: pytest.Config) -> list[str] | Any:
    """Return the names that --impl gives, or None without the option."""
    given = config.getoption(OPTION)
    return None if given is None else [name.strip() for name in COMMA.split(given)]


def _loaded(name: str) -> ModuleType:
    """Return the implementation of this name; one that cannot be had is bad usage."""
    from refimpl.lab.apps.errors import UserError
    from refimpl.lab.apps.options import load_implementation

    try:
        return load_implementation(name)
    except UserError as error:
        raise pytest.UsageError(str(error)) from error
