"""All compiled code: the innermost loops of searches and distances, in typed Python for Cython.

Modules are compiled ahead of time, when the package is built, and know arrays and numbers only.
Memory is handed in as arrays, whose owners keep them alive, or kept in a `Memory`; it is
reached by plain pointers with named fields. Nothing here takes the interpreter's lock in a loop.
"""

from pathlib import Path

from tclose.kernels.freshness import ensure_fresh

ensure_fresh(Path(__file__).parent)


def variant_path(package: list[str]) -> list[str]:
    """Where the modules of a folder are looked for: in wheels first those for this processor."""
    folder = Path(package[0]) / "x86_64_v3"
    if folder.is_dir() and _is_x86_64_v3():
        return [str(folder), *package]
    return package


def _is_x86_64_v3() -> bool:
    from numpy._core._multiarray_umath import __cpu_features__ as has  # type: ignore[attr-defined]

    return all(has.get(name, False) for name in ("AVX2", "FMA3", "F16C"))
