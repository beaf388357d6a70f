"""The extension build; everything else about the project is in pyproject.toml."""

import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

OPENMP = os.environ.get("MINIBATCH_GNN_OPENMP", "auto")  # auto | require | off
PURE = os.environ.get("MINIBATCH_GNN_PURE", "0")  # "1": refimpl alone, for any machine
CHECKED = os.environ.get("MINIBATCH_GNN_CHECKED") == "1"  # bounds-checked kernels, for the tests
SANITIZERS = {"0": "", "1": "address,undefined", "thread": "thread"}
SANITIZE = os.environ.get("MINIBATCH_GNN_SANITIZE", "0")
# The compiler's -march, or "default" for none. Of several the first is for every processor, and the
# others are levels of x86-64 from which fastimpl/_levels.py chooses at import:
# x86-64-v2,x86-64-v3,x86-64-v4 in wheels.
ARCH, *LEVELS = os.environ.get("MINIBATCH_GNN_ARCH", "native").split(",")
ADDRESS = os.environ.get("MINIBATCH_GNN_URL", "").rstrip("/")  # of the repository on the web
LEVEL_FOLDER = "build/levels"  # of C files: object files are named after theirs
DIRECTIVES = {"language_level": 3, "wraparound": False, "cdivision": True, "embedsignature": False}
DIRECTIVES |= {"boundscheck": CHECKED, "initializedcheck": CHECKED}
DIRECTIVES["freethreading_compatible"] = True  # what threads share has locks, or is one thread's
SOURCES = (".pyx", ".pxd", ".h")
SHARED = "fastimpl._cython_shared"  # Cython's code for memoryviews, else repeated in every module
# Nothing in these is faster on a newer processor: they call others, ask the system, or jump a lot.
ONE_LEVEL = [
    "_blas",
    "_buffers",
    "_forks",
    "_interrupts",
    "_memory",
    "_symmetry",
    "samplers._alias",
]
ONE_LEVEL = [f"fastimpl.{name}" for name in ONE_LEVEL]
ANY = (SHARED, "fastimpl._processor")  # for any processor, which they say is the wrong one
FEATURES = (
    "sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 bmi bmi2 fma avx512f avx512bw avx512cd avx512dq "
)
FEATURES += "avx512vl avx512ifma avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq"

if OPENMP not in ("auto", "require", "off"):
    raise SystemExit(f"MINIBATCH_GNN_OPENMP must be auto, require or off, got {OPENMP!r}")
if PURE not in ("0", "1"):
    raise SystemExit(f"MINIBATCH_GNN_PURE must be 0 or 1, got {PURE!r}")
if not set(LEVELS) <= {"x86-64-v3", "x86-64-v4"}:
    raise SystemExit(f"MINIBATCH_GNN_ARCH has x86-64-v3 and x86-64-v4 as levels, got {LEVELS}")
if SANITIZE not in SANITIZERS:
    raise SystemExit(f"MINIBATCH_GNN_SANITIZE must be 0, 1 or thread, got {SANITIZE!r}")


class BuildExt(build_ext):
    """Translate and compile in parallel, with the flags that the compiler knows."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        if self.editable_mode:  # not in a temporary folder: the next install compiles what changed
            self.build_lib = f"build/lib.{self.plat_name}-{sys.implementation.cache_tag}"

    def build_extensions(self):
        if not self.works([]) and OPENMP != "require":
            self.warn(
                "no C compiler: only refimpl will work, as fastimpl's kernels are not compiled. "
                "Install one (Debian: apt install gcc python3-dev; macOS: xcode-select --install; "
                "Windows: the Visual C++ build tools) and install again, or set "
                "MINIBATCH_GNN_PURE=1 to install refimpl alone."
            )
            self.extensions = []
        else:
            self.add_flags()
            # beside the folder, all of which is installed
            stamp, made_of = Path(f"{self.build_lib}.made_of.txt"), self.made_of()
            before = stamp.read_text().split("\n") if stamp.exists() else ["", ""]
            if before == made_of and all(map(os.path.exists, self.get_outputs())):
                return
            self.force = self.force or before[0] != made_of[0]
            stamp.unlink(missing_ok=True)
            self.translate()
            for folder in ("fastimpl", f"{self.build_lib}/fastimpl"):  # of an earlier build
                for level in Path(folder, "_levels").glob("*"):
                    if level.name not in LEVELS:
                        shutil.rmtree(level)
            super().build_extensions()
            stamp.write_text("\n".join(made_of))

    def made_of(self):
        """Return compiler, processor and flags, and a digest of sources, whose times are new."""
        digest = hashlib.blake2b(Cython.__version__.encode())
        for path in sorted(p for p in Path("fastimpl").rglob("*") if p.suffix in SOURCES):
            digest.update(path.as_posix().encode() + path.read_bytes())
        flags = [ext.extra_compile_args + ext.extra_link_args for ext in self.extensions]
        compiler = getattr(self.compiler, "compiler_so", self.compiler.compiler_type)
        return [f"{compiler} {processor()} {DIRECTIVES} {flags}", digest.hexdigest()]

    def add_flags(self):
        """Add the flags that depend on the compiler."""
        compile_args, link_args = [], []
        if self.compiler.compiler_type == "msvc":
            openmp = ["/openmp"], []
            compile_args += ["/O2", "/fp:precise", "/std:c11"]  # which has `restrict`
        else:
            openmp = ["-fopenmp"], ["-fopenmp"]
            # no contraction: a product is rounded before it is added, as in the reference
            compile_args += ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]
            compile_args += ["-Wno-unused-function"]
            in_place = self.editable_mode or self.inplace  # perf shows names in a checkout
            if not in_place and SANITIZE == "0":  # a wheel is to be small
                link_args += ["-Wl,-s"] * self.works([], ["-Wl,-s"])
                for flag in ("-fno-asynchronous-unwind-tables", "-fno-plt"):
                    compile_args += [flag] * self.works([flag])
        if SANITIZERS[SANITIZE]:  # and what is undefined ends the program
            link_args += [f"-fsanitize={SANITIZERS[SANITIZE]}", "-fno-sanitize-recover=all"]
            compile_args += [*link_args, "-fno-omit-frame-pointer", "-g", "-O1"]
            compile_args += ["-fno-wrapv"]  # else Python's own -fwrapv defines a signed overflow
        if OPENMP != "off":
            if self.works(*openmp):
                compile_args, link_args = compile_args + openmp[0], link_args + openmp[1]
            elif OPENMP == "require":
                raise CompileError("MINIBATCH_GNN_OPENMP=require, but OpenMP does not compile")
            else:
                self.warn("no OpenMP: fastimpl will use one thread (see fastimpl.build_info())")
        arch = self.arch_args()
        for ext in self.extensions:
            ext.extra_compile_args += compile_args
            ext.extra_link_args += link_args
            if level := level_of(ext):
                ext.extra_compile_args += [f"-march={level}"]
            elif ext.name not in ANY:
                ext.extra_compile_args += arch
            elif ext.name != SHARED and arch:
                ext.extra_compile_args += [f"-DGNN_ARCH={ARCH}", self.needs(arch)]

    def arch_args(self):
        """Return the flags that name the processor; none where "native" means nothing."""
        if ARCH == "default":
            return []
        known = self.compiler.compiler_type != "msvc"
        known = known and all(self.works([f"-march={name}"]) for name in (ARCH, *LEVELS))
        if not known and (ARCH != "native" or LEVELS):
            raise CompileError(f"MINIBATCH_GNN_ARCH: the compiler knows not all of {ARCH, *LEVELS}")
        asked = " + ".join(f'__builtin_cpu_supports("{level}")' for level in LEVELS)
        if LEVELS and not self.works([], value=asked):  # none would ever be chosen at import
            raise CompileError(
                f"MINIBATCH_GNN_ARCH: what this compiler makes cannot tell which of {LEVELS} a "
                f"processor has; take GCC 12, clang 18 or newer, or no levels: {ARCH}"
            )
        return [f"-march={ARCH}"] if known else []

    def needs(self, arch):
        """Return the definition of GNN_NEEDS(X): X("avx2") and so on for what `arch` may use."""
        lines = [
            f"#ifdef __{name.upper().replace('.', '_')}__\nneeds {name}\n#endif\n"
            for name in FEATURES.split()
        ]
        with tempfile.TemporaryDirectory() as tmp:
            probe, found = Path(tmp, "probe.c"), Path(tmp, "probe.i")
            probe.write_text("".join(lines))
            self.compiler.preprocess(str(probe), str(found), extra_postargs=arch)
            needed = [line[6:] for line in found.read_text().split("\n") if line[:6] == "needs "]
        return "-DGNN_NEEDS(X)=" + "".join(f'X("{name}")' for name in needed)

    def translate(self):
        """Make the C files, as many at a time as there are processors, and copies for levels."""
        kernels = [ext for ext in self.extensions if not level_of(ext)]
        options = {"nthreads": self.parallel, "force": self.force}
        options |= {"shared_utility_qualified_name": SHARED, "include_path": ["fastimpl/_declared"]}
        in_c = cythonize(kernels, compiler_directives=DIRECTIVES, **options)
        for ext, translated in zip(kernels, in_c, strict=True):
            ext.sources = translated.sources
        for ext in self.extensions:
            if level := level_of(ext):
                target = Path(ext.sources[0])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(target.relative_to(Path(LEVEL_FOLDER, level)).read_bytes())
                Path(self.get_ext_fullpath(ext.name)).parent.mkdir(parents=True, exist_ok=True)

    def copy_extensions_to_source(self):
        for ext in self.extensions:  # the folder of a level is not there in a fresh checkout
            Path(*ext.name.split(".")).parent.mkdir(parents=True, exist_ok=True)
        super().copy_extensions_to_source()

    def works(self, compile_args, link_args=(), value="0"):
        """Whether a program compiles and links with these flags, which returns a value."""
        with tempfile.TemporaryDirectory() as tmp:
            probe = Path(tmp, "probe.c")
            openmp = any("openmp" in arg for arg in [*compile_args, *link_args])
            header = "#include <omp.h>\n" if openmp else ""
            probe.write_text(header + f"int main(void) {{ return {value}; }}\n")
            try:
                objects = self.compiler.compile([str(probe)], tmp, extra_postargs=compile_args)
                self.compiler.link_executable(
                    objects, str(Path(tmp, "probe")), extra_postargs=list(link_args)
                )
            except (CompileError, LinkError):
                return False
        return True


def at_level(ext, level):
    """Return the Extension of the same module for a level, which has a copy of its C file."""
    package, *parts = ext.name.split(".")
    source = Path(LEVEL_FOLDER, level, package, *parts).with_suffix(".c").as_posix()
    name = ".".join([package, "_levels", level, *parts])
    return Extension(name, [source], include_dirs=["."], depends=ext.depends)


def level_of(ext):
    """Return the level that an Extension is for, None for those that all processors run."""
    _, folder, level, *_ = [*ext.name.split("."), "", "", ""]
    return level if folder == "_levels" and level else None


def readme(address, version):
    """Return the README; with an address, links and pictures lead there, as on GitHub."""
    text = Path("README.md").read_text(encoding="utf-8")
    if not address:
        return text

    def absolute(link):
        mark, label, path = link.groups()
        return f"{mark}[{label}]({address}/{'raw' if mark else 'blob'}/v{version}/{path})"

    return re.sub(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]+)\)", absolute, text)


def processor():
    """Return what -march=native depends on, where the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((one for one in lines if one.startswith(("flags", "Features"))), platform.machine())


if __name__ == "__main__":  # a process of cythonize's may import this file
    sources = [SHARED.replace(".", "/") + ".c"]  # takes longest: first
    sources += [path.as_posix() for path in sorted(Path("fastimpl").rglob("_*.pyx"))]
    headers = [path.as_posix() for path in sorted(Path("fastimpl").rglob("*.h"))]
    settings = {"include_dirs": ["."], "depends": headers}  # one may be included by another
    kernels = [
        Extension(source.rpartition(".")[0].replace("/", "."), [source], **settings)
        for source in sources
    ]
    faster = [ext for ext in kernels if ext.name not in [*ONE_LEVEL, *ANY]]
    kernels += [at_level(ext, level) for level in LEVELS for ext in faster]
    (version,) = re.findall('__version__ = "(.*)"', Path("refimpl/_version.py").read_text())
    setup(
        ext_modules=[] if PURE == "1" else kernels,
        cmdclass={"build_ext": BuildExt},
        long_description=readme(ADDRESS, version),
        long_description_content_type="text/markdown",
        project_urls={"Source": ADDRESS} if ADDRESS else {},
    )
