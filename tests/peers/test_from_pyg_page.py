"""The page for users of PyG: its code runs, in order, and prints what stands below it."""

import contextlib
import io
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.runs

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "from_pyg.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


def test_what_the_page_prints():
    namespace, printed, shown = {}, "", 0
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "text":
            assert printed == text
            shown += 1
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, str(PAGE), "exec"), namespace)
        printed = out.getvalue()
    assert shown == 6
