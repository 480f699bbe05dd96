"""Whether a promise can be kept, and how large classes must be, before any search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.errors import Problem, UsageError
from tclose.plain import rows_text
from tclose.requirements.constraint import Constraint, JudgedAttribute
from tclose.requirements.requirement import write_number
from tclose.search.limits import choose_within_limits
from tclose.search.problem import SearchProblem

MOST_TRIED = 20_000
"""Class sizes that are tried one by one."""
HINT = "promise a larger t; `tclose frontier` helps"


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

    Merging classes never hurts (but for requirements that say so): what the whole table as one
    class breaks is broken everywhere, and what it attains is the nearest promise that can be kept.
    """
    found = []
    for requirement in problem.constraints.requirements:
        attribute, abilities = requirement.attribute, requirement.capabilities
        title = f"{requirement.name} of {attribute}" if attribute else requirement.name
        title += " (cross)" if requirement.adversary == "knows_others" else ""
        if (least := abilities.least_table) > (most := problem.classes.everyone):
            found.append(Infeasible(title, f"n={least}", most, Fraction(most)))
        if problem.overlaps and not abilities.overlapping:
            continue  # what the whole table breaks, parts of it may keep
        measured = problem.measure(requirement)
        if measured is not None and measured.fails.any():
            required = requirement.required or ""
            found.append(Infeasible(title, required, measured.achieved, measured.exact))
    return tuple(found)


def refuse_infeasible(problem: SearchProblem) -> None:
    """Raises where no release, however coarse, keeps the promise."""
    reasons = infeasible(problem)
    if reasons:
        listed = "; ".join(str(reason) for reason in reasons)
        raise UsageError(f"no release can keep this promise: {listed}", where="policy")


@dataclass(frozen=True)
class Feasibility:
    """Promises that no release can keep, and properties that every release must have."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def assess_feasibility(problem: SearchProblem, suppression: Fraction) -> Feasibility:
    """Finds the promises and limits that no release can keep, with the best it could keep."""
    hint = "promise no more than that, or leave the promise out"
    problems = [
        Problem("policy", f"no release can keep this promise: {reason}", hint)
        for reason in infeasible(problem)
    ]
    if problem.limited and not problems:
        try:
            choose_within_limits(problem, suppression)
        except UsageError as error:
            problems.append(Problem(error.where, error.what, error.hint))
    notes = []
    for title, t, least in _list_least_sizes(problem):
        if 2 * least > problem.n_rows:
            what = _tell_one_class(problem, title, t, least)
            problems.append(Problem("policy", what, HINT))
        elif least > problem.constraints.k:
            most = problem.n_rows // least
            notes.append(
                f"{title}: t = {float(t):g} needs classes of at least {rows_text(least)}, whatever "
                f"rows they have; so there can be at most {most:,} classes"
            )
    return Feasibility(tuple(problems), tuple(notes))


def foresee_one_class(problem: SearchProblem) -> Iterator[str]:
    """Says which promises of closeness can only be kept by all rows as one class."""
    if problem.n_rows > 2 * MOST_TRIED:
        return
    for title, t, least in _list_least_sizes(problem):
        if least > 1 and 2 * least > problem.n_rows:  # one row is one class anyway
            yield f"{_tell_one_class(problem, title, t, least)}; {HINT}"


def foresee_bare_columns(problem: SearchProblem) -> Iterator[str]:
    """Says which columns a method that recodes whole columns can only keep or hide."""
    columns = () if problem.objective.stars else problem.columns
    bare = [each for each in columns if each.hierarchy is None and each.reach is None]
    if names := ", ".join(each.name for each in bare if each.values > 2):
        yield (
            f"{names}: without a hierarchy a whole column is released as it is or hidden; "
            "a hierarchy in the policy allows levels between"
        )


def _tell_one_class(problem: SearchProblem, title: str, t: Fraction, least: int) -> str:
    what = f"{title}: t = {float(t):g} needs classes of at least {rows_text(least)}"
    return f"{what}, so all {problem.n_rows:,} rows would be one class"


def _list_least_sizes(problem: SearchProblem) -> Iterator[tuple[str, Fraction, int]]:
    """For each promise of closeness: its subject, its t, and the least number of rows of a class.

    Where rows have weights or count as persons, or a missing value may be any, nothing is known.
    """
    for constraint in problem.constraints.closeness.values():
        field = problem.constraints.fields[constraint.field]
        if field.mass is None and not field.hides and field.whole is None:
            least = find_least_size(constraint, field, problem.rows)
            yield f"closeness of {field.name}", constraint.threshold, least


def find_least_size(constraint: Constraint, field: JudgedAttribute, rows: np.ndarray) -> int:
    """The least rows of any class that can be within t of the table.

    A class of n rows has a multiple of 1/n below each edge of the metric's tree, so it is off by
    the distance of n·Q to the nearest whole number, over n, at least: each edge by itself.
    """
    metric, total = constraint.metric, int(rows.sum())
    assert metric is not None
    below = np.zeros(len(metric.parent), dtype=np.int64)
    np.add.at(below, metric.leaf[field.codes], rows)
    for node in range(len(below) - 1):
        below[metric.parent[node]] += below[node]
    lengths = np.array([int(length) for length in metric.length], dtype=object)
    if int(lengths.sum()) * total < 1 << 62:
        lengths = lengths.astype(np.int64)
    counts = np.where((below > 0) & (below < total), below, 0)[:-1]
    lengths, counts = lengths[:-1][counts > 0], counts[counts > 0]
    limit = constraint.threshold * metric.diameter * total
    for size in range(1, min(total, MOST_TRIED)):
        over = size * counts % total
        if int((lengths * np.minimum(over, total - over)).sum()) <= limit * size:
            return size
    return min(total, MOST_TRIED)
