"""Where a wheel is tried: fresh virtual environments without a compiler on the path."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang", "c99", "cl")
KEPT = ("PIP_", "HTTP", "http", "no_proxy", "NO_PROXY", "SSL_")  # settings of pip and the network
NEEDED = ["pytest", "hypothesis", "networkx"]  # by the tests that are run
PACKAGES = ("refimpl", "fastimpl")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class Failed(Exception):
    """A program failed; the message holds what it said last."""


class Place:
    """A fresh virtual environment of an interpreter, and the tests of a source distribution.

    Parameters
    ----------
    python : str
        The interpreter, a path within the root.
    folder : Path
        Of the environment, below the root; made anew.
    root : Path, optional
        Of another system, made by debootstrap, for which one has to be root.
    """

    def __init__(self, python, folder, root=None):
        self.root, self.python, self.folder = root, python, folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if root is not None:  # as a container would be given them
            for shared in (Path("/etc/resolv.conf"), CERTIFICATES):
                root.joinpath(*shared.parts[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(shared, root.joinpath(*shared.parts[1:]))
        self.run([python, "-m", "venv", self.inside("venv")], path=None)
        for name in COMPILERS:
            if root is None and shutil.which(name, path=str(folder / "venv" / "bin")):
                raise Failed(f"{name} is on the path of {folder}")

    def inside(self, *parts):
        """Return the path of something in the folder, as programs of the place see it."""
        path = self.folder.joinpath(*parts)
        return "/" + str(path.relative_to(self.root)) if self.root else str(path)

    def run(self, command, *, path="", prefix=(), **settings):
        """Run a program of the place; return what it prints.

        Raises
        ------
        Failed
            If its exit status is not 0.
        """
        env = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
        env["PATH"] = self.inside("venv", "bin") if path is not None else "/usr/bin:/bin"
        env |= {
            "HOME": self.inside(),
            "OMP_WAIT_POLICY": "passive",
            "LC_ALL": "C.UTF-8",
            **settings,
        }
        chroot = ["/usr/sbin/chroot", str(self.root)] if self.root else []
        done = subprocess.run(
            [*chroot, *prefix, *command],
            env=env,
            cwd=self.folder if self.root is None else None,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode:
            raise Failed(f"{' '.join(map(str, command))}:\n{done.stdout[-3000:]}")
        return done.stdout

    def program(self, name):
        """Return the path of a program of the environment."""
        return self.inside("venv", "bin", name)

    def install(self, *requirements, **settings):
        """Install by pip; what is no wheel must be one of ours."""
        wheels_only = "--only-binary=:all:" if not settings else "--only-binary=numpy,scipy"
        pip = [self.program("python"), "-m", "pip", "install", "-q", wheels_only]
        return self.run([*pip, *requirements], **settings)

    def bring(self, path):
        """Copy a file into the place; return its path there."""
        shutil.copy(path, self.folder / path.name)
        return self.inside(path.name)

    def unpack_tests(self, source):
        """Unpack a source distribution, without the packages: the installed ones are tested."""
        with tarfile.open(source) as archive:
            archive.extractall(self.folder, filter="data")
        (unpacked,) = self.folder.glob("minibatch_gnn-*/")
        for name in PACKAGES:
            shutil.rmtree(unpacked / name)
        unpacked.rename(self.folder / "source")

    def test(self, files, *, prefix=(), **settings):
        """Run tests of the source distribution; return pytest's last line."""
        start = [self.program("python"), self.program("pytest"), "-q", "-p", "no:cacheprovider"]
        start += ["--rootdir", self.inside("source"), "-c", self.inside("source", "pyproject.toml")]
        names = [self.inside("source", "tests", name) for name in files]
        return self.run([*start, *names], prefix=prefix, **settings).strip().splitlines()[-1]
