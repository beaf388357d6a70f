"""The numbered requirements of kernels: complete, checked by cases, and shown where they fail."""

import json
import shlex

import pytest
from conformance_programs import answering, kernel_of

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import requirements, runner, vectors, worked
from refimpl.lab.apps.conformance.case import Case

FILES = {file["function"]: file for file in vectors.load()}
TABLES = worked.words("requirements")
kernels = pytest.mark.parametrize("kernel", sorted(FILES))


def test_every_kernel_has_requirements_and_no_other():
    assert TABLES.keys() == FILES.keys()


@kernels
def test_every_requirement_has_a_case_and_every_case_a_requirement(kernel):
    numbered = requirements.of_kernel(kernel)
    assert all(requirement.cases for requirement in numbered)
    checked = {case for requirement in numbered for case in requirement.cases}
    assert checked == {case["id"] for case in FILES[kernel]["cases"]}
    assert all(requirements.of_case(kernel, case) for case in checked)


@kernels
def test_numbers_have_no_gap_and_every_mark_fits_a_case(kernel):
    """A case is added to a requirement by its id or by its flag, and a misspelt one is found."""
    table = TABLES[kernel]
    assert sorted(map(int, table)) == list(range(1, len(table) + 1))
    answered = [case for case in FILES[kernel]["cases"] if "error" not in case]
    for words in table.values():
        if isinstance(words, str):
            assert words in {*requirements.REFUSED, requirements.WITHDRAWN}
            continue
        says, *marks = words
        assert says.endswith(".") and says[0] not in " ."
        for mark in marks:
            assert any(requirements.fits(case, mark) for case in answered), mark


@kernels
def test_the_same_words_are_written_once(kernel):
    says = [requirement.says for requirement in requirements.of_kernel(kernel)]
    assert len({*says}) == len(says)


def test_a_case_that_is_refused_says_why():
    (name, words), *more = requirements.of_case("floyd", "too_many")
    assert (name, more) == ("floyd-6", [])
    assert words.endswith("error `value`. Here not 0 <= `f` <= `n`.")


def test_the_most_special_requirement_comes_first():
    names = [name for name, _ in requirements.of_case("floyd", "taken")]
    assert names == ["floyd-3", "floyd-1", "floyd-2"]


def verdicts(**kinds):
    """Return Verdicts on the cases of `floyd`: pass, but for `kinds`; None leaves a case out."""
    cases = (case["id"] for case in FILES["floyd"]["cases"])
    given = {**dict.fromkeys(cases, runner.PASS), **kinds}
    kept = {case: kind for case, kind in given.items() if kind is not None}
    return [runner.Verdict("common", "floyd", "", case, kind) for case, kind in kept.items()]


def numbers(given):
    found = requirements.standing(given)
    return {kind: [int(name.removeprefix("floyd-")) for name in found[kind]] for kind in found}


def test_requirements_are_met_missed_or_open():
    assert numbers(verdicts()) == {"met": [1, 2, 3, 4, 5, 6], "missed": [], "open": []}
    for kind in (runner.DIFFERS, runner.LOST, runner.XFAIL):
        found = numbers(verdicts(taken=kind))
        assert found == {"met": [4, 5, 6], "missed": [1, 2, 3], "open": []}
    for kind in (runner.SKIP, runner.NOT_RUN, None):
        found = numbers(verdicts(taken=kind))
        assert found == {"met": [4, 5, 6], "missed": [], "open": [1, 2, 3]}
    assert numbers(verdicts(real_f=runner.SKIP))["met"] == [1, 2, 3, 4, 5, 6]
    assert numbers(verdicts(real_f=runner.SKIP, true_f=runner.SKIP))["open"] == [5]
    assert numbers(verdicts(real_f=runner.DIFFERS))["missed"] == [5]
    only = [verdict for verdict in verdicts() if verdict.case == "none"]
    assert numbers(only) == {"met": [4], "missed": [], "open": [1, 2]}


WRONG = """
def reply(question):
    f = question["args"]["f"]
    if isinstance(f, (bool, float)): return {"skip": "no such numbers"}
    return {"error": "value"} if f > question["args"]["n"] else {"result": list(range(f))}
"""


@pytest.mark.runs
def test_a_failing_case_prints_its_requirements(tmp_path, capsys):
    path, summary = tmp_path / "report.json", tmp_path / "summary.md"
    asked = ["conformance", "--cmd", shlex.join(answering(WRONG)), "--only", "floyd"]
    assert main([*asked, "--report", str(path), "--summary", str(summary)]) == 1
    out = capsys.readouterr().out
    assert "        floyd-1  The result is f distinct integers from 0 to n - 1" in out
    assert out.splitlines()[-1] == "requirements missed: floyd-1, floyd-2, floyd-3"
    assert "requirements missed: floyd-1, floyd-2, floyd-3" in summary.read_text().replace("\\", "")
    report = json.loads(path.read_text())["requirements"]
    assert report["missed"] == ["floyd-1", "floyd-2", "floyd-3"]
    assert report["met"] == ["floyd-4", "floyd-6"] and report["open"] == ["floyd-5"]
    assert main([*asked[:3], "--show", "floyd/taken"]) == 1
    assert "requirements\n  floyd-3  If this integer is already chosen" in capsys.readouterr().out


@pytest.mark.runs
def test_many_missed_requirements_are_counted(capsys):
    command = shlex.join(answering("{'error': 'value'}"))
    assert main(["conformance", "--cmd", command, "--level", "core"]) == 1
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("requirements")]
    assert line.count(",") == 7 and line.endswith(" more (--report lists them)")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the vectors of one kernel, and words of its requirements to be changed."""
    words = tmp_path / "words"
    words.mkdir()
    monkeypatch.setattr(worked, "CASES", words)
    zero = Case("zero", {"x": 0}, ("WORKED",), 0, "Shifts and products of 0 are 0.")
    monkeypatch.setattr(vectors, "kernels", lambda: {"mix": kernel_of(zero)})
    return tmp_path / "made"


def test_numbers_are_not_used_again(folder, capsys):
    def written(text):
        (worked.CASES / "streams.toml").write_text(f"[requirements.mix]\n{text}")
        status = main(["vectors", "--out", str(folder)])
        (folder / "index.json").unlink(missing_ok=True)
        said = capsys.readouterr()
        return status, said.err

    both = '1 = ["One.", "zero"]\n2 = ["Two.", "WORKED"]\n'
    assert written(both)[0] == 0
    assert requirements.complaint(folder) is None
    assert written('1 = ["One.", "zero"]\n')[0] == 2
    status, said = written('1 = ["One.", "zero"]\n3 = ["Two.", "zero"]\n')
    assert status == 2 and "mix-2 must be 'withdrawn': numbers are not used again" in said
    assert requirements.complaint(folder).startswith("requirements.json: is not made from")
    assert written('1 = ["Other words.", "zero"]\n2 = "withdrawn"\n')[0] == 0
    content = json.loads((folder / requirements.FILE).read_text())
    assert content["kernels"]["mix"]["requirements"][1] == {
        "name": "mix-2",
        "says": "withdrawn",
        "cases": [],
    }
    assert written(both)[0] == 2
    assert written('1 = ["One.", "zero"]\n2 = "withdrawn"\n3 = ["Two.", "zero"]\n')[0] == 0


def test_words_cannot_change_without_the_version(folder, capsys):
    words = worked.CASES / "streams.toml"
    words.write_text('[requirements.mix]\n1 = ["One.", "zero"]\n')
    assert main(["vectors", "--out", str(folder)]) == 0
    words.write_text('[requirements.mix]\n1 = ["Another.", "zero"]\n')
    assert main(["vectors", "--out", str(folder), "--check"]) == 1
    assert "requirements.json: is not made from" in capsys.readouterr().out
    assert main(["vectors", "--out", str(folder)]) == 1
    assert "the vectors changed since version" in capsys.readouterr().out
