"""Make docs/images/trace_pin_tile.png, the README's picture of a stepper: its clean-up.

    python docs/make_screenshots.py

Needs Playwright and Pillow (the extras `browser` and `plot`) and Chromium, which
MINIBATCH_GNN_CHROMIUM may name.
"""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

from refimpl.lab.apps.stepper.page import page
from refimpl.lab.apps.stepper.places import step_at
from refimpl.lab.apps.stepper.recipes import recipes

TARGET = Path(__file__).parent / "images" / "trace_pin_tile.png"
NAME, PLACE = "pin_tile", "J4:23"
SIZE = {"width": 1280, "height": 720}
COLOURS = 256  # of the file, to keep it small
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")


def main():
    program = os.environ.get("MINIBATCH_GNN_CHROMIUM") or shutil.which("chromium")
    recipe = recipes()[NAME]
    recording = recipe.record()
    step = step_at(recipe, recording, PLACE)
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        source, shot = Path(folder, f"{NAME}.html"), Path(folder, f"{NAME}.png")
        source.write_text(page(recipe, recording), encoding="utf-8")
        tab.goto(f"{source.as_uri()}#{step + 1}")
        tab.screenshot(path=shot)
        Image.open(shot).convert("RGB").quantize(COLOURS).save(TARGET, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
