"""The extension build; everything else about the project is in pyproject.toml."""

import hashlib
import os
import tempfile
from pathlib import Path

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError
from setuptools.modified import newer_group

if int(setuptools.__version__.split(".")[0]) < 77:  # older ones cannot read pyproject.toml
    raise SystemExit(
        f"setup.py needs setuptools 77 or newer, this is {setuptools.__version__}; "
        "install it with: python -m pip install -U 'setuptools>=77' 'Cython>=3.1,<4'"
    )


def switch(name, accepted):
    """Return the value of an environment variable, by default the first of those accepted."""
    value = os.environ.get(name, accepted[0])
    if value not in accepted:
        raise SystemExit(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
    return value


OPENMP = switch("MINIBATCH_GNN_OPENMP", ["auto", "require", "off"])
PURE = switch("MINIBATCH_GNN_PURE", ["0", "1"]) == "1"  # refimpl alone, for any machine
CHECKED = switch("MINIBATCH_GNN_CHECKED", ["0", "1"]) == "1"  # bounds-checked, for the tests
SANITIZERS = {"0": "", "1": "address,undefined", "thread": "thread"}
SANITIZE = SANITIZERS[switch("MINIBATCH_GNN_SANITIZE", list(SANITIZERS))]
ARCH = os.environ.get("MINIBATCH_GNN_ARCH", "native")  # the compiler's -march, "default" for none
DIRECTIVES = {"language_level": 3, "wraparound": False, "cdivision": True, "embedsignature": False}
DIRECTIVES |= {"boundscheck": CHECKED, "initializedcheck": CHECKED}
DIRECTIVES["freethreading_compatible"] = True  # what threads share has locks, or is one thread's
SHARED = "fastimpl._cython_shared"  # Cython's code for memoryviews, else repeated in every module
ANY = (SHARED, "fastimpl._build")  # for any processor, which `_build` says is the wrong one
CLONES = '#define GNN_CLONED\n#include "fastimpl/_clones.h"\nGNN_CLONES int f(void) { return 0; }'


class BuildExt(build_ext):
    """Translate and compile in parallel what changed, with the flags that the compiler knows."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        self.is_kept = self.editable_mode or self.inplace

    def build_extensions(self):
        if not self.works([]) and OPENMP != "require":
            self.warn(
                "no C compiler: only refimpl will work, as fastimpl's kernels are not compiled. "
                "Install one (Debian: apt install gcc python3-dev; macOS: xcode-select --install; "
                "Windows: the Visual C++ build tools) and install again, or set "
                "MINIBATCH_GNN_PURE=1 to install refimpl alone."
            )
            self.extensions = []
            return
        import Cython
        from Cython.Build import cythonize

        self.add_flags()
        if self.is_kept:  # a folder for each set of flags: the next build compiles what changed
            flags = sorted({f"{e.extra_compile_args} {e.extra_link_args}" for e in self.extensions})
            compiler = getattr(self.compiler, "compiler_so", ""), processor()
            used = f"{Cython.__version__} {DIRECTIVES} {compiler} {flags}".encode()
            self.build_lib = f"build/kernels-{hashlib.blake2b(used, digest_size=8).hexdigest()}"
        every, options = self.extensions, {"nthreads": self.parallel, "force": True}
        options |= {"shared_utility_qualified_name": SHARED, "include_path": ["fastimpl/_declared"]}
        self.extensions = [
            ext
            for ext in every
            if self.force
            or newer_group(ext.sources + ext.depends, self.get_ext_fullpath(ext.name), "newer")
        ]
        in_c = cythonize(self.extensions, compiler_directives=DIRECTIVES, **options)
        for ext, translated in zip(self.extensions, in_c, strict=True):
            ext.sources = translated.sources
        super().build_extensions()
        self.extensions = every  # all of them are copied beside their sources

    def add_flags(self):
        """Add the flags that depend on the compiler."""
        compile_args, link_args, arch, build = [], [], [], []
        if self.compiler.compiler_type == "msvc":
            openmp = ["/openmp"], []
            compile_args += ["/O2", "/fp:precise", "/std:c11"]  # which has `restrict`
        else:
            openmp = ["-fopenmp"], ["-fopenmp"]
            # no contraction: a product is rounded before it is added, as in the reference
            compile_args += ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]
            compile_args += ["-Wno-unused-function"]
        if SANITIZE:  # and what is undefined ends the program
            link_args += [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
            compile_args += [*link_args, "-fno-omit-frame-pointer", "-g", "-O1"]
            compile_args += ["-fno-wrapv"]  # else Python's own -fwrapv defines a signed overflow
        if OPENMP != "off":
            if self.works(*openmp, "#include <omp.h>"):
                compile_args, link_args = compile_args + openmp[0], link_args + openmp[1]
            elif OPENMP == "require":
                raise CompileError("MINIBATCH_GNN_OPENMP=require, but OpenMP does not compile")
            else:
                self.warn("no OpenMP: fastimpl will use one thread (see fastimpl.build_info())")
        known = self.compiler.compiler_type != "msvc" and self.works([f"-march={ARCH}"])
        if ARCH != "default" and known:
            arch, build = [f"-march={ARCH}"], [f'-DGNN_ARCH="{ARCH}"']
        elif ARCH not in ("default", "native"):
            raise CompileError(f"MINIBATCH_GNN_ARCH: the compiler does not know -march={ARCH}")
        if ARCH != "native" and not SANITIZE and self.works([], source=CLONES):
            compile_args += ["-DGNN_CLONED"]
        for needed in ("avx512f", "avx2", "sse4.2"):  # the first for which the compiler has a macro
            macro = f"__{needed.upper().replace('.', '_')}__"
            if arch and self.works(arch, source=f"int f(void) {{ return {macro}; }}"):
                build += [f'-DGNN_NEEDS="{needed}"']
                break
        for ext in self.extensions:
            ext.extra_compile_args += compile_args + (build if ext.name in ANY else arch)
            ext.extra_link_args += link_args

    def works(self, compile_args, link_args=(), source=""):
        """Whether a program with some source compiles and links with these flags."""
        with tempfile.TemporaryDirectory() as tmp:
            probe = Path(tmp, "probe.c")
            probe.write_text(f"{source}\nint main(void) {{ return 0; }}\n")
            try:
                objects = self.compiler.compile(
                    [str(probe)], tmp, include_dirs=["."], extra_postargs=compile_args
                )
                self.compiler.link_executable(
                    objects, str(Path(tmp, "probe")), extra_postargs=list(link_args)
                )
            except (CompileError, LinkError):
                return False
        return True


def processor():
    """Return what -march=native depends on, where the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((one for one in lines if one.startswith(("flags", "Features"))), "")


if __name__ == "__main__":  # a process of cythonize's may import this file
    sources = [SHARED.replace(".", "/") + ".c"]  # takes longest: first
    sources += [path.as_posix() for path in sorted(Path("fastimpl").rglob("_*.pyx"))]
    declared = [*Path("fastimpl").rglob("*.pxd"), *Path("fastimpl").rglob("*.h")]
    settings = {"include_dirs": ["."], "depends": list(map(str, declared))}  # of all modules
    kernels = [
        Extension(source.rpartition(".")[0].replace("/", "."), [source], **settings)
        for source in sources
    ]
    setup(ext_modules=[] if PURE else kernels, cmdclass={"build_ext": BuildExt})
