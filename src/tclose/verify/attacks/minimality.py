"""Minimality: classes that only their sensitive values explain (Wong et al. 2007).

A method that generalizes no more than it must tells something by what it did not do. Somebody with
everybody's quasi-identifiers tries to cut each class in two at the median of each column. Where
some cut leaves k rows on both sides, but every such cut would break what is promised about
sensitive values, these values are why the class was left whole: they lie unevenly inside it.

The test looks at median cuts only, so it is a lead, not a proof; searches that deal rows to classes
by their sensitive values are exposed to it by nature.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.privacy import promises_of
from tclose.privacy.requirement import Requirement
from tclose.table.alignment import Beside
from tclose.table.check import Bound
from tclose.table.classes import Classes, partitioned
from tclose.verify.attacks.finding import Finding, classes_text, worst
from tclose.verify.attacks.reidentification import threshold
from tclose.verify.audit import rows_text

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def minimality(found: Beside) -> Finding | None:
    """Classes that only sensitive values kept whole; None where nothing is promised about them."""
    promised = sensitive_promises(found.original)
    if found.linked is None or not promised:
        return None
    cells, number = found.linked.first, found.release.classes.cell_class[found.linked.second]
    people = exploded(found.original.classes, cells, found.linked.weight)
    places = found.covering.places(found.original.cells)[cells]
    count, k = found.release.classes.count, threshold(found.release)
    possible, broken = np.zeros(count, dtype=bool), np.ones(count, dtype=bool)
    for at in range(places.shape[1]):
        side = halves(number, places[:, at], found.linked.weight, count)
        allowed = _both_sides(number, side, found.linked.weight, count, k)
        label = 2 * number + np.where(allowed[number], side, 0)
        breaks = _breaks(partitioned(people, label), promised, count)
        possible |= allowed
        broken &= breaks | ~allowed
    harmed = possible & broken
    size = found.release.classes.size
    affected = int(size[harmed].sum())
    if affected:
        sentence = (
            f"{classes_text(int(harmed.sum()))} with {rows_text(affected)} could be cut in two as "
            "far as their size goes, but not without breaking what is promised about sensitive "
            "values: whoever knows the method can tell that these lie unevenly inside."
        )
    else:
        sentence = "No class was left whole because of its sensitive values alone."
    numbers = {
        "classes large enough to be cut": int(possible.sum()),
        "of them held together by sensitive values": int(harmed.sum()),
    }
    return Finding(
        "minimality", None, sentence, affected, found.release.classes.rows, worst(harmed, size),
        numbers,
    )  # fmt: skip


def sensitive_promises(bound: Bound) -> list[Requirement]:
    """What is promised about sensitive attributes, as far as it can be judged on any classes."""
    aside = bound.policy.model_copy(update={"k_map": None, "presence": None})
    lines = promises_of(replace(bound, policy=aside))
    return [
        line.requirement
        for line in lines
        if line.reading == "separate"
        and line.requirement.attribute is not None
        and not line.requirement.capabilities.needs
    ]


def exploded(classes: Classes, cells: Ints, weight: Ints) -> Classes:
    """The cells of a table, some of them several times, with weights of their own."""
    return replace(
        classes,
        cell_class=classes.cell_class[cells],
        cell_codes={name: codes[cells] for name, codes in classes.cell_codes.items()},
        cell_weight=weight,
    )


def halves(number: Ints, place: Ints, weight: Ints, classes: int) -> Ints:
    """0 or 1 for the lower and upper half of each class along a column, cut at its median.

    >>> halves(np.array([0, 0, 0]), np.array([5, 7, 9]), np.array([1, 1, 1]), 1).tolist()
    [0, 0, 1]
    """
    order = np.lexsort((place, number))
    running = np.cumsum(weight[order])
    bounds = np.searchsorted(number[order], np.arange(classes + 1))
    before = np.concatenate(([0], running))[bounds]
    size = before[1:] - before[:-1]
    middle = np.searchsorted(2 * running, 2 * before[:-1] + size)
    middle = np.minimum(middle, len(order) - 1)
    cut = place[order][middle]
    top = np.full(classes, -1, dtype=np.int64)
    np.maximum.at(top, number, place)
    # A median that is the greatest value goes to the upper half.
    upper = np.where(cut < top, cut + 1, cut)
    result: Ints = (place >= upper[number]).astype(np.int64)
    return result


def _both_sides(number: Ints, side: Ints, weight: Ints, classes: int, k: int) -> Flags:
    above = np.zeros(classes, dtype=np.int64)
    below = np.zeros(classes, dtype=np.int64)
    np.add.at(above, number, weight * side)
    np.add.at(below, number, weight * (1 - side))
    result: Flags = (above >= k) & (below >= k)
    return result


def _breaks(halved: Classes, promised: list[Requirement], classes: int) -> Flags:
    """Which classes have a half that breaks a promise."""
    result = np.zeros(classes, dtype=bool)
    for requirement in promised:
        fails = requirement.measure(halved).fails
        result[halved.origin[fails] // 2] = True
    return result
