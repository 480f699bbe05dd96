"""Minimality: classes that only their sensitive values explain (Wong et al. 2007).

Where some cut of a class in two leaves k rows on both sides, but every such cut would break what is
promised about sensitive values, these are why the class was left whole: they lie unevenly inside.
Of very many cuts some are tried, spread evenly (`LARGEST`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.classes import find_threshold
from tclose.attacks.finding import Finding, rank_worst
from tclose.data.alignment import Alignment
from tclose.data.encode.classes import Classes, group_codes, partition_cells
from tclose.requirements import Requirement, failing_classes, state_requirements
from tclose.verify.wording import classes_text, rows_text

LARGEST = 40_000_000
"""How many times a cell may be put on a side of a cut: cells, times columns, times cuts."""
FEWEST = 15
"""How many cuts of a class along a column are tried, however large the table is."""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def find_minimality(found: Alignment) -> Finding | str:
    """Classes that only sensitive values kept whole; in words, why it is not tried where it is not.

    Where rows have weights, or persons several rows, halves would have to be counted anew.
    """
    assert found.linked is not None
    original = found.original
    aside = original.policy.model_copy(update={"k_map": None, "presence": None})
    stated = state_requirements(replace(original, policy=aside))
    sensitive = [requirement for requirement in stated if requirement.attribute is not None]
    promised = [requirement for requirement in sensitive if requirement.capabilities.self_contained]
    if not sensitive:
        return "nothing is promised about sensitive attributes"
    if original.cells.weight is not None or original.cells.persons is not None:
        return "it is tried only where every row counts as one"
    if not promised:
        names = sorted({requirement.name for requirement in sensitive})
        return f"{' and '.join(names)} is not judged on halves of classes"
    cells, number = found.linked.first, found.release.classes.cell_class[found.linked.second]
    people = _repeat_cells(found.original.classes, cells, found.linked.rows)
    places = found.covering.places(found.original.cells)[cells]
    size, k = found.release.classes.size, find_threshold(found.release)
    most = max(LARGEST // max(places.size, 1), FEWEST)
    possible, harmless = np.zeros(len(size), dtype=bool), np.zeros(len(size), dtype=bool)
    every = True
    for place in places.T:
        rank, cuts = rank_values(number, place, len(size))
        every &= bool(cuts.max(initial=0) <= most)
        for border in list_borders(cuts, most):
            side = rank >= border[number]
            allowed = _are_sides_large(number, side, people.cell_rows, len(size), k)
            possible |= allowed
            allowed &= ~harmless
            harmless |= allowed & ~_find_breaking(people, number, side, allowed, promised)
    harmed = possible & ~harmless
    count = int(harmed.sum())
    numbers = {
        "classes large enough to be cut": int(possible.sum()),
        "of them held together by sensitive values": count,
        "every cut was tried": every,
    }
    affected = int(size[harmed].sum())
    sentence = "No class was left whole because of its sensitive values alone."
    if affected:
        sentence = (
            f"{classes_text(count)} with {rows_text(affected)} could be cut in two as far as their "
            "size goes, but not without breaking what is promised about sensitive values: whoever "
            "knows the method can tell that these lie unevenly inside."
        )
    total, worst = found.release.classes.n_rows, rank_worst(harmed, size)
    return Finding("minimality", None, sentence, affected, total, worst, numbers)


def _repeat_cells(classes: Classes, cells: Ints, weight: Ints) -> Classes:
    """The cells of a table, some of them several times, with weights of their own."""
    return replace(
        classes,
        cell_class=classes.cell_class[cells],
        cell_codes={name: codes[cells] for name, codes in classes.cell_codes.items()},
        cell_rows=weight,
    )


def rank_values(number: Ints, place: Ints, classes: int) -> tuple[Ints, Ints]:
    """The rank of each cell's value among those of its class, and the highest of each class.

    >>> rank_values(np.array([0, 1, 0, 0]), np.array([9, 4, 5, 9]), 2)
    (array([1, 0, 0, 1]), array([1, 0]))
    """
    label, first = group_codes([number, place])
    owner = number[first]
    start = np.searchsorted(owner, np.arange(classes))
    return label - start[number], np.bincount(owner, minlength=classes) - 1


def list_borders(cuts: Ints, most: int) -> Iterator[Ints]:
    """Cut after cut: the rank at which the upper side of each class begins; past all, if no more.

    >>> [border.tolist() for border in list_borders(np.array([3, 1]), 9)]
    [[1, 1], [2, 2], [3, 2]]
    >>> [border.tolist() for border in list_borders(np.array([100]), 2)]
    [[26], [76]]
    """
    tried = np.minimum(cuts, most)
    for turn in range(int(tried.max(initial=0))):
        border = 1 + (2 * turn + 1) * cuts // np.maximum(2 * tried, 1)
        yield np.where(turn < tried, border, cuts + 1)


def _are_sides_large(number: Ints, side: Flags, weight: Ints, classes: int, k: int) -> Flags:
    rows = np.zeros((classes, 2), dtype=np.int64)
    np.add.at(rows, (number, side.astype(np.int64)), weight)
    result: Flags = rows.min(axis=1) >= k
    return result


def _find_breaking(
    people: Classes, number: Ints, side: Flags, cut: Flags, promised: Sequence[Requirement]
) -> Flags:
    """Which classes have a side that breaks a promise, of those that are to be cut."""
    result = np.zeros(len(cut), dtype=bool)
    if not cut.any():
        return result
    seen = _halve(people, number, side, cut)
    broken = seen.origin[failing_classes(promised, seen)] // 2
    result[broken[broken < len(cut)]] = True
    return result


def _halve(people: Classes, number: Ints, side: Flags, cut: Flags) -> Classes:
    """Both sides of the classes that are cut, and all other rows as one class, so that the whole
    table stays as it is."""
    inside = cut[number]
    kept, rest = np.flatnonzero(inside), np.flatnonzero(~inside)
    alike, first = group_codes([codes[rest] for codes in people.cell_codes.values()])
    weight = np.zeros(len(first), dtype=people.cell_rows.dtype)
    np.add.at(weight, alike, people.cell_rows[rest])
    fewer = _repeat_cells(
        people,
        np.concatenate([kept, rest[first]]),
        np.concatenate([people.cell_rows[kept], weight]),
    )
    halves = 2 * number[kept] + side[kept]
    return partition_cells(fewer, np.concatenate([halves, np.full(len(first), 2 * len(cut))]))
