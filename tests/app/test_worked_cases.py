"""Cases worked out by hand: what the values of their TOML files stand for."""

import json

import numpy as np
import pytest

from refimpl import Graph, Sampler
from refimpl.block import Block
from refimpl.graph import Counters
from refimpl.lab.apps.conformance import graphs
from refimpl.lab.apps.conformance.case import Close
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.encode import encode
from refimpl.lab.apps.conformance.worked import CASES, NAMES, kernels_of, value_of, worked
from refimpl.layers.dense import DenseGradients

TOPICS = sorted(path.stem for path in CASES.glob("*.toml"))


@pytest.mark.parametrize("topic", TOPICS)
def test_every_case_of_a_file_is_a_case_of_its_kernel(topic):
    for name, cases in worked(topic).items():
        found = {case.id: case for case in kernels()[name].cases}
        for case in cases:
            assert found[case.id].working == case.working
            assert json.dumps(encode(found[case.id].result)) == json.dumps(encode(case.result))


@pytest.mark.parametrize("topic", TOPICS)
def test_every_result_worked_out_by_hand_is_in_a_file(topic):
    assert any(case.working for found in worked(topic).values() for case in found)
    module = CASES / f"{topic}.py"
    text = module.read_text(encoding="utf-8") if module.exists() else ""
    assert "WORKED" not in text and "working=" not in text


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (3, 3),
        (0.5, 0.5),
        ("alias", "alias"),
        ("18446744073709551615", 2**64 - 1),
        ("NONE", None),
        ([1, [2, "NONE"]], [1, [2, None]]),
        ({"int32": [1, 2]}, np.array([1, 2], np.int32)),
        ({"int64": []}, np.zeros(0, np.int64)),
        ({"float16": [[1, 0.5]]}, np.array([[1, 0.5]], np.float16)),
        ({"float64": [1, 2]}, np.array([1.0, 2])),
        ({"uint64": [3, "18446744073709551615"]}, np.array([3, 2**64 - 1], np.uint64)),
        ({"int64": [["9007199254740993"]]}, np.array([[2**53 + 1]])),
        ({"bool": [True, False]}, np.array([True, False])),
        ({"float32": [], "shape": [0, 3]}, np.zeros((0, 3), np.float32)),
        ({}, {}),
        ({"tuple": [{"int32": [1]}, "NONE"]}, (np.array([1], np.int32), None)),
        ("PAIR", graphs.PAIR),
        ({"Graph": {"indptr": [0, 1, 2], "indices": [1, 0]}}, graphs.PAIR),
        ({"Counters": {"draws": 3}}, Counters(draws=3)),
        (
            {"DenseGradients": {"W": {"float64": [[1]]}, "X": {"float64": [[2]]}}},
            DenseGradients(np.array([[1.0]]), np.array([[2.0]]), None),
        ),
        (
            {"Block": {n: {"int64": [0]} for n in ("start", "end", "indices")} | {"n_src": 1}},
            Block(*[np.zeros(1, np.int64)] * 3, 1),
        ),
        ({"Sampler": {"name": "edge", "options": {"b": 2}}}, Sampler("edge", b=2)),
        ({"graph": "PAIR", "m": 2}, {"graph": graphs.PAIR, "m": 2}),
        ({"key": 7}, {"key": 7}),
        ({"ids": {"int32": [1]}}, {"ids": np.array([1], np.int32)}),
    ],
)
def test_what_a_value_stands_for(value, want):
    found = value_of(value, NAMES)
    assert type(found) is type(want)
    assert json.dumps(encode(found)) == json.dumps(encode(want))


def test_a_value_may_have_a_name(tmp_path, monkeypatch):
    text = """
        [values]
        TWO.int32 = [5, 7]
        BOTH = ["TWO", "PATH3"]
        [mix.one]
        flags = ["TIE"]
        args.x = "BOTH"
        result.changed.x = "TWO"
        working = "so"
    """
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("refimpl.lab.apps.conformance.worked.CASES", tmp_path)
    [case] = worked("mine")["mix"]
    assert case.flags == ("WORKED", "TIE") and case.working == "so"
    two, path = case.args["x"]
    assert two.tolist() == [5, 7] and isinstance(path, Graph) and path.n == 3
    assert case.result["returned"] is None and case.result["changed"]["x"] is two


ROWS = """
    [kernels.mix]
    paper = "common"
    place = "here"
    compare = "NEAR"
    flags.TIE = "a tie"
    flagged.TIE = "last"
    [compare.NEAR]
    rtol = 0.5
    atol = 0.0
    why = "so"
    [mix]
    zero = { args.x = 0, result = 0, working = "so" }
    last = { args.x = 1 }
    [cases]
    SHARED = [["array", { x.uint64 = [1, 2], graph = "PAIR" }, "LARGE_WORD WRAP"]]
    mix = ["SHARED", "last", ["changed", { like = "array", x = -1 }, "EMPTY value"]]
"""


def test_a_list_has_its_cases_in_order(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(ROWS, encoding="utf-8")
    monkeypatch.setattr("refimpl.lab.apps.conformance.worked.CASES", tmp_path)
    [kernel] = kernels_of("mine")
    assert kernel.compare == Close(0.5, 0.0, "so") and kernel.flags == {"TIE": "a tie"}
    assert [case.id for case in kernel.cases] == ["zero", "array", "last", "changed"]
    assert [case.error for case in kernel.cases] == [None, None, None, "value"]
    flags = [case.flags for case in kernel.cases]
    assert flags == [("WORKED",), ("LARGE_WORD", "WRAP"), ("TIE",), ("EMPTY",)]
    assert kernel.cases[1].args["x"].tolist() == [1, 2] and kernel.cases[2].args == {"x": 1}
    assert list(kernel.cases[3].args.items()) == [("x", -1), ("graph", graphs.PAIR)]


ONE = '[mix.one]\nresult = 1\nworking = "so"\nargs.x = '


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{ONE}"PATH4"', r"\[mix.one\]: PATH4 is no value of the file and no graph"),
        (f'{ONE}0\nwhy = "so"', r"\[mix.one\]: .*unexpected keyword argument 'why'"),
        (f"{ONE}{{ int32 = [0.5, [1]] }}", r"\[mix.one\]: "),
        ('cases.mix = ["first"]', "cases.mix: there is no case or list 'first'"),
        (
            'cases.mix = [["one", { like = "first" }]]',
            "cases.mix: one: there is no case or list 'first'",
        ),
        ('cases.mix = [["one", { x = "PATH4" }]]', "cases.mix: one: PATH4 is no value"),
        ('cases.mix = [["one"]]', "cases.mix: .*missing 1 required positional argument: 'args'"),
    ],
)
def test_a_case_that_is_not_as_it_must_be_is_named(text, said, tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("refimpl.lab.apps.conformance.worked.CASES", tmp_path)
    with pytest.raises(ValueError, match=rf"mine.toml: {said}"):
        worked("mine")
