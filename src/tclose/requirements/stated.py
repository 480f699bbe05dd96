"""The requirements that a policy states, and those worth measuring whether stated or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tclose.data.binding import BoundTable
from tclose.data.encode.attribute import Attribute
from tclose.data.encode.cells import Cells
from tclose.errors import PolicyError, Problem
from tclose.policy.model import Column, DistanceSpec
from tclose.requirements.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from tclose.requirements.delta_disclosure import DeltaDisclosure
from tclose.requirements.distinct import DistinctDiversity
from tclose.requirements.entropy import EntropyDiversity
from tclose.requirements.joint import JointCloseness
from tclose.requirements.k_anonymity import KAnonymity
from tclose.requirements.nt_closeness import NTCloseness
from tclose.requirements.population import DeltaPresence, KMap, match_population
from tclose.requirements.probabilistic import AlphaAnonymity, ProbabilisticDiversity
from tclose.requirements.recursive import RecursiveDiversity
from tclose.requirements.requirement import Requirement
from tclose.requirements.t_closeness import TCloseness

Reading = Literal["separate", "cross", "joint"]


@dataclass(frozen=True)
class Line:
    """A requirement and how it reads several sensitive attributes.

    separate: classes as released. cross: the attacker knows the other sensitive attributes, so
    classes are formed on them too. joint: the combination of values is what is protected.
    """

    requirement: Requirement
    reading: Reading = "separate"


def promises_of(bound: BoundTable, population: Cells | None = None) -> list[Line]:
    """Every requirement that the policy states."""
    policy = bound.policy
    lines = [Line(KAnonymity(policy.k))] if policy.k is not None else []
    for name, attribute in bound.attributes.items():
        stated = list(_stated(bound, attribute))
        # With nothing else to know, the cross reading of a single attribute is the separate one.
        readings = policy.readings if len(bound.attributes) > 1 else ("separate",)
        for reading in readings:
            lines += [Line(requirement, reading) for requirement in stated]
        if policy.columns[name].p is not None:
            p_sensitive = DistinctDiversity(
                name, policy.columns[name].p, name="p-sensitive-k-anonymity"
            )
            lines.append(Line(p_sensitive))
    for joint in policy.joint:
        grounds = tuple(
            bound.attributes[name].ground(_ground_name(bound.attributes[name]))
            for name in joint.columns
        )
        lines.append(Line(JointCloseness(joint.columns, joint.t, joint.distance, grounds), "joint"))
    return lines + list(_about_population(bound, population))


def measures_of(bound: BoundTable) -> list[Line]:
    """What is worth knowing about a table whatever was promised."""
    lines = [Line(KAnonymity())]
    for name, attribute in bound.attributes.items():
        lines += [Line(requirement) for requirement in _measured(name, attribute)]
    if len(bound.attributes) > 1:
        for name, attribute in bound.attributes.items():
            distance, note = attribute.distance(_ground_spec(attribute))
            lines.append(Line(TCloseness(name, distance, note="; ".join(note)), "cross"))
        lines.append(Line(JointCloseness(tuple(bound.attributes)), "joint"))
    return lines


def _stated(bound: BoundTable, attribute: Attribute) -> Iterator[Requirement]:
    """What the policy promises about one attribute."""
    name, column = attribute.name, attribute.column
    if column.t is not None:
        distance, notes = attribute.distance(column.distance)
        if column.n is None:
            yield TCloseness(name, distance, column.t, note="; ".join(notes))
        else:
            _refuse_wild(bound, column, name)
            yield NTCloseness(name, distance, column.n, column.t, bound.hierarchies)
    if (diversity := column.l) is not None:
        if diversity.distinct is not None:
            yield DistinctDiversity(name, diversity.distinct)
        if diversity.entropy is not None:
            yield EntropyDiversity(name, diversity.entropy)
        if diversity.recursive is not None:
            yield RecursiveDiversity(name, diversity.recursive.l, diversity.recursive.c)
        if diversity.probabilistic is not None:
            yield ProbabilisticDiversity(name, diversity.probabilistic)
    if column.alpha is not None:
        yield AlphaAnonymity(name, column.alpha.max, column.alpha.values)
    if column.beta is not None and column.beta.basic is not None:
        yield BasicBetaLikeness(name, column.beta.basic)
    if column.beta is not None and column.beta.enhanced is not None:
        yield EnhancedBetaLikeness(name, column.beta.enhanced)
    if column.delta is not None:
        yield DeltaDisclosure(name, column.delta.max, column.delta.base, column.delta.absent)


def _measured(name: str, attribute: Attribute) -> Iterator[Requirement]:
    """Every reading of one attribute, thresholds aside."""
    chosen = attribute.column.distance
    distance, notes = attribute.distance(chosen)
    yield TCloseness(name, distance, note="; ".join(notes))
    for other in (*attribute.suitable, "kl", "js"):
        if other != distance.name:
            yield TCloseness(name, attribute.distance(DistanceSpec(name=other))[0])
    yield DistinctDiversity(name)
    yield EntropyDiversity(name)
    yield RecursiveDiversity(name)
    yield ProbabilisticDiversity(name)
    yield AlphaAnonymity(name)
    yield BasicBetaLikeness(name)
    yield EnhancedBetaLikeness(name)
    yield DeltaDisclosure(name)


def _ground_spec(attribute: Attribute) -> DistanceSpec:
    return DistanceSpec(name=_ground_name(attribute))


def _ground_name(attribute: Attribute) -> str:
    """The tree distance closest to what the policy asks for."""
    asked = attribute.column.distance.name if attribute.column.distance else ""
    return asked if asked in attribute.suitable else attribute.default_distance


def _refuse_wild(bound: BoundTable, column: Column, name: str) -> None:
    wild = [quasi for quasi in bound.policy.quasi if bound.policy.columns[quasi].missing == "any"]
    if wild or column.missing == "any":
        raise PolicyError(
            [
                Problem(
                    f"columns.{name}.n",
                    '(n, t)-closeness is not defined where a missing value may be "any" value',
                    'say missing = "value"',
                )
            ]
        )


def _about_population(bound: BoundTable, population: Cells | None) -> Iterator[Line]:
    policy = bound.policy
    if policy.k_map is None and policy.presence is None:
        return
    if population is None:
        raise PolicyError(
            [Problem("population", "k_map and presence need one", "give --population FILE")]
        )
    matches = match_population(bound.classes, population, bound.hierarchies)
    if policy.k_map is not None:
        yield Line(KMap(matches, policy.k_map))
    if policy.presence is not None:
        yield Line(DeltaPresence(matches, policy.presence.min, policy.presence.max))
