"""Pages of the site that no other test visits: the first one, words and questions, tables."""

import pytest

pytestmark = pytest.mark.runs

PAGES = (
    "index.html",
    "glossary.html",
    "questions.html",
    "measurements.html",
    "errata.html",
    "figures.html",
    "algorithms.html",
    "howto/train.html",
    "reference/samplers.html",
)
LOOKS = {"desktop": {}, "phone": {"width": "phone"}, "dark": {"dark": True}}
SCRIPTS = 300_000  # bytes of the site's own scripts, those of the theme and of Sphinx apart
OWN = (
    "_static/deck.js",
    "_static/lit.js",
    "_static/playground.js",
    "_static/scrollable.js",
    "_static/steppers.js",
    "_static/versions.js",
    "steppers/stepper.js",
)
THEIRS = {  # of Sphinx, the theme and reveal.js
    "base-stemmer.js",
    "debug.js",
    "doctools.js",
    "documentation_options.js",
    "english-stemmer.js",
    "furo-extensions.js",
    "furo.js",
    "language_data.js",
    "notes.js",
    "reveal.js",
    "searchindex.js",
    "searchtools.js",
    "sphinx_highlight.js",
}
FOUND = {  # what readers type, and a page that is to be among the first ten
    "tile": "learn/pin_tile.html",
    "eta": "questions.html",
    "cap": "glossary.html",
    "freeze": "glossary.html",
    "port": "howto/port_a_backend.html",
    "Rust": "howto/port_a_backend.html",
    "pin": "learn/pin_tile.html",
    "staleness": "learn/fresh_policy.html",
    "rows sorted": "learn/transpose.html",
    "rounds exist": "learn/fresh_loader.html",
    "saved": "fresh.html",
    "freezes": "learn/fresh_policy.html",
    "frees too little": "learn/pin_tile.html",
    "popped or pushed": "glossary.html#term-popped-or-pushed",
    "number of nodes": "glossary.html#term-number-of-nodes-in-a-sample",
    "isolated": "glossary.html#term-isolated-node",
    "full cache": "glossary.html#term-full-cache",
    "ring buffer": "glossary.html#term-ring-buffer",
    "normalization": "glossary.html#term-normalization",
    "neighbourhood growth": "glossary.html#term-neighbourhood-growth",
    "threads change": "propagation.html",
}
WIDTHS = (390, 1366, 1440, 1600, 1920)
SHOWN = ("learn/frontier.html", "learn/fresh_cache.html", "figures.html", "held.html")
CELL_LINES = 13  # of a claim on a phone
BROKEN_WORDS = """selector => {
  const broken = [];
  for (const part of document.querySelectorAll(selector)) {
    const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const word of texts.currentNode.data.matchAll(/\\w+/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        const tops = [...range.getClientRects()].filter((box) => box.width).map((box) => box.top);
        if (Math.max(...tops) - Math.min(...tops) > 2) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""
FILTERS = "images => images.map((image) => getComputedStyle(image).filter)"
MOST_LINES = """cells => Math.max(0, ...cells.map((cell) =>
  cell.clientHeight / parseFloat(getComputedStyle(cell).fontSize) / 1.5))"""


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_quiet_fits_and_is_accessible(visit, page, look):
    seen = visit(page, **LOOKS[look])
    seen.tab.wait_for_load_state("load")
    seen.is_quiet()
    seen.fits()
    seen.is_accessible()


@pytest.mark.parametrize("page", SHOWN)
def test_a_page_has_no_visible_fault_at_any_width(visit, page):
    """Light and dark: contents list whole, nothing too wide, words of code and claims whole."""
    seen = visit(page)
    tab = seen.tab
    steppers = tab.locator("iframe").all()
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            seen.fits()
            filters = tab.eval_on_selector_all("img.measured-figure", FILTERS)
            assert all(one.startswith("invert") == (scheme == "dark") for one in filters)
        if width > 390 and tab.locator(".toc-drawer:not(.no-toc)").count():
            box = tab.locator(".toc-drawer").bounding_box()
            assert box["width"] > 200 and box["x"] + box["width"] <= width
            assert tab.locator(".content").bounding_box()["width"] > 700
        assert tab.evaluate(BROKEN_WORDS, ".beside-code pre") == [], f"at {width} px"
        lines = tab.eval_on_selector_all("table.claims td", MOST_LINES)
        assert lines <= CELL_LINES, f"a claim has {lines:.0f} lines at {width} px"
        for stepper in steppers:
            stepper.scroll_into_view_if_needed()
            inside = stepper.element_handle().content_frame()
            inside.wait_for_selector("body[data-step]")
            assert inside.evaluate(BROKEN_WORDS, "#lines code") == [], f"at {width} px"


def test_rows_of_the_errata_are_cards_on_a_phone(visit):
    tab = visit("errata.html", width="phone").tab
    cells = tab.query_selector_all("tr:has(> td.erratum):nth-child(2) > td")[:5]
    tops = [cell.bounding_box()["y"] for cell in cells]
    assert len(tops) == 5 and tops == sorted(tops) and len(set(tops)) == 5
    wide = visit("errata.html").tab
    cells = wide.query_selector_all("tr:has(> td.erratum):nth-child(2) > td")[:5]
    assert len({cell.bounding_box()["y"] for cell in cells}) == 1


@pytest.mark.parametrize("words", FOUND)
def test_the_search_finds_what_readers_type(visit, words):
    tab = visit(f"search.html?q={words}").tab
    first_ten = "#search-results ul.search > li:nth-child(-n + 10) > a"
    tab.wait_for_selector(f'{first_ten}[href*="{FOUND[words]}"]', timeout=20_000)


def test_the_scripts_of_the_site_are_small(site):
    scripts = [site / path for path in OWN]
    assert sum(path.stat().st_size for path in scripts) < SCRIPTS
    loaded = {path.name for path in site.rglob("*.js") if "_downloads" not in path.parts}
    assert loaded - {path.name for path in scripts} <= THEIRS, "count it, or name it as Sphinx's"
