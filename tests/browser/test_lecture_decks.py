"""The decks in Chromium: every slide fits; keys, windows, paper, phones; no requests."""

import json
import re

import pytest
from docs_ext import DOCS

pytestmark = pytest.mark.runs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

DECKS = ("sampling", "fresh")
SIZES = ((1280, 720), (1280, 800), (1920, 1080))
# What stands on the slide outside its frame, or over its foot, or is cut off.
MISFITS = """() => {
  const wrong = [];
  slides.forEach((slide, number) => {
    show(number);
    const box = slide.getBoundingClientRect(), unit = box.width / 1280;
    const foot = slide.querySelector(".folio")?.getBoundingClientRect().top;
    const head = slide.querySelector("h3")?.getBoundingClientRect().bottom;
    for (const node of slide.querySelectorAll(".slide-body *, .cover *")) {
      if (node.closest(".notes-box, svg svg, svg > *")) continue;
      const { left, right, top, bottom, width, height } = node.getBoundingClientRect();
      if (!width || !height) continue;
      const name = `${number + 1}: ${node.tagName} ${node.className}`;
      if (left < box.left + 50 * unit || right > box.right - 50 * unit) wrong.push(`${name} wide`);
      if (top < (head ?? box.top + 20 * unit) - 1) wrong.push(`${name} high ${top - head}`);
      if (bottom > (foot ?? box.bottom - 20 * unit) + 3) wrong.push(`${name} low ${bottom - foot}`);
      const cuts = ["auto", "hidden", "scroll"].includes(getComputedStyle(node).overflowX);
      if (cuts && node.scrollWidth > node.clientWidth + 1) wrong.push(`${name} cut off`);
    }
  });
  return wrong;
}"""
SMALL = """() => {
  const small = [], text = (n) => n.nodeType === 3 && n.textContent.trim();
  slides.forEach((slide, number) => {
    show(number);
    for (const node of slide.querySelectorAll(".slide-body *")) {
      if (node.closest(".notes-box, svg, math") || ![...node.childNodes].some(text)) continue;
      const size = parseFloat(getComputedStyle(node).fontSize);
      const least = node.closest("pre, code, .code-place") ? 18 : 23;
      if (size < least) small.push([number + 1, node.tagName, size]);
    }
    for (const label of slide.querySelectorAll(".slide-body svg text")) {
      const { a, b, c, d } = label.getScreenCTM();
      const scale = Math.sqrt(Math.abs(a * d - b * c));
      const size = scale * parseFloat(getComputedStyle(label).fontSize);
      if (size < 16) small.push([number + 1, label.textContent, size]);
    }
  });
  return small;
}"""
OPEN_ALL = "for (const fold of document.querySelectorAll('details')) fold.open = true"


def at(visited):
    return visited.tab.evaluate("at + 1")


def count(visited):
    return visited.tab.evaluate("slides.length")


def press(visited, *keys):
    for key in keys:
        visited.tab.keyboard.press(key)
    return at(visited)


@pytest.fixture(params=DECKS)
def deck(request, visit):
    return visit(f"lectures/{request.param}.html")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_slide_fits_with_its_answers_open(deck, size):
    deck.tab.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    deck.tab.evaluate(OPEN_ALL)
    assert deck.tab.evaluate(MISFITS) == []
    deck.is_quiet()


def test_type_can_be_read_from_the_last_row(deck):
    deck.tab.set_viewport_size({"width": 1280, "height": 720})
    deck.tab.evaluate(OPEN_ALL)
    assert deck.tab.evaluate(SMALL) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", DECKS)
def test_on_a_phone_it_is_a_page_that_fits_and_can_be_read(visit, name, dark):
    page = visit(f"lectures/{name}.html", width="phone", dark=dark)
    assert not page.tab.evaluate("document.documentElement.classList.contains('present')")
    page.tab.evaluate(OPEN_ALL)
    page.fits()
    assert page.tab.locator(".slide:visible").count() == count(page)
    page.is_accessible()
    page.is_quiet()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", DECKS)
def test_a_shown_slide_is_accessible(visit, name, dark):
    page = visit(f"lectures/{name}.html#5", dark=dark)
    page.is_accessible()
    press(page, "o")
    page.is_accessible()


def test_keys_lead_to_slides(deck):
    last = count(deck)
    assert press(deck, "ArrowRight") == 2
    assert press(deck, "Space", "PageDown") == 4
    assert press(deck, "ArrowLeft", "PageUp") == 2
    assert press(deck, "End") == last
    assert press(deck, "ArrowRight") == last
    assert press(deck, "Home", "ArrowLeft") == 1
    assert press(deck, "1", "2") == 1
    assert deck.tab.locator(".typed").inner_text() == "12"
    assert press(deck, "Enter") == 12
    assert press(deck, "9", "9", "9", "Enter") == last
    assert press(deck, "3", "Escape", "Enter") == last
    assert deck.tab.locator(".slide:visible").count() == 1
    deck.is_quiet()


def test_an_answer_opens_before_the_next_slide(deck):
    number = deck.tab.evaluate("slides.findIndex((s) => s.querySelector('.reveal')) + 1")
    press(deck, *str(number), "Enter")
    answer = deck.tab.locator(".slide.current .reveal .inside")
    assert not answer.is_visible()
    assert press(deck, "ArrowRight") == number and answer.is_visible()
    said = " ".join(answer.inner_text().split())[:40]
    assert " ".join(deck.tab.locator(".status").text_content().split()).startswith(said)
    assert press(deck, "ArrowRight") == number + 1


def test_the_address_opens_a_slide_and_follows(visit):
    page = visit("lectures/sampling.html#12")
    assert at(page) == 12
    assert press(page, "ArrowRight") and page.tab.evaluate("location.hash") == f"#{at(page)}"
    page.tab.evaluate("location.hash = '7'")
    page.tab.wait_for_function("at === 6")
    page.tab.evaluate("location.hash = 'the-law-in-one-line'")
    page.tab.wait_for_function("titleOf(slides[at]).startsWith('The law, in one line')")
    for hash, number in (("#0", 1), ("#999", count(page)), ("#nothing", 1), ("", 1)):
        page.tab.goto("about:blank")
        page.tab.goto((page.site / "lectures/sampling.html").as_uri() + hash)
        assert at(page) == number


def test_overview_shows_all_and_leads_to_one(deck):
    press(deck, "3", "Enter", "o")
    assert deck.tab.locator(".slide:visible").count() == count(deck)
    widths = deck.tab.evaluate("slides.map((slide) => slide.getBoundingClientRect().width)")
    assert min(widths) > 250 and max(widths) < 330
    assert press(deck, "ArrowRight", "ArrowDown") == 8
    press(deck, "Enter")
    assert deck.tab.locator(".slide:visible").count() == 1 and at(deck) == 8
    press(deck, "o")
    deck.tab.locator(".slide >> nth=10").locator(".choose").click()
    assert at(deck) == 11 and not deck.tab.evaluate("overview()")
    press(deck, "o", "Escape")
    assert not deck.tab.evaluate("overview()")
    assert deck.tab.evaluate("document.querySelectorAll('[inert]').length") == 0
    deck.is_quiet()


def test_help_and_theme(deck):
    press(deck, "?")
    assert deck.tab.get_by_role("dialog", name="Keys").is_visible()
    press(deck, "ArrowRight")
    assert at(deck) == 1  # keys are the dialog's
    press(deck, "Escape")
    assert not deck.tab.locator("dialog").is_visible()
    back = "getComputedStyle(document.body).backgroundColor"
    light = deck.tab.evaluate(back)
    press(deck, "d")
    assert deck.tab.evaluate(back) != light
    press(deck, "d")
    assert deck.tab.evaluate(back) == light


def test_slides_are_announced_and_focus_follows(deck):
    press(deck, "ArrowRight")
    title = deck.tab.locator(".slide.current h3").inner_text()
    assert deck.tab.get_by_role("status").text_content() == f"Slide 2 of {count(deck)}: {title}"
    assert deck.tab.evaluate("document.activeElement.classList.contains('current')")
    press(deck, "ArrowRight")
    deck.tab.keyboard.press("Tab")
    assert deck.tab.evaluate("document.activeElement.closest('.slide').id") == "3"


def test_the_line_has_a_piece_for_each_part_as_long_as_its_minutes(deck):
    pieces = deck.tab.evaluate(
        "[...document.querySelectorAll('.bar-foot a')].map((a) => [a.offsetWidth, a.title])"
    )
    minutes = [int(re.search(r"(\d+) minutes", title)[1]) for _, title in pieces]
    assert sum(minutes) == 90
    for (width, _), share in zip(pieces, minutes, strict=True):
        assert abs(width - 1280 * share / 90) < 6
    press(deck, "End")
    assert deck.tab.locator(".bar-foot [aria-current=step]").get_attribute("title").startswith("Q")


def speakers_window(deck):
    """Open it, and return it when its script has run."""
    with deck.tab.expect_popup() as opened:
        press(deck, "s")
    opened.value.wait_for_selector(".clock strong")
    return opened.value


def test_the_speakers_window_and_the_rooms_follow_each_other(deck):
    press(deck, "4", "Enter")
    speaker = speakers_window(deck)
    speaker.wait_for_function("at === 3")
    shown = speaker.locator(".slide.current .notes .inside")
    assert shown.is_visible() and "Say." in shown.inner_text()
    assert speaker.locator(".slide.next h3").inner_text()
    assert "minutes early" in speaker.locator(".clock").inner_text()
    press(deck, "ArrowRight")
    speaker.wait_for_function("at === 4")
    assert speaker.locator(".clock strong").inner_text() == "00:00"
    number = deck.tab.evaluate("slides.findIndex((s) => s.querySelector('.reveal')) + 1")
    speaker.keyboard.type(str(number))
    speaker.keyboard.press("Enter")
    deck.tab.wait_for_function(f"at === {number - 1}")
    speaker.keyboard.press("ArrowRight")
    deck.tab.wait_for_function("slides[at].querySelector('.reveal').open")
    assert at(deck) == number
    assert speaker.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    deck.tab.evaluate("window.postMessage({ deck: root.dataset.deck, at: 1 }, '*')")
    assert at(deck) == number  # from itself: not the speaker's
    deck.is_quiet()


def test_quick_presses_do_not_part_the_two_windows(deck):
    speaker = speakers_window(deck)
    number = deck.tab.evaluate(
        "slides.findIndex((s) => s.querySelectorAll('.reveal, .question').length)"
    )
    for _ in range(4):
        deck.tab.evaluate(f"show({number})")
        speaker.wait_for_function(f"at === {number}")
        deck.tab.evaluate("forward(); forward(); forward()")
        there = at(deck) - 1
        speaker.wait_for_function(f"at === {there}")
        speaker.wait_for_timeout(100)  # what folds tell late would come now
        assert (at(deck) - 1, speaker.evaluate("at")) == (there, there)


def pages_of(pdf):
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def test_paper_has_a_page_a_slide_with_or_without_notes(deck):
    bare = deck.tab.pdf(prefer_css_page_size=True)
    assert pages_of(bare) == count(deck)
    assert set(re.findall(rb"/MediaBox \[0 0 (\d+)(?:\.\d+)? (\d+)", bare)) == {(b"960", b"540")}
    deck.tab.goto(deck.tab.url.partition("#")[0] + "?notes")
    noted = deck.tab.pdf(prefer_css_page_size=True)
    assert pages_of(noted) == count(deck)
    assert set(re.findall(rb"/MediaBox \[0 0 (\d+)(?:\.\d+)? (\d+)", noted)) == {(b"960", b"870")}
    open_ones = "document.querySelectorAll('details[open]:not(.notes)').length"
    assert deck.tab.evaluate(open_ones) == 0  # as before


def test_without_a_script_it_is_a_page(browser, site):
    for name in DECKS:
        tab = browser.new_page(java_script_enabled=False)
        tab.goto((site / f"lectures/{name}.html").as_uri())
        slides = tab.locator(".slide")
        assert slides.count() > 34
        assert all(slides.nth(k).is_visible() for k in range(slides.count()))
        assert tab.locator(".notes summary").first.is_visible()
        tab.close()


def test_wiping_leads_on_and_back(browser, site):
    tab = browser.new_page(has_touch=True, viewport={"width": 1024, "height": 768})
    tab.goto((site / "lectures/sampling.html").as_uri())
    wipe = """([x, y]) => {
      const touch = (clientX, clientY) =>
        new Touch({ identifier: 1, target: document.body, clientX, clientY });
      const send = (type, touches, changed) => document.body.dispatchEvent(
        new TouchEvent(type, { touches, changedTouches: changed, bubbles: true }));
      send("touchstart", [touch(500, 400)], [touch(500, 400)]);
      send("touchend", [], [touch(500 + x, 400 + y)]);
      return at + 1;
    }"""
    assert tab.evaluate(wipe, [-200, 10]) == 2
    assert tab.evaluate(wipe, [-30, 0]) == 2  # too short
    assert tab.evaluate(wipe, [-100, 90]) == 2  # too steep
    assert tab.evaluate(wipe, [200, 10]) == 1
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
