"""Every key is (seed, domain, ..), and no two purposes have one key."""

import ast
import re
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl import streams
from refimpl.lab.data import communities, generators, typed
from refimpl.streams import DOMAINS

ROOT = Path(__file__).parents[1]
BY_NAME = {domain.name: domain for domain in DOMAINS}
WORDS = st.integers(0, 20) | st.integers(0, 2**64 - 1)
# `sample_many` checks that its domain is SAMPLE or SAINT, whose keys have one shape.
VARIABLES = {
    ("refimpl/samplers/sampling.py", "domain"): "SAMPLE",
    ("fastimpl/samplers/sampling.py", "domain"): "SAMPLE",
}
# Keys to which `Stream.of`, or `absorb` in a kernel, adds the last parts.
ADDED = {
    "refimpl/samplers/neighbor.py": ("node",),
    "refimpl/samplers/typed_neighbor.py": ("node",),
    "fastimpl/samplers/sampling.py": ("subgraph", "stream"),
}
CALLS = 20  # at least so many are found


def python_files():
    folders = (ROOT / name for name in ("refimpl", "fastimpl", "bench"))
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def calls_of_key(tree):
    """Return the calls ``key(..)``, ``streams.key(..)``, ``gnn.streams.key(..)``, .."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c for c in calls if getattr(c.func, "id", getattr(c.func, "attr", None)) == "key"]


def fault(path, call):
    """Return what is wrong with a call of `key` in the file `path`; None if nothing."""
    if call.keywords or any(isinstance(part, ast.Starred) for part in call.args):
        return "its parts must be written out"
    if len(call.args) < 2:
        return "it has no domain"
    word = call.args[1]
    name = getattr(word, "id", getattr(word, "attr", None))
    domain = BY_NAME.get(VARIABLES.get((path, name), name))
    if domain is None:
        return f"{ast.unparse(word)} is no registered domain"
    parts = len(call.args) - 2
    if parts == len(domain.follows) or domain.follows[parts:] == ADDED.get(path):
        return None
    return f"{domain.name} is followed by {domain.follows}"


def test_every_call_of_key_has_a_registered_domain():
    found, faults = 0, []
    for path in python_files():
        where = path.relative_to(ROOT).as_posix()
        for call in calls_of_key(ast.parse(path.read_text())):
            found += 1
            if problem := fault(where, call):
                faults.append(f"{where}:{call.lineno}: {ast.unparse(call)}: {problem}")
    assert not faults, "\n".join(faults)
    assert found >= CALLS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("key(seed, epoch, batch, layer, v)", "no registered domain"),
        ("streams.key(seed, 3, i, l)", "no registered domain"),
        ("key(*name)", "written out"),
        ("gnn.streams.key(seed)", "no domain"),
        ("key(seed, DROPOUT, i)", "is followed by"),
        ("key(seed, NODE_DROPOUT, i, l)", "is followed by"),
        ("key(seed, domain, q, s)", "no registered domain"),
    ],
)
def test_a_call_without_one_is_found(text, said):
    (call,) = calls_of_key(ast.parse(text))
    assert said in fault("refimpl/other.py", call)


def test_nobody_makes_keys_by_hand():
    """What a key is made of stands in one file of each package."""
    made = {"refimpl/streams.py", "fastimpl/streams.py", "fastimpl/_streams.pyx"}
    made |= {"fastimpl/_streams.pxd", "fastimpl/samplers/_neighbor.pyx"}
    made |= {"fastimpl/samplers/_sampling.pyx"}
    kernels = [p for end in ("pyx", "pxd") for p in sorted((ROOT / "fastimpl").rglob(f"*.{end}"))]
    by_hand = re.compile(r"absorb\w*\(|GOLD \+|\+ GOLD(?! \*)|Stream\._|(?<!Store)\.of\(")
    found = {
        path.relative_to(ROOT).as_posix()
        for path in python_files() + kernels
        if not {"conformance", "exercises"} & set(path.parts) and by_hand.search(path.read_text())
    }
    assert found == made | {"refimpl/samplers/neighbor.py"}


def test_the_registry_is_a_table():
    assert [getattr(streams, domain.name) for domain in DOMAINS] == list(range(len(DOMAINS)))
    assert [domain.number for domain in DOMAINS] == list(range(len(DOMAINS)))
    assert len(BY_NAME) == len(DOMAINS)
    assert all(domain.drawn for domain in DOMAINS)


@given(
    pair=st.sampled_from(list(combinations(DOMAINS, 2))),
    seed=WORDS,
    values=st.lists(WORDS, min_size=8, max_size=8),
)
def test_no_two_purposes_have_one_key(gnn, pair, seed, values):
    """Not even where all that follows the domains is the same."""
    one, other = ((seed, d.number, *values[: len(d.follows)]) for d in pair)
    assert one != other
    assert gnn.streams.key(*one) != gnn.streams.key(*other)


@given(domain=st.sampled_from(DOMAINS), seed=WORDS, data=st.data())
def test_the_keys_of_a_purpose_differ_in_every_part(gnn, domain, seed, data):
    size = len(domain.follows)
    one, other = (data.draw(st.tuples(WORDS, *[WORDS] * size)) for _ in range(2))
    keys = [gnn.streams.key(first, domain.number, *rest) for first, *rest in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


def test_each_use_of_data_has_its_own_number():
    uses = {
        communities: "MEMBERSHIP WEIGHT EDGE MEAN NOISE ROLE LABEL FLIP",
        generators: "QUADRANT ENDS NAMES",
        typed: "MEMBERSHIP WEIGHT EDGE MEAN NOISE ROLE",
    }
    numbers = [getattr(module, name) for module, names in uses.items() for name in names.split()]
    assert sorted(numbers) == list(range(17))


def test_the_documented_table_is_the_registry():
    text = (ROOT / "docs" / "reference" / "streams.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (.*) \| (.*) \|$", text, re.MULTILINE)
    want = [(d.name, str(d.number), ", ".join(d.follows), d.drawn) for d in DOMAINS]
    assert rows == want
