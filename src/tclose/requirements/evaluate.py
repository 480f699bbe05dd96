"""The one evaluator: what classes attain in some requirements, as each adversary sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tclose.requirements.classes import JudgedClasses
from tclose.requirements.requirement import Measurement, Proposal, Requirement

Flags = NDArray[np.bool_]
C = TypeVar("C", bound=JudgedClasses)


@dataclass(frozen=True)
class Evaluation(Generic[C]):
    """What some classes attain in one requirement, with the margin of each."""

    requirement: Requirement
    measured: Measurement
    seen: C
    """The classes as the adversary sees them: where other sensitive values are known, each is
    split by these. `seen.origin` says which class each lies in."""

    @property
    def failing(self) -> Flags:
        """Which of the classes as the adversary sees them break the requirement."""
        return self.measured.fails


def evaluate(
    requirements: Sequence[Requirement],
    classes: C,
    *,
    proposal: Proposal | None = None,
    before: Callable[[Requirement], None] = lambda requirement: None,
) -> Iterator[Evaluation[C]]:
    """Measures classes in every requirement, one after the other.

    Of classes that a search proposes, a requirement is left out that cannot be judged by them.
    `before` is told of each requirement before it is measured.
    """
    view = _View(classes)
    for requirement in requirements:
        before(requirement)
        seen = view.of(requirement)
        if proposal is None:
            yield Evaluation(requirement, requirement.measure(seen), seen)
        elif (measured := requirement.measure_proposed(seen, proposal)) is not None:
            yield Evaluation(requirement, measured, seen)


def failing_classes(
    requirements: Sequence[Requirement], classes: JudgedClasses, proposal: Proposal | None = None
) -> Flags:
    """Which classes break a requirement, by their numbers."""
    broken = np.zeros(classes.count, dtype=bool)
    for evaluation in evaluate(requirements, classes, proposal=proposal):
        seen = evaluation.seen
        own = evaluation.failing
        broken[own if seen is classes else seen.origin[own]] = True
    return broken


class _View(Generic[C]):
    """C as adversaries see them; the last view is kept, for the next requirement."""

    def __init__(self, classes: C) -> None:
        self.classes = classes
        self._known: tuple[str, C] | None = None

    def of(self, requirement: Requirement) -> C:
        name = requirement.attribute
        if requirement.adversary == "knows_class" or name is None:
            return self.classes
        if self._known is None or self._known[0] != name:
            others = [other for other in self.classes.attributes if other != name]
            self._known = name, self.classes.regroup(others)
        return self._known[1]
