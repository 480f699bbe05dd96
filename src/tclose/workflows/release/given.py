"""Releases that must keep the promise also together with earlier ones about the same people.

Someone who finds a person's class in each of several releases knows that the person is in all of
these classes: the people in them form a *group*. Each group of the new release must keep the
promise.

A class that spans several groups of the earlier releases can be divided along them: its parts are
the groups that are judged anyway, and none of them is wider. So the release with the least loss is
among those whose classes lie within earlier groups, and only these are searched (`mathematics.md`
2.6).

If only a part of an earlier group is released, that part can be distinguished from the rest. So an
earlier group is released as a whole; or not at all, if it breaks the promise itself or the people
who left it do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.arrays import Flags, Ints
from tclose.data.alignment import align, find_keys, locate_rows, read_keys
from tclose.data.binding import BoundTable, FurtherColumn
from tclose.data.encode.cells import Cells, form_classes
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import PSEUDONYM
from tclose.data.summary import TableSummary
from tclose.distance.histogram import group_codes
from tclose.errors import UsageError
from tclose.plain import rows_text
from tclose.recode.levels import recode_by_levels
from tclose.recode.recoding import build_released_table
from tclose.recode.rewrite import Pseudonyms
from tclose.recode.values import Recoding, Released
from tclose.requirements import failing_classes, state_requirements
from tclose.requirements.classes import Classes
from tclose.search import Budget, Outcome
from tclose.search.problem import number_classes
from tclose.utility.loss import ColumnLoss, code_quasi
from tclose.verify.certificate import GivenRecord
from tclose.workflows.compose import join_classes, refuse_counting
from tclose.workflows.inputs import open_table
from tclose.workflows.release.publish import Job, Targets
from tclose.workflows.release.task import Draft, SearchTask

EARLIER = "classes of earlier releases"
"""The column that tells cells of different groups apart; it is never released."""


@dataclass(frozen=True)
class EarlierGroups:
    """The rows of a table by the classes that their people have in earlier releases."""

    plain: BoundTable
    """The table itself."""
    of_row: Ints
    """The group of each row, in the table's order."""
    exposed: Flags
    """Of each group: whether those who left it would be told by those who are still released."""
    releases: tuple[str, ...]
    """The hashes of the earlier releases."""

    def divide_cells(self) -> BoundTable:
        """The table with cells of one group each."""
        cells = self.plain.cells
        at = locate_rows(self.plain)
        label, first = group_codes([at, self.of_row])
        codes = {name: code[at[first]] for name, code in cells.codes.items()}
        values = pa.chunked_array([pa.array(self.of_row[first])])
        dictionary, codes[EARLIER] = Dictionary.encode(values)
        divided = Cells({**cells.dictionaries, EARLIER: dictionary}, codes, np.bincount(label))
        bound = self.plain.with_cells(divided, self.plain.attributes)
        return replace(bound, further=FurtherColumn(EARLIER, self.plain, lambda: self.of_row))


@dataclass(frozen=True)
class GroupedTask(SearchTask):
    """A search within the groups of people who share a class in every earlier release."""

    groups: EarlierGroups = field(kw_only=True)

    @classmethod
    def of_groups(
        cls, groups: EarlierGroups, method: str, budget: Budget, target: str | None = None
    ) -> GroupedTask:
        """The problem with one column more, which nothing may generalize: the group."""
        plain = SearchTask.of(groups.divide_cells(), None, method, budget, target)
        every = np.arange(len(groups.exposed))
        column = ColumnLoss(EARLIER, "interval", every.astype(float), False, reach=every)
        codes = np.column_stack([plain.problem.codes, _find_groups(plain.bound)])
        columns = (*plain.problem.columns, column)
        problem = replace(plain.problem, codes=codes, columns=columns)
        return cls(plain.bound, None, problem, plain.method, plain.budget, groups=groups)

    def search(self) -> Outcome:
        """Searches within the groups that can be released; no row of these is left out."""
        bound, problem, budget = self.bound, self.problem, self.budget
        if not problem.monotone or problem.constraints.supersets:
            raise UsageError(
                "groups are judged by promises that merging classes keeps, and this is another",
                where="given",
                hint="promise t-closeness to the whole table, of rows",
            )
        kept = self._choose_cells()
        found = self.method.run(problem.reorder(kept), replace(budget, suppression=Fraction(0)))
        label = np.full(problem.n_cells, -1, dtype=np.int64)
        label[kept] = found.label
        levels = None if found.levels is None else found.levels[:-1]
        if levels is not None and bound.policy.release.recoding == "local":
            # What whole columns are recoded to is one class to every reader, whatever its groups.
            quasi = code_quasi(bound)
            columns = [Released(column.name, column.kind, ()) for column in quasi.columns]
            whole = recode_by_levels(bound, columns, quasi.name_levels(levels))
            label = np.where(label >= 0, whole.label, -1)
        label = number_classes(label)
        # The further column loses nothing, and would make all losses look smaller than they are.
        scale = float(problem.weights.sum() / problem.weights[:-1].sum())
        tried = tuple(replace(trial, loss=trial.loss * scale) for trial in found.tried)
        value = None if found.value is None else found.value * scale
        loss = problem.loss(label).overall * len(problem.columns) / (len(problem.columns) - 1)
        return replace(
            found, label=label, loss=loss, value=value, tried=tried, cuts=None, levels=levels,
            bound=None,
        )  # fmt: skip

    def _choose_cells(self) -> Ints:
        """The cells of groups that keep the promise; raises where too many rows do not.

        Rows that are left out change what classes are compared with, so groups are judged again.
        """
        problem, group = self.problem, _find_groups(self.bound)
        kept = np.flatnonzero(~self.groups.exposed[group])
        fails = np.ones(1, dtype=bool)
        while len(kept) and fails.any():
            part = problem.reorder(kept)
            fails = part.find_failing(part.blocks)
            bad = np.unique(group[kept[fails[part.blocks]]])
            kept = kept[~np.isin(group[kept], bad)]
        lost = problem.n_rows - int(problem.rows[kept].sum())
        if lost > self.budget.suppression * problem.n_rows or not len(kept):
            raise UsageError(
                f"{rows_text(lost)} of {problem.n_rows:,} cannot be released together with the "
                "earlier releases: groups of people in the same classes there break the promise, "
                "or those who left them would",
                where="given",
                hint="keep the rows of people who left in the table, promise less, or allow groups "
                f"to be left out: a share of {lost / problem.n_rows:.4f} (search.suppression)",
            )
        return kept

    def draft(self, pseudonyms: Pseudonyms, outcome: Outcome, recoding: Recoding) -> Draft:
        """The draft with a record of its groups, and no plan: it could not keep their promise."""
        draft, given = super().draft(pseudonyms, outcome, recoding), self._judge(recoding)
        origin = draft.origin.model_copy(update={"given": given})
        return replace(draft, origin=origin, plan=None, notes=(given.sentence,))

    def make_stricter(self) -> None:
        """Nothing implies the promise about groups."""

    def _judge(self, recoding: Recoding) -> GivenRecord:
        """Counts the groups of the released rows and judges them."""
        table = build_released_table(self.bound, recoding.label, recoding.released)
        requirements = state_requirements(table, None)
        classes = split_by_group(table)
        if failing_classes(requirements, classes).any():
            # Rows that are left out may take the last row of a value with them: ranks then change.
            raise UsageError(
                "the release that was found does not keep its promise together with the earlier "
                "ones",
                where="given",
                hint="use another method or seed, or let no group be left out",
            )
        return GivenRecord(
            releases=self.groups.releases,
            groups=classes.count,
            smallest=int(classes.size.min()),
            left_out=int(self.bound.cells.rows[recoding.label < 0].sum()),
        )


def refuse_lone_key(given: Any) -> None:
    """Raises where a column to link rows by is named, and no release."""
    if given is None:
        what = "a column to link rows by is of use only with earlier releases"
        raise UsageError(what, where="given_key", hint="name them, too (--given)")


def refuse_given(bound: BoundTable | TableSummary, targets: Targets, population: Any) -> None:
    """Raises if this release cannot be made together with earlier ones."""
    policy, wrong, hint = bound.policy, "", ""
    if isinstance(bound, TableSummary):
        wrong, hint = "the table is in parts", "allow more cells in one place (--cells)"
    elif targets.plan is not None:
        wrong, hint = "a plan does not take earlier releases into account", "leave --plan out"
    elif bound.source.rewrites or targets.leave_rows_to(bound.source):
        wrong = "its engine rewrites the table by itself"
        hint = "give a file or a frame in memory, and write a file"
    elif population is not None or policy.population is not None:
        wrong, hint = "promises about a population say nothing of groups", "leave it out"
    elif policy.search.masking != "none":
        wrong, hint = "masked values are not judged group by group", 'say masking = "none"'
    elif policy.release.leftover != "drop":
        wrong = "rows that are left out would be told from those that are not"
        hint = 'say leftover = "drop" in [release]'
    if wrong:
        what = f"no release can be made together with earlier ones here: {wrong}"
        raise UsageError(what, where="given", hint=hint)


def split_by_group(bound: BoundTable) -> Classes:
    """The classes of rows that are alike and of one group."""
    quasi = (*bound.classes.quasi, EARLIER)
    return form_classes(bound.cells, quasi, bound.classes.attributes, bound.policy.wildcards)


def _find_groups(bound: BoundTable) -> Ints:
    """The group of each cell: groups are numbered from 0, and each of them has rows."""
    return bound.cells.codes[EARLIER]


def find_earlier_groups(
    bound: BoundTable, given: Any, column: str | None, job: Job
) -> EarlierGroups:
    """Finds the class that the person of each row has in each of some earlier releases.

    Rows are linked by a column, or by their order where a release has all rows of this table.
    Identifiers that were released as pseudonyms are known again by the steward's own key.
    """
    tables = list(given) if isinstance(given, list | tuple) else [given]
    pseudonyms = None if job.key is None else job.pseudonyms
    refuse_counting(bound)
    others = [
        open_table(table, bound.policy, job.reading, is_clean=True).bind() for table in tables
    ]
    if column is None:
        labels = [_link_by_order(bound, other) for other in others]
        exposed = np.zeros(len(group_codes(labels)[1]), dtype=bool)
    else:
        people = [_read_people(each, column, pseudonyms) for each in (bound, *others)]
        labels = [
            _find_labels(people[0], other, those)
            for other, those in zip(others, people[1:], strict=True)
        ]
        exposed = _find_exposed(labels, others, people)
    releases = tuple(other.source.digest() for other in others)
    for other in others:
        other.source.close()
    return EarlierGroups(bound, group_codes(labels)[0], exposed, releases)


def _link_by_order(bound: BoundTable, other: BoundTable) -> Ints:
    """The class of each row in a release of the same rows, linked by order or by values."""
    if other.cells.n_rows == bound.cells.n_rows:
        is_order_kept = bound.policy.release.rows == "keep"
        label = align(bound, other, is_order_kept=is_order_kept).find_classes()
        if label is not None:
            return label
    raise UsageError(
        "nothing says whose row is whose in this earlier release",
        where=other.source.name,
        hint="name a column that both have and that tells rows apart (--given-key)",
    )


def _read_people(bound: BoundTable, column: str, pseudonyms: Pseudonyms | None) -> pa.Array:
    """Who each row is about, in a table or in a release of one."""
    keys = read_keys(bound.source, column).combine_chunks()
    if pseudonyms is None or column not in bound.policy.identifiers:
        return keys
    released = pc.match_substring_regex(keys, PSEUDONYM)
    return pc.if_else(released, keys, pseudonyms.column(column, keys))


def _find_labels(people: pa.Array, other: BoundTable, those: pa.Array) -> Ints:
    """The class of each person in another table; −1 for people who are not in it."""
    at = find_keys(people, those, other.source.name)
    label = np.full(len(people), -1, dtype=np.int64)
    label[at[at >= 0]] = other.classes.cell_class[locate_rows(other)][at >= 0]
    return label


def _find_exposed(
    labels: Sequence[Ints], others: Sequence[BoundTable], people: Sequence[pa.Array]
) -> Flags:
    """Which groups of the table have lost people who would break the promise by themselves."""
    _, first = group_codes(labels)
    number = {
        tuple(int(label[row]) for label in labels): at for at, row in enumerate(first.tolist())
    }
    exposed = np.zeros(len(first), dtype=bool)
    for other, those in zip(others, people[1:], strict=True):
        theirs = [
            _find_labels(those, each, keys) for each, keys in zip(others, people[1:], strict=True)
        ]
        stays = np.asarray(pc.is_in(those, value_set=people[0])).astype(np.int64)
        joined = join_classes(other, [*theirs, stays])
        broken = failing_classes(state_requirements(joined, None), joined.classes)
        cell, _ = group_codes([locate_rows(other), *theirs, stays])
        gone = np.flatnonzero(broken[joined.classes.cell_class[cell]] & (stays == 0))
        for row in gone.tolist():
            at = number.get(tuple(int(label[row]) for label in theirs))
            if at is not None:
                exposed[at] = True
    return exposed
