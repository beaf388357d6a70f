"""A process of ``python -m fuzz guided``: files of one format, kept where they reach new lines.

atheris must be there before what it watches is imported: nothing here imports it at once.
"""

import contextlib
import importlib.util
import io
import json
import random
import re
import signal
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

# What reads files, or checks what was read. Kernels that use it would have branches of their own.
READERS = (
    *("refimpl._check", "refimpl._reading", "refimpl._sources", "refimpl.graph", "refimpl.typed"),
    *("refimpl.history.cache", "refimpl.history.static_cache"),
    *("refimpl.lab.apps.conformance", "refimpl.lab.apps.predict"),
    *("refimpl.lab.apps.run", "refimpl.lab.apps.settings", "refimpl.lab.data", "refimpl.loader"),
    *("refimpl.lab.training.checkpoints", "refimpl.lab.training.config"),
    *("refimpl.lab.training.histories", "refimpl.lab.training.model", "refimpl.lab.training.npz"),
    *("refimpl.lab.training.settings", "refimpl.lab.training.starting"),
    "refimpl.lab.training.trainer",
)
LONGEST = 2**22  # bytes of a case


def main(form, folder, seconds, seed, limit, memory):
    """Try files for so many seconds; what is found goes to ``folder/found``, a line for each."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["refimpl", "zipfile"], exclude=no_readers()):
        loading = importlib.import_module("fuzz.loading")
    damage, folder, kinds = importlib.import_module("fuzz.damage"), Path(folder), set()
    warnings.simplefilter("ignore")
    tempfile.tempdir = str(folder / "work")
    Path(tempfile.tempdir).mkdir()
    loading.limit(int(float(memory) * 2**30))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process

    def one(data):
        if not data:  # libFuzzer begins with none
            return
        (folder / "asked").write_bytes(data)  # all that is left if the process ends
        gnn, unheard = loading.PACKAGES[zlib.crc32(data) % 2], io.StringIO()
        signal.setitimer(signal.ITIMER_PROF, float(limit))
        with contextlib.redirect_stdout(unheard), contextlib.redirect_stderr(unheard):
            said = loading.verdict(form, *unpacked(data), gnn)
        signal.setitimer(signal.ITIMER_PROF, 0)
        kind = re.sub(r"[\d.]+", "#", said)[:80]
        if said not in ("loaded", "refused") and kind not in kinds:
            kinds.add(kind)
            with (folder / "found").open("a") as file:
                file.write(json.dumps([said, data.decode()]) + "\n")

    def changed(data, most, seed):
        """Change one file, as the other fuzzer does or as libFuzzer does."""
        variant, files = unpacked(data)
        rng = random.Random(seed)
        if rng.random() < 0.5:
            files = damage.damaged(files, rng)
        else:
            name = rng.choice(sorted(files))
            files[name] = mutated(files[name], rng)
        new = packed(variant, files)
        return new if len(new) <= most else data

    def mutated(data, rng):
        """Let libFuzzer change bytes: in an archive those of a member, whose checksum is right."""

        def member(members, rng):
            at = rng.randrange(len(members))
            members[at] = (members[at][0], atheris.Mutate(members[at][1], LONGEST))
            return members

        if data.startswith(b"PK") and rng.random() < 0.9:
            with contextlib.suppress(Exception):  # an archive that is damaged already
                return damage.repacked(data, rng, member)
        return atheris.Mutate(data, LONGEST)

    flags = {"max_total_time": seconds, "seed": seed, "max_len": LONGEST, "len_control": 0}
    flags |= {"rss_limit_mb": 0, "artifact_prefix": f"{folder}/"}
    argv = ["guided", *(f"-{name}={value}" for name, value in flags.items())]
    atheris.Setup([*argv, str(folder / "corpus")], one, custom_mutator=changed)
    atheris.Fuzz()


def no_readers():
    """Return the names of all modules of refimpl that are not watched."""
    home = Path(importlib.util.find_spec("refimpl").origin).parent
    paths = (path.relative_to(home.parent).with_suffix("") for path in home.rglob("*.py"))
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return [name for name in names if not f"{name}.".startswith(tuple(f"{r}." for r in READERS))]


def packed(variant, files):
    """Return a case as bytes."""
    text = {name: content.decode("latin1") for name, content in files.items()}
    return json.dumps([variant, text], ensure_ascii=False).encode()


def unpacked(data):
    """Return (variant, files) of a case."""
    variant, text = json.loads(data)
    return variant, {name: content.encode("latin1") for name, content in text.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
