"""Promises that no release can keep, recognised before a search begins.

Merging classes never hurts the requirements of the house (but for those that say so), so the whole
table as one class is the best that any release of all rows can do: what fails there fails
everywhere, and what it attains is the nearest promise that can be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tclose.requirements import Line
from tclose.requirements.nt_closeness import NTCloseness
from tclose.requirements.requirement import shown
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
        nearest = shown(self.exact) if self.exact is not None else f"{self.attained:.6g}"
        return (
            f"{self.title}: {self.required} is promised, and the whole table as one class "
            f"attains {nearest}"
        )


def infeasible(problem: Problem) -> tuple[Infeasible, ...]:
    """Every requirement that no release of all rows can keep."""
    judge = Judge(problem)
    found = []
    for line in problem.constraints.requirements:
        requirement = line.requirement
        if isinstance(requirement, NTCloseness):
            if requirement.n > (most := problem.classes.everyone):
                found.append(Infeasible(_title(line), f"n={requirement.n}", most, Fraction(most)))
            continue
        if problem.overlaps and not requirement.capabilities.overlapping:
            continue  # what the whole table breaks, parts of it may keep
        measured = judge.measure(line)
        if measured.fails.any():
            required = requirement.required or ""
            found.append(Infeasible(_title(line), required, measured.achieved, measured.exact))
    return tuple(found)


def _title(line: Line) -> str:
    name, attribute = line.requirement.name, line.requirement.attribute
    about = f"{name} of {attribute}" if attribute else name
    return f"{about} ({line.reading})" if line.reading == "cross" else about
