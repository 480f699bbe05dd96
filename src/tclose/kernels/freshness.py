"""Whether the compiled kernels are those of the sources beside them, and which of them run here.

In a checkout the sources may be edited after they were compiled; a stale kernel must never run. An
installed package has no sources beside its kernels, and nothing is looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

RECORD = "built.json"
LONGEST_BUILD = 900.0  # seconds
PLAIN = ("__init__.py", "freshness.py")  # modules that are not compiled
INTERPRETER = str(sysconfig.get_config_var("EXT_SUFFIX"))


def sources(kernels: Path) -> list[Path]:
    """The files that are compiled, in a fixed order."""
    found = [*kernels.glob("*/*.py"), *kernels.glob("*/*.pxd")]
    return sorted(path for path in found if path.name not in PLAIN)


def record(kernels: Path, mode: str) -> None:
    """Writes down what the kernels beside the sources were made from."""
    records = _records(kernels)
    records[INTERPRETER] = {"sources": _hash(kernels), "mode": mode}
    (kernels / RECORD).write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")


def ensure_fresh(kernels: Path) -> None:
    """Compiles the kernels again where their sources have changed since, or says how to."""
    if not any(kernels.glob("*/*.pxd")) or _is_fresh(kernels):
        return
    try:
        with _only_one(kernels.parents[2] / "build" / "kernels-compiling.lock"):
            if not _is_fresh(kernels):
                _rebuild(kernels, _records(kernels).get(INTERPRETER, {}).get("mode", "native"))
    except OSError as error:  # such as a checkout that this user may only read
        reason = "the compiled kernels are older than their sources and cannot be compiled here"
        raise ImportError(f"{reason}: {error.strerror or type(error).__name__}") from None


def _is_fresh(kernels: Path) -> bool:
    return _records(kernels).get(INTERPRETER, {}).get("sources") == _hash(kernels)


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Waits until no other process compiles; the system frees the lock of one that was killed."""
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                with suppress(OSError):  # it gives up after ten seconds
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _rebuild(kernels: Path, mode: str) -> None:
    top = kernels.parents[2]
    print("tclose: the kernels have changed, compiling them (about a minute)", file=sys.stderr)
    environment = {**os.environ, "TCLOSE_KERNELS": os.environ.get("TCLOSE_KERNELS", mode)}
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=top, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise ImportError(
            "the compiled kernels are older than their sources and could not be compiled again; "
            f"run `pip install -e .` in the checkout\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )


def _records(kernels: Path) -> dict[str, dict[str, str]]:
    try:
        return dict(json.loads((kernels / RECORD).read_text()))
    except (OSError, TypeError, ValueError):
        return {}


def _hash(kernels: Path) -> str:
    whole = hashlib.sha256()
    for path in [kernels.parents[2] / "setup.py", *sources(kernels)]:
        whole.update(f"{path.relative_to(kernels.parents[2]).as_posix()}\0".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def variant_path(package: list[str]) -> list[str]:
    """Where the modules of a folder are looked for: in wheels first those for this processor."""
    folder = Path(package[0]) / "x86_64_v3"
    if folder.is_dir() and _is_x86_64_v3():
        return [str(folder), *package]
    return package


def _is_x86_64_v3() -> bool:
    from numpy._core._multiarray_umath import __cpu_features__ as has  # type: ignore[attr-defined]

    return all(has.get(name, False) for name in ("AVX2", "FMA3", "F16C"))
