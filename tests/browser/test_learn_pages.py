"""The course's pages in a browser: short, quiet, whole at every width, and legible by axe-core.

Those of docs/kernels are as short.
"""

import pytest
from docs_ext import DOCS

pytestmark = pytest.mark.runs

PAGES = [f"learn/{page.stem}.html" for page in sorted((DOCS / "learn").glob("*.md"))]
KERNELS = [f"kernels/{page.stem}.html" for page in sorted((DOCS / "kernels").glob("*.md"))]
SCREENS, SCREEN = 8, 800

OUTSIDE = """() => {
  const wide = document.documentElement.clientWidth;
  return [...document.querySelectorAll("article svg.drawing, article .beside, article details")]
    .filter((part) => part.getBoundingClientRect().right > wide + 1)
    .map((part) => part.outerHTML.slice(0, 80));
}"""
WORDS = """() => [...document.querySelectorAll("svg.drawing")].flatMap((svg) =>
  [...svg.querySelectorAll("text")]
    .filter((text) => {
      const a = text.getBoundingClientRect(), b = svg.getBoundingClientRect();
      return a.left < b.left - 2 || a.right > b.right + 2 || a.bottom > b.bottom + 3;
    })
    .map((text) => text.textContent))"""


@pytest.mark.parametrize("page", PAGES + KERNELS)
def test_a_page_is_at_most_eight_screens(visit, page):
    """At 1280 x 800, with what folds folded."""
    tab = visit(page).tab
    assert tab.evaluate("document.querySelectorAll('details[open]').length") == 0
    assert tab.evaluate("document.documentElement.scrollHeight") <= SCREENS * SCREEN


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", ["desktop", "phone"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_quiet_and_fits(visit, page, width, dark):
    """Also when all that folds is open."""
    seen = visit(page, width=width, dark=dark)
    for _ in range(2):
        seen.is_quiet()
        seen.fits()
        assert seen.tab.evaluate(OUTSIDE) == []
        assert seen.tab.evaluate(WORDS) == [], "words of a figure stick out of it"
        seen.tab.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_accessible(visit, page, dark):
    """Its article, with everything open; what the theme puts around it is tested with the site."""
    seen = visit(page, dark=dark)
    seen.tab.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    seen.is_accessible(within="article")


def test_words_stand_beside_the_code_where_there_is_room(visit):
    """And above it on a phone; a line's words end above the next line's."""
    both = """() => [...document.querySelectorAll(".beside-row:not(.beside-head)")].map((row) =>
      [...row.children].map((cell) => {
        const { left, top, right, bottom } = cell.getBoundingClientRect();
        return { left, top, right, bottom };
      }))"""
    for said, code in visit("learn/transpose.html").tab.evaluate(both):
        assert code["left"] >= said["right"] and abs(code["top"] - said["top"]) < 2
    for said, code in visit("learn/transpose.html", width="phone").tab.evaluate(both):
        assert code["top"] >= said["bottom"] - 1 and abs(code["left"] - said["left"]) < 2


def test_code_beside_words_is_copied_without_its_numbers(visit):
    """And leads to the source: what is selected is the statement alone."""
    tab = visit("learn/transpose.html").tab
    row = tab.locator("#jpdc21-6-line-8").locator(
        "xpath=ancestor::div[contains(@class, 'beside-row')]"
    )
    copied = """(row) => {
      getSelection().selectAllChildren(row.querySelector(".beside-code pre"));
      return getSelection().toString().trim();
    }"""
    assert row.evaluate(copied) == "ptr[u] += 1"
    link = row.locator("a.linenos").get_attribute("href")
    assert link.startswith("../source/refimpl/graph/transpose.html#L")
    tab.goto(tab.url.rpartition("/")[0] + "/" + link)
    line = tab.locator(f"#{link.rpartition('#')[2]}").inner_text()
    assert "ptr[u] += 1  # 8" in line


def test_an_address_of_a_folded_line_opens_its_fold(visit):
    """Line 3 of IPDPS'19 Algorithm 2 is in a fold."""
    tab = visit("learn/frontier.html#ipdps19-2-line-3").tab
    assert tab.locator("#ipdps19-2-line-3").is_visible()


def test_steps_open_the_pages_own_stepper(visit):
    tab = visit("learn/pin_tile.html").tab
    frame = tab.locator("iframe[name=stepper-pin_tile]")
    frame.scroll_into_view_if_needed()
    link = tab.locator("a.step", has_text="do not fit")
    step = int(link.get_attribute("href").rpartition("#")[2])
    link.click()
    inside = tab.frame("stepper-pin_tile")
    inside.wait_for_selector(f'body[data-step="{step - 1}"]')
    assert inside.locator("#gist").inner_text().startswith("E-B8: ")  # line 23


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_figures_follow_the_theme(visit, dark):
    """Words on the page's ground differ from it by what WCAG asks of text, 4.5 to 1."""
    ratio = """() => {
      const light = (colour) => {
        const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map((v) => {
          const c = v / 255;
          return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ground = light(getComputedStyle(document.body).backgroundColor);
      const pairs = [];
      for (const svg of document.querySelectorAll("svg.drawing")) {
        for (const text of svg.querySelectorAll("text")) {
          const on = [...text.classList].find((kind) => /^on-(strong|warm|soft)$/.test(kind));
          const under = on && svg.querySelector(on.replace("on-", ".d-"));
          const behind = under ? light(getComputedStyle(under).fill) : ground;
          const ink = light(getComputedStyle(text).fill);
          const [a, b] = [Math.max(ink, behind), Math.min(ink, behind)];
          pairs.push([text.textContent, (a + 0.05) / (b + 0.05)]);
        }
      }
      return pairs;
    }"""
    for page in PAGES:
        pairs = visit(page, dark=dark).tab.evaluate(ratio)
        assert [pair for pair in pairs if pair[1] < 4.5] == [], page


@pytest.mark.parametrize("page", ["frontier", "pin_tile", "fresh_cache"])
def test_words_and_shapes_light_each_other(visit, page):
    tab = visit(f"learn/{page}.html").tab
    words = tab.locator(".lit")
    assert words.count() >= 2
    lit = "(all) => all.every((one) => one.classList.contains('is-lit'))"
    for k in range(words.count()):
        drawing, kind = words.nth(k).get_attribute("class").split()[1].split(":")
        shapes = tab.locator(f"figure.of-{drawing} .d-{kind}")
        assert shapes.count() > 0
        assert tab.locator(".is-lit").count() == 0
        words.nth(k).hover()
        assert shapes.evaluate_all(lit)
        shapes.first.hover(force=True)
        assert words.nth(k).evaluate("(one) => one.classList.contains('is-lit')")
        tab.mouse.move(0, 0)
