"""The exercises: solutions pass, empty ones and typical mistakes are told, each with its reason."""

import ast
import importlib
import inspect
import json
import textwrap
import warnings

import numpy as np
import pytest
from docs_ext import DOCS

from refimpl.history.policy import cache_update
from refimpl.lab.apps.conformance.compare import first_difference
from refimpl.lab.apps.conformance.encode import decode, encode
from refimpl.lab.apps.conformance.runner import rule_of
from refimpl.lab.apps.course import own_cases, telling
from refimpl.lab.apps.course.answering import Answering
from refimpl.lab.apps.course.checking import EMPTY, check, questions_of, same_as_mistakes
from refimpl.lab.apps.course.exercises import LEVELS, TITLES, exercises, find, names
from refimpl.lab.apps.course.stepping import page_of
from refimpl.lab.apps.stepper.cases import recipe_for
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


def checked(exercise, text, **more):
    """Return what is found, and the whole of what is said, with and without the mistakes known."""
    asker = Answering(exercise, text, f"{exercise.name}.py")
    found = check(exercise, asker, **more)
    alike = same_as_mistakes(exercise, asker, found)
    said = [telling.told(exercise, f"{exercise.name}.py", found, known) for known in (alike, [])]
    return found, *(" ".join(" ".join(lines).split()) for lines in said)


def test_there_are_many_in_three_levels():
    assert len(EXERCISES) >= 16 and len(LEVELS) == len(TITLES) == 3
    assert len(set(names())) == len(names())
    assert {exercise.level for exercise in EXERCISES.values()} == {1, 2, 3}


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_passes(name):
    exercise = EXERCISES[name]
    found, said, _ = checked(exercise, exercise.code)
    assert telling.is_passed(found), said
    cases = [case for case in questions_of(exercise)["cases"] if "error" not in case]
    assert len(found.ordinary) == len(cases) >= 4
    assert bool(found.refusals) == exercise.refuses
    assert f"all {len(cases)} of {len(cases)} cases pass" in said


@pytest.mark.parametrize("name", EXERCISES)
def test_what_is_started_is_told_to_be_empty(name):
    exercise = EXERCISES[name]
    found, said, _ = checked(exercise, exercise.template)
    assert not telling.is_passed(found)
    assert said.startswith("Nothing is written yet: replace `raise NotImplementedError(..)`, in")
    line = found.shown.answer["line"]
    row = exercise.template.splitlines()[line - 1].strip()
    function = found.shown.answer["function"]
    assert row == f'raise NotImplementedError("{function} is not written yet")'
    assert f"minibatch-gnn exercise hint {name}" in said


@pytest.mark.parametrize(("name", "number"), MISTAKES)
def test_a_typical_mistake_is_caught_and_explained(name, number):
    """It is recognised; and what is said without that has a reason of its own."""
    exercise = EXERCISES[name]
    mistake = exercise.mistakes[number]
    found, said, without = checked(exercise, exercise.with_mistake(number))
    assert not telling.is_passed(found)
    if found.failed:
        assert f"the same comes out of a solution that {mistake.did}." in said
        assert mistake.did not in without
    assert mistake.reason in without, without


@pytest.mark.parametrize("name", EXERCISES)
def test_most_mistakes_have_a_reason_that_is_found_without_knowing_them(name):
    mistakes = EXERCISES[name].mistakes
    assert len(mistakes) >= 3
    assert sum(bool(mistake.reason) for mistake in mistakes) >= 2
    assert len({mistake.did for mistake in mistakes}) == len(mistakes)


@pytest.mark.parametrize("name", EXERCISES)
def test_the_template_has_what_is_given_and_no_more(name):
    exercise = EXERCISES[name]
    defined = {
        node.name: node
        for node in ast.parse(exercise.template).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert set(defined) == {*exercise.write, *exercise.given}
    for function in exercise.write:
        docstring, body = defined[function].body
        assert len(ast.get_docstring(defined[function])) > 100
        assert isinstance(body, ast.Raise)
    solution = {node.name: node for node in ast.parse(exercise.code).body if hasattr(node, "name")}
    for function in exercise.given:
        assert ast.dump(defined[function]) == ast.dump(solution[function])


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_and_pointers_are_there(name):
    exercise = EXERCISES[name]
    assert len(exercise.hints) >= 3 and exercise.title.endswith(".") and exercise.beside
    module, _, place = exercise.reference.partition(":")
    target = importlib.import_module(module)
    for part in place.split("."):
        target = inspect.getattr_static(target, part)
    assert callable(inspect.unwrap(target))
    assert exercise.function in homes() or exercise.function in own_cases.OWN
    if exercise.stepper:
        assert exercise.stepper[0] in recipes()


def test_each_is_explained_on_a_page():
    pages = {exercise.page for exercise in EXERCISES.values()}
    assert len(pages) >= 6
    assert [page for page in pages if not (DOCS / f"{page}.md").is_file()] == []


def test_the_arguments_are_those_of_the_kernel():
    """A question gives every argument by its name, so a solution that passes has them all."""
    for exercise in EXERCISES.values():
        made = {}
        exec(compile(exercise.code, exercise.name, "exec"), made)
        known = set(inspect.signature(made[exercise.function]).parameters)
        for case in questions_of(exercise)["cases"]:
            assert set(case["args"]) <= known | {"parts"}


def test_questions_on_the_policy_have_the_answers_of_refimpl():
    """Each result worked out by hand is what refimpl asks of a cache."""
    file = own_cases.policy()
    worked = {case.id: case for case in own_cases.POLICY if case.result is not None}
    assert len(worked) >= 3
    for case in file["cases"]:
        assert ("working" in case) == (case["id"] in worked)
        if case["id"] in worked:
            hand = encode(worked[case["id"]].result)
            assert first_difference(case["result"], hand, rule_of(file)) is None
    assert set(file["flags"]) >= set(own_cases.POLICY_FLAGS)


def test_the_cache_is_asked_as_the_policy_says():
    """`Recorder` sees what a cache would, in the order that a cache would."""
    cache = own_cases.Recorder()
    rows = own_cases.rows([2.0, 1.0], [4, 7], [1, 1], 0.5)
    counts = cache_update(
        cache, 1, rows["ids"], rows["score"], rows["comp"], np.zeros((2, 1)), 0, p=0.5
    )
    assert (cache.admitted.tolist(), cache.evicted.tolist()) == ([1], [4])
    assert counts == (1, 1, 1)


def test_two_mistakes_at_once_are_not_taken_for_one():
    exercise = find("uniform")
    text = exercise.with_mistake(0).replace(">> 11", ">> 12")
    _, said, _ = checked(exercise, text)
    assert "the same comes out" not in said


def test_one_case_can_be_asked_alone():
    exercise = find("below")
    found, said, _ = checked(exercise, exercise.code, only="true_n")
    assert (found.ordinary, len(found.refusals)) == ([], 1) and telling.is_passed(found)
    assert said == "below.py: the bad argument of case true_n is refused."
    text = exercise.code.replace("or isinstance(n, bool)", "")
    found, said, _ = checked(exercise, text, only="true_n")
    assert not telling.is_passed(found) and "not refused as it should be: k = 1, c = 0, " in said
    assert said.endswith("n = true: TypeError wanted, an answer came")
    found, *_ = checked(exercise, exercise.code, only="ten")
    assert len(found.ordinary) == 1 and not found.refusals


def test_bad_arguments_are_told_kindly_once_all_else_is_right():
    exercise = find("below")
    text = exercise.code.replace("or isinstance(n, bool)", "")
    found, said, _ = checked(exercise, text)
    assert not telling.is_passed(found)
    assert "What is right is right. 1 of 4 calls with bad arguments are not refused" in said
    assert said.endswith("n = true: TypeError wanted, an answer came")
    found, said, _ = checked(exercise, text.replace("draw * n", "draw * n + 1"))
    assert not found.refusals and "bad arguments" not in said


def test_bad_arguments_can_be_asked_in_any_exercise():
    exercise = find("floyd")
    found, said, _ = checked(exercise, exercise.code, errors=True)
    assert not telling.is_passed(found) and "f = true: TypeError wanted" in said


def test_bad_arguments_are_offered_only_where_there_are_some():
    assert "--errors asks them" in checked(find("floyd"), find("floyd").code)[1]
    for more in ({}, {"errors": True}):
        found, said, _ = checked(find("policy"), find("policy").code, **more)
        assert said.endswith(f"all {len(found.ordinary)} of {len(found.ordinary)} cases pass.")


WITHOUT_FORM = {
    "object()": "an object, which cannot be compared",
    "(x for x in ())": "a generator, which cannot be compared",
    "1j": "a complex, which cannot be compared",
    "int": "a type, which cannot be compared",
    "10**5000": "an int of too many digits",
    "[object()]": "a list with something in it that cannot be compared",
    "__import__('numpy').array(['a'])": "an array of <U1, which cannot be compared",
    "__import__('numpy').array([object()])": "an array of object, which cannot be compared",
}


@pytest.mark.parametrize("value", WITHOUT_FORM)
@pytest.mark.parametrize("name", EXERCISES)
def test_an_answer_without_a_form_is_given_no_false_reason(name, value):
    """That no mistake answers so is known: each returns numbers, or raises."""
    exercise = EXERCISES[name]
    tree = ast.parse(exercise.code)
    (function,) = [x for x in tree.body if getattr(x, "name", "") == exercise.function]
    if isinstance(function, ast.ClassDef):
        pytest.skip("its methods return what is compared")
    function.body = ast.parse(f"return {value}").body
    found, said, _ = checked(exercise, ast.unparse(tree))
    assert f"your code returned {WITHOUT_FORM[value]}: return " in said
    assert "the same comes out" not in said and " at 0x" not in said
    assert same_as_mistakes(exercise, Answering(exercise, ast.unparse(tree), "x"), found) == []


def test_a_walk_is_shown_step_by_step_where_the_student_looks():
    exercise = find("frontier")
    text = exercise.code.replace('side="right"', 'side="left"')
    found, said, _ = checked(exercise, text)
    assert "Case paw: in step 3 another node leaves" in said
    assert "After step 3 frontier want 0 2 yours" in said
    blind = text.replace("look(frontier=FS, sample=sorted(sample))", "pass")
    _, said, _ = checked(exercise, blind)
    assert "Before step 3, where it differs frontier [0, 3]" in said


def test_parts_that_the_student_calls_otherwise_are_no_fault():
    exercise = find("frontier")
    text = exercise.code.replace("look(frontier=FS", "look(walkers=FS")
    found, *_ = checked(exercise, text)
    assert telling.is_passed(found)


def test_given_steps_count_where_the_frame_is_given():
    """A Dashboard that is wrong, and by luck does no harm, is told."""
    exercise = find("pop")
    found, said, _ = checked(exercise, exercise.with_mistake(0))
    assert "after step 3, DB is another" in said
    assert any(
        json.dumps(one.case["result"]) == json.dumps(one.answer["result"]) for one in found.failed
    )


def test_a_solution_may_answer_in_lists():
    exercise = find("transpose_perm")
    text = exercise.code.replace("return perm", "return [int(j) for j in perm]")
    found, *_ = checked(exercise, text)
    assert telling.is_passed(found)


def test_code_that_is_missing_for_one_case_is_said_to_be():
    exercise = find("feature_propagate")
    line = "    X = np.asarray(X, order=layout)\n"
    missing = '    if version == "ipdps":\n        raise NotImplementedError("ipdps")\n'
    found, said, _ = checked(exercise, exercise.code.replace(line, missing + line))
    assert found.shown.kind == EMPTY and said.startswith("Not all is written yet")


def test_mistakes_must_stand_once():
    exercise = find("mix")
    mistake = exercise.mistakes[0]._replace(search="x")
    with pytest.raises(ValueError, match="mix: 'x' must stand once"):
        exercise._replace(mistakes=(mistake,)).with_mistake(0)


def test_docstrings_are_no_place_for_mistakes():
    """`search` may stand in a docstring as well: it is the code that changes."""
    exercise = find("key")
    text = exercise._replace(
        code='"""a = 1"""\n\n\ndef key():\n    """a = 1"""\n    a = 1\n',
        mistakes=(exercise.mistakes[0]._replace(search="a = 1", replace="a = 2"),),
    ).with_mistake(0)
    assert text == textwrap.dedent('''\
        """a = 1"""


        def key():
            """a = 1"""
            a = 2
        ''')


@pytest.mark.parametrize(
    ("name", "number", "mark", "time"),
    [
        ("frontier", 1, ("jpdc21:2", "4"), 3),  # popped[2] is another
        ("transpose_perm", 0, ("jpdc21:6", "7"), 1),  # 0 is wanted: the first that is placed
        ("pop", 0, ("jpdc21:3", "21"), 3),  # after step 3
    ],
)
def test_the_stepper_opens_where_the_answer_went_astray(name, number, mark, time):
    recording, step = opened(name, number)
    at = recording.steps[step - 1]
    rows = recording.functions[at.function].statement(at.line)
    assert mark in {mark for row in rows for mark in row.marks}
    run = [one[:3] for one in recording.steps[:step]]
    assert run.count((at.function, at.line, "line")) == time


@pytest.mark.parametrize(
    ("name", "number", "panel", "row"),
    [
        ("cache_lookup", 0, "lookup", 2),  # result[1]
        ("cache_admit", 2, "rows", 1),  # after the first is written
        ("prune_mfg", 0, "bounds", 1),
        ("select_stable", 0, "ranks", 1),
    ],
)
def test_the_stepper_of_a_kernel_without_lines_opens_where_its_picture_changes(
    name, number, panel, row
):
    """Of a table, where the row of the result changes that is wrong."""
    recording, step = opened(name, number)
    states = [recording.state(k).get(panel) for k in range(step)]
    states = [state for state in states if state is not None]
    if panel in ("lookup", "ranks"):
        states = [state[row - 1] for state in states]
    assert states[-1] != states[0] and all(state == states[0] for state in states[:-1])


def opened(name, number):
    """Return the recording of the case that a mistake fails, and the step its page opens at."""
    exercise = find(name)
    outcome = checked(exercise, exercise.with_mistake(number))[0].shown
    _, step = page_of(exercise, outcome)
    args = {one: decode(value) for one, value in outcome.case["args"].items()}
    return recipe_for(exercise.function, **args).record(), step


def test_there_is_no_stepper_of_what_is_too_large():
    exercise = find("transpose_perm")
    found, *_ = checked(exercise, exercise.with_mistake(0), only="large")
    assert page_of(exercise, found.shown) is None
    assert page_of(find("mix"), found.shown) is None
