"""Levels: which a port reaches, and what `conformance --level` says of it."""

import json
import shlex

import pytest
from conformance_programs import answering, vector

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import levels, vectors
from refimpl.lab.apps.conformance.levels import LEVELS, Standing
from refimpl.lab.apps.conformance.runner import DIFFERS, LOST, NOT_RUN, PASS, SKIP, Verdict

REFUSED = {"id": "no", "args": {}, "error": "value"}
RETURNS = {"id": "yes", "args": {}, "result": 1}
FILES = [vector(RETURNS, REFUSED, name=name) for names in LEVELS.values() for name in names]
SAMPLERS = len(LEVELS["samplers"])


def verdicts(**odd):
    """Return verdicts on all cases: pass, but for kernel=(verdict on yes, verdict on no)."""
    return [
        Verdict("common", file["function"], "", case["id"], verdict)
        for file in FILES
        for case, verdict in zip(
            file["cases"], odd.get(file["function"], (PASS, PASS)), strict=True
        )
    ]


@pytest.mark.parametrize(
    ("odd", "reached"),
    [
        ((PASS, PASS), True),
        ((PASS, SKIP), True),
        ((SKIP, PASS), False),
        ((SKIP, SKIP), False),
        ((DIFFERS, PASS), False),
        ((PASS, DIFFERS), False),
        ((LOST, NOT_RUN), False),
        ((PASS, NOT_RUN), False),
    ],
)
def test_a_level_is_reached_by_every_right_answer(odd, reached):
    found = levels.standings(verdicts(edge=odd), FILES)
    assert list(found) == ["core", "samplers", "layers", "freshgnn", "loaders"]
    wrong = [level for level, standing in found.items() if not standing.reached]
    assert wrong == ([] if reached else ["samplers"])
    assert found["samplers"] == Standing(SAMPLERS - (not reached), SAMPLERS)


def test_a_level_that_was_not_asked_in_full_is_left_out():
    asked = [v for v in verdicts(edge=(DIFFERS, PASS)) if v[1:4:2] != ("spmm", "no")]
    found = levels.standings(asked, FILES)
    assert list(found) == ["core", "samplers", "freshgnn", "loaders"]
    reached = "levels reached: core, freshgnn, loaders"
    said = f"{reached}; not reached: samplers ({SAMPLERS - 1} of {SAMPLERS} kernels)"
    assert levels.summary(found) == said
    assert levels.summary({"core": Standing(0, 3)}).startswith("levels reached: none; ")


@pytest.mark.runs
@pytest.mark.parametrize("status", [0, 1])
def test_a_port_of_one_kernel_reaches_a_level_of_one(status, tmp_path, monkeypatch, capsys):
    """The same program passes without the option: a missing kernel is a fault in a level only."""
    monkeypatch.setitem(levels.LEVELS, "core", ("mix", "key")[: 1 + status])
    (file,) = vectors.load(patterns=["mix"])
    answers = [{k: v for k, v in case.items() if k != "id"} for case in file["cases"]]
    replies = {json.dumps(answer["args"]): answer for answer in answers}
    reply = f"""
import json
REPLIES = {replies!r}
def reply(question):
    answer = REPLIES.get(json.dumps(question["args"])) if question["call"] == "mix" else None
    return answer or {{"skip": "no"}}
"""
    path = tmp_path / "report.json"
    words = ["conformance", "--cmd", shlex.join(answering(reply)), "--report", str(path)]
    assert main([*words, "--level", "core"]) == status
    out = capsys.readouterr().out.splitlines()
    content = json.loads(path.read_text())
    assert {case["kernel"] for case in content["cases"]} == set(levels.LEVELS["core"])
    kernels = 1 + status
    assert content["levels"] == {"core": {"complete": 1, "kernels": kernels, "reached": not status}}
    assert content["status"] == status
    assert out[-1].startswith("levels reached: " + ("none; not" if status else "core"))
    assert main([*words, "--overwrite", "--only", "m*x"]) == 0
    assert main([*words, "--overwrite", "--level", "samplers", "--level", "core"]) == 1
    kernels = {case["kernel"] for case in json.loads(path.read_text())["cases"]}
    assert kernels == {*levels.LEVELS["core"], *LEVELS["samplers"]}
