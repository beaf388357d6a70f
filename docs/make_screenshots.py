"""Make docs/images/trace_*.png: one telling step of each stepper, as a projector shows it.

    python docs/make_screenshots.py [NAME ..]

Needs Playwright and Pillow (the extras `browser` and `plot`) and Chromium, which
MINIBATCH_GNN_CHROMIUM may name.
"""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

from refimpl.lab.apps.stepper.page import page
from refimpl.lab.apps.stepper.recipes import recipes

IMAGES = Path(__file__).parent / "images"
SIZE = {"width": 1280, "height": 720}
COLOURS = 256  # of the files, to keep them small
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")
TELLING = {  # a function, how the line that runs begins, and which time it runs
    "cache": ("cache_admit", "entries.slot_of[", -1),
    "dashboard": ("SlotDashboard.cleanup", "DB_new[2", 1),
    "frontier": ("frontier", "FS[slot] =", 1),
    "partition": ("feature_propagate", "Y[v, part] +=", 11),
    "pin_tile": ("Dashboard.cleanup", "DB_new[k :", 1),
    "pool": ("Run.pass_over", "loss =", 1),
    "pruning": ("prune_mfg", "live.insert(", 2),
    "transpose": ("transpose_perm", "perm[ptr[u]] =", 6),
}


def telling_step(recording, function, begin, time):
    """Return the number of the step, from 0."""
    found = []
    for number, step in enumerate(recording.steps):
        followed = recording.functions[step.function]
        text = next(line.text for line in followed.lines if line.number == step.line)
        if followed.name == function and text.strip().startswith(begin):
            found.append(number)
    return found[time]


def main(names):
    program = os.environ.get("MINIBATCH_GNN_CHROMIUM") or shutil.which("chromium")
    known = recipes()
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        for name in names or known:
            recording = known[name].record()
            step = telling_step(recording, *TELLING[name])
            source, shot = Path(folder, f"{name}.html"), Path(folder, f"{name}.png")
            source.write_text(page(known[name], recording), encoding="utf-8")
            tab.goto(f"{source.as_uri()}#{step + 1}")
            tab.screenshot(path=shot)
            target = IMAGES / f"trace_{name}.png"
            Image.open(shot).convert("RGB").quantize(COLOURS).save(target, optimize=True)
            print(f"{target}: step {step + 1}, {target.stat().st_size} bytes")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
