"""What the tests of the playground share: node, and the folder of the scripts."""

import importlib
import shutil
import subprocess

import pytest
from docs_ext import DOCS  # also lets docs/_ext be imported

bundling = importlib.import_module("playground")
FOLDER = DOCS / "playground"
OLDEST_NODE = 18


def node():
    """Return the path of node, or skip the test where there is none that is new enough."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if int(version.lstrip("v").partition(".")[0] or 0) < OLDEST_NODE:
        pytest.skip(f"node is {version.strip()}, and must be {OLDEST_NODE} or newer")
    return program
