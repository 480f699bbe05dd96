"""The requirements that a policy states, and those worth measuring whether stated or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile

from tclose.errors import PolicyError, Problem
from tclose.requirements.classes import P, StatedTable
from tclose.requirements.registry import REQUIREMENTS
from tclose.requirements.requirement import (
    ADVERSARIES,
    AttributeRequirement,
    Ints,
    Requirement,
    Table,
)

ABOUT_COLUMNS = [kind for kind in REQUIREMENTS if issubclass(kind, AttributeRequirement)]
BEFORE = list(takewhile(lambda kind: kind not in ABOUT_COLUMNS, REQUIREMENTS))
AFTER = [kind for kind in REQUIREMENTS[len(BEFORE) :] if kind not in ABOUT_COLUMNS]


def state_requirements(table: StatedTable[P], population: P | None = None) -> list[Requirement]:
    """Every requirement that the policy states."""

    @cache
    def match_population() -> Ints:
        if population is None:
            raise PolicyError(
                [Problem("population", "k_map and presence need one", "give --population FILE")]
            )
        return table.match_population(population)

    return [
        *(each for kind in BEFORE for each in kind.from_policy(table, match_population)),
        *_about_columns(table),
        *(each for kind in AFTER for each in kind.from_policy(table, match_population)),
    ]


def list_measurements(table: Table) -> list[Requirement]:
    """What is worth knowing about a table whatever was required."""
    found = [each for kind in BEFORE for each in kind.measured_of_table(table)]
    for values in table.attributes.values():
        found += [each for kind in ABOUT_COLUMNS for each in kind.measured_of_column(values)]
    for kind in (*ABOUT_COLUMNS, *AFTER):
        found += kind.measured_of_table(table)
    return found


def _about_columns(table: Table) -> Iterator[Requirement]:
    """What is stated of sensitive columns, against every adversary that the policy names.

    With nothing else to know, whoever knows the other sensitive attributes knows the class only.
    """
    readings = table.policy.readings if len(table.attributes) > 1 else ("separate",)
    everybody = [ADVERSARIES[reading] for reading in readings]
    for values in table.attributes.values():
        stated = [each for kind in ABOUT_COLUMNS for each in kind.from_column(values, table)]
        for adversary in everybody:
            for requirement in stated:
                if requirement.against_others:
                    yield replace(requirement, adversary=adversary)
        yield from (requirement for requirement in stated if not requirement.against_others)
