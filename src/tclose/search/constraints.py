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
from tclose.kernels import rules as kinds
from tclose.requirements.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
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


@dataclass(frozen=True)
class Field:
    """One thing whose distribution is judged: a sensitive attribute, or several taken together."""

    name: str
    codes: Ints
    """The code of each cell; −1 for a missing value that may be any value."""
    values: int
    whole: Ints | None = None
    """The counts of the whole table, where the cells are only a part of it."""
    mass: Ints | None = None
    """What each cell adds to a class's histogram; None: its rows."""

    @property
    def hides(self) -> bool:
        """Whether some values may be any value."""
        return bool((self.codes < 0).any())

    def of_cells(self, cells: Ints) -> Field:
        """The same of some cells, in the order given."""
        mass = None if self.mass is None else self.mass[cells]
        return replace(self, codes=self.codes[cells], mass=mass)


@dataclass(frozen=True)
class Rule:
    """One requirement as a compiled rule about a field; `metric` where it has a ground distance."""

    kind: int
    field: int
    threshold: Fraction = Fraction(0)
    metric: TreeMetric | None = None
    l: int = 0
    protected: tuple[int, ...] | None = None
    spread: float | None = None
    """δ in natural units, for δ-disclosure; None for the logarithm of enhanced β-likeness."""
    absent: bool = False
    """Whether values that a class lacks are ignored."""
    need: int = 0
    """(n, t)-closeness: the least size of a superset to be close to; 0 for other rules."""


@dataclass(frozen=True)
class Promise:
    """All that must hold: a least size, compiled rules, and what the requirements must judge."""

    lines: tuple[Line, ...]
    k: int
    fields: tuple[Field, ...]
    rules: tuple[Rule, ...]
    others: tuple[Line, ...] = ()
    unit: int = 0
    """Where persons are counted, what each of them adds up to, at most, in the last field: that is
    no attribute, but says how many they are. 0: rows are counted."""
    lean: float = 1.0
    """How much of a unit a class has of each of its persons, by all expectation."""
    exact: bool = True
    """Whether the rules count what the requirements count; else they only guide a search."""

    @property
    def monotone(self) -> bool:
        """Whether merging classes that keep the rules gives a class that keeps them."""
        return all(line.requirement.capabilities.monotone for line in self.lines)

    @property
    def supersets(self) -> bool:
        """Whether classes may be close to a superset in place of the table."""
        return any(rule.need for rule in self.rules)

    @property
    def base(self) -> Ints:
        """[fields + 1]: where each field begins in a class's histogram, and the length of it."""
        return np.cumsum([0, *(field.values + 1 for field in self.fields)])

    def rows(self, weight: Ints) -> int:
        """What all rows count or weigh, of the table that cells of these weights are compared with.

        Of several fields, the one where that is most.
        """
        wholes = [int(one.whole.sum()) for one in self.fields if one.whole is not None]
        return int(max([*self.masses(weight).sum(axis=1), *wholes]))

    @property
    def told(self) -> int:
        """How many of the fields are about sensitive attributes."""
        return len(self.fields) - (self.unit > 0)

    def masses(self, weight: Ints) -> Ints:
        """[1 or fields, cells]: what each cell adds to a field of a class's histogram.

        One row is for all fields.
        """
        given = [one.mass for one in self.fields]
        if not given or given[0] is None:
            return np.ascontiguousarray(weight, dtype=np.int64)[None]
        if all(one is given[0] for one in given):
            return np.ascontiguousarray(given[0])[None]
        return np.stack([one for one in given if one is not None])

    def of_cells(self, cells: Ints) -> Promise:
        """The same of some cells, in the order given."""
        return replace(self, fields=tuple(one.of_cells(cells) for one in self.fields))

    def places(self, cells: int) -> Ints:
        """[cells, fields]: where each cell counts in a class's histogram."""
        place = np.zeros((cells, len(self.fields)), dtype=np.int64)
        for at, one in enumerate(self.fields):
            place[:, at] = np.where(one.codes < 0, one.values, one.codes) + self.base[at]
        return place


def compile_promise(lines: Sequence[Line], classes: Classes) -> Promise:
    """Compiles what can be compiled."""
    compiler = _Compiler(classes)
    for line in lines:
        compiler.add(line)
    made = Promise(
        tuple(lines), compiler.k, tuple(compiler.fields), tuple(compiler.rules),
        tuple(compiler.others),
    )  # fmt: skip
    if classes.persons is not None:
        return _by_persons(made, classes.persons, len(classes.cell_weight))
    return made if classes.cell_mass is None else _by_mass(made, classes.cell_mass)


def _by_mass(promise: Promise, mass: Counts) -> Promise:
    """The promise with weighted histograms; masses that are too large are rounded."""
    total = sum(mass.tolist())
    exact = total < LARGEST
    if not exact:
        mass = np.maximum(mass.astype(object) * LARGEST // total, 1).astype(np.int64)
    fields = tuple(replace(one, mass=mass) for one in promise.fields)
    return replace(promise, fields=fields, exact=exact)


def _by_persons(promise: Promise, persons: Persons, cells: int) -> Promise:
    """The promise with histograms in which a person is shared out among the cells that they have.

    Numbers of persons do not add up, as the kernels add. But of one person's shares a class has at
    most the whole: so it has at least as many persons as it has units, rounded up. Likewise it has
    at least so many persons with a value, and the table exactly so many. Where nobody has several
    cells all this is exact.
    """
    most = int(np.bincount(persons.who).max())
    unit = math.lcm(*range(1, min(most, FINEST) + 1))
    nobody = np.zeros(cells, dtype=np.int64)
    fields = [replace(one, mass=persons.shares(one.codes, unit)) for one in promise.fields]
    fields.append(Field("persons", nobody, 1, mass=persons.shares(nobody, unit)))
    return replace(promise, fields=tuple(fields), unit=unit, exact=not persons.scattered)


@dataclass
class _Compiler:
    classes: Classes
    k: int = 1
    fields: list[Field] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
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

    def _rules(self, requirement: Any) -> Iterator[Rule]:
        """The rules that together are the requirement; none where it cannot be compiled."""
        if isinstance(requirement, JointCloseness):
            if requirement.by == "equal" and requirement.t is not None:
                at = self._joint(requirement.columns)
                metric = equal(self.fields[at].values)
                yield Rule(kinds.EMD, at, requirement.t, metric)
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
        self.fields.append(Field(name, codes, values, whole))
        return len(self.fields) - 1

    def _joint(self, columns: tuple[str, ...]) -> int:
        """Combined values; a missing one is a value of its own here, as in `privacy.joint`."""
        codes = []
        for name in columns:
            code = self.classes.cell_codes[name]
            codes.append(np.where(code < 0, self.classes.attributes[name].values, code))
        label, first = grouped(codes)
        return self._field(" × ".join(columns), label, len(first))


def _closeness(requirement: Any, at: int, labels: Sequence[str]) -> Iterator[Rule]:
    measure, t = requirement.measure_by, requirement.t
    if t is None:
        return
    if isinstance(measure, EarthMover) and isinstance(measure.metric, TreeMetric):
        need = requirement.n if isinstance(requirement, NTCloseness) else 0
        yield Rule(kinds.EMD, at, t, measure.metric, need=need)
    elif isinstance(requirement, NTCloseness):
        return
    elif isinstance(measure, KullbackLeibler):
        yield Rule(kinds.KL, at, t)
    elif isinstance(measure, JensenShannon):
        yield Rule(kinds.JS, at, t)


def _distinct(requirement: DistinctDiversity, at: int, labels: Sequence[str]) -> Iterator[Rule]:
    yield Rule(kinds.DISTINCT, at, Fraction(requirement.l or 0))


def _probabilistic(
    requirement: ProbabilisticDiversity, at: int, labels: Sequence[str]
) -> Iterator[Rule]:
    if requirement.l:
        yield Rule(kinds.SHARE, at, 1 / requirement.l)


def _alpha(requirement: AlphaAnonymity, at: int, labels: Sequence[str]) -> Iterator[Rule]:
    named = requirement.values
    if requirement.alpha is None or (named is not None and not set(named) <= set(labels)):
        return
    protected = None if named is None else tuple(labels.index(value) for value in named)
    yield Rule(kinds.SHARE, at, requirement.alpha, protected=protected)


def _entropy(requirement: EntropyDiversity, at: int, labels: Sequence[str]) -> Iterator[Rule]:
    if requirement.l is not None:
        yield Rule(kinds.ENTROPY, at, requirement.l)


def _recursive(requirement: RecursiveDiversity, at: int, labels: Sequence[str]) -> Iterator[Rule]:
    if requirement.c is not None:
        yield Rule(kinds.RECURSIVE, at, requirement.c, l=requirement.l)


def _beta(requirement: Any, at: int, labels: Sequence[str]) -> Iterator[Rule]:
    if requirement.beta is None:
        return
    yield Rule(kinds.GAIN, at, 1 + requirement.beta)
    if isinstance(requirement, EnhancedBetaLikeness):
        yield Rule(kinds.BAND, at, absent=True)


def _delta(requirement: DeltaDisclosure, at: int, labels: Sequence[str]) -> Iterator[Rule]:
    if requirement.delta is not None:
        unit = math.log(2) if requirement.base == "2" else 1.0
        spread = float(requirement.delta) * unit
        yield Rule(kinds.BAND, at, spread=spread, absent=requirement.absent == "ignore")


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
