"""The rules of a promise laid out as arrays for the kernels, and what in them follows the table.

A rulebook has them twice: as they are, and laxer by what rounding may have cost. What the rules
accept is kept, and what the laxer ones refuse is broken. In between are classes so near a threshold
that logarithms or large numbers, rounded, do not decide; the requirements do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import rules as kinds
from tclose.kernels.rules import (
    BAND,
    FITS,
    GAIN,
    SHARE,
    Rules,
)
from tclose.requirements.constraint import Constraint, Constraints, JudgedAttribute

Ints = NDArray[np.int64]


def rule_arrays(constraints: Constraints, rules: Sequence[Constraint], rows: int) -> Rules:
    """The rules as arrays for the kernels; `recount` fills in what follows the table.

    `rows` is what all rows count or weigh together.
    """
    base = constraints.base
    head = np.zeros((len(rules), 14), dtype=np.int64)
    leaf, node, stretch, values, nodes = [], [], [], 0, 0
    for at, rule in enumerate(rules):
        field, tree = (
            constraints.fields[rule.field],
            _contracted(rule, constraints.fields[rule.field]),
        )
        hidden = base[rule.field + 1] - 1 if field.hides else -1
        last = nodes + len(tree.parent)
        head[at, :7] = rule.kind, base[rule.field], field.values, hidden, values, nodes, last
        head[at, kinds.NUM : kinds.LIMIT + 1] = _numbers(rule, tree, rows)
        head[at, kinds.NEED] = rule.need
        head[at, kinds.FROM :] = _whole(constraints, rule)
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
        count=np.append(np.zeros(base[-1], np.int64), constraints.k),
        people=_people(constraints),
    )


def _whole(constraints: Constraints, rule: Constraint) -> tuple[int, int]:
    """The slots that add up to what a share is of: of a person, of all mass of the attribute."""
    base, field = constraints.base, constraints.fields[rule.field]
    if field.mass is None:
        return 0, 0
    if constraints.unit and rule.kind in (SHARE, GAIN, BAND):
        return int(base[-2]), int(base[-2]) + 1
    return int(base[rule.field]), int(base[rule.field + 1])


def _people(constraints: Constraints) -> Ints:
    """A class with more than k − 1 units has k persons for certain; as a rule fewer are enough."""
    if not constraints.unit:
        return _ints([-1, 0, 1])
    least = int(((constraints.k - 1) * constraints.unit + 1) * constraints.share_per_person)
    return _ints([constraints.base[-2], max(least, 1), constraints.unit])


def recount(
    made: Rules, constraints: Constraints, rules: Sequence[Constraint], masses: Ints
) -> None:
    """Sets everything that follows the table to that of cells with these masses (0: left out)."""
    made.count[:-1] = 0
    for at, place in enumerate(constraints.places(masses.shape[1]).T):
        np.add.at(made.count, place, masses[min(at, len(masses) - 1)])
    for first, field in zip(constraints.base, constraints.fields, strict=False):
        if field.whole is not None:
            made.count[first : first + field.values] = field.whole
    refer_to_counts(made, rules)


def refer_to_counts(made: Rules, rules: Sequence[Constraint]) -> None:
    """Sets everything that follows the table to what `made.count` says is released."""
    for at, rule in enumerate(rules):
        first, values = int(made.head[at, kinds.BASE]), int(made.head[at, kinds.WIDTH])
        count = made.count[first : first + values]
        known = max(int(count.sum()), 1)
        people = int(made.people[kinds.SLOT])
        if people >= 0 and int(made.head[at, kinds.FROM]) == people:
            known = max(int(made.count[people]), 1)
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


def _bounds(rule: Constraint, count: Ints, n: int) -> tuple[Any, Any]:
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


def _contracted(rule: Constraint, field: JudgedAttribute) -> _Tree:
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
    if field.whole is not None:
        held[metric.leaf[np.flatnonzero(field.whole)]] = True
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


def _numbers(rule: Constraint, tree: _Tree, rows: int) -> tuple[int, int, int]:
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


def _real(rule: Constraint) -> float:
    if rule.kind == kinds.ENTROPY:
        return math.log(rule.threshold)
    return float(rule.threshold)


def _ints(numbers: Any) -> Ints:
    return np.array(numbers, dtype=np.int64)
