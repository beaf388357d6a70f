"""The decks in Chromium: every slide fits; keys, windows, paper, phones; no requests."""

import json
import re

import pytest
from docs_ext import DOCS

pytestmark = pytest.mark.runs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

DECKS = ("sampling", "fresh")
NOTED = "print-pdf&showNotes=separate-page"
SIZES = ((1280, 720), (1280, 800), (1920, 1080))
# Go to every slide with its answers open, and list what `seen(slide, number)` finds.
ON_EACH = """() => {
  const found = [];
  for (const fold of document.querySelectorAll(".answer-fold")) fold.open = true;
  Reveal.getSlides().forEach((slide, at) => {
    const { h, v } = Reveal.getIndices(slide);
    Reveal.slide(h, v);
    seen(slide, at + 1, (words) => found.push(`${at + 1}: ${words}`));
  });
  return found;
  SEEN
}"""
# What stands on the slide outside its frame, or over its foot, or is cut off.
MISFITS = """function seen(slide, number, say) {
  const box = slide.getBoundingClientRect(), unit = box.width / 1280;
  const foot = slide.querySelector(".folio")?.getBoundingClientRect().top;
  const head = slide.querySelector("h3")?.getBoundingClientRect().bottom;
  for (const node of slide.querySelectorAll(".slide-body *, .cover *")) {
    if (node.closest(".notes-box, svg svg, svg > *")) continue;
    const { left, right, top, bottom, width, height } = node.getBoundingClientRect();
    if (!width || !height) continue;
    const name = `${node.tagName} ${node.className}`;
    if (left < box.left + 50 * unit || right > box.right - 50 * unit) say(`${name} wide`);
    if (top < (head ?? box.top + 20 * unit) - 1) say(`${name} high ${top - head}`);
    if (bottom > (foot ?? box.bottom - 20 * unit) + 3) say(`${name} low ${bottom - foot}`);
    const cuts = ["auto", "hidden", "scroll"].includes(getComputedStyle(node).overflowX);
    if (cuts && node.scrollWidth > node.clientWidth + 1) say(`${name} cut off`);
  }
}"""
SMALL = """function seen(slide, number, say) {
  const text = (n) => n.nodeType === 3 && n.textContent.trim();
  for (const node of slide.querySelectorAll(".slide-body *")) {
    if (node.closest(".notes-box, svg, math") || ![...node.childNodes].some(text)) continue;
    const size = parseFloat(getComputedStyle(node).fontSize);
    if (size < (node.closest("pre, code, .code-place") ? 18 : 23)) say(`${node.tagName} ${size}`);
  }
  for (const label of slide.querySelectorAll(".slide-body svg text")) {
    const { a, b, c, d } = label.getScreenCTM();
    const size = Math.sqrt(Math.abs(a * d - b * c)) * parseFloat(getComputedStyle(label).fontSize);
    if (size < 16) say(`${label.textContent} ${size}`);
  }
}"""
AT = "Reveal.getSlidePastCount() + 1"
TITLE = "Reveal.getCurrentSlide().querySelector('h3').innerText"


def at(visited):
    return visited.tab.evaluate(AT)


def count(visited):
    return visited.tab.evaluate("Reveal.getTotalSlides()")


def press(visited, *keys):
    for key in keys:
        visited.tab.keyboard.press(key)
    return at(visited)


def on_each(visited, seen):
    return visited.tab.evaluate(ON_EACH.replace("SEEN", seen))


@pytest.fixture
def opened(visit):
    """A function that opens a deck at an address, and waits until its slides are shown."""

    def open_deck(address, **how):
        page = visit(f"lectures/{address}", **how)
        page.tab.wait_for_function("window.Reveal && Reveal.isReady()")
        return page

    return open_deck


@pytest.fixture(params=DECKS)
def deck(request, opened):
    return opened(f"{request.param}.html")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_slide_fits_with_its_answers_open(deck, size):
    deck.tab.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    assert on_each(deck, MISFITS) == []
    deck.is_quiet()


def test_type_can_be_read_from_the_last_row(deck):
    deck.tab.set_viewport_size({"width": 1280, "height": 720})
    assert on_each(deck, SMALL) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", DECKS)
def test_on_a_phone_it_is_a_page_that_fits_and_can_be_read(visit, name, dark):
    page = visit(f"lectures/{name}.html", width="phone", dark=dark)
    assert not page.tab.evaluate("Reveal.isReady()")
    page.tab.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.fits()
    slides = page.tab.locator(".slide")
    assert slides.count() > 34
    assert page.tab.locator(".slide:visible").count() == slides.count()
    page.is_quiet()
    page.is_accessible()  # axe itself asks for style sheets, which a page from a file may not


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", DECKS)
def test_a_shown_slide_is_accessible(opened, name, dark):
    opened(f"{name}.html#/2/1", dark=dark).is_accessible()


def test_keys_lead_to_slides(deck):
    assert press(deck, "ArrowRight") == 2
    assert press(deck, "Space", "PageDown") == 4
    assert press(deck, "ArrowLeft", "PageUp") == 2
    press(deck, "End")
    assert deck.tab.locator(".slide.present .folio").text_content() == "Questions"
    assert press(deck, "Home", "ArrowLeft") == 1
    assert press(deck, "g", "1", "2", "Enter") == 12
    press(deck, "o")
    assert deck.tab.evaluate("Reveal.isOverview()")
    press(deck, "Escape")
    assert not deck.tab.evaluate("Reveal.isOverview()")
    deck.is_quiet()


def test_an_answer_opens_before_the_next_slide(deck):
    number = deck.tab.evaluate(
        "Reveal.getSlides().findIndex((s) => s.querySelector('.answer-fold')) + 1"
    )
    press(deck, "g", *str(number), "Enter")
    answer = deck.tab.locator(".slide.present .answer-fold .inside").first
    assert not answer.is_visible()
    assert press(deck, "ArrowRight") == number and answer.is_visible()
    folds = deck.tab.locator(".slide.present .answer-fold").count()
    assert press(deck, *["ArrowRight"] * folds) == number + 1
    assert press(deck, "ArrowLeft", "ArrowLeft") == number


def test_the_address_opens_a_slide_and_follows(opened):
    page = opened("sampling.html#the-law-in-one-line")
    assert page.tab.evaluate(TITLE).startswith("The law, in one line")
    press(page, "ArrowRight")
    page.tab.wait_for_function("location.hash === '#/is-it-true-count'")
    page.tab.evaluate("location.hash = 'why-sample-at-all'")
    page.tab.wait_for_function(f"{TITLE}.startsWith('Nodes with features')")
    page.tab.goto("about:blank")
    page.tab.goto((page.site / "lectures/sampling.html").as_uri() + "#nothing")
    page.tab.wait_for_function("window.Reveal && Reveal.isReady()")
    assert at(page) == 1


def test_slides_have_numbers_and_are_announced(deck):
    press(deck, "ArrowRight")
    shown = deck.tab.locator(".slide-number").inner_text()
    assert re.sub(r"\s", "", shown) == f"2/{count(deck)}"
    said = deck.tab.locator(".aria-status").text_content()
    assert deck.tab.evaluate(TITLE) in said


def test_links_of_the_agenda_lead_to_its_parts(deck):
    links = deck.tab.locator(".agenda a")
    press(deck, "g", "3", "Enter")
    for part in range(links.count()):
        title = links.nth(part).text_content()
        links.nth(part).evaluate("(link) => link.click()")
        deck.tab.wait_for_function(f"Reveal.getIndices().h === {part + 1}")
        assert deck.tab.locator(".slide.present .folio").text_content() == title


def test_the_speakers_window_has_notes_pacing_and_the_next_slide(deck):
    press(deck, "g", "4", "Enter")
    with deck.tab.expect_popup() as window:
        press(deck, "s")
    speaker = window.value
    notes = "document.querySelector('.speaker-controls-notes').innerText"
    speaker.wait_for_function(f"{notes}.includes('Say.')")
    following = "window.Reveal && Reveal.isReady() && " + AT
    for frame in speaker.frames[1:]:
        frame.wait_for_function(f"{following} >= 4")
    assert sorted(frame.evaluate(AT) for frame in speaker.frames[1:]) == [4, 5]
    assert speaker.locator(".pacing").is_visible()
    press(deck, "ArrowRight")
    speaker.frames[1].wait_for_function(f"{following} === 5")
    deck.is_quiet()


def test_the_parts_minutes_pace_the_speaker(deck):
    seconds = deck.tab.evaluate("Reveal.getSlides().map((s) => Number(s.dataset.timing))")
    assert seconds[0] == 0 and all(seconds[1:])
    assert abs(sum(seconds) - 90 * 60) < 30  # each slide's share is whole seconds


def pages_of(pdf):
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def test_paper_has_a_page_a_slide_with_or_without_notes(deck):
    slides, address = count(deck), deck.tab.url.partition("#")[0]
    for query, pages in (("print-pdf", slides), (NOTED, 2 * slides)):
        deck.tab.goto(f"{address}?{query}")
        deck.tab.wait_for_selector(".pdf-page")
        deck.tab.wait_for_function("!document.querySelector('.answer-fold:not([open])')")
        pdf = deck.tab.pdf(prefer_css_page_size=True)
        size = rb"/MediaBox \[0 0 (\d+)(?:\.\d+)? (\d+)"
        assert set(re.findall(size, pdf)) == {(b"960", b"540")}
        assert pages <= pages_of(pdf) <= pages + 1  # reveal.js may end with an empty page


def test_without_a_script_it_is_a_page(browser, site):
    for name in DECKS:
        tab = browser.new_page(java_script_enabled=False)
        tab.goto((site / f"lectures/{name}.html").as_uri())
        slides = tab.locator(".slide")
        assert slides.count() > 34
        assert all(slides.nth(k).is_visible() for k in range(slides.count()))
        assert tab.locator(".notes-fold summary").first.is_visible()
        tab.close()


def test_numbers_shown_are_those_of_the_stored_results(deck, site):
    """A site that was built before the results changed would show old ones."""
    stored = [json.loads(path.read_text()) for path in (DOCS / "results").glob("*.json")]
    cells = {cell for one in stored for row in one["table"] for cell in row}
    known = cells | {cell.partition(" (")[0] for cell in cells}
    known |= {name for cell in cells for name in re.findall(r": ([^;)]+)", cell)}
    shown = deck.tab.locator(".result, .bars td").all_text_contents()
    assert len(shown) > 15 and {text.strip() for text in shown} <= known


def test_links_to_the_playground_open_states_that_it_takes(visit):
    for name in DECKS:
        page = visit(f"lectures/{name}.html")
        for link in page.tab.locator("a[href*='playground.html#']").all():
            address = link.get_attribute("href").removeprefix("../")
            there = visit(address)
            there.tab.wait_for_selector("#pg svg, #pg canvas", state="attached")
            assert there.tab.locator("#pg [role=alert]:visible").count() == 0
            there.is_quiet()
