"""Make links and pictures of README.md lead to a repository on the web, for the package index.

``python .ci/readme.py https://github.com/OWNER/NAME`` changes README.md and pyproject.toml, before
a build that is published.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def absolute(text, address, version):
    """Return Markdown whose links to files lead to a version of the repository."""

    def link(match):
        mark, label, path = match.groups()
        return f"{mark}[{label}]({address}/{'raw' if mark else 'blob'}/v{version}/{path})"

    return re.sub(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]+)\)", link, text)


if __name__ == "__main__":
    address = sys.argv[1].rstrip("/")
    source = (ROOT / "refimpl/_version.py").read_text(encoding="utf-8")
    (version,) = re.findall('__version__ = "(.*)"', source)
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    readme.write_text(absolute(readme.read_text("utf-8"), address, version), encoding="utf-8")
    urls = f'[project.urls]\nSource = "{address}"\n\n[project.scripts]'
    text = project.read_text(encoding="utf-8").replace("[project.scripts]", urls)
    project.write_text(text, encoding="utf-8")
