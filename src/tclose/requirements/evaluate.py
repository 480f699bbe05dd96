"""Lists the requirements of a policy, and evaluates them: what classes attain, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.errors import PolicyError, Problem
from tclose.requirements.classes import Classes
from tclose.requirements.registry import ABOUT_COLUMNS, FIRST, LAST
from tclose.requirements.requirement import (
    Measurement,
    P,
    ProposedCells,
    Requirement,
    StatedTable,
    Table,
)


def state_requirements(table: StatedTable[P], population: P | None = None) -> list[Requirement]:
    """Lists every requirement of the policy, with the people who match each class."""

    @cache
    def match_population() -> Ints:
        if population is None:
            raise PolicyError(
                [
                    Problem(
                        "population", "k_map and presence need this table", "give --population FILE"
                    )
                ]
            )
        return table.match_population(population)

    return [requirement.count_matches(match_population) for requirement in list_stated(table)]


def list_stated(table: Table) -> list[Requirement]:
    """Lists every requirement of the policy; those about a population cannot be measured yet."""
    first, last = (
        [
            requirement
            for kind in kinds
            if (stated := kind.find_statement(table.policy)) is not None
            for requirement in kind.from_policy(stated, table)
        ]
        for kinds in (FIRST, LAST)
    )
    return [*first, *_state_of_columns(table), *last]


def _state_of_columns(table: Table) -> Iterator[Requirement]:
    """Yields the requirements on sensitive columns, against every adversary of the policy.

    With a single sensitive attribute, knowing the others is the same as knowing the class.
    """
    adversaries = table.policy.adversaries if len(table.attributes) > 1 else ("knows_class",)
    for name, values in table.attributes.items():
        stated = [
            requirement
            for kind in ABOUT_COLUMNS
            if (statement := kind.find_statement(table.policy.columns[name])) is not None
            for requirement in kind.from_column(statement, values, table)
        ]
        for adversary in adversaries:
            for requirement in stated:
                if requirement.against_others:
                    yield replace(requirement, adversary=adversary)
        yield from (requirement for requirement in stated if not requirement.against_others)


def list_measurements(table: Table) -> list[Requirement]:
    """Lists what is worth measuring of a table, whatever the policy requires."""
    found = [each for kind in FIRST for each in kind.suggest_for_table(table)]
    for values in table.attributes.values():
        found += [each for kind in ABOUT_COLUMNS for each in kind.suggest_for_column(values)]
    for kind in (*ABOUT_COLUMNS, *LAST):
        found += kind.suggest_for_table(table)
    return found


@dataclass(frozen=True)
class Evaluation:
    """The values of classes in one requirement, with the margin of each."""

    requirement: Requirement
    measured: Measurement
    seen: Classes
    """The classes as the adversary sees them: split by other sensitive values, if the adversary
    knows them. `seen.origin` is the class that each one is part of."""


def evaluate(
    requirements: Sequence[Requirement],
    classes: Classes,
    *,
    proposal: ProposedCells | None = None,
    before: Callable[[Requirement], None] = lambda requirement: None,
) -> Iterator[Evaluation]:
    """Measures classes in every requirement, one after the other.

    For classes that a search proposes, requirements that cannot be judged by them are left out.
    `before` is called with each requirement before it is measured.
    """
    split_for, split = None, classes
    for requirement in requirements:
        before(requirement)
        seen, name = classes, requirement.attribute
        if requirement.adversary == "knows_others" and name is not None:
            if split_for != name:
                others = [other for other in classes.attributes if other != name]
                split_for, split = name, classes.regroup(others)
            seen = split
        if proposal is None:
            yield Evaluation(requirement, requirement.measure(seen), seen)
        elif (measured := requirement.measure_proposed(seen, proposal)) is not None:
            yield Evaluation(requirement, measured, seen)


def failing_classes(
    requirements: Sequence[Requirement], classes: Classes, proposal: ProposedCells | None = None
) -> Flags:
    """Flags the classes that break a requirement."""
    broken = np.zeros(classes.count, dtype=bool)
    for evaluation in evaluate(requirements, classes, proposal=proposal):
        seen, fails = evaluation.seen, evaluation.measured.fails
        broken[fails if seen is classes else seen.origin[fails]] = True
    return broken
