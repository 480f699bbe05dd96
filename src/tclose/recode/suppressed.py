"""What happens to the rows that a search leaves out: `release.leftover` of a policy.

Rows that come back change the distribution that every class is compared with, so all classes are
judged again: release.md says which rows then go on, which classes are merged, and when rows
are dropped after all. A full-domain release merges nothing: a row's class is that of its groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from tclose.arrays import Flags, Ints
from tclose.data.binding import BoundTable, narrow
from tclose.data.encode.cells import Cells
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import ANYTHING
from tclose.distance.registry import Attribute
from tclose.recode.insertion import IncomingRows
from tclose.recode.nearest import find_nearest_classes
from tclose.recode.recoding import find_failing_cells, recode_classes
from tclose.recode.shapes import read_shapes
from tclose.recode.values import Recoding, SensitiveColumn
from tclose.search import Outcome, problem_of
from tclose.search.curve import rank_along_curve
from tclose.search.merging import merge_failing
from tclose.search.problem import number_classes
from tclose.utility.loss import weigh_loss

Treatment = Literal["drop", "root", "hide", "generalize"]
RELEASED_AS = {"root": "rooted", "hide": "hidden", "generalize": "generalized"}
MOST_CLASSES = 12
"""How many of the nearest classes a row tries."""


@dataclass(frozen=True)
class SuppressedRows:
    """How many suppressed rows were released after all, and how."""

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


Treated = tuple[Recoding, SuppressedRows]


def mask_recoding(bound: BoundTable, chosen: Mapping[str, Ints], recoding: Recoding) -> Recoding:
    """The recoding with those sensitive values masked that the search chose to mask."""
    hide = bound.policy.search.masking == "hide"
    masked = MaskedSensitive.make(bound, chosen, hide=hide)
    return replace(recoding, sensitive=masked.columns(np.ones(len(recoding.label), dtype=bool)))


def treat_suppressed(
    bound: BoundTable, population: Cells | None, outcome: Outcome, recoding: Recoding
) -> Treated:
    """The recoding with its suppressed rows treated as the policy says (not for `drop`)."""
    asked: Treatment = bound.policy.release.leftover
    gone = recoding.label < 0
    if not gone.any():
        return recoding, SuppressedRows(asked, treated=gone)
    case = _Case(bound, population, recoding, gone, asked, outcome.levels is not None)
    found = case.release_at_root() if asked == "root" else case.release_masked()
    if found is not None:
        return found
    reason = "the promise would not hold with them"
    dropped = int(bound.cells.rows[gone].sum())
    return recoding, SuppressedRows(asked, dropped=dropped, reason=reason, treated=gone & False)


@dataclass(frozen=True)
class _Case:
    """A release with suppressed rows and the treatment that is wanted."""

    bound: BoundTable
    population: Cells | None
    recoding: Recoding
    gone: Flags
    asked: Treatment
    full_domain: bool

    def _fails(self, bound: BoundTable, found: Recoding) -> bool:
        failing = find_failing_cells(bound, self.population, found.label, found.released)
        return bool(failing.any())

    def release_at_root(self) -> Treated | None:
        """All suppressed rows as one class of their own, released as nothing but the root."""
        label = self.recoding.label
        plain = self._with_root(self.recoding, self.gone)
        if not self._fails(self.bound, plain):
            return plain, self._report(self.gone)
        if self.full_domain:
            return None
        root = len(self.recoding.loss.classes)
        merged = _merge_failing(self.bound, self.population, np.where(self.gone, root, label))
        if merged is None:
            return None
        inside = merged == merged[self.gone][0]
        others = np.where(inside, -1, merged)
        others[~inside] = np.unique(others[~inside], return_inverse=True)[1]
        found = self._with_root(recode_classes(self.bound, self.recoding.quasi, others), inside)
        if self._fails(self.bound, found):
            return None
        fewer = len(np.unique(label[label >= 0])) + 1 - len(np.unique(merged))
        return found, self._report(inside, fewer)

    def _with_root(self, base: Recoding, inside: Flags) -> Recoding:
        """A recoding with one more class, of some cells, released as the root of every column."""
        quasi, each = base.quasi, base.loss.classes
        released = []
        for at, (column, words) in enumerate(zip(quasi.columns, base.released, strict=True)):
            gap = bool((quasi.codes[inside, at] >= column.values - column.has_missing).any())
            tree = column.hierarchy
            root = ANYTHING if tree is None or gap else tree.labels[tree.root]
            released.append(replace(words, values=(*words.values, root)))
        label = np.where(inside, len(each), base.label)
        names = [column.name for column in quasi.columns]
        with_root = np.vstack([each, np.ones((1, len(names)))])
        loss = weigh_loss(names, with_root, self.bound.cells.rows, label)
        return replace(base, label=label, released=tuple(released), loss=loss)

    def release_masked(self) -> Treated | None:
        """Each suppressed row in its nearest class (or that of its own groups), values masked."""
        trees = [attribute.hierarchy for attribute in self.bound.attributes.values()]
        highest = max((tree.levels - 1 for tree in trees if tree is not None), default=0)
        highest = max(highest, 1) if self.asked == "generalize" else 1
        level = np.where(self.gone, 1, 0)
        best: Treated | None = None
        for _ in range(highest):
            masked = MaskedSensitive.make(self.bound, level, hide=self.asked == "hide")
            found, report = self._place(masked)
            more = best is None or best[1].dropped > report.dropped
            if more and not self._fails(masked.bound, found):
                best = found, report
            homeless = self.gone & ~report.treated
            if not report.dropped or (level[homeless] >= highest).all():
                break
            level = np.where(homeless, np.minimum(level + 1, highest), level)
        if (best is None or best[1].dropped) and not self.full_domain:
            masked = MaskedSensitive.make(self.bound, level, hide=self.asked == "hide")
            best = self._place_and_merge(masked) or best
        return best if best is not None and best[1].released else None

    def _place(self, masked: MaskedSensitive) -> Treated:
        """The suppressed rows in the classes that can take them."""
        cells, recoding = np.flatnonzero(self.gone), self.recoding
        shapes = read_shapes(recoding.released, self.bound)
        if self.full_domain:
            assert recoding.groups is not None
            choice = recoding.groups[cells][:, None]
        else:
            fixed = self.bound.policy.limited
            choice = find_nearest_classes(shapes, cells, MOST_CLASSES, beyond=True, fixed=fixed)
        incoming = IncomingRows(
            masked.bound, self.population, shapes, recoding.released, cells, choice, gently=True
        )
        label, wide = incoming.find_classes(recoding.label)
        if self.full_domain:
            found = recoding.with_label(label, self.bound.cells.rows)
        else:
            found = replace(incoming.recode(wide, label), quasi=recoding.quasi)
        inside = self.gone & (label >= 0)
        return replace(found, sensitive=masked.columns(inside)), self._report(inside)

    def _place_and_merge(self, masked: MaskedSensitive) -> Treated | None:
        """Every row in its nearest class, and failing classes merged until none is left."""
        cells, label = np.flatnonzero(self.gone), self.recoding.label.copy()
        shapes = read_shapes(self.recoding.released, self.bound)
        fixed = self.bound.policy.limited
        label[cells] = find_nearest_classes(shapes, cells, 1, beyond=True, fixed=fixed)[:, 0]
        if (label < 0).any():
            return None
        merged = _merge_failing(masked.bound, self.population, label)
        if merged is None:
            return None
        found = recode_classes(self.bound, self.recoding.quasi, merged)
        if self._fails(masked.bound, found):
            return None
        fewer = len(np.unique(label)) - len(np.unique(merged))
        return replace(found, sensitive=masked.columns(self.gone)), self._report(self.gone, fewer)

    def _report(self, inside: Flags, fewer: int = 0) -> SuppressedRows:
        rows = self.bound.cells.rows
        dropped = int(rows[self.gone & ~inside].sum())
        reason = "no class that could take them keeps the promise" if dropped else ""
        released = {RELEASED_AS[self.asked]: int(rows[inside].sum())}
        return SuppressedRows(
            self.asked, dropped=dropped, merged=fewer, reason=reason, treated=inside, **released
        )


def _merge_failing(bound: BoundTable, population: Cells | None, label: Ints) -> Ints | None:
    """Merges every class that breaks the promise with the one that repairs it at the least loss.

    None where merging cannot help: where the promise is not one that merging keeps, or cannot be
    judged by the compiled rules. Whoever calls this judges the result by the requirements.
    """
    problem = problem_of(bound, population)
    constraints = problem.constraints
    if constraints.uncompiled or constraints.supersets or not constraints.monotone:
        return None
    named = number_classes(label)
    table = problem.make_coded_table(ordered=False)
    problem.refer_to_released(table, named)
    found = merge_failing(named, rank_along_curve(problem.codes, problem.rows), table)
    return found.label if found.all_keep else None


@dataclass(frozen=True)
class MaskedSensitive:
    """A table with masked sensitive columns: some values hidden, or on a level of their own."""

    bound: BoundTable
    raw: BoundTable
    masks: dict[str, SensitiveColumn]

    @classmethod
    def make(
        cls, bound: BoundTable, level: Ints | Mapping[str, Ints], *, hide: bool
    ) -> MaskedSensitive:
        """Hides or generalizes the cells whose level is not 0, of all attributes or each alone."""
        masks = {}
        dictionaries, codes = dict(bound.cells.dictionaries), dict(bound.cells.codes)
        for name, attribute in bound.attributes.items():
            own = level.get(name) if isinstance(level, Mapping) else level
            if own is None:
                continue
            if hide:
                masks[name] = SensitiveColumn(np.where(own > 0, -1, codes[name]))
            elif attribute.hierarchy is not None:
                masks[name] = _generalize(bound, attribute, own)
                dictionaries[name] = Dictionary(pa.array(masks[name].texts, pa.string()), False)
        for name, mask in masks.items():
            codes[name] = np.where(mask.code < 0, dictionaries[name].known, mask.code)
        cells = replace(bound.cells, dictionaries=dictionaries, codes=codes)
        table = narrow(replace(bound, cells=cells), np.ones(len(cells.rows), dtype=bool))
        return cls(table, bound, masks)

    def columns(self, inside: Flags) -> dict[str, SensitiveColumn]:
        """The sensitive columns as they are written, if only some cells are masked."""
        made = {}
        for name, mask in self.masks.items():
            raw, known = self.raw.cells.codes[name], self.raw.cells.dictionaries[name].known
            plain = 0 if mask.texts is None else np.where(raw < known, raw, -1)
            made[name] = replace(mask, code=np.where(inside, mask.code, plain))
        return made


def _generalize(bound: BoundTable, attribute: Attribute, level: Ints) -> SensitiveColumn:
    """The value of each cell on its level, among the column's values and then its groups."""
    tree, raw = attribute.hierarchy, bound.cells.codes[attribute.name]
    assert tree is not None
    labels = bound.cells.dictionaries[attribute.name].labels
    known = len(labels)
    leaf = np.append(tree.indices(labels), 0).astype(np.int64)[raw]
    moves = (level > 0) & (raw < known) & (leaf < tree.leaf_count)
    node = leaf.copy()
    node[moves] = tree.ancestors[leaf[moves], np.minimum(level[moves], tree.levels - 1)]
    rises = node != leaf
    groups = np.unique(node[rises])
    code = np.where(raw < known, raw, -1)
    code[rises] = known + np.searchsorted(groups, node[rises])
    return SensitiveColumn(code, (*labels, *(tree.labels[int(group)] for group in groups)))
