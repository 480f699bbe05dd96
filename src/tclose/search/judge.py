"""Partitions judged by the requirements themselves: slower than constraints, and the last word.

- `Judge`      which classes of a partition break a requirement
- `infeasible` promises that no release can keep, recognised before a search begins
- `finalize`   the outcome of a search: every class judged, failing ones merged
- `Best`       a search that keeps the best of what it tries
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes, group_codes
from tclose.distance.histogram import Counts
from tclose.errors import UsageError
from tclose.kernels.base.table import CodedTable
from tclose.requirements import Measurement, ProposedCells, Requirement, evaluate, failing_classes
from tclose.requirements.requirement import write_number
from tclose.search.curve import rank_along_curve
from tclose.search.merging import merge_marked
from tclose.search.outcome import Clock, Cuts, Outcome, Trial, number_classes
from tclose.search.problem import SearchProblem

Ints = NDArray[np.int64]
Climbs = list[list[Ints]] | None


@dataclass(frozen=True)
class Judge:
    """The requirements of a promise, ready to judge any partition of a problem's cells.

    To judge a few classes it is enough to show them with all other rows as one more class:
    histograms are all that counts, and the table's distribution is the sum of them; unless persons
    are counted, whose numbers do not add up.
    """

    problem: SearchProblem

    @cached_property
    def _tuples(self) -> tuple[Ints, Ints]:
        """The sensitive values of each cell as one number, and a cell that has them."""
        problem = self.problem
        if not problem.attributes:
            return np.zeros(problem.n_cells, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return group_codes(list(problem.sensitive.T))

    @cached_property
    def _totals(self) -> dict[str, Counts]:
        """What the table has of each combination of sensitive values: rows, and weights if any."""
        label, first = self._tuples
        totals = {}
        for name in ("cell_rows", "cell_weight"):
            if (counts := getattr(self.problem.classes, name)) is not None:
                totals[name] = np.zeros(len(first), dtype=counts.dtype)
                np.add.at(totals[name], label, counts)
        return totals

    def failing(
        self, label: Ints, requirements: Sequence[Requirement], climbs: Climbs = None
    ) -> NDArray[np.bool_]:
        """Which classes of a labelling break a requirement; cells labelled −1 are not released.

        `climbs` are the codes of every class at each level of each column: the supersets of
        (n, t)-closeness. Without them it is not judged.
        """
        kept = np.flatnonzero(label >= 0)
        proposal = self._propose(label[kept], kept, climbs)
        return failing_classes(requirements, self._make_classes(label, kept), proposal)

    def refuses(self, parts: Sequence[Ints], requirements: Sequence[Requirement]) -> bool:
        """Whether one of some classes, given by their cells, breaks a requirement.

        No row is left out.
        """
        of_part = np.repeat(np.arange(len(parts)), [len(cells) for cells in parts])
        cells = np.concatenate(parts)
        if self.problem.classes.persons is None:
            classes = self._add_rest(of_part, cells, len(parts))
        else:  # who else is in the table does not follow from how many are in these parts
            label = np.full(self.problem.n_cells, len(parts), dtype=np.int64)
            label[cells] = of_part
            classes = self._make_classes(label, np.arange(self.problem.n_cells))
        broken = failing_classes(requirements, classes, self._propose(of_part, cells))
        return bool(broken[: len(parts)].any())

    def measure(self, requirement: Requirement, label: Ints | None = None) -> Measurement | None:
        """What a labelling attains; by default the whole table as one class.

        None where that does not follow from its classes.
        """
        if label is None:
            label = np.zeros(self.problem.n_cells, dtype=np.int64)
        kept = np.flatnonzero(label >= 0)
        proposal = self._propose(label[kept], kept)
        found = evaluate([requirement], self._make_classes(label, kept), proposal=proposal)
        return next((each.measured for each in found), None)

    def _propose(self, owner: Ints, cells: Ints, climbs: Climbs = None) -> ProposedCells:
        return ProposedCells(self.problem.classes.cell_class[cells], owner, climbs)

    def _make_classes(self, label: Ints, kept: Ints) -> Classes:
        """The classes of a labelling, from the cells that it keeps."""
        cells = self.problem.classes.of_cells(kept)
        return _regroup(cells, label[kept], int(label.max(initial=-1)) + 1)

    def _add_rest(self, owner: Ints, cells: Ints, parts: int) -> Classes:
        """Some cells in so many parts, and all others as one class more.

        Rows and weights add up, so the others have of each combination of sensitive values what the
        parts leave.
        """
        raw, (of_cell, first) = self.problem.classes, self._tuples
        rests = {name: total.copy() for name, total in self._totals.items()}
        for name, rest in rests.items():
            np.subtract.at(rest, of_cell[cells], getattr(raw, name)[cells])
        there = np.flatnonzero(rests["cell_rows"])
        counts = {
            name: np.concatenate([getattr(raw, name)[cells], rest[there]])
            for name, rest in rests.items()
        }
        both = replace(
            raw.of_cells(np.concatenate([cells, first[there]])),
            cell_rows=counts["cell_rows"],
            cell_weight=counts.get("cell_weight"),
        )
        number = np.concatenate([owner, np.full(len(there), parts)])
        return _regroup(both, number, parts + (len(there) > 0))


def _regroup(classes: Classes, owner: Ints, count: int) -> Classes:
    """The cells of some classes in others: `owner[cell]` of so many."""
    every = np.arange(count)
    key = np.zeros((count, len(classes.quasi)), dtype=np.int64)
    return replace(classes, key=key, cell_class=owner, view_of=every, class_of=every, origin=every)


@dataclass(frozen=True)
class Infeasible:
    """A requirement that even the whole table as one class breaks."""

    title: str
    """The requirement's name, its attribute, and how it is read."""
    required: str
    attained: float
    """By the whole table: the nearest promise that can be kept."""
    exact: Fraction | None

    def __str__(self) -> str:
        nearest = write_number(self.exact) if self.exact is not None else f"{self.attained:.6g}"
        return (
            f"{self.title}: {self.required} is promised, and the whole table as one class "
            f"attains {nearest}"
        )


def infeasible(problem: SearchProblem) -> tuple[Infeasible, ...]:
    """Every requirement that no release of all rows can keep.

    Merging classes never hurts the requirements of the house (but for those that say so): what the
    whole table as one class breaks is broken everywhere, and what it attains is the nearest promise
    that can be kept.
    """
    judge, found = Judge(problem), []
    for requirement in problem.constraints.requirements:
        title = name_requirement(requirement)
        if (least := requirement.capabilities.least_table) > (most := problem.classes.everyone):
            found.append(Infeasible(title, f"n={least}", most, Fraction(most)))
        if problem.overlaps and not requirement.capabilities.overlapping:
            continue  # what the whole table breaks, parts of it may keep
        measured = judge.measure(requirement)
        if measured is not None and measured.fails.any():
            required = requirement.required or ""
            found.append(Infeasible(title, required, measured.achieved, measured.exact))
    return tuple(found)


def name_requirement(requirement: Requirement) -> str:
    """A requirement with its attribute, and how it is read."""
    attribute = requirement.attribute
    about = f"{requirement.name} of {attribute}" if attribute else requirement.name
    return f"{about} (cross)" if requirement.adversary == "knows_others" else about


def finalize(
    problem: SearchProblem,
    label: Ints,
    clock: Clock,
    *,
    method: str,
    uses_sensitive: bool,
    tried: tuple[Trial, ...] = (),
    cuts: Cuts | None = None,
) -> Outcome:
    """An outcome that keeps the promise exactly, whatever the search believed.

    The compiled constraints are sound, so nothing is merged unless they only guide (persons whose
    rows are in several cells), one of them is wrong, or rows were left out that the promise cannot
    do without.
    """
    clock.report("judging every class", now=True)
    found = number_classes(label)
    merged = merge_refused(problem, found)
    loss = problem.loss(merged).overall
    clock.loss = loss
    clock.report("done", now=True)
    return Outcome(
        merged, loss, method, clock.stopped, (*tried, Trial("result", loss, clock.used)),
        uses_sensitive, cuts if np.array_equal(merged, found) else None,
    )  # fmt: skip


def merge_refused(problem: SearchProblem, label: Ints) -> Ints:
    """The same partition with failing classes merged; as a last resort one class of all rows.

    Each of them with one that is near, all at once, and again while any fails: every round leaves
    fewer classes, so this ends.
    """
    judge, requirements = Judge(problem), problem.constraints.requirements
    fails = judge.failing(label, requirements)
    if not fails.any():
        return label
    kept = np.flatnonzero(label >= 0)
    part, merged, result = problem.part(kept), label[kept], label.copy()
    table, curve = part.make_coded_table(ordered=False), rank_along_curve(part.codes, part.rows)
    while fails.any():
        if len(fails) == 1:
            return _make_one_class(problem, judge)
        merged = merge_marked(merged, fails, curve, table)
        result[kept] = merged
        fails = judge.failing(result, requirements)
    return result


def _make_one_class(problem: SearchProblem, judge: Judge) -> Ints:
    whole = np.zeros(problem.n_cells, dtype=np.int64)
    if judge.failing(whole, problem.constraints.requirements).any():
        raise UsageError(
            "no release was found that keeps the promise: even the whole table as one class breaks "
            "it",
            where="policy",
            hint="see what the whole table attains, and promise no more than that",
        )
    return whole


@dataclass
class Best:
    """One search: a problem, a budget that is being spent, and the best partition so far.

    It begins with all cells as one class. `together` says that the best was made without parting
    cells with equal quasi-identifiers; `cuts` are those that lead to it, where strict cuts do.
    """

    problem: SearchProblem
    clock: Clock
    best: Ints = field(init=False)
    least: float = np.inf
    tried: list[Trial] = field(default_factory=list)
    together: bool = True
    cuts: Cuts | None = None

    def __post_init__(self) -> None:
        self.best = np.zeros(self.problem.n_cells, dtype=np.int64)
        self.offer("one class", self.best, together=True)

    @cached_property
    def table(self) -> CodedTable:
        """The problem as the kernels read it."""
        return self.problem.make_coded_table()

    @property
    def seed(self) -> int:
        """The seed of all chance."""
        return self.clock.budget.seed

    def spend(self, effort: float) -> None:
        """Counts work on the cells."""
        self.clock.spend(effort * self.problem.cache_penalty)

    def offer(
        self, step: str, label: Ints, *, together: bool = False, cuts: Cuts | None = None
    ) -> None:
        """Keeps a partition if it is the best so far."""
        loss = self.problem.loss(label).overall
        self.tried.append(Trial(step, loss, self.clock.used))
        if loss < self.least:
            self.best, self.least, self.together, self.cuts = label, loss, together, cuts
        self.clock.loss = self.least

    def finalize(self, method: str) -> Outcome:
        """The best, judged by the requirements themselves."""
        return finalize(
            self.problem, self.best, self.clock, method=method,
            uses_sensitive=not self.together, tried=tuple(self.tried), cuts=self.cuts,
        )  # fmt: skip
