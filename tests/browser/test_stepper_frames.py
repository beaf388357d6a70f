"""Steppers in the pages of the site: their frames, links, theme and keys, in Chromium."""

import re
from pathlib import Path

import pytest

from refimpl.lab.apps.stepper.places import shown, step_at
from refimpl.lab.apps.stepper.recipes import recipes

pytestmark = pytest.mark.runs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

RECIPES = recipes()
PAGE = "learn/frontier.html"
TWO = "learn/fresh_cache.html"  # a page with two steppers
LINK = re.compile(r'<a class="step[^"]*" href="\.\./steppers/(\w+)\.html#(\d+)"([^>]*)>')
FRAME = re.compile(r'<iframe name="stepper-(\w+)"')


def frames_of(site):
    """Return the pages of the course with a stepper: address -> names of its steppers."""
    pages = sorted((site / "learn").glob("*.html"))
    found = {f"learn/{path.name}": FRAME.findall(path.read_text("utf-8")) for path in pages}
    return {page: names for page, names in found.items() if names}


def frame(page, name):
    """Return the frame of a stepper, loaded."""
    element = page.tab.locator(f"iframe[name=stepper-{name}]")
    element.scroll_into_view_if_needed()
    found = element.element_handle().content_frame()
    found.wait_for_selector("body[data-step]")
    return found


def wait_in_view(page, name):
    """Wait until a page has scrolled to a stepper."""
    page.tab.wait_for_function(
        """name => {
          const frame = document.querySelector(`iframe[name=stepper-${name}]`);
          const box = frame.getBoundingClientRect();
          return box.top < innerHeight && box.bottom > 0;
        }""",
        arg=name,
    )


def expect_step(found, step):
    playwright.expect(found.locator("body")).to_have_attribute("data-step", str(step))


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_each_stepper_lives_in_its_frame(visit, site, width):
    pages = frames_of(site)
    assert sorted(name for names in pages.values() for name in names) == sorted(RECIPES)
    for address, names in pages.items():
        page = visit(address, width=width)
        page.fits()
        for name in names:
            found = frame(page, name)
            first, second = shown(RECIPES[name], RECIPES[name].record())[:2]
            expect_step(found, first)
            found.get_by_role("button", name="Forward").click()
            expect_step(found, second)
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert found.evaluate(wide) <= 0
            around = page.tab.locator(f"iframe[name=stepper-{name}]").bounding_box()
            for button in ("First step", "Back", "Play", "Forward", "Last step"):
                box = found.get_by_role("button", name=button, exact=True).bounding_box()
                assert box["x"] >= around["x"]
                assert box["x"] + box["width"] <= around["x"] + around["width"]
        page.is_quiet()


def test_a_sentence_leads_to_its_step(visit, site):
    """Each link to a stepper of its page opens the frame at its step, without loading it anew."""
    led = set()
    for address, names in frames_of(site).items():
        page = visit(address)
        links = LINK.findall((site / address).read_text(encoding="utf-8"))
        for i, (name, number, rest) in enumerate(links):
            if name not in names:
                continue
            led.add((name, number))
            assert f'target="stepper-{name}"' in rest
            found = frame(page, name)
            found.evaluate("window.kept = true")
            page.tab.locator("a.step").nth(i).click()
            expect_step(found, int(number) - 1)
            assert found.evaluate("window.kept") is True
            wait_in_view(page, name)
        page.is_quiet()
    assert {name for name, _ in led} == {name for name, one in RECIPES.items() if one.algorithms}
    recipe = RECIPES["pin_tile"]
    assert ("pin_tile", str(step_at(recipe, recipe.record(), "J3:23.2") + 1)) in led


def test_the_gallery_has_links_and_no_frame(visit, site):
    text = (site / "steppers.html").read_text(encoding="utf-8")
    assert not FRAME.search(text)
    for name in RECIPES:
        assert re.search(rf'href="steppers/{name}\.html"', text)
    page = visit("steppers.html")
    page.tab.locator('a.step[href="steppers/pool.html"]').click()
    expect_step(page.tab, shown(RECIPES["pool"], RECIPES["pool"].record())[0])


def test_tab_brings_a_stepper_into_view(visit):
    page = visit(PAGE)
    frame(page, "frontier")
    page.tab.evaluate("window.scrollTo(0, 0)")
    page.tab.locator("a", has_text="E-B3").first.focus()  # below the stepper
    page.tab.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    for _ in range(30):
        page.tab.keyboard.press("Shift+Tab")
        if page.tab.evaluate("document.activeElement.tagName") == "IFRAME":
            break
    wait_in_view(page, "frontier")


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
    page = visit("learn/fresh_loader.html")
    page.tab.get_by_text("the gradients").first.evaluate("link => link.click()")
    found = frame(page, "iteration")
    recipe = RECIPES["iteration"]
    expect_step(found, step_at(recipe, recipe.record(), "V1:17"))
    page.is_quiet()


def theme_of(found):
    return found.evaluate("document.documentElement.dataset.theme")


@pytest.mark.parametrize("dark", [False, True])
def test_a_frame_follows_the_sites_theme(visit, dark):
    page = visit(TWO, dark=dark)
    found = frame(page, "pruning")
    system = "dark" if dark else "light"
    assert theme_of(found) == system
    other = "light" if dark else "dark"
    for chosen, theme in ((other, other), ("auto", system), (system, system), (other, other)):
        page.tab.evaluate("theme => { document.body.dataset.theme = theme; }", chosen)
        found.wait_for_selector(f"html[data-theme={theme}]", state="attached")
    later = frame(page, "cache")  # loaded after the choice
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
