"""From the requirements of a policy to compiled rules, and a list of what cannot be compiled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance import EarthMover, JensenShannon, KullbackLeibler, TreeMetric, equal
from tclose.errors import UsageError
from tclose.privacy.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from tclose.privacy.delta_disclosure import DeltaDisclosure
from tclose.privacy.distinct import DistinctDiversity
from tclose.privacy.entropy import EntropyDiversity
from tclose.privacy.joint import JointCloseness
from tclose.privacy.k_anonymity import KAnonymity
from tclose.privacy.nt_closeness import NTCloseness
from tclose.privacy.probabilistic import AlphaAnonymity, ProbabilisticDiversity
from tclose.privacy.promises import Line
from tclose.privacy.recursive import RecursiveDiversity
from tclose.privacy.t_closeness import TCloseness
from tclose.search import rules as kinds
from tclose.search.rules import FITS, Rules
from tclose.table.classes import Classes, grouped

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Field:
    """One thing whose distribution is judged: a sensitive attribute, or several taken together."""

    name: str
    codes: Ints
    """The code of each cell; −1 for a missing value that may be any value."""
    values: int

    @property
    def hides(self) -> bool:
        """Whether some values may be any value."""
        return bool((self.codes < 0).any())


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

    @property
    def monotone(self) -> bool:
        """Whether merging classes that keep it gives a class that keeps it."""
        return all(line.requirement.capabilities.monotone for line in self.lines)

    @property
    def supersets(self) -> bool:
        """Whether classes may be close to a superset in place of the table."""
        return any(rule.need for rule in self.rules)

    @property
    def slots(self) -> int:
        """The length of a class's histogram."""
        return sum(field.values + 1 for field in self.fields)


def compile_promise(lines: Sequence[Line], classes: Classes) -> Promise:
    """Compiles what can be compiled."""
    compiler = _Compiler(classes)
    for line in lines:
        compiler.add(line)
    return Promise(
        tuple(lines), compiler.k, tuple(compiler.fields), tuple(compiler.rules),
        tuple(compiler.others),
    )  # fmt: skip


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
        at = self._field(name, self.classes.cell_codes[name], self.classes.attributes[name].values)
        labels = self.classes.attributes[name].labels
        yield from _MAKERS[type(requirement)](requirement, at, labels)

    def _field(self, name: str, codes: Ints, values: int) -> int:
        for at, known in enumerate(self.fields):
            if known.name == name:
                return at
        self.fields.append(Field(name, codes, values))
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


def rule_arrays(promise: Promise, rules: Sequence[Rule], rows: int) -> Rules:
    """The rules as arrays for the kernels; `recount` fills in what follows the table."""
    base = np.cumsum([0, *(field.values + 1 for field in promise.fields)])
    head = np.zeros((len(rules), 12), dtype=np.int64)
    leaf, node, stretch, values, nodes = [], [], [], 0, 0
    for at, rule in enumerate(rules):
        field, tree = promise.fields[rule.field], _contracted(rule, promise.fields[rule.field])
        hidden = base[rule.field + 1] - 1 if field.hides else -1
        last = nodes + len(tree.parent)
        head[at, :7] = rule.kind, base[rule.field], field.values, hidden, values, nodes, last
        head[at, kinds.NUM : kinds.LIMIT + 1] = _numbers(rule, tree, rows)
        head[at, kinds.NEED] = rule.need
        leaf.append(tree.leaf + nodes if len(tree.leaf) else np.zeros(field.values, np.int64))
        up = np.where(tree.parent >= 0, tree.parent + nodes, -1)
        node.append(np.stack([up, tree.length, np.zeros_like(up)]))
        stretch.append(tree.stretch)
        values, nodes = values + field.values, last
    return Rules(
        head=head,
        real=np.array([_real(rule) for rule in rules], dtype=np.float64),
        bound=np.zeros((2, values)),
        leaf=np.concatenate([np.zeros(0, np.int64), *leaf]),
        node=np.concatenate([np.zeros((3, 0), np.int64), *node], axis=1),
        stretch=np.concatenate([np.zeros(0), *stretch]),
        count=np.append(np.zeros(promise.slots, np.int64), promise.k),
    )


def recount(made: Rules, promise: Promise, rules: Sequence[Rule], weight: Ints) -> None:
    """Sets everything that follows the table to that of cells with these weights (0: left out)."""
    made.count[:-1] = 0
    base = 0
    for one in promise.fields:
        slot = np.where(one.codes < 0, one.values, one.codes) + base
        np.add.at(made.count, slot, weight)
        base += one.values + 1
    refer_to_counts(made, rules)


def refer_to_counts(made: Rules, rules: Sequence[Rule]) -> None:
    """Sets everything that follows the table to what `made.count` says is released."""
    for at, rule in enumerate(rules):
        first, values = int(made.head[at, kinds.BASE]), int(made.head[at, kinds.WIDTH])
        count = made.count[first : first + values]
        known = max(int(count.sum()), 1)
        made.head[at, kinds.KNOWN] = known
        begin = int(made.head[at, kinds.AT])
        made.bound[:, begin : begin + values] = _bounds(rule, count, known)
        _fill_below(made, at, count)


def _fill_below(made: Rules, rule: int, count: Ints) -> None:
    first, last = int(made.head[rule, kinds.FIRST]), int(made.head[rule, kinds.LAST])
    if first == last:
        return
    begin = int(made.head[rule, kinds.AT])
    below, parent = made.node[kinds.BELOW], made.node[kinds.PARENT]
    below[first:last] = 0
    np.add.at(below, made.leaf[begin : begin + len(count)], count)
    for node in range(first, last - 1):
        below[parent[node]] += below[node]


def _bounds(rule: Rule, count: Ints, n: int) -> tuple[Any, Any]:
    """Between which shares each value must stay, with a margin above the rounding error."""
    share = count / n
    if rule.kind == kinds.SHARE:
        protected = np.zeros(len(count))
        protected[list(rule.protected) if rule.protected is not None else slice(None)] = 1
        return np.full(len(count), -1.0), protected
    if rule.kind != kinds.BAND:
        return np.full(len(count), -1.0), np.full(len(count), 2.0)
    seen = share > 0
    safe = np.where(seen, share, 1.0)
    if rule.spread is None:
        # A gain of −ln q is irrational unless q = 1, where it is 0 and nothing can gain.
        upper = np.where(safe < 1, safe * (1 - np.log(safe)) * (1 - kinds.CLEAR), 2.0)
        return np.full(len(count), -1.0), np.where(seen, upper, 0.0)
    lower = safe * math.exp(-rule.spread) * (1 + kinds.CLEAR)
    upper = safe * math.exp(min(rule.spread, 700.0)) * (1 - kinds.CLEAR)
    return np.where(seen, lower, -1.0), np.where(seen, upper, 0.0)


@dataclass(frozen=True)
class _Tree:
    """A metric's tree as the kernels walk it."""

    leaf: Ints
    parent: Ints
    length: Ints
    stretch: NDArray[np.float64]
    diameter: int
    fits: bool


_NO_TREE = _Tree(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 1, True
)


def _contracted(rule: Rule, field: Field) -> _Tree:
    """The tree over the values that occur: nodes without rows below drop out.

    An edge with nothing below it contributes |n·0 − r·0| = 0 to every class. A node with one child
    left and no value of its own is passed through by the same rows as that child, so both edges
    become one. Where missing values may be any value, all values stay.
    """
    metric = rule.metric
    if metric is None:
        return _NO_TREE
    lengths = [int(length) for length in metric.length]
    scale = math.gcd(metric.diameter, *lengths) or 1
    lengths = [length // scale for length in lengths]
    held = np.zeros(len(metric.parent), dtype=bool)
    held[metric.leaf if field.hides else metric.leaf[np.unique(field.codes)]] = True
    place, parent, length = _kept_nodes(metric.parent.tolist(), lengths, held.tolist())
    diameter = metric.diameter // scale
    fits = sum(length) < FITS and diameter < FITS
    return _Tree(
        leaf=_ints([place.get(int(node), len(parent) - 1) for node in metric.leaf]),
        parent=_ints(parent),
        length=_ints(length if fits else [0] * len(length)),
        stretch=np.array([float(Fraction(one, diameter)) for one in length]),
        diameter=diameter if fits else 1,
        fits=fits,
    )


def _kept_nodes(
    parent: list[int], length: list[int], held: list[bool]
) -> tuple[Mapping[int, int], list[int], list[int]]:
    """Which nodes stay (old number → new), and their parents and edge lengths."""
    root = len(parent) - 1
    below = held.copy()
    children = [0] * len(parent)
    for node in range(root):
        if below[node]:
            below[parent[node]] = True
            children[parent[node]] += 1
    stays = [below[node] and (held[node] or children[node] > 1) for node in range(root)] + [True]
    place = {node: at for at, node in enumerate(n for n in range(root + 1) if stays[n])}
    up, edge = [], []
    for node in place:
        walked, at = length[node], parent[node]
        while at >= 0 and not stays[at]:
            walked += length[at]
            at = parent[at]
        up.append(place[at] if at >= 0 else -1)
        edge.append(walked if at >= 0 else 0)
    return place, up, edge


def _numbers(rule: Rule, tree: _Tree, rows: int) -> tuple[int, int, int]:
    """Numerator, denominator, and the largest class whose products fit 64 bits."""
    threshold = rule.threshold
    if rule.kind == kinds.RECURSIVE and max(threshold.as_integer_ratio()) * rows >= FITS:
        threshold = Fraction(math.floor(threshold * 2**20), 2**20)  # stricter, and small
    if rule.kind == kinds.ENTROPY and max(threshold.as_integer_ratio()) * rows >= FITS:
        threshold = Fraction(math.ceil(threshold))
    num, den = threshold.numerator, threshold.denominator
    if rule.kind == kinds.RECURSIVE:
        return num, den, rule.l
    if rule.kind == kinds.BAND:
        return int(rule.absent), 1, rows
    factor = 1
    if rule.kind == kinds.EMD:
        num *= tree.diameter
        factor = max(int(tree.length.sum()) * den, num) * rows
    elif rule.kind in (kinds.SHARE, kinds.GAIN):
        factor = max(num, den) * (rows if rule.kind == kinds.GAIN else 1)
    limit = FITS // max(factor, 1) if tree.fits else -1
    if max(num, den) >= FITS:
        return 0, 1, -1
    return num, den, min(limit, FITS)


def _real(rule: Rule) -> float:
    if rule.kind == kinds.ENTROPY:
        return math.log(rule.threshold)
    return float(rule.threshold)


def _ints(numbers: Any) -> Ints:
    return np.array(numbers, dtype=np.int64)
