"""Builds and tries the source archive under every Python here: python tools/try_pythons.py [FOLDER]

For each version from 3.11 on that is found (on the PATH, or kept by pyenv): a wheel is built from
the archive alone, installed into an empty environment, and makes the made-up hospital's release.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import package

LEAST = (3, 11)


def find_pythons() -> dict[tuple[int, int], str]:
    """An interpreter that runs for each version, the first that is found."""
    found: dict[tuple[int, int], str] = {}
    for candidate in list_candidates():
        code = "import sys; print(*sys.version_info[:2])"
        try:
            told = subprocess.run([candidate, "-c", code], capture_output=True, text=True)
        except OSError:
            continue
        if numbers := re.fullmatch(r"(\d+) (\d+)\n", told.stdout):
            version = (int(numbers[1]), int(numbers[2]))
            if version >= LEAST:
                found.setdefault(version, candidate)
    return dict(sorted(found.items()))


def list_candidates() -> Iterator[str]:
    """Names and places where an interpreter may be."""
    yield sys.executable
    yield from (f"python3.{minor}" for minor in range(LEAST[1], 20))
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from map(str, sorted(kept.glob("*/bin/python")))


def try_python(python: str, archive: Path, folder: Path) -> Path:
    """Builds a wheel with one interpreter and tries it in an empty environment; the wheel."""
    package.run([python, "-m", "venv", str(folder / "builder")], folder)
    package.run([python, "-m", "venv", str(folder / "empty")], folder)
    quiet = "-m pip --quiet --disable-pip-version-check".split()
    builder, empty = (folder / name / "bin" / "python" for name in ("builder", "empty"))
    wheels = folder / "wheels"
    package.run(
        [str(builder), *quiet, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(archive)],
        folder, TCLOSE_KERNELS="portable",
    )  # fmt: skip
    (wheel,) = wheels.glob("*.whl")
    package.run([str(empty), *quiet, "install", str(wheel)], folder)
    program = str(folder / "empty" / "bin" / "tclose")
    package.run([program, "demo", "--output", "demo", "--rows", "500", "--effort", "1"], folder)
    return wheel


def main(target: Path) -> None:
    """Tries every Python and keeps the wheels."""
    target.mkdir(parents=True, exist_ok=True)
    archive = package.build_source_archive(target, package.find_epoch())
    for version, python in find_pythons().items():
        with tempfile.TemporaryDirectory() as made:
            wheel = try_python(python, archive, Path(made))
            (target / wheel.name).write_bytes(wheel.read_bytes())
            print(f"Python {version[0]}.{version[1]}: {wheel.name}, installed and tried")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "dist").resolve())
