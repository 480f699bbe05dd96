"""The requirements that a policy states, and those worth measuring whether stated or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.encode.coverage import covering_of
from tclose.errors import PolicyError, Problem
from tclose.requirements.registry import REQUIREMENTS
from tclose.requirements.requirement import ADVERSARIES, AttributeRequirement, Ints, Requirement

ABOUT_COLUMNS = [kind for kind in REQUIREMENTS if issubclass(kind, AttributeRequirement)]
BEFORE = list(takewhile(lambda kind: kind not in ABOUT_COLUMNS, REQUIREMENTS))
AFTER = [kind for kind in REQUIREMENTS[len(BEFORE) :] if kind not in ABOUT_COLUMNS]


def state_requirements(bound: BoundTable, population: Cells | None = None) -> list[Requirement]:
    """Every requirement that the policy states."""

    @cache
    def match_population() -> Ints:
        if population is None:
            raise PolicyError(
                [Problem("population", "k_map and presence need one", "give --population FILE")]
            )
        covering = covering_of(bound.classes, population, bound.hierarchies)
        return covering.rows_covered(population)

    return [
        *(each for kind in BEFORE for each in kind.from_policy(bound, match_population)),
        *_about_columns(bound),
        *(each for kind in AFTER for each in kind.from_policy(bound, match_population)),
    ]


def list_measurements(bound: BoundTable) -> list[Requirement]:
    """What is worth knowing about a table whatever was required."""
    found = [each for kind in BEFORE for each in kind.measured_of_table(bound)]
    for values in bound.attributes.values():
        found += [each for kind in ABOUT_COLUMNS for each in kind.measured_of_column(values)]
    for kind in (*ABOUT_COLUMNS, *AFTER):
        found += kind.measured_of_table(bound)
    return found


def _about_columns(bound: BoundTable) -> Iterator[Requirement]:
    """What is stated of sensitive columns, against every adversary that the policy names.

    With nothing else to know, whoever knows the other sensitive attributes knows the class only.
    """
    readings = bound.policy.readings if len(bound.attributes) > 1 else ("separate",)
    everybody = [ADVERSARIES[reading] for reading in readings]
    for name, values in bound.attributes.items():
        column = bound.policy.columns[name]
        stated = [
            each for kind in ABOUT_COLUMNS for each in kind.from_column(column, values, bound)
        ]
        for adversary in everybody:
            for requirement in stated:
                if requirement.against_others:
                    yield replace(requirement, adversary=adversary)
        yield from (requirement for requirement in stated if not requirement.against_others)
