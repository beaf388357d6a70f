"""Reports side by side, the summary, the badge, and failures that are expected."""

import json
import re
import shlex

import pytest
from conformance_programs import answering

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import command, matrix, report, vectors, xfails
from refimpl.lab.apps.conformance.levels import LEVELS, standings
from refimpl.lab.apps.conformance.runner import (
    DIFFERS,
    LOST,
    NOT_RUN,
    PASS,
    SKIP,
    XFAIL,
    Report,
    Verdict,
)
from refimpl.lab.apps.conformance.version import VERSION

FILES = vectors.load()


def made(name="mine", default=PASS, only=None, **changes):
    """Return a Report with one verdict on all cases, but for kernel=verdict or kernel_case=.."""
    verdicts = [
        Verdict(
            file["source"]["paper"],
            file["function"],
            file["source"]["place"],
            case["id"],
            changes.get(f"{file['function']}_{case['id']}", changes.get(file["function"], default)),
        )
        for file in FILES
        for case in file["cases"]
        if only is None or file["function"] in only
    ]
    verdicts = [v._replace(difference="why") if v.verdict == DIFFERS else v for v in verdicts]
    return Report(name, "1", verdicts, levels=standings(verdicts, FILES))


@pytest.fixture
def asked(tmp_path, capsys, monkeypatch):
    """Write reports and run `conformance matrix`; return (status, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def asked(*reports, options=()):
        names = [f"{at}.json" for at in range(len(reports))]
        for name, content in zip(names, reports, strict=True):
            report.write(content, name)
        status = main(["conformance", "matrix", *names, *options])
        text = capsys.readouterr()
        return status, text.out.splitlines(), text.err

    return asked


def test_a_report_is_read_as_it_was_written(tmp_path):
    content = made(floyd=DIFFERS, mix=LOST)._replace(unexpected=("floyd/all",))
    report.write(content, tmp_path / "report.json")
    assert report.read(tmp_path / "report.json") == content


def test_a_matrix_has_a_column_for_each_report(asked):
    wrong = made("wrong", floyd_all=DIFFERS, mix=NOT_RUN, edge=XFAIL, bucket=LOST)
    part = made("part", SKIP, floyd_all=PASS)
    few = made("few", only={*LEVELS["samplers"], "mix"})
    nothing = made(default=NOT_RUN)._replace(name=None, version=None, lost="no greeting")
    status, out, err = asked(made(), wrong, part, few, nothing)
    assert (status, err, out[0]) == (0, "", f"vectors {VERSION}")
    cells = {row[0]: row[1:] for line in out[2:] if (row := re.split(r"  +", line.strip()))}
    assert re.split(r"  +", out[1].strip()) == ["mine 1", "wrong 1", "part 1", "few 1", "no answer"]
    assert list(cells) == [name for level, names in LEVELS.items() for name in (level, *names)]
    cases = {file["function"]: len(file["cases"]) for file in FILES}
    floyd, mix, edge, bucket = (cases[name] for name in ("floyd", "mix", "edge", "bucket"))
    assert cells["core"] == ["reached", "9 of 11", "0 of 11", "0 of 11"]  # few: not asked
    assert cells["samplers"] == ["reached", "7 of 9", "0 of 9", "reached", "0 of 9"]
    lines = {line.split()[0]: line for line in out[2:]}
    assert cells["floyd"][:3] == ["conforms", f"differs {floyd - 1}/{floyd}", f"1/{floyd}"]
    assert cells["mix"] == ["conforms", f"not run 0/{mix}", "-", "conforms", f"not run 0/{mix}"]
    assert cells["edge"][1] == f"fails as expected 0/{edge}"
    assert cells["bucket"][1] == f"lost 0/{bucket}"
    assert lines["key"].split()[1:4] == ["conforms", "conforms", "-"]


def test_a_kernel_that_was_asked_in_part_does_not_conform(asked):
    whole = made(only={"floyd"})
    part = whole._replace(verdicts=whole.verdicts[:3], levels={})
    _, out, _ = asked(part)
    floyd = next(line for line in out if " floyd " in line)
    assert floyd.split()[1] == f"3/{len(whole.verdicts)}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.update(format="minibatch-gnn-conformance-report/1"), "its format must be"),
        (lambda r: r.clear(), "its format must be minibatch-gnn-conformance-report/3, got None"),
        (lambda r: r["vectors"].update(version="0.9.0"), "its vectors are 0.9.0, and"),
        (lambda r: r.pop("vectors"), "vectors"),
        (lambda r: r["cases"][0].update(more=1), "more"),
        (lambda r: r["cases"][0].pop("kernel"), "kernel"),
        (lambda r: r["cases"][0].update(case="none"), "cases of the vectors"),
        (lambda r: r["cases"].append(r["cases"][0]), "once each"),
        (lambda r: r["cases"][0].update(verdict="good"), "a verdict must be one of differs, lost"),
        (lambda r: r["cases"][0].update(verdict=[]), "unhashable"),
        (lambda r: r.update(cases=3), "not iterable"),
        (lambda r: r.update(program="mine"), "indices"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused_by_name(asked, tmp_path, change, said):
    report.write(made(only={"mix"}), tmp_path / "other.json")
    content = json.loads((tmp_path / "other.json").read_text())
    change(content)
    (tmp_path / "other.json").write_text(json.dumps(content))
    status, out, err = asked(made(), options=["other.json"])
    assert (status, out, err.count("\n")) == (2, [], 1)
    assert "other.json cannot be read as a report of conformance: " in err and said in err


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 10_000, "\ufffd"])
def test_what_is_no_json_is_refused_by_name(asked, tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    status, _, err = asked(options=["other.json"])
    assert status == 2 and "other.json cannot be read as a report of conformance" in err


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (["--impl", "refimpl"], [], "--impl does not apply to conformance matrix"),
        (["--cmd", "x"], [], "--cmd does not apply"),
        (["--level", "core"], [], "--level does not apply"),
        (["--timeout", "3"], [], "--timeout does not apply"),
        (["--total", "3"], [], "--total does not apply"),
        (["--missing"], [], "--missing does not apply"),
        (["--overwrite"], [], "--overwrite does not apply"),
        (["--badge", "b.json"], [], "--badge does not apply"),
        (["--xfails", "x.txt"], [], "--xfails does not apply"),
        ([], ["none.json"], "none.json"),
        ([], ["--badge", "x"], "unrecognized arguments: --badge x"),
        ([], ["--summary", ""], "argument --summary: must name a file or folder, got ''"),
        ([], ["--summary", "no/x.md"], "--summary no/x.md: there is no such folder"),
        ([], ["--summary", "/dev/null"], "--summary /dev/null: is no ordinary file"),
    ],
)
def test_options_that_do_nothing_are_refused(tmp_path, monkeypatch, capsys, before, after, said):
    monkeypatch.chdir(tmp_path)
    report.write(made(only={"mix"}), "0.json")
    assert main(["conformance", *before, "matrix", "0.json", *after]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err
    assert [path.name for path in tmp_path.iterdir()] == ["0.json"]


def test_a_matrix_needs_a_report(capsys):
    assert main(["conformance", "matrix"]) == 2
    assert "arguments are required: REPORT.json" in capsys.readouterr().err


def test_the_summary_is_appended_and_says_what_the_table_says(asked, tmp_path):
    wrong = made("a|b<i>`", floyd_all=DIFFERS)._replace(unexpected=("mix/zero",))
    (tmp_path / "s.md").write_text("# before\n")
    status, out, _ = asked(made(), wrong, options=["--summary", "s.md"])
    text = (tmp_path / "s.md").read_text()
    name = r"a\|b\<i\>\` 1"
    assert status == 0 and text.startswith("# before\n\n### Conformance with the vectors")
    assert (
        f"| level | mine 1 | {name} |\n| --- | --- | --- |\n| core | reached | 10 of 11 |" in text
    )
    assert f"- {name}, floyd: all: why" in text
    assert f"- {name}, mix/zero: expected to fail, but passes" in text
    rows = [line for line in text.splitlines() if re.match(r"\| [a-zA-Z]", line)]
    shown = [re.split(r"(?<!\\) *\| *", row)[1:-1] for row in rows]
    cells = {name.replace("\\", ""): rest for name, *rest in shown}
    assert len(rows) == 2 + len(out) - 2  # two heads; the terminal's: the vectors and one head
    for line in out[2:]:
        name, *rest = re.split(r"  +", line.strip())
        assert cells[name] == rest
    asked(made(), options=["--summary", "s.md"])
    assert (tmp_path / "s.md").read_text().startswith(text)
    assert main(["conformance", "--summary", "t.md", "matrix", "0.json"]) == 0
    assert (tmp_path / "t.md").read_text().startswith("### Conformance")


@pytest.mark.parametrize(
    ("content", "message", "color"),
    [
        (made(), "core, samplers, layers, freshgnn, loaders", "brightgreen"),
        (made(default=SKIP, **dict.fromkeys(LEVELS["core"], PASS)), "core", "green"),
        (made(default=SKIP, mix=PASS), "1 kernels", "yellow"),
        (made(edge=XFAIL), "core, layers, freshgnn, loaders", "green"),
        (made(edge=DIFFERS), "core, layers, freshgnn, loaders", "red"),
        (made(default=NOT_RUN)._replace(lost="why"), "0 kernels", "red"),
    ],
)
def test_the_badge(content, message, color):
    label = f"minibatch-gnn vectors {VERSION}"
    shown = {"schemaVersion": 1, "label": label, "message": message, "color": color}
    assert matrix.badge(content) == shown


ZERO = "{'result': '0'} if question['call'] == 'mix' else {'skip': 'no'}"


@pytest.mark.runs
def test_a_run_writes_all_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["conformance", "--cmd", shlex.join(answering(ZERO)), "--only", "mix"]
    files = ["--report", "r.json", "--badge", "b.json", "--summary", "s.md"]
    assert main([*words, *files]) == 1
    assert json.loads((tmp_path / "b.json").read_text())["color"] == "red"
    found = report.read("r.json")
    assert (tmp_path / "s.md").read_text() == matrix.markdown([found])
    assert main([*words, "--badge", "b.json"]) == 2
    assert "b.json already exists: give --overwrite" in capsys.readouterr().err
    (tmp_path / "x.txt").write_text("common/mix/* # all of them\n\n# no more\nmix/zero\n")
    assert main([*words, *files, "--overwrite", "--xfails", "x.txt"]) == 0
    out = capsys.readouterr().out.splitlines()
    cases = [file for file in FILES if file["function"] == "mix"][0]["cases"]
    row = f"mix  1/{len(cases)}  fails as expected, {len(cases) - 1} cases"
    assert any(re.sub(" +", "  ", line).endswith(re.sub(" +", "  ", row)) for line in out)
    assert out[-3:-1] == ["1 fails as expected", "expected to fail, but passes: mix/zero"]
    assert out[-1].startswith("requirements missed: mix-1")
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["unexpected_passes"] == ["mix/zero"] and content["status"] == 0
    verdicts = {case["case"]: case["verdict"] for case in content["cases"]}
    assert verdicts == {case["id"]: "pass" if case["id"] == "zero" else "xfail" for case in cases}


@pytest.mark.parametrize(
    ("changes", "expected", "unexpected", "status"),
    [
        ({"floyd": DIFFERS, "edge_loop": LOST}, {"floyd", "edge"}, [], 0),
        ({"floyd": NOT_RUN, "edge_paw": DIFFERS}, {"floyd"}, ["edge/loop"], 1),
        ({"floyd_all": DIFFERS, "edge": SKIP}, {"floyd"}, [], 0),
        ({"floyd": SKIP}, set(), ["edge/loop"], 0),
        ({}, set(), ["floyd", "edge/loop"], 0),
        ({"floyd": DIFFERS, "key": DIFFERS}, {"floyd"}, ["edge/loop"], 1),
    ],
)
def test_an_expected_failure_is_no_fault_and_one_that_passes_is_named(
    changes, expected, unexpected, status
):
    given = made(**changes)
    found = xfails.applied(given, ("floyd", "edge/loop"))
    changed = {v.kernel for v in found.verdicts if v.verdict == XFAIL}
    assert (changed, list(found.unexpected)) == (expected, unexpected)
    assert [v[:4] for v in found.verdicts] == [v[:4] for v in given.verdicts]
    assert found.status == status


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"mix/zero\n\nflyod # a comment\n", "--xfails x.txt, line 3: 'flyod' fits no kernel"),
        (b"mix/nothing\n", "--xfails x.txt, line 1: 'mix/nothing' fits no kernel and no case"),
        (b"\xff\n", "--xfails: x.txt cannot be read as a list of expected failures"),
        (None, "--xfails: "),
    ],
)
def test_a_wrong_list_is_refused(tmp_path, monkeypatch, capsys, text, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command.runner, "run", None)
    if text is not None:
        (tmp_path / "x.txt").write_bytes(text)
    status = main(["conformance", "--only", "mix", "--xfails", "x.txt"])
    assert status == 2 and said in capsys.readouterr().err
