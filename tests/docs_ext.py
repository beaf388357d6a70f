"""What docs/_ext has that needs no Sphinx: the pages and the tests read the same things."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

sys.path.append(str(DOCS / "_ext"))
paper_lines = importlib.import_module("paper_lines")
worked_examples = importlib.import_module("worked_examples")
stored_results = importlib.import_module("stored_results")
