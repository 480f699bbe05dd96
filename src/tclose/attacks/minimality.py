"""Minimality: classes that can only be explained by their sensitive values (Wong et al. 2007).

If a class could be cut in two with k rows on both sides, but every such cut would break a
requirement on sensitive values, then these are the reason why it was not cut: they are distributed
unevenly inside. Of very many cuts some are tried, spread evenly; of very many classes a sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tclose.arrays import Flags, Ints, draw_within
from tclose.attacks.classes import find_threshold
from tclose.attacks.finding import Finding, report_classes
from tclose.data.alignment import Alignment
from tclose.distance.histogram import add_by_group, group_codes
from tclose.plain import classes_text, describe_sample
from tclose.requirements import Requirement, failing_classes, list_stated
from tclose.requirements.classes import Classes, partition_cells

COST = 1e-6
"""Seconds of an ordinary core to judge a cell's side of a cut by one requirement."""
FEWEST = 15
"""The number of cuts of a class along a column that are tried at least."""
CHUNK = 1_000_000
"""The largest number of cells judged at once."""


def find_minimality(found: Alignment, seed: int = 1, effort: float = math.inf) -> Finding | str:
    """Finds classes that only sensitive values kept whole, or says why this cannot be tried.

    It is not tried if rows have weights or persons have several rows, because halves would have to
    be counted again. If the effort is not enough for all cuts, fewer are tried, then of fewer
    classes.
    """
    assert found.linked is not None
    original = found.original
    sensitive = [each for each in list_stated(original) if each.attribute is not None]
    judged = [requirement for requirement in sensitive if requirement.capabilities.self_contained]
    if not sensitive:
        return "no requirement is about sensitive attributes"
    if original.cells.weight is not None or original.cells.persons is not None:
        return "it is tried only where every row counts as one"
    if not judged:
        names = sorted({requirement.name for requirement in sensitive})
        return f"{' and '.join(names)} cannot be judged on halves of classes"
    cells, number = found.linked.first, found.release.classes.cell_class[found.linked.second]
    size, k = found.release.classes.size, find_threshold(found.release)
    places = found.covering.places(found.original.cells)[cells]
    ranks = [rank_values(number, place, len(size)) for place in places.T]
    held, work = np.bincount(number, minlength=len(size)), effort / (COST * len(judged))

    def count_sides(most: int) -> Ints:
        """Counts how often cells of each class are put on a side of a cut."""
        cuts: Ints = np.sum([np.minimum(highest, most) for _, highest in ranks], axis=0)
        return held * cuts

    most = max([1, *(int(highest.max(initial=0)) for _, highest in ranks)])
    while most > FEWEST and count_sides(most).sum() > work:
        most = max(FEWEST, most // 2)
    drawn = np.ones(len(size), dtype=bool)
    if count_sides(most).sum() > work:
        drawn = draw_within(count_sides(most), work, seed)
    people = _repeat_cells(found.original.classes, cells, found.linked.rows)
    cuts = _CutJudge(people, number, len(size), k, judged)
    every = True
    for rank, highest in ranks:
        highest = np.where(drawn, highest, 0)
        every &= bool(highest.max(initial=0) <= most)
        cuts.try_all(rank, list_borders(highest, most))
    possible = cuts.possible & drawn
    affected_classes = possible & ~cuts.harmless
    count, classes = int(affected_classes.sum()), found.release.classes
    finding = report_classes(
        "minimality", None, classes, affected_classes,
        lambda rows: f"{classes_text(count)} with {rows} are large enough to be cut in two, but "
        "any cut would break a promise about sensitive values: someone who knows the method can "
        "infer that these are distributed unevenly within the class.",
        "No class remained uncut because of its sensitive values alone.",
        {
            "classes large enough to be cut": int(possible.sum()),
            "of them held together by sensitive values": count,
            "every cut was tried": every,
            "rows tried": int(classes.class_rows[drawn].sum()),
        },
    )  # fmt: skip
    return finding if drawn.all() else _extend(finding, classes, drawn, seed)


def _extend(finding: Finding, classes: Classes, drawn: Flags, seed: int) -> Finding:
    """Scales a finding among the rows tried to all rows."""
    tried = int(classes.class_rows[drawn].sum())
    affected = round(finding.affected / max(tried, 1) * classes.n_rows)
    sentence = finding.sentence + describe_sample(tried, classes.n_rows, seed)
    if affected:
        sentence += f" Scaled to all, these are about {affected:,} rows."
    return replace(finding, affected=affected, sentence=sentence)


class _CutJudge:
    """Tries cuts of many classes at once: which are possible, and which break no requirement.

    Cells of cut classes are repeated for every cut. All other rows form one class, together with so
    many copies of the table that its distributions do not change.
    """

    def __init__(
        self, people: Classes, number: Ints, classes: int, k: int, judged: Sequence[Requirement]
    ) -> None:
        self.people, self.number, self.classes = people, number, classes
        self.k, self.judged = k, judged
        self.possible, self.harmless = (np.zeros(classes, dtype=bool) for _ in range(2))
        self.alike, self.first = group_codes([
            *people.cell_codes.values(), *(each.group for each in people.masked.values())
        ])  # fmt: skip
        self.whole = add_by_group(people.cell_rows, self.alike, len(self.first))
        self.waiting: list[tuple[Ints, Ints]] = []
        self.tried: list[Flags] = []

    def try_all(self, rank: Ints, borders: Iterable[Ints]) -> None:
        """Tries cuts along one column: cells whose rank reaches their class's border are above."""
        rows, held = self.people.cell_rows, 0
        for border in borders:
            side = 2 * self.number + (rank >= border[self.number])
            halves = np.bincount(side, rows, 2 * self.classes).reshape(-1, 2)
            allowed = halves.min(axis=1) >= self.k
            self.possible |= allowed
            allowed &= ~self.harmless
            if not allowed.any():
                continue
            kept = np.flatnonzero(allowed[self.number])
            self.waiting.append((kept, side[kept] + 2 * self.classes * len(self.tried)))
            self.tried.append(allowed)
            held += len(kept)
            if held >= CHUNK:
                self._judge()
                held = 0
        self._judge()

    def _judge(self) -> None:
        """Judges the cuts in `waiting`."""
        if not self.waiting:
            return
        cells = np.concatenate([kept for kept, _ in self.waiting])
        copies, rows = len(self.tried), self.people.cell_rows[cells]
        rest = copies * self.whole - add_by_group(rows, self.alike[cells], len(self.first))
        others = np.flatnonzero(rest > 0)
        label = [*(label for _, label in self.waiting)]
        label.append(np.full(len(others), 2 * self.classes * copies))
        every = _repeat_cells(
            self.people,
            np.concatenate([cells, self.first[others]]),
            np.concatenate([rows, rest[others]]),
        )
        seen = partition_cells(every, np.concatenate(label))
        broken = np.zeros(self.classes * copies + 1, dtype=bool)
        broken[seen.origin[failing_classes(self.judged, seen)] // 2] = True
        for allowed, breaks in zip(
            self.tried, broken[:-1].reshape(copies, self.classes), strict=True
        ):
            self.harmless |= allowed & ~breaks
        self.waiting, self.tried = [], []


def _repeat_cells(classes: Classes, cells: Ints, weight: Ints) -> Classes:
    """Returns cells of a table, some of them several times, with other numbers of rows."""
    return replace(
        classes,
        cell_class=classes.cell_class[cells],
        cell_codes={name: codes[cells] for name, codes in classes.cell_codes.items()},
        cell_rows=weight,
        masked={name: each.of_cells(cells) for name, each in classes.masked.items()},
    )


def rank_values(number: Ints, place: Ints, classes: int) -> tuple[Ints, Ints]:
    """Ranks each cell's value among those of its class; also returns the highest rank per class.

    >>> rank_values(np.array([0, 1, 0, 0]), np.array([9, 4, 5, 9]), 2)
    (array([1, 0, 0, 1]), array([1, 0]))
    """
    label, first = group_codes([number, place])
    owner = number[first]
    start = np.searchsorted(owner, np.arange(classes))
    return label - start[number], np.bincount(owner, minlength=classes) - 1


def list_borders(cuts: Ints, most: int) -> Iterator[Ints]:
    """Yields borders, cut after cut: the rank where the upper side of each class begins.

    A class without further cuts gets a border above all its ranks.

    >>> [border.tolist() for border in list_borders(np.array([3, 1]), 9)]
    [[1, 1], [2, 2], [3, 2]]
    >>> [border.tolist() for border in list_borders(np.array([100]), 2)]
    [[26], [76]]
    """
    tried = np.minimum(cuts, most)
    for turn in range(int(tried.max(initial=0))):
        border = 1 + (2 * turn + 1) * cuts // np.maximum(2 * tried, 1)
        yield np.where(turn < tried, border, cuts + 1)
