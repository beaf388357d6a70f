"""The exercises: solutions pass, empty ones and known mistakes are recognised."""

import ast
import inspect
import warnings

import numpy as np
import pytest
from docs_ext import DOCS
from exercise_checks import Here, checked

from refimpl.history.policy import cache_update
from refimpl.lab.apps.conformance.compare import first_difference
from refimpl.lab.apps.conformance.encode import decode, encode
from refimpl.lab.apps.conformance.runner import rule_of
from refimpl.lab.apps.course.checking import check
from refimpl.lab.apps.course.command import _stepper
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, exercises, find, names
from refimpl.lab.apps.stepper.recipes import recipes
from refimpl.lab.backend import homes

pytestmark = pytest.mark.runs

EXERCISES = exercises()
MISTAKES = [(name, i) for name in EXERCISES for i in range(len(EXERCISES[name].mistakes))]


@pytest.fixture(autouse=True)
def calm():
    """Let wrong code divide by 0, as it may in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_there_are_many_in_three_levels():
    assert len(EXERCISES) >= 16 and len(LEVELS) == len(TITLES) == 3
    assert len(set(names())) == len(names())


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_passes(name):
    exercise = EXERCISES[name]
    found, said = checked(exercise, exercise.code)
    assert found.is_passed, said
    cases = [case for case in exercise.vectors()["cases"] if "error" not in case]
    assert len(found.results) == len(cases) >= 4
    assert f"all {len(cases)} of {len(cases)} cases pass." in said
    assert not (exercise.refuses and found.accepted)
    assert ("Write next: checks of the arguments" in said) == bool(found.accepted)


@pytest.mark.parametrize("name", EXERCISES)
def test_what_is_started_is_told_to_be_empty(name):
    exercise = EXERCISES[name]
    found, said = checked(exercise, exercise.template)
    assert not found.is_passed and said.startswith("Nothing is written yet: replace `raise")
    row = exercise.template.splitlines()[found.shown.answer["raised"]["line"] - 1]
    assert "is not written yet" in row and f"minibatch-gnn exercise hint {name}" in said


@pytest.mark.parametrize(("name", "number"), MISTAKES)
def test_a_known_mistake_is_caught_and_recognised(name, number):
    exercise = EXERCISES[name]
    did = exercise.mistakes[number].did
    found, said = checked(exercise, exercise.with_mistake(number))
    assert not found.is_passed
    if found.failed:
        assert f"In each failing case the answer is that of a solution that {did}." in said
    else:  # it is in how bad arguments are refused
        assert "Write next: checks of the arguments. 1 of" in said


@pytest.mark.parametrize("name", EXERCISES)
def test_the_template_is_the_reference_without_its_body(name):
    exercise = EXERCISES[name]
    defined = {
        node.name: node
        for node in ast.parse(exercise.template).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert set(defined) == {*exercise.write, *exercise.given}
    for function in exercise.write:
        docstring, body = defined[function].body
        assert len(docstring.value.value) > 100 and isinstance(body, ast.Raise)
    reference = exercise.reference_function
    if reference.__qualname__ == name:
        found = inspect.cleandoc(ast.get_docstring(defined[name]))
        assert found.startswith(inspect.getdoc(reference)) and exercise.notes.strip() in found
        made = {}
        exec(compile(exercise.code, name, "exec"), made)
        shape = [
            [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]
            for f in (made[name], reference)
        ]
        assert shape[0] == shape[1]


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_and_pointers_are_there(name):
    exercise = EXERCISES[name]
    assert len(exercise.hints) >= 3 <= len(exercise.mistakes)
    assert exercise.title.endswith(".") and exercise.beside
    assert exercise.function in homes() or exercise.cases
    assert (DOCS / f"{exercise.page}.md").is_file()
    assert not exercise.stepper or exercise.stepper[0] in recipes()


class Recorder:
    """A cache that remembers what it was asked to take in and to give up."""

    def admit(self, layer, ids, values, i, take):
        self.admitted = np.asarray(take, np.int64)
        return len(take)

    def evict(self, layer, ids, i):
        self.evicted = np.asarray(ids, np.int64)
        return len(ids)


def test_cases_on_the_policy_have_the_answers_of_refimpl():
    """What `cache_update` asks of a cache is what `policy` returns."""
    file = find("policy").vectors()
    assert sum("working" in case for case in file["cases"]) >= 3 and len(file["cases"]) >= 10
    for case in file["cases"]:
        cache = Recorder()
        cache.admitted = cache.evicted = np.zeros(0, np.int64)
        args = {name: decode(value) for name, value in case["args"].items()}
        ids, score, comp = (args.pop(name) for name in ("ids", "score", "comp"))
        cache_update(cache, 1, ids, score, comp, np.zeros((len(ids), 1)), 0, **args)
        want = encode({"admit": cache.admitted, "evict": cache.evicted})
        assert first_difference(want, case["result"], rule_of(file)) is None, case["id"]


def test_two_mistakes_at_once_are_not_taken_for_one():
    """And what the failing cases share is not told as the cause."""
    exercise = find("random_walk")
    interleaved = len(exercise.mistakes) - 2
    assert exercise.mistakes[interleaved].did.startswith("lets all walks make their first step")
    text = exercise.with_mistake(interleaved).replace("set(roots)", "set()")
    found, said = checked(exercise, text)
    assert found.failed and "In each failing case" not in said and "degrees," not in said
    assert f"in 3 of {len(found.failed)} failing cases in all, the answer is that of a" in said


TWINS = {
    "from refimpl import frontier": "frontier of frontier.py is refimpl.frontier itself",
    "import fastimpl\ndef frontier(graph, main, probe, **k):\n    return fastimpl.frontier("
    "graph, main, probe, **k)": "are those of fastimpl.frontier, which your code calls",
    "import refimpl.samplers as s\nf = s.frontier\ndef frontier(graph, main, probe, **k):\n"
    "    return f(graph, main, probe, **k)": "are those of refimpl.frontier, which your code calls",
}


@pytest.mark.parametrize("text", TWINS)
def test_a_solution_that_only_calls_the_twin_does_not_pass(text):
    found, said = checked(find("frontier"), text)
    assert not found.is_passed and TWINS[text] in said


def test_bad_arguments_count_where_they_are_the_exercise():
    exercise = find("below")
    text = exercise.code.replace("or isinstance(n, bool)", "")
    found, said = checked(exercise, text)
    assert not found.is_passed and "1 of 4 calls with bad arguments are not refused" in said
    assert said.endswith("n = true: raise TypeError (an answer came)")
    found, said = checked(exercise, text.replace("draw * n", "draw * n + 1"))
    assert not found.refusals and "bad arguments" not in said
    found, said = checked(exercise, text, only="true_n")
    assert not found.is_passed and "not refused as it should be: k = 1 c = 0 " not in said
    found, said = checked(exercise, exercise.code, only="true_n")
    assert found.is_passed and said == "below.py: the bad argument of case true_n is refused."


def test_in_other_exercises_bad_arguments_are_what_to_write_next():
    exercise = find("floyd")
    found, said = checked(exercise, exercise.code)
    assert found.is_passed and "Write next: checks of the arguments. 1 of 3 calls" in said
    assert said.endswith("f = true: raise TypeError (an answer came)")
    assert not checked(exercise, exercise.code, errors=True)[0].is_passed


def test_a_walk_is_shown_step_by_step():
    exercise = find("frontier")
    text = exercise.code.replace('side="right"', 'side="left"')
    _, said = checked(exercise, text)
    assert "Case paw: in step 3 another node leaves: want 3, got 0." in said
    assert "states[3] frontier want 0 2 got 1 3" in said
    blind = text.replace("look(frontier=FS, sample=sorted(sample))", "pass")
    _, said = checked(exercise, blind)
    assert "before step 3, in the reference frontier 0 3" in said
    otherwise = exercise.code.replace("look(frontier=FS", "look(walkers=FS")
    assert checked(exercise, otherwise)[0].is_passed


def test_given_steps_count_where_the_frame_is_given():
    """A Dashboard that is wrong, and by luck does no harm, is told."""
    exercise = find("pop")
    found, said = checked(exercise, exercise.with_mistake(0))
    assert "after step 3: states[3].DB" in said
    assert any(one.case["result"] == one.answer["result"] for one in found.failed)


def test_a_solution_may_answer_in_lists_and_may_not_change_its_arguments():
    exercise = find("transpose_perm")
    text = exercise.code.replace("return perm", "return [int(j) for j in perm]")
    assert checked(exercise, text)[0].is_passed
    exercise = find("spmm")
    text = exercise.code.replace("    return Y", "    X[:] = 0\n    return Y")
    found, said = checked(exercise, text)
    assert not found.is_passed and "is right, but the arguments X were changed" in said


def test_mistakes_must_be_in_the_solution_once():
    exercise = find("mix")
    mistake = exercise.mistakes[0]._replace(search="x")
    with pytest.raises(ValueError, match="mix: 'x' must be in the solution once"):
        exercise._replace(mistakes=[mistake]).with_mistake(0)


@pytest.mark.parametrize(
    ("name", "number", "mark", "time"),
    [
        ("frontier", 1, ("jpdc21:2", "4"), 3),  # popped[2] is another
        ("pop", 0, ("jpdc21:3", "21"), 3),  # after step 3
    ],
)
def test_the_stepper_opens_where_the_answer_went_astray(name, number, mark, time):
    exercise = find(name)
    shown = check(exercise, Here(exercise, exercise.with_mistake(number))).shown
    _, recording, step = _stepper(exercise, shown)
    at = recording.steps[step - 1]
    rows = recording.functions[at.function].statement(at.line)
    assert mark in {mark for row in rows for mark in row.marks}
    run = [one[:3] for one in recording.steps[:step]]
    assert run.count((at.function, at.line, "line")) == time


def test_there_is_no_stepper_of_what_is_too_large():
    exercise = find("transpose_perm")
    asker = Here(exercise, exercise.with_mistake(0))
    assert _stepper(exercise, check(exercise, asker, only="large").shown) is None
