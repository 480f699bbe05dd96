"""From the requirements of a policy to compiled rules, and a list of what cannot be compiled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes, grouped
from tclose.data.encode.persons import Persons
from tclose.distance import EarthMover, JensenShannon, KullbackLeibler, TreeMetric, equal
from tclose.distance.histogram import Counts
from tclose.errors import UsageError
from tclose.requirements.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from tclose.requirements.constraint import (
    Constraint,
    ConstraintKind,
    Constraints,
    JudgedAttribute,
)
from tclose.requirements.delta_disclosure import DeltaDisclosure
from tclose.requirements.distinct import DistinctDiversity
from tclose.requirements.entropy import EntropyDiversity
from tclose.requirements.joint import JointCloseness
from tclose.requirements.k_anonymity import KAnonymity
from tclose.requirements.nt_closeness import NTCloseness
from tclose.requirements.probabilistic import AlphaAnonymity, ProbabilisticDiversity
from tclose.requirements.recursive import RecursiveDiversity
from tclose.requirements.stated import Line
from tclose.requirements.t_closeness import TCloseness

Ints = NDArray[np.int64]
LARGEST = 2**50
"""What all rows may weigh together for the kernels to weigh them exactly."""
FINEST = 10
"""Up to so many cells, a person is shared out among them without a remainder."""


def compile_constraints(lines: Sequence[Line], classes: Classes) -> Constraints:
    """Compiles what can be compiled."""
    compiler = _Compiler(classes)
    for line in lines:
        compiler.add(line)
    made = Constraints(
        tuple(lines), compiler.k, tuple(compiler.fields), tuple(compiler.rules),
        tuple(compiler.others),
    )  # fmt: skip
    if classes.persons is not None:
        return _by_persons(made, classes.persons, len(classes.cell_rows))
    return made if classes.cell_weight is None else _by_mass(made, classes.cell_weight)


def _by_mass(constraints: Constraints, mass: Counts) -> Constraints:
    """The constraints with weighted histograms; masses that are too large are rounded."""
    total = sum(mass.tolist())
    exact = total < LARGEST
    if not exact:
        mass = np.maximum(mass.astype(object) * LARGEST // total, 1).astype(np.int64)
    fields = tuple(replace(one, mass=mass) for one in constraints.fields)
    return replace(constraints, fields=fields, exact=exact)


def _by_persons(constraints: Constraints, persons: Persons, cells: int) -> Constraints:
    """The constraints with histograms in which persons are shared out among the cells they have.

    Numbers of persons do not add up, as the kernels add. But of one person's shares a class has at
    most the whole: so it has at least as many persons as it has units, rounded up. Likewise it has
    at least so many persons with a value, and the table exactly so many. Where nobody has several
    cells all this is exact.
    """
    most = int(np.bincount(persons.who).max())
    unit = math.lcm(*range(1, min(most, FINEST) + 1))
    nobody = np.zeros(cells, dtype=np.int64)
    fields = [replace(one, mass=persons.shares(one.codes, unit)) for one in constraints.fields]
    fields.append(JudgedAttribute("persons", nobody, 1, mass=persons.shares(nobody, unit)))
    return replace(constraints, fields=tuple(fields), unit=unit, exact=not persons.scattered)


@dataclass
class _Compiler:
    classes: Classes
    k: int = 1
    fields: list[JudgedAttribute] = field(default_factory=list)
    rules: list[Constraint] = field(default_factory=list)
    others: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        requirement = line.requirement
        if isinstance(requirement, KAnonymity):
            self.k = max(self.k, requirement.k or 1)
            return
        made = [] if line.reading == "cross" else list(self._rules(requirement))
        if made:
            self.rules += made
        elif isinstance(requirement, NTCloseness):
            raise UsageError(
                f"(n, t)-closeness by {requirement.distance} can be audited, not searched for",
                where=f"columns.{requirement.attribute}.distance",
                hint="use ordered, numeric, equal or hierarchical",
            )
        else:
            self.others.append(line)

    def _rules(self, requirement: Any) -> Iterator[Constraint]:
        """The rules that together are the requirement; none where it cannot be compiled."""
        if isinstance(requirement, JointCloseness):
            if requirement.by == "equal" and requirement.t is not None:
                at = self._joint(requirement.columns)
                metric = equal(self.fields[at].values)
                yield Constraint(ConstraintKind.EMD, at, requirement.t, metric)
            return
        if type(requirement) not in _MAKERS:
            return
        name: str = requirement.attribute
        whole = None if self.classes.whole is None else self.classes.whole[name]
        values = self.classes.attributes[name].values
        at = self._field(name, self.classes.cell_codes[name], values, whole)
        labels = self.classes.attributes[name].labels
        yield from _MAKERS[type(requirement)](requirement, at, labels)

    def _field(self, name: str, codes: Ints, values: int, whole: Ints | None = None) -> int:
        for at, known in enumerate(self.fields):
            if known.name == name:
                return at
        self.fields.append(JudgedAttribute(name, codes, values, whole))
        return len(self.fields) - 1

    def _joint(self, columns: tuple[str, ...]) -> int:
        """Combined values; a missing one is a value of its own here, as in `privacy.joint`."""
        codes = []
        for name in columns:
            code = self.classes.cell_codes[name]
            codes.append(np.where(code < 0, self.classes.attributes[name].values, code))
        label, first = grouped(codes)
        return self._field(" × ".join(columns), label, len(first))


def _closeness(requirement: Any, at: int, labels: Sequence[str]) -> Iterator[Constraint]:
    measure, t = requirement.measure_by, requirement.t
    if t is None:
        return
    if isinstance(measure, EarthMover) and isinstance(measure.metric, TreeMetric):
        need = requirement.n if isinstance(requirement, NTCloseness) else 0
        yield Constraint(ConstraintKind.EMD, at, t, measure.metric, need=need)
    elif isinstance(requirement, NTCloseness):
        return
    elif isinstance(measure, KullbackLeibler):
        yield Constraint(ConstraintKind.KL, at, t)
    elif isinstance(measure, JensenShannon):
        yield Constraint(ConstraintKind.JS, at, t)


def _distinct(
    requirement: DistinctDiversity, at: int, labels: Sequence[str]
) -> Iterator[Constraint]:
    yield Constraint(ConstraintKind.DISTINCT, at, Fraction(requirement.l or 0))


def _probabilistic(
    requirement: ProbabilisticDiversity, at: int, labels: Sequence[str]
) -> Iterator[Constraint]:
    if requirement.l:
        yield Constraint(ConstraintKind.SHARE, at, 1 / requirement.l)


def _alpha(requirement: AlphaAnonymity, at: int, labels: Sequence[str]) -> Iterator[Constraint]:
    named = requirement.values
    if requirement.alpha is None or (named is not None and not set(named) <= set(labels)):
        return
    protected = None if named is None else tuple(labels.index(value) for value in named)
    yield Constraint(ConstraintKind.SHARE, at, requirement.alpha, protected=protected)


def _entropy(requirement: EntropyDiversity, at: int, labels: Sequence[str]) -> Iterator[Constraint]:
    if requirement.l is not None:
        yield Constraint(ConstraintKind.ENTROPY, at, requirement.l)


def _recursive(
    requirement: RecursiveDiversity, at: int, labels: Sequence[str]
) -> Iterator[Constraint]:
    if requirement.c is not None:
        yield Constraint(ConstraintKind.RECURSIVE, at, requirement.c, l=requirement.l)


def _beta(requirement: Any, at: int, labels: Sequence[str]) -> Iterator[Constraint]:
    if requirement.beta is None:
        return
    yield Constraint(ConstraintKind.GAIN, at, 1 + requirement.beta)
    if isinstance(requirement, EnhancedBetaLikeness):
        yield Constraint(ConstraintKind.BAND, at, absent=True)


def _delta(requirement: DeltaDisclosure, at: int, labels: Sequence[str]) -> Iterator[Constraint]:
    if requirement.delta is not None:
        unit = math.log(2) if requirement.base == "2" else 1.0
        spread = float(requirement.delta) * unit
        yield Constraint(
            ConstraintKind.BAND, at, spread=spread, absent=requirement.absent == "ignore"
        )


_MAKERS: dict[type, Any] = {
    TCloseness: _closeness,
    NTCloseness: _closeness,
    DistinctDiversity: _distinct,
    ProbabilisticDiversity: _probabilistic,
    AlphaAnonymity: _alpha,
    EntropyDiversity: _entropy,
    RecursiveDiversity: _recursive,
    BasicBetaLikeness: _beta,
    EnhancedBetaLikeness: _beta,
    DeltaDisclosure: _delta,
}
