"""A plugin for pytest: implementations of minibatch-gnn as a fixture, and the vectors as tests.

    pytest --gnn-impl my_backend                    # fixture `gnn`: each test on my_backend
    pytest --gnn-impl refimpl,my_backend            # and on refimpl
    pytest --gnn-impl my_backend --gnn-conformance  # and a test for each case of the test vectors

Nothing of minibatch-gnn is imported until one of these options is given.
"""

import pytest

OPTION, CONFORMANCE = "gnn_impl", "gnn_conformance"


def pytest_addoption(parser):
    """Add the two options."""
    group = parser.getgroup("minibatch-gnn")
    group.addoption(
        "--gnn-impl",
        metavar="NAME,..",
        help="packages or modules with kernels of minibatch-gnn: a test with the argument `gnn` "
        "runs on each, completed by refimpl",
    )
    group.addoption(
        "--gnn-conformance",
        action="store_true",
        help="also run the test vectors on them, a test a case; kernels that one lacks are skipped",
    )


def pytest_configure(config):
    """Refuse options that would do nothing, and what cannot be imported."""
    config.addinivalue_line("markers", "gnn_conformance: a case of the test vectors")
    if config.getoption(OPTION) is not None and not all(_names(config)):
        got = config.getoption(OPTION)
        raise pytest.UsageError(f"--gnn-impl must be names parted by commas, got {got!r}")
    if not config.getoption(OPTION):
        if config.getoption(CONFORMANCE):
            raise pytest.UsageError("--gnn-conformance needs --gnn-impl NAME")
        return
    for name in _names(config):
        _loaded(name)


def pytest_generate_tests(metafunc):
    """Run a test with the argument `gnn` on each implementation."""
    if "gnn" in metafunc.fixturenames and metafunc.config.getoption(OPTION):
        names = _names(metafunc.config)
        metafunc.parametrize("gnn", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def gnn(request):
    """An implementation of minibatch-gnn, with all public names; --gnn-impl says which."""
    if not hasattr(request, "param"):
        pytest.fail("the fixture `gnn` needs --gnn-impl NAME", pytrace=False)
    return _loaded(request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    """Add the test vectors, before -k and -m choose."""
    if config.getoption(CONFORMANCE):
        from refimpl.lab.apps.conformance.testing import Vectors

        for name in _names(config):
            found = list(Vectors.of(session, name).collect())
            items.extend(found)
            report = pytest.CollectReport(f"gnn-conformance/{name}", "passed", None, found)
            config.hook.pytest_collectreport(report=report)  # so that they are counted


def _names(config):
    return [name.strip() for name in config.getoption(OPTION).split(",")]


def _loaded(name):
    """Return the implementation of this name; one that cannot be had is bad usage."""
    from refimpl.lab.apps.errors import UserError
    from refimpl.lab.apps.options import load_implementation

    try:
        return load_implementation(name)
    except UserError as error:
        raise pytest.UsageError(f"--gnn-impl: {str(error).removeprefix('--impl ')}") from error
