"""A column's generalization tree, from what the policy says about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tclose.errors import HierarchyError
from tclose.hierarchy import Hierarchy, arx, build
from tclose.policy.model import HierarchySpec
from tclose.table.dictionary import as_text
from tclose.table.labels import is_label, span


def resolve(spec: HierarchySpec, column: str, values: Sequence[str], base: Path) -> Hierarchy:
    """The tree that a specification describes for a column with these values.

    >>> spec = HierarchySpec.model_validate({"prefix": [3, 0]})
    >>> resolve(spec, "zip", ["47677", "47905"], Path()).generalize("47677", 1)
    '476**'
    """
    if spec.kind == "file":
        assert spec.file is not None
        return arx.read(base / spec.file, column)
    if spec.groups is not None:
        return build.groups(spec.groups, column)
    leaves = list(dict.fromkeys(leaf for value in values if (leaf := _leaf(value, spec))))
    if not leaves:
        raise HierarchyError("no value to build it from", where=f"column {column!r}")
    if spec.prefix is not None:
        return build.prefixes(leaves, spec.prefix, column=column)
    if spec.intervals is not None:
        return build.intervals(leaves, spec.intervals, origin=spec.origin, column=column)
    if spec.cuts is not None:
        return build.cuts(leaves, spec.cuts, column=column)
    assert spec.dates is not None
    return build.dates(leaves, spec.dates, column=column)


def outside(hierarchy: Hierarchy, values: Sequence[str]) -> int:
    """How many values the tree does not know as a leaf, a node, or a generalized label."""
    return sum(not hierarchy.contains(value) and not is_label(value) for value in values)


def _leaf(value: str, spec: HierarchySpec) -> str | None:
    """A value the builder can start from: the value itself, or the low end of a label."""
    if spec.prefix is not None:
        return value if value.strip("*") else None
    if spec.dates is not None:
        return _first_day(value)
    interval = span(value)
    if interval is not None:
        end = interval.low if interval.low is not None else interval.high
        return None if end is None else as_text(float(end))
    return None if "*" in value else value


def _first_day(value: str) -> str | None:
    """The first day of a period that a date hierarchy's label names, or the value itself."""
    if "*" in value:
        return None
    if len(value) == 7 and value[5] == "Q":
        return f"{value[:4]}-{3 * int(value[6]) - 2:02d}-01"
    if len(value) == 7 and value[4] == "-":
        return f"{value}-01"
    if len(value) == 4 and value.isdigit():
        return f"{value}-01-01"
    if len(value) == 5 and value.endswith("0s"):
        return f"{value[:4]}-01-01"
    return value
