"""Promises that no release can keep, recognised before a search begins.

Merging classes never hurts the requirements of the house (but for those that say so), so the whole
table as one class is the best that any release of all rows can do: what fails there fails
everywhere, and what it attains is the nearest promise that can be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tclose.requirements import Requirement
from tclose.requirements.requirement import write_number
from tclose.search.exact_judge import Judge
from tclose.search.problem import Problem


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


def infeasible(problem: Problem) -> tuple[Infeasible, ...]:
    """Every requirement that no release of all rows can keep."""
    judge = Judge(problem)
    found = []
    for requirement in problem.constraints.requirements:
        title = _title(requirement)
        if (least := requirement.capabilities.least_table) > (most := problem.classes.everyone):
            found.append(Infeasible(title, f"n={least}", most, Fraction(most)))
        if problem.overlaps and not requirement.capabilities.overlapping:
            continue  # what the whole table breaks, parts of it may keep
        measured = judge.measure(requirement)
        if measured is not None and measured.fails.any():
            required = requirement.required or ""
            found.append(Infeasible(title, required, measured.achieved, measured.exact))
    return tuple(found)


def _title(requirement: Requirement) -> str:
    attribute = requirement.attribute
    about = f"{requirement.name} of {attribute}" if attribute else requirement.name
    return f"{about} (cross)" if requirement.adversary == "knows_others" else about
