"""A column's generalization tree, from what the policy says about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.labels import coverage, is_label, raw_values
from tclose.data.io.records import json_hash
from tclose.hierarchy import Hierarchy, arx, build
from tclose.policy.model import HierarchySpec


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
    leaves = list(dict.fromkeys(leaf for value in values for leaf in _leaves(value, spec)))
    if not leaves:
        return Hierarchy.from_chains([["*"]], column)
    if spec.prefix is not None:
        return build.prefixes(leaves, spec.prefix, column=column)
    if spec.intervals is not None:
        return build.intervals(leaves, spec.intervals, origin=spec.origin, column=column)
    if spec.cuts is not None:
        return build.cuts(leaves, spec.cuts, column=column)
    assert spec.dates is not None
    return build.dates(leaves, spec.dates, column=column)


def find_covered(label: str, values: Sequence[str], tree: Hierarchy | None) -> NDArray[np.bool_]:
    """Which raw values lie under a released one: by its form, or below it in the hierarchy.

    >>> find_covered("[20, 30]", ["19", "20", "30"], None).tolist()
    [False, True, True]
    """
    below: set[str] = set()
    if tree is not None and tree.contains(label):
        below = {tree.labels[int(leaf)] for leaf in tree.leaves_below(tree.index(label))}
    fits = coverage(label)
    return np.array([value in below or fits(value) for value in values], dtype=np.bool_)


def count_unknown(hierarchy: Hierarchy, values: Sequence[str]) -> int:
    """How many values the tree does not know as a leaf, a node, or a generalized label."""
    return sum(not hierarchy.contains(value) and not is_label(value) for value in values)


def hash_hierarchy(tree: Hierarchy) -> str:
    """The sha256 of a hierarchy: of its labels and what stands above each."""
    return json_hash([list(tree.labels), tree.parent.tolist()])


def _leaves(value: str, spec: HierarchySpec) -> list[str]:
    """Values that a builder can start from: the value itself, or those that a label names."""
    if spec.prefix is not None:
        # Any text may have its beginning kept: the postcode 00-950 is no interval here.
        return [value.replace("*", "0")] if value.strip("*") else []
    named = raw_values(value)
    if spec.dates is not None:
        return [day for value in named if (day := _first_day(value))]
    return [value for value in named if "*" not in value]


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
