"""Runs the code of pages that need what the build of the documentation has not."""

import contextlib
import io
import re
from pathlib import Path

HOWTO = Path(__file__).parents[1] / "docs" / "howto"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


def printed_by(name):
    """Run a page's code in order; yield what it prints and what stands below it, each time."""
    page, namespace, printed = HOWTO / name, {}, ""
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "text":
            yield printed, text
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, str(page), "exec"), namespace)
        printed = out.getvalue()
