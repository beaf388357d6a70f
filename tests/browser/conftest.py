"""Chromium, and the built site in it, for the tests of pages.

MINIBATCH_GNN_CHROMIUM may name the browser, MINIBATCH_GNN_SITE a site that is built already, and
MINIBATCH_GNN_AXE the axe.min.js of axe-core, without which tests of contrast and names are skipped.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OFFLINE = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DOCS = Path(__file__).parents[2] / "docs"
WIDTHS = {"desktop": (1280, 800), "phone": (390, 844)}
FAULTS_OF_AXE = """async ([within, rules]) => {
  const found = await axe.run(within, { runOnly: rules, resultTypes: ["violations"] });
  return found.violations.flatMap((fault) =>
    fault.nodes.map((node) => `${fault.id}: ${node.target.join(" ")}: ${node.failureSummary}`));
}"""
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa")


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("MINIBATCH_GNN_CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium: MINIBATCH_GNN_CHROMIUM may name it")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OFFLINE)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site."""
    if built := os.environ.get("MINIBATCH_GNN_SITE"):
        return Path(built).resolve()
    pytest.importorskip("sphinx", reason="sphinx is not installed, and MINIBATCH_GNN_SITE not set")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(DOCS), str(folder)]
    subprocess.run(command, check=True)
    return folder


class Visit:
    """A page of the site in a tab, with what the tab complained about and asked for."""

    def __init__(self, browser, site, address, *, width="desktop", dark=False):
        self.site = site
        size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
        self.tab = browser.new_page(viewport=size, color_scheme="dark" if dark else "light")
        self.tab.set_default_timeout(10_000)
        self.messages, self.requests = [], []
        self.tab.on("console", lambda message: self.messages.append(message.text))
        self.tab.on("pageerror", lambda error: self.messages.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        path, mark, rest = re.match("([^?#]*)([?#]?)(.*)", address).groups()
        self.tab.goto((site / path).as_uri() + mark + rest)

    def is_quiet(self):
        """No message, and no request left the site."""
        inside = ("data:", "blob:", "about:", self.site.as_uri())
        assert self.messages == []
        assert [url for url in self.requests if not url.startswith(inside)] == []

    def fits(self):
        """Nothing is wider than the window."""
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.tab.evaluate(wide) <= 0

    def is_accessible(self, within="html"):
        """What axe-core finds wrong by WCAG 2.1 AA in a part of the page: nothing."""
        axe = Path(os.environ.get("MINIBATCH_GNN_AXE", "axe.min.js"))
        if not axe.is_file():
            pytest.skip("no axe-core: MINIBATCH_GNN_AXE may name its axe.min.js")
        self.tab.evaluate(axe.read_text(encoding="utf-8"))
        assert self.tab.evaluate(FAULTS_OF_AXE, [within, list(RULES)]) == []


@pytest.fixture
def visit(browser, site):
    """``visit("learn/frontier.html", width="phone", dark=True)``: a `Visit`, closed at the end."""
    visits = []

    def go(address, **options):
        visits.append(Visit(browser, site, address, **options))
        return visits[-1]

    yield go
    for one in visits:
        one.tab.close()
