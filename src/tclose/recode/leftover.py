"""What becomes of the rows that a search leaves out: `release.leftover` of the policy.

| word | a row that is left out |
|---|---|
| `drop` | is not released |
| `root` | is released with its quasi-identifiers at the root, in one class of all such rows |
| `hide` | is released in its nearest class, its sensitive values missing |
| `generalize` | the same, its sensitive values one or more levels up their hierarchies |

Rows that come back change the distribution that every class is compared with, so all classes are
judged again. Where some fail, guests go on to their next class or level; then failing classes are
merged, each with the one that mends it most cheaply. A full-domain release has no nearest classes
and merges nothing: a row's class is that of its own groups. Where the promise cannot be kept in
this way the rows are dropped, and the release says how many and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.encode.labels import ANYTHING
from tclose.recode.judging import failing_cells
from tclose.recode.merging import merged
from tclose.recode.plan.insertion import Guests, recoding_of
from tclose.recode.plan.nearest import nearest_classes
from tclose.recode.plan.parsing import shapes_of
from tclose.recode.recoding import Recoding
from tclose.recode.sensitive import Veil, level_count
from tclose.recode.values import Released, released_values
from tclose.search import Outcome
from tclose.utility.loss import class_losses, weigh_loss

Treatment = Literal["drop", "root", "hide", "generalize"]
MOST_CLASSES = 12
"""How many of the nearest classes a row tries."""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Leftover:
    """How many rows that a search left out were released after all, and how."""

    asked: Treatment
    rooted: int = 0
    hidden: int = 0
    generalized: int = 0
    dropped: int = 0
    merged: int = 0
    """Classes that were merged into others to keep the promise with these rows."""
    reason: str = ""
    """Why rows were dropped that should not have been."""
    treated: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    """Which cells were released after all."""

    @property
    def released(self) -> int:
        """How many rows were released after all."""
        return self.rooted + self.hidden + self.generalized


def with_leftover(
    bound: BoundTable, population: Cells | None, outcome: Outcome, recoding: Recoding
) -> tuple[Recoding, Leftover | None]:
    """The same release with the rows that the search left out treated as the policy says."""
    asked: Treatment = bound.policy.release.leftover
    gone = recoding.label < 0
    if asked == "drop":
        return recoding, None
    if not gone.any():
        return recoding, Leftover(asked, treated=gone)
    case = _Case(bound, population, recoding, gone, full_domain=outcome.levels is not None)
    found = case.rooted() if asked == "root" else case.veiled(asked)
    if found is None:
        reason = "the promise would not hold with them"
        dropped = int(bound.cells.rows[gone].sum())
        return recoding, Leftover(asked, dropped=dropped, reason=reason, treated=gone & False)
    return found


@dataclass(frozen=True)
class _Case:
    """A release with rows left out, and what is asked of them."""

    bound: BoundTable
    population: Cells | None
    recoding: Recoding
    gone: Flags
    full_domain: bool

    def rows(self, cells: Flags) -> int:
        return int(self.bound.cells.rows[cells].sum())

    def fails(self, bound: BoundTable, recoding: Recoding) -> bool:
        return bool(failing_cells(bound, self.population, recoding.label, recoding.released).any())

    # --- quasi-identifiers at the root

    def rooted(self) -> tuple[Recoding, Leftover] | None:
        """All rows left out as one class of their own, released as nothing but the root."""
        label = self.recoding.label
        classes = len(self.recoding.loss.classes)
        plain = self._with_root(self.recoding.released, np.where(self.gone, classes, label))
        if not self.fails(self.bound, plain):
            return plain, self._told_rooted(self.gone, 0)
        if self.full_domain:
            return None
        united = merged(self.bound, self.population, np.where(self.gone, classes, label))
        if united is None:
            return None
        root = int(united[self.gone][0])
        inside = united == root
        others = np.where(inside, -1, united)
        number = np.unique(others[others >= 0], return_inverse=True)[1]
        others[~inside] = number
        words = released_values(self.bound, self.recoding.quasi, others)
        found = self._with_root(words, np.where(inside, int(others.max()) + 1, others))
        if self.fails(self.bound, found):
            return None
        before = len(np.unique(label[label >= 0])) + 1
        return found, self._told_rooted(inside, before - len(np.unique(united)))

    def _told_rooted(self, inside: Flags, fewer: int) -> Leftover:
        return Leftover("root", rooted=self.rows(inside), merged=fewer, treated=inside)

    def _with_root(self, words: tuple[Released, ...], label: Ints) -> Recoding:
        """Classes of which the last is released as the root of every column."""
        quasi, last = self.recoding.quasi, int(label.max())
        inside = label == last
        released, each = [], []
        for at, (one, column) in enumerate(zip(words, quasi.columns, strict=True)):
            kept = np.flatnonzero(~inside & (label >= 0))
            lost = self.recoding.loss.classes[:, at]
            if words is not self.recoding.released:
                lost = class_losses(column, quasi.codes[kept, at], label[kept], last)
            gap = bool((quasi.codes[inside, at] >= column.values - column.has_missing).any())
            tree = column.hierarchy
            root = ANYTHING if tree is None or gap else tree.labels[tree.root]
            released.append(replace(one, values=(*one.values, root)))
            each.append(np.append(lost, 1.0))
        names = [column.name for column in quasi.columns]
        loss = weigh_loss(names, np.stack(each, axis=1), self.bound.cells.rows, label)
        return replace(self.recoding, label=label, released=tuple(released), loss=loss)

    # --- sensitive values hidden or generalized

    def veiled(self, asked: Treatment) -> tuple[Recoding, Leftover] | None:
        """Each row left out in its nearest class (or that of its own groups), under a veil."""
        highest = level_count(self.bound) if asked == "generalize" else 1
        level = np.where(self.gone, 1, 0)
        best: tuple[Recoding, Leftover] | None = None
        for _ in range(max(highest, 1)):
            veil = Veil.over(self.bound, level, hide=asked == "hide")
            found, placed = self._placed(veil)
            told = self._told(asked, veil, placed, 0)
            best = self._better(best, found, veil, told)
            if not told.dropped or (level[self.gone & ~placed] >= highest).all():
                break
            level = np.where(self.gone & ~placed, np.minimum(level + 1, highest), level)
        if (best is None or best[1].dropped) and not self.full_domain:
            best = self._united(asked, Veil.over(self.bound, level, hide=asked == "hide")) or best
        return best if best is not None and best[1].released else None

    def _better(
        self,
        best: tuple[Recoding, Leftover] | None,
        found: Recoding,
        veil: Veil,
        told: Leftover,
    ) -> tuple[Recoding, Leftover] | None:
        """Whichever releases more rows, if it keeps the promise."""
        if best is not None and best[1].dropped <= told.dropped:
            return best
        return best if self.fails(veil.bound, found) else (found, told)

    def _placed(self, veil: Veil) -> tuple[Recoding, Flags]:
        """The rows left out in the classes that can take them; which cells those are."""
        cells = np.flatnonzero(self.gone)
        released, label = self.recoding.released, self.recoding.label
        shapes = shapes_of(released, self.bound)
        if self.full_domain:
            choice = self._own_groups(cells)[:, None]
        else:
            choice = nearest_classes(shapes, cells, MOST_CLASSES, beyond=True)
        guests = Guests(veil.bound, self.population, shapes, released, cells, choice, gently=True)
        label, wide = guests.settled(label)
        placed = self.gone & (label >= 0)
        if self.full_domain:
            names = [one.column for one in released]
            each, weight = self.recoding.loss.classes, self.bound.cells.rows
            loss = weigh_loss(names, each, weight, label)
            found = replace(self.recoding, label=label, loss=loss)
        else:
            found = replace(
                recoding_of(self.bound, shapes, wide, released, label), quasi=self.recoding.quasi
            )
        return replace(found, sensitive=veil.columns(placed)), placed

    def _own_groups(self, cells: Ints) -> Ints:
        """The classes that the levels of a full-domain release give to rows that it leaves out."""
        groups = self.recoding.groups
        assert groups is not None
        return groups[cells]

    def _united(self, asked: Treatment, veil: Veil) -> tuple[Recoding, Leftover] | None:
        """Every row in its nearest class, and failing classes merged until none is left."""
        cells, label = np.flatnonzero(self.gone), self.recoding.label.copy()
        shapes = shapes_of(self.recoding.released, self.bound)
        label[cells] = nearest_classes(shapes, cells, 1, beyond=True)[:, 0]
        if (label < 0).any():
            return None
        united = merged(veil.bound, self.population, label)
        if united is None:
            return None
        quasi = self.recoding.quasi
        words = released_values(self.bound, quasi, united)
        each = np.stack(
            [class_losses(column, quasi.codes[:, at], united, int(united.max()) + 1)
             for at, column in enumerate(quasi.columns)], axis=1
        )  # fmt: skip
        names = [column.name for column in quasi.columns]
        loss = weigh_loss(names, each, self.bound.cells.rows, united)
        found = Recoding(united, words, loss, quasi, veil.columns(self.gone))
        if self.fails(veil.bound, found):
            return None
        fewer = len(np.unique(label)) - len(np.unique(united))
        return found, self._told(asked, veil, self.gone, fewer)

    def _told(self, asked: Treatment, veil: Veil, placed: Flags, fewer: int) -> Leftover:
        dropped = self.rows(self.gone & ~placed)
        reason = "no class that could take them keeps the promise" if dropped else ""
        count: Mapping[str, int] = {
            "hidden" if asked == "hide" else "generalized": self.rows(placed)
        }
        return Leftover(
            asked, dropped=dropped, merged=fewer, reason=reason, treated=placed, **count
        )
