"""The page for users of PyG: its code runs, in order, and prints what stands below it."""

import pytest
from pages import printed_by

pytestmark = pytest.mark.runs

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")


def test_what_the_page_prints():
    shown = list(printed_by("from_pyg.md"))
    for printed, text in shown:
        assert printed == text
    assert len(shown) == 14
