"""What runs where: wheels in fresh environments, with the oldest and the newest NumPy."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from wheels.places import NEEDED, Failed, Place

TESTS = ["graph", "structure", "operation", "sampler", "neighbor", "layer", "dense", "history"]
TESTS = [f"twins/test_{name}_twins.py" for name in TESTS] + ["twins/test_levels.py"]
EMULATED = TESTS[:2]  # an emulator takes 20 times as long
LEVELS = ("base", "x86-64-v3", "x86-64-v4")
LIBRARIES = ("oldest", "newest")
OLDEST = {  # that pyproject.toml allows, and that have a wheel for the Python
    "3.13": ["numpy==2.1.0", "scipy==1.14.1"],
    "3.14": ["numpy==2.3.2", "scipy==1.16.1"],
}
EARLIER = ["numpy==2.0.0", "scipy==1.13.0"]
ABOUT = """
import json, platform, numpy, scipy, fastimpl
build = fastimpl.build_info()
print(json.dumps([platform.python_version(), numpy.__version__, scipy.__version__,
    " ".join(platform.libc_ver()), build["level"], fastimpl.__file__]))
"""


class Row(NamedTuple):
    """What was run in one place, and what came out."""

    system: str
    python: str
    libraries: str
    processor: str
    level: str
    outcome: str


def wheel_for(version, folder):
    """Return the newest wheel of a folder for a Python, "3.11"; None without one."""
    found = folder.glob(f"minibatch_gnn-*-cp{version.replace('.', '')}-*.whl")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def tried(python, folder, work, libraries=LIBRARIES, root=None, emulated=()):
    """Yield a Row for each library version and level with one interpreter.

    Parameters
    ----------
    python : str
        Interpreter, within the root if there is one.
    folder : Path
        With the wheels and the source distribution.
    work : Path
        Where environments are made.
    libraries : sequence of {"oldest", "newest"}
        Versions of NumPy and SciPy.
    root : Path, optional
        Of a system made by debootstrap.
    emulated : list of str
        Processors that QEMU emulates, tried with the newest libraries too.
    """
    source = max(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime, default=None)
    if source is None:
        raise Failed(f"{folder} has no source distribution, whose tests are run: wheels build")
    if emulated and shutil.which("qemu-x86_64") is None:
        raise Failed("--emulate needs qemu-x86_64 (Debian: apt install qemu-user)")
    for which in libraries:
        place = Place(python, work / "place", root)
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        version = place.run([place.program("python"), "-c", code]).strip()
        wheel = wheel_for(version, folder)
        if wheel is None:
            raise Failed(f"{folder} has no wheel for Python {version}")
        versions = OLDEST.get(version, EARLIER) if which == "oldest" else []
        place.install(place.bring(wheel), *versions, *NEEDED)
        place.unpack_tests(source)
        yield from levels_in(place, root, which, emulated)
    if root is not None:
        yield pure(Place(python, work / "place", root), source)


def levels_in(place, root, which, emulated):
    """Yield a Row for each level that this processor has, and for each emulated processor."""
    for level in levels_here(place) if which == "newest" else ("auto",):
        yield row(place, root, "this one", TESTS, {"MINIBATCH_GNN_LEVEL": level})
    for name in emulated if which == "newest" else ():
        # NumPy's OpenBLAS would take kernels with AVX for a processor that it does not know
        yield row(place, root, name, EMULATED, {"OPENBLAS_CORETYPE": name.upper()})


def levels_here(place):
    """Return the levels that this processor has; name those that it lacks."""
    code = "import json; from fastimpl._processor import levels; print(json.dumps(levels()))"
    found = ["base", *json.loads(place.run([place.program("python"), "-c", code]))]
    for level in LEVELS:
        if level not in found:
            print(f"not tried: {level}, which this processor lacks", file=sys.stderr, flush=True)
    return [level for level in LEVELS if level in found]


def row(place, root, processor, files, settings):
    """Run tests with some settings of the environment, and return the Row."""
    emulator = shutil.which("qemu-x86_64")
    prefix = () if processor == "this one" else (emulator, "-cpu", processor)
    about = place.run([place.program("python"), "-c", ABOUT], prefix=prefix, **settings)
    python, numpy, scipy, libc, level, file = json.loads(about.strip().splitlines()[-1])
    if not file.startswith(place.inside("venv")):
        raise Failed(f"{file} was tested, not the wheel")
    outcome = place.test(files, prefix=prefix, **settings)
    counted = re.search(r"\d+ passed", outcome)
    if counted is None:
        raise Failed(f"no test ran: {outcome}")
    libraries = f"NumPy {numpy}, SciPy {scipy}"
    shown = processor if processor == "this one" else f"{processor}, emulated"
    return Row(f"{system_of(root)}, {libc}", python, libraries, shown, level, counted[0])


def pure(place, source):
    """Install refimpl alone from the source, train by it, and return the Row."""
    place.install(place.bring(source), MINIBATCH_GNN_PURE="1")
    words = ["train", "--impl", "refimpl", "--data", "karate", "--epochs", "2"]
    place.run([place.program("minibatch-gnn"), *words, "--out", place.inside("run")])
    python = place.run(
        [place.program("python"), "-c", "import platform as p; print(p.python_version())"]
    )
    system = system_of(place.root)
    return Row(system, python.strip(), "-", "this one", "none", "refimpl alone trains")


def system_of(root):
    """Return the name of a system, as it gives it itself."""
    release = Path(root or "/", "etc/os-release").read_text()
    name = re.search(r'^PRETTY_NAME="?(.*?)"?$', release, re.M)[1]
    return f"{name}, bare" if root else name
