"""Name the licence of each library that auditwheel copied into a wheel.

    python .ci/bundled.py WHEEL

The wheel's own SBOM gets the licence, and the wheel must have its text. An unknown library is an
error.
"""

import base64
import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path

KNOWN = {"libgomp": ("GPL-3.0-or-later WITH GCC-exception-3.1", "licenses/LICENSE.libgomp")}


def licensed(sbom, names):
    """Return a CycloneDX document that has the licence of each library."""
    found = json.loads(sbom)
    for name in names:
        packages = [one for one in found["components"] if one["name"].startswith(name)]
        if len(packages) != 1:
            raise SystemExit(f"the SBOM must name one package of {name}: {packages}")
        packages[0]["licenses"] = [{"expression": KNOWN[name][0]}]
    return json.dumps(found, indent=1).encode()


def main(path):
    """Write the wheel again, with the same files, times and modes."""
    with zipfile.ZipFile(path) as wheel:
        files = {info: wheel.read(info) for info in wheel.infolist()}
    paths = {info.filename: info for info in files}
    copied = [re.match(r"[\w.]+\.libs/(\w+)", one) for one in paths]
    names = sorted({match[1] for match in copied if match})
    (record,) = (one for one in paths if one.endswith(".dist-info/RECORD"))
    home = record.removesuffix("RECORD")
    for name in names:
        if name not in KNOWN or home + KNOWN[name][1] not in paths:
            raise SystemExit(f"{path} has a copy of {name}, without a licence")
    sbom = f"{home}sboms/auditwheel.cdx.json"
    if names:
        files[paths[sbom]] = text = licensed(files[paths[sbom]], names)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        line = f"{sbom},sha256={digest},{len(text)}"
        lines = files[paths[record]].decode().splitlines()
        lines = [line if one.startswith(f"{sbom},") else one for one in lines]
        files[paths[record]] = "\n".join([*lines, ""]).encode()
    new = Path(f"{path}.new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for info, content in files.items():
            wheel.writestr(info, content, compresslevel=9)
    new.replace(path)
    print(f"{path}: {', '.join(f'{name}: {KNOWN[name][0]}' for name in names) or 'no copies'}")


if __name__ == "__main__":
    main(sys.argv[1])
