"""How errors of this room say where they happened: column, line, level; never a label."""

from __future__ import annotations


def place(column: str, *, line: int | None = None, level: int | None = None) -> str:
    """Name a place in a hierarchy without quoting what stands there.

    >>> place("age", line=3, level=1)
    "hierarchy of column 'age', line 3, level 1"
    """
    parts = [f"hierarchy of column {column!r}"]
    if line is not None:
        parts.append(f"line {line}")
    if level is not None:
        parts.append(f"level {level}")
    return ", ".join(parts)
