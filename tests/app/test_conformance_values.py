"""Values as JSON and back, and the first difference between two of them."""

import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from comparison import assert_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import refimpl
from refimpl.lab.apps.conformance.case import EXACT, Close
from refimpl.lab.apps.conformance.compare import first_difference
from refimpl.lab.apps.conformance.encode import Arrays, archives_in, decode, dumps, encode, inline
from refimpl.lab.apps.conformance.runner import judge

pytestmark = pytest.mark.runs

CLOSE = Close(1e-6, 1e-9, "a test")
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint64", "float32", "float64")
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
)
numbers = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats()
texts = st.text(st.sampled_from("abcxyz _-"), min_size=1).filter(lambda text: text != "-inf")
values = st.recursive(
    numbers | texts | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
GRAPH = refimpl.Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))


def same(got, want):
    """Check that two values are equal in types, dtypes and bits, NaN apart."""
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        got, want = [got[name] for name in want], [*want.values()]
    if isinstance(want, list):
        assert len(got) == len(want)
        for pair in zip(got, want, strict=True):
            same(*pair)
    elif isinstance(want, np.ndarray):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(got, want)
    else:
        assert type(got) is type(want)
        assert got == want or (got != got and want != want)


@given(values)
def test_any_value_goes_there_and_back(value):
    written = json.loads(dumps(encode(value)))
    same(decode(written), value)
    assert first_difference(encode(value), written, EXACT) is None


def block():
    return refimpl.Block(
        np.array([0, 2]), np.array([2, 3]), np.array([0, 2, 1]), 3, np.array([5, 6, 7])
    )


@pytest.mark.parametrize(
    "value",
    [
        GRAPH,
        block(),
        refimpl.MFG((np.array([1, 2], np.int32),) * 2, (block(),)),
        refimpl.TypedGraph(GRAPH, np.array([0, 1, 1, 0]), 2, np.array([3, 0, 3])),
        refimpl.TypedGraph(GRAPH, np.array([0, 1, 1, 0]), 2),
        refimpl.Sampler("pin_tile", m=2, n=5, eta=1.5, clip=2),
        refimpl.adjacency.row_norm(GRAPH, refimpl.transpose_perm(GRAPH)),
        refimpl.induced_subgraph(GRAPH, np.array([0, 1])),
        refimpl.loader.FeatureStore((np.ones((2, 3), np.float16), np.zeros((1, 3), np.float16))),
        refimpl.partition.Partition(np.array([0, 2, 4]), 1, True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_types_of_refimpl(value):
    back = decode(json.loads(dumps(encode(value))))
    if isinstance(value, refimpl.Sampler):
        assert back == value
    elif isinstance(value, refimpl.loader.FeatureStore):
        assert back.owners == value.owners
        assert_bits(back.parts, value.parts)
    else:
        assert_bits(back, value)


def test_a_graph_is_two_lists():
    assert encode(GRAPH) == {"graph": {"indptr": [0, 1, 3, 4], "indices": [1, 0, 2, 1]}}


def test_a_type_of_another_package_is_not_named():
    """A port may name its own types as it likes; only their fields count."""
    mine = namedtuple("Mine", "a b")
    assert encode(mine(1, 2)) == {"fields": {"a": 1, "b": 2}}
    assert encode(refimpl.graph.Counters())["type"] == "Counters"


def test_numbers_and_dtypes():
    assert encode([2**53, 2**53 - 1, -(2**53), 2**64 - 1]) == [
        "9007199254740992",
        9007199254740991,
        "-9007199254740992",
        "18446744073709551615",
    ]
    assert encode([np.inf, -np.inf, 0.1]) == ["inf", "-inf", 0.1]
    assert encode(np.float32(0.1)) == 0.10000000149011612
    assert encode(np.array([0.1], np.float32))["data"] == [0.10000000149011612]
    assert encode([np.float32, np.dtype("int64")]) == ["float32", "int64"]


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, 1j, np.array(["a"]), np.array([1j]), {"a": {2}}, b"x"]
)
def test_what_has_no_form_is_refused(value):
    with pytest.raises(TypeError, match="there is no JSON form"):
        encode(value)


@pytest.mark.parametrize("text", ["12", "-3", "nan", "inf", "-inf"])
def test_a_string_that_reads_as_a_number_is_refused(text):
    with pytest.raises(ValueError, match="would be read as a number"):
        encode(text)


def test_unknown_types_are_refused():
    with pytest.raises(ValueError, match="no type 'Nothing'"):
        decode({"type": "Nothing", "fields": {}})


@settings(max_examples=10)
@given(st.sampled_from(DTYPES[1:]), st.integers(1001, 1200))
def test_long_arrays_are_in_a_file_of_their_own(tmp_path_factory, dtype, size):
    folder = Path(tmp_path_factory.mktemp("arrays"))
    array = np.arange(size).astype(dtype)
    store = Arrays("some.npz")
    written = encode({"a": array, "b": [array.copy(), array[:1000]]}, store)
    assert list(store.arrays) == ["array0"]
    assert written["fields"]["b"][1]["shape"] == [1000]
    np.savez(folder / "some.npz", **store.arrays)
    back = decode(inline(json.loads(dumps(written)), archives_in(folder)))
    same(back, {"a": array, "b": [array, array[:1000]]})
    np.savez(folder / "some.npz", array0=array[::-1])
    with pytest.raises(ValueError, match="damaged"):
        inline(written, archives_in(folder))


ARRAY = encode(np.arange(6, dtype=np.int32).reshape(2, 3))
FLOATS = encode(np.array([1.0, np.nan, np.inf, -0.0]))
SINGLE = encode(np.array([0.1, 3.0], np.float32))
NAMED = encode(refimpl.graph.Counters(pops=3, draws=4))


@pytest.mark.parametrize(
    ("want", "got"),
    [
        (ARRAY, [[0, 1, 2], [3, 4, 5]]),
        (ARRAY, {"data": [0, 1, 2, 3, 4, 5]}),
        (ARRAY, {"shape": [2, 3], "data": [0, 1, 2, 3, 4, 5.0]}),
        (ARRAY, {"dtype": "int32", "shape": [2, 3], "data": ["0", "1", 2, 3, 4, 5]}),
        (FLOATS, [1, "nan", "inf", 0]),
        (SINGLE, [0.1, 3]),
        (encode(np.zeros((2, 0))), []),
        (encode(np.zeros((2, 0))), [[], []]),
        (encode(np.array(7)), 7),
        (encode(2**60), 2**60),
        (encode(5), "5"),
        (encode(True), 1),
        (NAMED, {"fields": {**NAMED["fields"], "more": "x"}}),
        (encode({"a": 1}), {"type": "Mine", "fields": {"a": 1}}),
        (encode(GRAPH), {"type": "Graph", **encode(GRAPH)}),
        (encode(GRAPH), {"fields": {"indptr": [0, 1, 3, 4], "indices": [1, 0, 2, 1]}}),
        (encode(GRAPH), {"graph": {"indptr": ARRAY | {"shape": [4], "data": [0, 1, 3, 4]},
                                   "indices": [1, 0, 2, 1]}}),
    ],
)  # fmt: skip
def test_simpler_answers_conform(want, got):
    assert first_difference(want, got, EXACT) is None


@pytest.mark.parametrize(
    ("want", "got", "said"),
    [
        (ARRAY, [[0, 1, 2], [3, 4, 6]], "result[1, 2]: want 5, got 6"),
        (ARRAY, [0, 1, 2, 3, 4, 5], "result: want shape [2, 3], got [6]"),
        (ARRAY, [[0, 1, 2], [3, 4]], "result: want shape [2, 3], got None"),
        (ARRAY, {"data": [0]}, "result: want 6 numbers, got 1"),
        (ARRAY, {"data": [0], "shape": "x"}, "result: want shape [2, 3], got x"),
        (
            ARRAY,
            {**ARRAY, "dtype": "int64"},
            "result: want dtype int32, got int64; the numbers are right",
        ),
        (ARRAY, {**ARRAY, "data": [0, 1, 2, 3, [4], 5]}, "result[1, 1]: want 4, got [4]"),
        (ARRAY, "12", "result: want an array of int32, shape [2, 3], got 12"),
        (FLOATS, [1, "nan", "-inf", 0], "result[2]: want inf, got -inf"),
        (FLOATS, [1, None, "inf", 0], "result[1]: want nan, got None"),
        (SINGLE, [0.1000001, 3], "result[0]: want 0.10000000149011612, got 0.1000001"),
        (encode(5), 5.5, "result: want 5, got 5.5"),
        (encode(5), [5], "result: want 5, got [5]"),
        (encode(None), 0, "result: want None, got 0"),
        (NAMED, {**NAMED, "type": "Foo"}, "result: want type Counters, got Foo"),
        (NAMED, {**NAMED, "type": None}, "result: want type Counters, got None"),
        (encode(GRAPH), {"type": "Block", **encode(GRAPH)}, "result: want type Graph, got Block"),
        ([NAMED], [{**NAMED, "type": [1]}], "result[0]: want type Counters, got [1]"),
        (encode("row"), "col", "result: want row, got col"),
        (encode([1, 2]), [1], "result: want 2 entries, got 1"),
        (encode([1, 2]), [1, 3], "result[1]: want 2, got 3"),
        (encode([1, 2]), {"fields": {}}, "result: want a list of 2, got {'fields': {}}"),
        (encode({"a": 1, "b": 2}), {"fields": {"a": 1}}, "result.b: missing"),
        (encode({"a": 1, "b": 2}), {"fields": {"a": 2}}, "result.a: want 1, got 2"),
        (encode({"a": 1, "b": 2}), [1, 2], "result: want a, b, got [1, 2]"),
        (encode({"a": 1}), {"fields": 1}, "result: want a, got {'fields': 1}"),
        (encode(GRAPH), {"graph": {"indptr": [0, 1, 3, 4]}}, "result.indices: missing"),
        (encode(1.5), 10**400, "result: want 1.5, got 1" + 56 * "0" + "..."),
        (SINGLE, [10**400, 3], "result[0]: want 0.10000000149011612, got 1" + 56 * "0" + "..."),
    ],
)
def test_differences(want, got, said):
    assert first_difference(want, got, EXACT) == said


def test_close_is_for_floats_only():
    want = encode({"x": np.array([2.0, 0.0]), "n": 3, "k": np.array([4])})

    def said(x, n=3, k=4):
        return first_difference(want, {"fields": {"x": x, "n": n, "k": [k]}}, CLOSE)

    assert said([2 + 1.9e-6, 0.9e-9]) is None
    assert said([2 + 2.1e-6, 0]).startswith("result.x[0]")
    assert said([2, 1.1e-9]).startswith("result.x[1]")
    assert said([2, "nan"]).startswith("result.x[1]")
    assert said([2, "inf"]).startswith("result.x[1]")
    assert said([2, 0], n=3.0000001).startswith("result.n")
    assert said([2, 0], k=4.0000001).startswith("result.k[0]")
    assert first_difference(1.5, 1.5 + 1e-8, CLOSE) is None
    assert first_difference("inf", "inf", CLOSE) is None


@given(hnp.arrays(np.int32, hnp.array_shapes(min_dims=0, max_dims=3)), st.data())
def test_one_wrong_number_is_found(array, data):
    index = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape)
    other = array.copy()
    other[index] ^= 1
    place = str(list(index)) if index else ""
    found = first_difference(encode(array), encode(other), EXACT)
    assert found == f"result{place}: want {array[index]}, got {other[index]}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "shape", "dtype", "fields", "graph"]), inner)
    ),
    max_leaves=6,
)


@given(values, json_values, st.sampled_from([EXACT, CLOSE]))
def test_no_answer_is_too_strange(value, answer, rule):
    found = first_difference(encode(value), answer, rule)
    assert found is None or found.startswith("result")


ANSWER_KEYS = st.sampled_from(["result", "changed", "states", "error", "skip", "fault"])


@given(st.dictionaries(ANSWER_KEYS, json_values), st.booleans())
def test_no_answer_is_too_strange_for_a_verdict(answer, refused):
    case = {"result": ARRAY, "changed": {"m": FLOATS}, "states": [{"k": 1}, {"k": ARRAY}]}
    file = {"compare": {"rule": "exact"}}
    verdict, said, states = judge(file, {"error": "value"} if refused else case, answer)
    assert verdict == "skip" if "skip" in answer else (verdict == "pass") == (said == "")
    assert not (states and refused)
