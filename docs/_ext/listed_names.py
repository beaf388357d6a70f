"""The names that pages list: public names of a topic, and the kernels of a stage of a port.

Nothing here needs Sphinx: the tests read the same lists.
"""

import re
from pathlib import Path

from refimpl.samplers.nodes import KERNELS

DOCS = Path(__file__).parents[1]
SECTION = re.compile(r"^## `(\w+)`$", re.M)
STAGES = re.compile(r"^```\{port-stages\}\n(.*?)^```$", re.M | re.S)


def names_in(content):
    """Return the names of an api directive; `every_sampler` stands for all samplers."""
    words = content.split()
    return [name for word in words for name in (KERNELS if word == "every_sampler" else [word])]


def kernels_of_page(page):
    """Return the kernels that have a section on a page of docs/kernels."""
    return SECTION.findall((DOCS / "kernels" / f"{page}.md").read_text())


def stages(content):
    """Return (page, its kernels, what the stage gives, more kernels) for each line of a list."""
    rows = [line.split(" | ") for line in content.splitlines()]
    return [(page, kernels_of_page(page), gives, more) for page, gives, *more in rows]


def stages_of_a_port():
    """Return the `stages` of the page about a port."""
    return stages(STAGES.search((DOCS / "howto" / "port_a_backend.md").read_text())[1])
