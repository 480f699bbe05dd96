"""Similarity: classes whose values differ, but mean the same (Li et al. 2007).

With a hierarchy: classes whose values all lie in one group, level by level. With an order alone:
classes whose values all lie within a quarter of the attribute's range of places.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, flag_classes, rank_worst
from tclose.data.encode.classes import Classes, Tally
from tclose.hierarchy import Hierarchy
from tclose.verify.wording import classes_text, rows_text

PART = 4
"""One over the part of the range in which all values of a class count as similar."""

Ints = NDArray[np.int64]


def find_similarity(classes: Classes, attribute: str) -> Iterator[Finding]:
    """A finding for every level of the hierarchy between values and root, or for the order."""
    tally = classes.tally(attribute)
    about = classes.attributes[attribute]
    several = np.diff(tally.histogram.start) > 1
    if about.hierarchy is not None:
        known = about.labels[: about.values - about.with_missing]
        node = about.hierarchy.indices(known).astype(np.int64)
        for level in range(1, about.hierarchy.levels - 1):
            group = _group_values(about.hierarchy, node, level)
            group = np.append(group, [-1] * about.with_missing)
            if len(np.unique(group[tally.table > 0])) > 1:
                low, high = _find_ends(tally, group)
                same = several & (low == high)
                yield _report(classes, attribute, tally, same, {"level": level})
    elif about.has_order and np.count_nonzero(tally.table) > PART:
        low, high = _find_ends(tally, np.arange(about.values))
        near = several & (PART * (high - low) <= about.values - 1)
        yield _report(classes, attribute, tally, near, {"part of the range": 1 / PART})


def _group_values(tree: Hierarchy, node: Ints, level: int) -> Ints:
    """The group of each value on a level; a released value that is coarser is one of its own."""
    group = tree.ancestors[tree.first_below[node], level]
    coarser = tree.height[node] > tree.height[group]
    return np.where(coarser, node, group).astype(np.int64)


def _find_ends(tally: Tally, group: Ints) -> tuple[Ints, Ints]:
    """The least and the greatest group of each distribution."""
    mine = group[tally.histogram.code]
    first = tally.histogram.start[:-1]
    return np.minimum.reduceat(mine, first), np.maximum.reduceat(mine, first)


def _report(
    classes: Classes,
    attribute: str,
    tally: Tally,
    flagged: NDArray[np.bool_],
    numbers: dict[str, float | int | bool | None],
) -> Finding:
    harmed = flag_classes(classes, tally, flagged)
    affected, count = int(classes.class_rows[harmed].sum()), int(harmed.sum())
    kind = f"one group of level {numbers['level']}" if "level" in numbers else "a narrow range"
    if affected:
        sentence = (
            f"In {classes_text(count)} values of {attribute} differ but all lie in {kind}: for "
            f"{rows_text(affected)} that much is certain, though the value is not."
        )
    else:
        sentence = f"No class has different values of {attribute} that all lie in {kind}."
    return Finding(
        "similarity", attribute, sentence, affected, classes.n_rows,
        rank_worst(harmed, classes.size), {**numbers, "classes": count},
    )  # fmt: skip
