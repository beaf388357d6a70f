"""Steppers in the pages of the site: their frames, links, theme and keys, in Chromium."""

import re
from pathlib import Path

import pytest

from refimpl.lab.apps.stepper.places import shown, step_at
from refimpl.lab.apps.stepper.recipes import recipes

pytestmark = pytest.mark.runs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

RECIPES = recipes()
PAGE = "steppers.html"
LINK = re.compile(r'<a class="step[^"]*" href="steppers/(\w+)\.html#(\d+)"([^>]*)>')
OPENED = re.compile(r'<iframe name="stepper-\w+" src="steppers/(\w+)\.html#(\d+)"')


def frame(page, name):
    """Return the frame of a stepper, loaded."""
    element = page.tab.locator(f"iframe[name=stepper-{name}]")
    element.scroll_into_view_if_needed()
    found = element.element_handle().content_frame()
    found.wait_for_selector("body[data-step]")
    return found


def expect_step(found, step):
    playwright.expect(found.locator("body")).to_have_attribute("data-step", str(step))


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_each_stepper_lives_in_its_frame(visit, site, width):
    page = visit(PAGE, width=width)
    opened = dict(OPENED.findall((site / PAGE).read_text(encoding="utf-8")))
    page.fits()
    for name, recipe in RECIPES.items():
        found = frame(page, name)
        numbers = shown(recipe, recipe.record())
        at = int(opened[name]) - 1 if name in opened else numbers[0]
        expect_step(found, at)
        found.get_by_role("button", name="Forward").click()
        expect_step(found, numbers[numbers.index(at) + 1])
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert found.evaluate(wide) <= 0
        for button in ("First step", "Back", "Play", "Forward", "Last step"):
            box = found.get_by_role("button", name=button, exact=True).bounding_box()
            around = page.tab.locator(f"iframe[name=stepper-{name}]").bounding_box()
            assert box["x"] >= around["x"]
            assert box["x"] + box["width"] <= around["x"] + around["width"]
    page.is_quiet()


def test_a_sentence_leads_to_its_step(visit, site):
    """Each link of the page opens its frame at its step, without loading it anew."""
    page = visit(PAGE)
    links = LINK.findall((site / PAGE).read_text(encoding="utf-8"))
    assert {name for name, _, _ in links} == set(RECIPES) - {"transpose"}
    for i, (name, number, rest) in enumerate(links):
        assert f'target="stepper-{name}"' in rest
        found = frame(page, name)
        found.evaluate("window.kept = true")
        page.tab.locator("a.step").nth(i).click()
        expect_step(found, int(number) - 1)
        assert found.evaluate("window.kept") is True
        box = page.tab.locator(f"iframe[name=stepper-{name}]").bounding_box()
        assert box["y"] < 800 and box["y"] + box["height"] > 0
    recipe = RECIPES["pin_tile"]
    step = step_at(recipe, recipe.record(), "23.2")
    assert ("pin_tile", str(step + 1)) in {(name, number) for name, number, _ in links}
    page.is_quiet()


def test_the_same_link_leads_there_again_and_back_leaves_the_page(visit):
    page = visit(PAGE)
    found = frame(page, "frontier")
    page.tab.wait_for_function("there.has(frames().find((f) => f.name === 'stepper-frontier'))")
    link = page.tab.locator('a.step[target="stepper-frontier"]').first
    number = int(link.get_attribute("href").partition("#")[2])
    before = page.tab.evaluate("history.length")
    for _ in range(2):
        link.click()
        expect_step(found, number - 1)
        found.evaluate("go(now + 2)")
        expect_step(found, number + 1)
    assert page.tab.evaluate("history.length") == before
    page.is_quiet()


def test_a_link_opens_a_frame_that_is_not_loaded_yet(visit):
    page = visit(PAGE)
    page.tab.get_by_text("policy and ring buffer").evaluate("link => link.click()")
    found = frame(page, "iteration")
    recipe = RECIPES["iteration"]
    expect_step(found, step_at(recipe, recipe.record(), "20.2"))
    page.is_quiet()


def theme_of(found):
    return found.evaluate("document.documentElement.dataset.theme")


@pytest.mark.parametrize("dark", [False, True])
def test_a_frame_follows_the_sites_theme(visit, dark):
    page = visit(PAGE, dark=dark)
    found = frame(page, "frontier")
    system = "dark" if dark else "light"
    assert theme_of(found) == system
    other = "light" if dark else "dark"
    for chosen, theme in ((other, other), ("auto", system), (system, system), (other, other)):
        page.tab.evaluate("theme => { document.body.dataset.theme = theme; }", chosen)
        found.wait_for_selector(f"html[data-theme={theme}]", state="attached")
    later = frame(page, "iteration")  # loaded after the choice
    later.wait_for_selector(f"html[data-theme={other}]", state="attached")
    page.is_quiet()


def test_a_theme_may_be_in_the_address(visit):
    for chosen in ("dark", "light"):
        page = visit("steppers/frontier.html", dark=chosen == "light")
        page.tab.goto(f"{page.tab.url}?theme={chosen}#20")
        assert theme_of(page.tab) == chosen
        expect_step(page.tab, 19)


def test_a_stranger_cannot_choose_the_theme(visit):
    """Only the page around, and only a theme."""
    page = visit(PAGE)
    found = frame(page, "frontier")
    for message in ('"dark"', "null", "{theme: 'pink'}", "{theme: ['dark']}"):
        page.tab.evaluate(
            f"document.querySelector('iframe').contentWindow.postMessage({message}, '*')"
        )
    found.evaluate("window.postMessage({theme: 'dark'}, '*')")
    found.evaluate("new Promise(done => setTimeout(done, 100))")
    assert theme_of(found) == "light"
    page.is_quiet()


def test_keys_that_scroll_stay_the_pages(visit):
    """With the focus in a stepper; arrows step, others scroll the page around or do nothing."""
    page = visit(PAGE)
    found = frame(page, "frontier")
    first, second = shown(RECIPES["frontier"], RECIPES["frontier"].record())[:2]
    found.get_by_role("button", name="Last step").focus()
    page.tab.keyboard.press("ArrowRight")
    expect_step(found, second)
    for key in ("PageDown", "PageUp", "End", "Home"):
        prevented = """key => {
          const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
          return !document.activeElement.dispatchEvent(event);
        }"""
        assert found.evaluate(prevented, key) is False
        expect_step(found, second)
    before = page.tab.evaluate("scrollY")
    page.tab.keyboard.press("PageDown")
    page.tab.wait_for_function("before => scrollY > before", arg=before)
    expect_step(found, second)
    page.tab.locator("h1").click()  # out of the stepper
    for key in ("ArrowRight", "Space", "ArrowLeft"):
        page.tab.keyboard.press(key)
    expect_step(found, second)
    assert first < second


def test_the_focus_can_be_seen(visit):
    page = visit("steppers/pin_tile.html")
    for _ in range(12):
        page.tab.keyboard.press("Tab")
        outline = page.tab.evaluate(
            "(({ outlineStyle, outlineWidth }) => [outlineStyle, parseFloat(outlineWidth)])"
            "(getComputedStyle(document.activeElement))"
        )
        assert outline[0] == "solid" and outline[1] >= 2


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", ["desktop", "phone"])
@pytest.mark.parametrize("name", RECIPES)
def test_axe_finds_nothing(visit, name, width, dark):
    recipe = RECIPES[name]
    numbers = shown(recipe, recipe.record())
    page = visit(f"steppers/{name}.html#{numbers[len(numbers) // 2] + 1}", width=width, dark=dark)
    page.tab.get_by_text("About and keys").click()
    page.is_accessible()


def test_the_pages_share_script_and_style(site):
    """And forbid all else."""
    folder = site / "steppers"
    for name in RECIPES:
        text = (folder / f"{name}.html").read_text(encoding="utf-8")
        assert text.count("<script") == 2 and "<style" not in text
        assert "script-src 'self';" in text and "style-src 'self';" in text
        assert "default-src 'none'" in text and "unsafe" not in text
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sizes["stepper.js"] < 40_000 and sizes["stepper.css"] < 20_000
    assert set(sizes) == {"stepper.js", "stepper.css", *(f"{name}.html" for name in RECIPES)}
    assert Path(folder / "stepper.js").read_text(encoding="utf-8").count('"use strict"') == 1
