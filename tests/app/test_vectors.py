"""The test vectors: complete, up to date, the same bytes each time, and made with care."""

import inspect
import itertools
import json
import math
import os
import subprocess
import sys
import types

import numpy as np
import pytest
from conformance_programs import CONSTRUCTORS, kernel_of
from docstrings import ELSEWHERE, parse

import fastimpl
import refimpl
from refimpl._support import require
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import requirements, vectors, version
from refimpl.lab.apps.conformance.case import Case, Close
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.encode import UNSEEN
from refimpl.lab.backend import find, find_topic, homes
from refimpl.samplers import neighbor, nodes, typed_neighbor

pytestmark = pytest.mark.runs

OF_THIS_PROCESS = {"read_rows"}  # it takes the descriptor of an open file
COMPILED = sorted(set(fastimpl.compiled) - set(CONSTRUCTORS) - OF_THIS_PROCESS)
MEGABYTES = 3
CASE = Case("one", {"x": 1})
ZERO = Case("zero", {"x": 0}, ("WORKED",), 0, "Shifts and products of 0 are 0.")


def test_the_files_are_up_to_date():
    """If not: `minibatch-gnn vectors`, and look at what changed."""
    assert vectors.check()["stale"] == []


def test_the_vectors_have_the_version_of_their_index():
    """If not: raise VERSION as docs/conformance.md says, then `minibatch-gnn vectors`."""
    assert requirements.complaint(vectors.FOLDER) is None
    assert version.complaint(vectors.FOLDER, requirements.versioned()) is None


def test_the_files_are_the_same_bytes_each_time(tmp_path):
    """Made by a new process, with other hashes and one thread, they are those made here."""
    script = "from refimpl.lab.apps.cli import main; main(['vectors', '--out', 'made'])"
    environment = {**os.environ, "PYTHONHASHSEED": "5", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    here, _ = vectors.write(tmp_path / "here")
    assert here == sorted(vectors.stored(tmp_path / "made")) == sorted(vectors.stored())
    for name in here:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "made" / name).read_bytes()


@pytest.mark.parametrize("name", COMPILED)
def test_every_kernel_has_cases_one_of_them_by_hand(name):
    kernel = kernels()[name]
    by_hand = [case for case in kernel.cases if case.result is not None]
    assert by_hand
    assert all(case.working and "WORKED" in case.flags for case in by_hand)
    assert [case for case in kernel.cases if case.error]
    assert len(kernel.cases) >= 5


def test_the_files_are_small_and_say_what_they_are():
    assert (
        sum((vectors.FOLDER / name).stat().st_size for name in vectors.stored()) < MEGABYTES * 1e6
    )
    for file in vectors.load():
        kernel = kernels()[file["function"]]
        assert file["format"] == "minibatch-gnn-vectors/1"
        assert file["source"]["place"]
        assert set(file["flags"]) == {flag for case in file["cases"] for flag in case["flags"]}
        assert all(file["flags"].values())
        assert file["compare"]["rule"] == "exact" or file["compare"]["why"]
        parameters = set(inspect.signature(find(refimpl, kernel.name)).parameters)
        parameters -= {"overwrite", *UNSEEN}  # nor does an answer show where results lie
        for case in file["cases"]:
            assert set(case["args"]) - {"calls"} == parameters
            assert ("error" in case) != ("result" in case)
            assert ("changed" in case) == ("result" in case and bool(kernel.writes))


def test_a_case_is_flagged_if_and_only_if_a_graph_of_it_has_a_self_loop():
    """Read from the JSON alone: a flag that stands for nothing, or misses, misleads a port."""
    flagged = 0
    for file in vectors.load():
        for case in file["cases"]:
            looped = any(u in row for g in graphs(case["args"]) for u, row in enumerate(g))
            assert ("SELF_LOOP" in case["flags"]) == (looped and "error" not in case), case["id"]
            flagged += looped
    assert flagged > 100


def graphs(value):
    """Yield the rows of every graph in a JSON value."""
    if isinstance(value, list):
        yield from itertools.chain.from_iterable(map(graphs, value))
    elif isinstance(value, dict) and "indptr" in value:
        plain = (part["data"] if isinstance(part, dict) else part for part in value.values())
        indptr, indices = plain
        yield [indices[a:b] for a, b in itertools.pairwise(indptr)]
    elif isinstance(value, dict):
        yield from graphs(list(value.values()))


def test_one_case_a_line():
    for name in vectors.stored():
        if name.endswith(".json"):
            lines = (vectors.FOLDER / name).read_text().splitlines()
            cases = lines[lines.index('"cases": [') + 1 : -1]
            ids = [json.loads(line.removesuffix(","))["id"] for line in cases]
            assert ids == [case.id for case in kernels()[name[:-5].split("/")[1]].cases]


MUTANTS = [  # kernel, a line of it, what the line becomes
    ("transpose_perm", "ptr[u] += 1  # 8", "pass"),
    ("transpose_perm", "perm[ptr[u]] = j", "perm[ptr[v]] = j"),
    ("pin_tile", "return math.ceil(entries)", "return math.floor(entries)"),
    ("pin_tile", "entries = eta * m * d", "entries = eta * (m * d)"),
    (
        "pin_tile",
        "self.start[t], self.end[t], self.slot[t] = k, k + length, j  # E-B11: the tile, too",
        "pass",
    ),
    ("pin_tile", "-(-tries // lanes)", "tries // lanes"),
    ("dashboard", "self.IA_live[self.DB[2, idx_pop]] = False  # I4:16", "pass"),
    (
        "dashboard",
        "DB_new[2, k[j] : k[j + 1]] = j  # I4:22 E-B11: columns are numbered anew",
        "pass",
    ),
    ("frontier", 'side="right")  # 4', 'side="left")'),
    ("floyd", "last if t in chosen else t", "t"),
    ("pick_without_replacement", "moved[j] = moved.get(i, i)", "moved[j] = i"),
    ("alias_build", "(p[high] + p[low]) - 1", "p[high] + (p[low] - 1)"),
    ("induced_subgraph", "edge_ids.append(j)", "edge_ids.append(j - graph.indptr[v])"),
    ("adam_step", "(np.sqrt(v_hat) + eps)", "np.sqrt(v_hat + eps)"),
    ("cache_lookup", "entries.stamp[s] >= oldest", "entries.stamp[s] > oldest"),
    ("sigmoid_cross_entropy", "np.maximum(x, 0)", "np.abs(x)"),
]


def mutated(name, line, other):
    """Return the function `name` of refimpl from a copy of its module with a line changed."""
    module = inspect.getmodule(find(refimpl, name))
    source = inspect.getsource(module)
    assert source.count(line) >= 1, f"{module.__name__} has no {line!r}"
    copy = types.ModuleType(module.__name__)
    exec(compile(source.replace(line, other), module.__file__, "exec"), copy.__dict__)
    for known in homes().keys() & vars(copy).keys():
        if isinstance(find(refimpl, known), type):  # such as Graph: the type, not a copy of it
            setattr(copy, known, find(refimpl, known))
    return getattr(copy, name)


@pytest.mark.parametrize(("name", "line", "other"), MUTANTS)
def test_one_changed_line_of_the_reference_makes_the_check_fail(
    name, line, other, monkeypatch, capsys
):
    kernel = kernels()[name]
    monkeypatch.setattr(vectors, "kernels", lambda: {name: kernel})
    monkeypatch.setattr(vectors, "stored", lambda folder=None: {f"{kernel.paper}/{name}.json"})
    for module in (version, requirements):  # of the files that are left out
        monkeypatch.setattr(module, "complaint", lambda *_: None)
    topic = find_topic(refimpl, homes()[name])
    monkeypatch.setattr(topic, name, mutated(name, line, line))
    assert main(["vectors", "--check"]) == 0
    monkeypatch.setattr(topic, name, mutated(name, line, other))
    assert main(["vectors", "--check"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert name in out[1] and out[-1].endswith("1 are not up to date")


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("RELATION, epoch, batch, layer, r)", "RELATION, epoch, batch, 1, r)"),
        ("RELATION, epoch, batch, layer, r)", "RELATION, epoch, batch, layer, 0)"),
        ("key(seed, RELATION, epoch", "key(seed, NEIGHBOR, epoch"),
        ("draw_rows(graph, dst, fanout, hop_key)", "draw_rows(graph, dst, 1, hop_key)"),
        ("edge_ids.append(where[drawn])", "edge_ids.append(drawn)"),
        ("order = np.lexsort((edge_ids, row))", "order = np.argsort(row, kind='stable')"),
    ],
)
def test_one_changed_line_of_typed_sampling_is_found_by_hand(line, other, monkeypatch):
    source = inspect.getsource(typed_neighbor)
    assert source.count(line) == 1
    copy = types.ModuleType("copy")
    exec(compile(source.replace(line, other), "copy", "exec"), copy.__dict__)
    monkeypatch.setattr(neighbor, "typed_mfg", copy.typed_mfg)
    for name in ("sample_mfg", "sample_mfg_many"):
        with pytest.raises(ValueError, match=f"{name}/by_relation: refimpl differs"):
            vectors.render(kernels()[name])


def finds(inside, behind):
    """Return a check of symmetry that finds some of the edges without their reverse only.

    Those whose reverse would stand in front of a neighbour, or behind the last one.
    """

    def undirected(graph):
        for v in range(graph.n):
            for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]:
                row = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
                place = int(np.searchsorted(row, v))
                if (behind and place == len(row)) or (
                    inside and place < len(row) and row[place] != v
                ):
                    raise ValueError("graph must be undirected")
        return graph

    return undirected


def counts_degrees(graph):
    if (np.bincount(graph.indices, minlength=graph.n) != graph.degrees()).any():
        raise ValueError("graph must be undirected")
    return graph


def takes(kind):
    """Return a check of integers that takes those of another kind too."""
    return lambda name, value, *ends: INTEGER(
        name, int(value) if isinstance(value, kind) else value, *ends
    )


INTEGER = require.integer
FRONTIERS = ("frontier", "dashboard", "pin_tile")
CARELESS = [  # what is checked, by what, and the case that finds it
    *[("undirected", finds(inside=False, behind=True), "one_way_inside", k) for k in FRONTIERS],
    *[("undirected", finds(inside=True, behind=False), "one_way_behind", k) for k in FRONTIERS],
    *[("undirected", counts_degrees, "one_way_round", k) for k in FRONTIERS],
    *[("integer", takes(bool), c, k) for c in ("true_m", "true_cap") for k in FRONTIERS],
    *[("integer", takes(bool), "true_lanes", k) for k in FRONTIERS[1:]],
    *[("integer", takes(float), c, k) for c in ("real_n", "real_cap") for k in FRONTIERS],
    *[("integer", takes(float), "real_lanes", k) for k in FRONTIERS[1:]],
    # No upper end; only of `frontier`, as the others take memory for n steps.
    ("integer", lambda name, value, low, *_: INTEGER(name, value, low), "wide_budget", "frontier"),
]


@pytest.mark.parametrize(("check", "careless", "case", "kernel"), CARELESS)
def test_a_careless_check_is_found(check, careless, case, kernel, monkeypatch):
    kernel = kernels()[kernel]
    found = kernel._replace(cases=tuple(c for c in kernel.cases if c.id == case))
    assert len(found.cases) == 1
    vectors.render(found)
    monkeypatch.setattr(nodes if check == "undirected" else require, check, careless)
    with pytest.raises(ValueError, match=f"{kernel.name}/{case}: refimpl raised no"):
        vectors.render(found)


@pytest.mark.parametrize("name", FRONTIERS[1:])
def test_a_capacity_that_does_not_fit_32_bits_is_found(name, monkeypatch):
    """It wraps to 0, where 2**32 entries are not refused."""

    def wraps(eta, m, d):
        if eta * m * d > 2**32:
            raise ValueError("eta must give the Dashboard less than 2**32 entries")
        return math.ceil(eta * m * d) % 2**32

    kernel, function = kernels()[name], find(refimpl, name)
    for one in (function, function.checks):  # dashboard takes the checks of pin_tile
        monkeypatch.setattr(inspect.getmodule(one), "planned_capacity", wraps)
    with pytest.raises(ValueError, match=f"{name}/eta_just_too_long: refimpl raised no"):
        vectors.render(kernel)


def type_of(name, parameter):
    """Return what the docstring of `name` says that a parameter is; "" if nothing."""
    item = parse(find(refimpl, name).__doc__).named("Parameters").get(parameter)
    if item is None:
        return ""
    elsewhere = ELSEWHERE.search(item.description)
    return type_of(elsewhere[1], parameter) if elsewhere and not item.type else item.type


def is_real(name, parameter):
    kind = type_of(name, parameter)
    return kind.startswith("float") and "array" not in kind and "float32" not in kind


def test_reals_are_written_as_reals():
    """A program in a language with types may then tell a real from an integer by its form."""
    reals, options = set(), set()
    for name, kernel in kernels().items():
        for case in kernel.cases:
            given = {(name, parameter): value for parameter, value in case.args.items()}
            if isinstance(sampler := case.args.get("sampler"), refimpl.Sampler):
                given |= {(sampler.name, option): x for option, x in sampler.options.items()}
            for (of, parameter), value in given.items():
                if is_real(of, parameter):
                    (reals if of == name else options).add((of, parameter))
                    assert case.error == "type" or isinstance(value, float), (name, case.id)
    assert reals >= {("dropout", "rate"), ("dashboard", "eta"), ("gat_backward", "slope")}
    assert reals >= {("adam_step", "eps"), ("forest_fire", "p_f"), ("select_stable", "p")}
    assert options <= {("pin_tile", "eta"), ("dashboard", "eta"), ("forest_fire", "p_f")}


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (kernel_of(CASE, CASE), "two cases have one id"),
        (kernel_of(CASE._replace(flags=("NEW",))), "nothing explains the flag NEW"),
        (kernel_of(CASE, place=""), "mix: place must be a place in the paper, .*, got ''"),
        (kernel_of(CASE, place=" "), "mix: place must be"),
        (kernel_of(CASE, place=None), "mix: place must be .*, got None"),
        (kernel_of(CASE, place="a\nb"), "mix: place must be"),
        (kernel_of(CASE, lines=3), 'mix: lines must be lines such as "1-11", or "", got 3'),
        (kernel_of(CASE, name="../mix"), "name must be a kernel of refimpl, got '../mix'"),
        (kernel_of(CASE, name=3), "name must be a kernel of refimpl, got 3"),
        (kernel_of(CASE, paper=[]), r"there is no paper \[\]: paper must be one of common, "),
        (kernel_of(CASE, cases=None), "mix: cases must be a tuple of Case"),
        (kernel_of(3), "mix: cases must be a tuple of Case, got 3"),
        (kernel_of(CASE, compare=None), "mix: compare must be EXACT or a Close, got None"),
        (kernel_of(CASE, compare=Close(-1, 0, "so")), "mix: rtol of compare must be .*, got -1"),
        (kernel_of(CASE, compare=Close(0, math.nan, "so")), "mix: atol of compare must be"),
        (kernel_of(CASE, compare=Close(0, 0, "")), "mix: why of compare must be"),
        (kernel_of(CASE, flags=["A"]), "mix: flags must be a dict"),
        (kernel_of(CASE, flags={"A": ""}), "mix: flags\\['A'\\] must be what the flag means"),
        (kernel_of(CASE, writes="x"), "mix: writes must be a tuple of words, got 'x'"),
        (kernel_of(CASE, writes=("y",)), "mix: writes must name arguments, got 'y'"),
        (kernel_of(CASE, states=3), "mix: states must be a function or None"),
        (kernel_of(CASE._replace(id="")), "mix: id of a case must be letters, .*, got ''"),
        (kernel_of(CASE._replace(id="a/b")), "mix: id of a case must be"),
        (kernel_of(CASE._replace(args=[1])), "mix/one: args must be a dict"),
        (kernel_of(CASE._replace(flags="TIE")), "mix/one: flags must be a tuple of words"),
        (kernel_of(CASE._replace(working=3)), "mix/one: working must be words, got 3"),
        (kernel_of(CASE._replace(error="key")), "mix/one: error must be 'value' or 'type' or None"),
        (kernel_of(ZERO, writes=("x",)), "mix/zero: result must be "),
        (kernel_of(CASE, paper="mine"), "no paper 'mine'"),
        (kernel_of(CASE._replace(result=3)), "mix/one: .* go together"),
        (kernel_of(CASE._replace(working="so")), "mix/one: .* go together"),
        (kernel_of(CASE._replace(error="value")), "mix/one: refimpl raised no ValueError"),
        (kernel_of(ZERO._replace(result=1)), "mix/zero: .* result: want 0, got 1 by hand"),
    ],
)
def test_kernels_and_cases_are_checked(kernel, said):
    with pytest.raises(ValueError, match=said):
        vectors.render(kernel)


def test_another_error_than_the_one_named_is_a_fault():
    with pytest.raises(TypeError, match="x must be an integer"):
        vectors.render(kernel_of(Case("real", {"x": 1.5}, error="value")))


def test_what_a_kernel_writes_is_part_of_its_result():
    worked = {"m": np.array([1.0]), "v": np.array([2.0])}
    kernel = kernels()["adam_step"]
    case = next(case for case in kernel.cases if case.result is not None)
    vectors.render(kernel._replace(cases=(case,)))
    changed = {name: np.array([9.0]) for name in worked}
    bad = case._replace(result={"returned": None, "changed": {**case.result["changed"], **changed}})
    with pytest.raises(ValueError, match="changed.m"):
        vectors.render(kernel._replace(cases=(bad,)))
