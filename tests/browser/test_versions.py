"""The choice of another version, in a site as .ci/site builds it."""

import functools
import http.server
import json
import threading

import pytest
from docs_ext import DOCS

pytestmark = pytest.mark.runs

LISTED = ["latest", "v1.0.0", "v0.9.0"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints no line for each."""

    def log_message(self, *words):
        """Print nothing."""


@pytest.fixture
def address(site, tmp_path):
    """The address of a site: v1.0.0 has one page of `latest`, v0.9.0 only the first."""
    (tmp_path / "latest").symlink_to(site)
    for name, page in (("v1.0.0", "howto/train.html"), ("v0.9.0", "index.html")):
        for path in {page, "index.html"}:
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"<title>{path} of {name}</title>", encoding="utf-8")
    (tmp_path / "versions.json").write_text(json.dumps(LISTED))
    handler = functools.partial(Quiet, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("chosen", "title"),
    [("v1.0.0", "howto/train.html of v1.0.0"), ("v0.9.0", "index.html of v0.9.0")],
)
def test_the_page_of_another_version_or_its_first_page(browser, address, chosen, title):
    tab = browser.new_page()
    tab.goto(f"{address}/latest/howto/train.html#options")
    if not tab.locator(".versions").count():  # `-t versions` was not given to this site's build
        tab.add_script_tag(path=DOCS / "_static" / "versions.js")
    choice = tab.get_by_label("Version")
    choice.wait_for()  # the script reads the list first
    assert choice.locator("option").all_inner_texts() == LISTED
    assert choice.input_value() == "latest"
    choice.select_option(chosen)
    tab.wait_for_url(f"{address}/{chosen}/**")
    assert tab.title() == title
    tab.close()
