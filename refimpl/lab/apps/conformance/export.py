"""Fixtures that need no Python: the vectors as plain JSON, and runners for npm and cargo."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from refimpl._support.whole_files import replacing
from refimpl.lab.apps.conformance import requirements, vectors, version
from refimpl.lab.apps.conformance.encode import dumps
from refimpl.lab.apps.conformance.levels import LEVELS
from refimpl.lab.data.writing import new_folder

KIT = Path(__file__).parent / "kit"  # the runners, and the page that describes all
KINDS = (".md", ".mjs", ".json", ".rs", ".toml")
ARCHIVE = ".tar.gz"


def contents() -> dict[str, bytes]:
    """Return the fixtures: a dict from name to bytes. The vectors' arrays are all in the JSON."""
    files = {}
    for file in vectors.load():
        cases = map(dumps, file.pop("cases"))
        name = f"vectors/{file['source']['paper']}/{file['function']}.json"
        files[name] = vectors.file_of(file, cases)
    lists = {"files.json": list(files), "levels.json": LEVELS}
    copied = [version.INDEX, requirements.FILE]
    copied += [f"schemas/{name}.schema.json" for name in version.SCHEMAS]
    files |= {name: (vectors.FOLDER / name).read_bytes() for name in copied}
    files |= {name: (json.dumps(value, indent=1) + "\n").encode() for name, value in lists.items()}
    runners = (path for kind in KINDS for path in KIT.rglob(f"*{kind}"))
    runners = {path.relative_to(KIT).as_posix(): path.read_bytes() for path in runners}
    files |= {name: runners[name] for name in runners if "/target/" not in name}  # of cargo
    return dict(sorted(files.items()))


def write(path: Path) -> int:
    """Write the fixtures to a new folder, or to an archive whose name ends with .tar.gz.

    Two archives of one version have the same bytes. Return the number of files.

    Raises
    ------
    OSError
    """
    files = contents()
    if path.name.endswith(ARCHIVE):
        with replacing(path) as archive:
            archive.write(packed(files, f"minibatch-gnn-conformance-{version.VERSION}"))
    else:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        with new_folder(path, False) as place:
            for name, content in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(content)
    return len(files)


def packed(files: Mapping[str, bytes], folder: str) -> bytes:
    """Return an archive of files inside a folder, as bytes."""
    made = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=made, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()
