"""The page of exercises in Chromium: hints and solutions are folded, and open one by one."""

import pytest

from refimpl.lab.apps.course.exercises import find, names

pytestmark = pytest.mark.runs

SHOWN = "(id) => [...document.querySelectorAll(`#${id} details`)].map((one) => one.open)"


@pytest.mark.parametrize("width", ["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True])
def test_an_exercise_is_found_by_its_name_and_opens_by_keyboard(visit, width, dark):
    page = visit("exercises.html#exercise-transpose_perm", width=width, dark=dark)
    id = "exercise-transpose_perm"
    assert page.tab.evaluate(SHOWN, id) == [False] * (3 + len(find("transpose_perm").hints))
    first = page.tab.locator(f"#{id} details summary", has_text="Hint 1")
    first.focus()
    page.tab.keyboard.press("Enter")
    assert page.tab.get_by_text("The pointers begin as a copy of").is_visible()
    assert page.tab.evaluate(SHOWN, id).count(True) == 1
    page.tab.locator(f"#{id} details summary", has_text="A solution").click()
    assert page.tab.locator(f"#{id} details pre", has_text="pointer[u] += 1").is_visible()
    page.fits()
    page.is_quiet()


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_accessible(visit, dark):
    page = visit("exercises.html", dark=dark)
    page.tab.evaluate(
        "() => document.querySelectorAll('details').forEach((d) => { d.open = true })"
    )
    page.is_accessible()


def test_every_exercise_is_there_once_and_linked(visit):
    page = visit("exercises.html")
    for name in names():
        assert page.tab.locator(f"section[id='exercise-{name}']").count() == 1
        assert page.tab.locator(f".exercise-names a[href='#exercise-{name}']").count() == 1
