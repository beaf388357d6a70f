"""The page for users of DGL: its code runs, in order, and prints what stands below it."""

import pytest
from pages import printed_by

from refimpl._torch import with_dgl

pytestmark = pytest.mark.runs

pytest.importorskip("torch", reason="torch is not installed")
try:
    with_dgl()
except ImportError:
    pytest.skip("DGL is not installed, or does not run beside this torch", allow_module_level=True)


def test_what_the_page_prints():
    shown = list(printed_by("from_dgl.md"))
    for printed, text in shown:
        assert printed == text
    assert len(shown) == 4
