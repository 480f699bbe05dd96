"""Builds the compiled kernels; everything else about the package is in pyproject.toml.

TCLOSE_KERNELS chooses how they are built:

native    for the machine that builds them (what building from source does)
portable  for any machine of the same kind, with faster variants chosen at run time (wheels)
checked   with every access to memory and every integer operation checked (`make test-checked`)
"""

import json
import os
import platform
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CCompilerError, CompileError, ExecError, PlatformError

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "src" / "tclose" / "kernels"
sys.path.insert(0, str(KERNELS))
from freshness import record, sources  # noqa: E402  (a plain module, before anything is compiled)

MODE = os.environ.get("TCLOSE_KERNELS", "native")
if MODE not in ("native", "portable", "checked"):
    sys.exit(f"TCLOSE_KERNELS={MODE}: choose native, portable or checked")
X86 = platform.machine().lower() in ("x86_64", "amd64")
VARIANTS = {"x86_64_v3": ["-march=x86-64-v3"]} if MODE == "portable" and X86 else {}
"""Folders of further builds in a wheel, and their flags."""

EXACT = ["-O3", "-ffp-contract=off", "-fno-semantic-interposition"]
"""No fused multiply-add: equal input gives equal bytes on every machine and with every variant."""
FLAGS = {
    "native": [*EXACT, "-march=native"],
    "portable": EXACT,
    "checked": [
        "-O1", "-g", "-ffp-contract=off", "-fno-omit-frame-pointer",
        "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
    ],
}  # fmt: skip
DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,
    "boundscheck": MODE == "checked",
    "wraparound": False,
    "initializedcheck": MODE == "checked",
    "cdivision": True,
    "nonecheck": False,
    "auto_pickle": False,
}

NO_COMPILER = """
tclose is built from source here, which needs a C compiler, and none works. Install one:
  Debian, Ubuntu   apt install build-essential
  Fedora, RHEL     dnf install gcc
  macOS            xcode-select --install
  Windows          the C++ build tools of Visual Studio
Or install a wheel, which needs none: pip install --only-binary tclose tclose
"""


def touch_changed_sources() -> None:
    """Makes sources newer than what was made from others of their name, whatever their dates.

    Files are dated by when they were written, also where an older version was brought back.
    """
    made_from = HERE / "build" / f"sources-{MODE}.json"
    now = {str(path): sha256(path.read_bytes()).hexdigest() for path in sources(KERNELS)}
    before = json.loads(made_from.read_text()) if made_from.exists() else {}
    for path, content in now.items():
        if before.get(path) != content:
            os.utime(path)
    made_from.parent.mkdir(exist_ok=True)
    made_from.write_text(json.dumps(now))


def extensions() -> list[Extension]:
    """One extension for each module of the kernels that is compiled."""
    return [
        Extension(
            ".".join(path.relative_to(HERE / "src").with_suffix("").parts),
            [str(path.relative_to(HERE))],
            extra_link_args=["-fsanitize=address,undefined"] if MODE == "checked" else [],
        )
        for path in sources(KERNELS)
        if path.suffix == ".py"
    ]


class BuildKernels(build_ext):
    """Compiles the kernels, for a wheel several times; says what to install where that fails."""

    def finalize_options(self) -> None:
        """Compiles on all cores."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        """Compiles, and records what the result was made from."""
        try:
            super().run()
        except (CCompilerError, CompileError, ExecError, PlatformError, OSError) as error:
            if self._compiles_nothing():
                raise SystemExit(f"{error}\n{NO_COMPILER}") from error
            raise
        if self.inplace:
            record(KERNELS, MODE)

    def build_extensions(self) -> None:
        """Sets the flags that this compiler understands, then builds all variants."""
        msvc = self.compiler.compiler_type == "msvc"
        for extension in self.extensions:
            extension.extra_compile_args = ["/O2", "/fp:precise"] if msvc else list(FLAGS[MODE])
        super().build_extensions()
        for folder, flags in {} if msvc else VARIANTS.items():
            self._build_variant(folder, flags)

    def _build_variant(self, folder: str, flags: list[str]) -> None:
        """The same kernels once more, in a folder of their own beside the first."""
        plain_path, plain_temp = self.get_ext_fullpath, self.build_temp

        def variant_path(name: str) -> str:
            path = Path(plain_path(name))
            return str(path.parent / folder / path.name)

        self.build_temp = str(Path(plain_temp) / folder)
        self.get_ext_fullpath = variant_path
        for extension in self.extensions:
            extension.extra_compile_args = [*EXACT, *flags]
        super().build_extensions()
        self.get_ext_fullpath, self.build_temp = plain_path, plain_temp

    def _compiles_nothing(self) -> bool:
        """Whether there is no compiler that could be run at all."""
        command = getattr(getattr(self, "compiler", None), "compiler", None) or ["cc"]
        try:
            return subprocess.run([command[0], "--version"], capture_output=True).returncode != 0
        except OSError:
            return True


class BuildPython(build_py):
    """Leaves the sources of compiled modules out: an installed package has them compiled only."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of a package that are run as they are."""
        compiled = {path.resolve() for path in sources(KERNELS)}
        found = super().find_package_modules(package, package_dir)
        return [module for module in found if Path(module[2]).resolve() not in compiled]


touch_changed_sources()
setup(
    ext_modules=cythonize(
        extensions(),
        build_dir=f"build/cython-{MODE}",
        include_path=["src"],
        compiler_directives=DIRECTIVES,
        nthreads=0,
        quiet=True,
    ),
    cmdclass={"build_ext": BuildKernels, "build_py": BuildPython},
)
