"""A judge of partitions that shares nothing with the package.

It counts with dictionaries and compares fractions; logarithms are computed with 60 digits.
Hierarchical distances follow Li's own recursion, not the sum over edges that the package uses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linprog

getcontext().prec = 60
F = Fraction
MISSING = "(missing)"
Rows = list[tuple[dict[str, str], int]]


GROUPS = {"left": ["a", "b", "c"], "right": ["d", "e"], "alone": ["f"]}
LEAVES = [leaf for leaves in GROUPS.values() for leaf in leaves]
GROUP_OF = {leaf: group for group, leaves in GROUPS.items() for leaf in leaves}


# ------------------------------------------------------------- earth mover's distance, by a program


def ground(kind: str, values: list[str]) -> np.ndarray:
    """The distances of values that occur, given as text, by the definitions."""
    known = [value for value in values if value != MISSING]
    if kind in ("ordered", "numeric"):
        known.sort(key=int)
        place = {v: at if kind == "ordered" else int(v) for at, v in enumerate(known)}
        low, high = min(place.values()), max(place.values())
        at = {v: (one - low) / max(high - low, 1) for v, one in place.items()}

    def apart(one: str, other: str) -> float:
        if one == other:
            return 0.0
        if kind == "equal" or len(known) == 1:
            return 1.0
        if kind == "hierarchical":
            groups = [GROUP_OF.get(one), GROUP_OF.get(other)]
            return 0.5 if groups[0] == groups[1] else 1.0
        if MISSING in (one, other):  # hangs at half of the length, off the middle
            return 0.5 + abs(at[one if other == MISSING else other] - 0.5)
        return abs(at[one] - at[other])

    return np.array([[apart(one, other) for other in values] for one in values])


def transport(p: np.ndarray, q: np.ndarray, cost: np.ndarray) -> float:
    """The earth mover's distance as a linear program."""
    m = len(p)
    sums = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    solved = linprog(cost.ravel(), A_eq=sums, b_eq=np.concatenate([p, q]), method="highs")
    assert solved.success
    return float(solved.fun)


# ------------------------------------------------------------------------------- the other judge


def rows_of(bound: Any) -> Rows:
    """The values of every cell as text, and its weight."""
    cells = bound.cells
    named = {
        name: [cells.dictionaries[name].label(int(code)) for code in codes]
        for name, codes in cells.codes.items()
    }
    return [
        ({name: column[at] for name, column in named.items()}, int(weight))
        for at, weight in enumerate(cells.rows)
    ]


def li_hierarchical(p: dict[str, Fraction], q: dict[str, Fraction]) -> Fraction:
    """Li 2007, section 5.2, over the two-level tree of this file; a missing value apart."""
    extra = {leaf: p.get(leaf, F(0)) - q.get(leaf, F(0)) for leaf in LEAVES}
    cost, tops = F(0), []
    for leaves in GROUPS.values():
        plus = sum((max(extra[leaf], F(0)) for leaf in leaves), F(0))
        minus = sum((max(-extra[leaf], F(0)) for leaf in leaves), F(0))
        cost += F(1, 2) * min(plus, minus)
        tops.append(plus - minus)
    missing = p.get(MISSING, F(0)) - q.get(MISSING, F(0))
    tops.append(missing)
    return cost + min(
        sum((max(top, F(0)) for top in tops), F(0)), sum((max(-top, F(0)) for top in tops), F(0))
    )


def along_line(
    p: dict[str, Fraction], q: dict[str, Fraction], place: dict[str, Fraction]
) -> Fraction:
    """Mass that passes each stretch of the line; a missing value waits off its middle."""
    gap = {v: p.get(v, F(0)) - q.get(v, F(0)) for v in {*p, *q}}
    low, high = min(place.values()), max(place.values())
    if low == high:
        return abs(gap.get(MISSING, F(0)))
    middle, wide = (low + high) / 2, high - low
    stops = sorted({*place.values(), middle})
    total = F(0)
    for a, b in pairwise(stops):
        outside = [v for v in place if (place[v] <= a if b <= middle else place[v] >= b)]
        total += (b - a) * abs(sum((gap.get(v, F(0)) for v in outside), F(0)))
    return (total + wide / 2 * abs(gap.get(MISSING, F(0)))) / wide


def plain_line(
    p: dict[str, Fraction], q: dict[str, Fraction], place: dict[str, Fraction]
) -> Fraction:
    stops = sorted(place, key=lambda v: place[v])
    total, carried = F(0), F(0)
    for v, following in pairwise(stops):
        carried += p.get(v, F(0)) - q.get(v, F(0))
        total += abs(carried) * (place[following] - place[v])
    wide = place[stops[-1]] - place[stops[0]]
    return total / wide if wide else F(0)


def logs(p: dict[str, Fraction], q: dict[str, Fraction]) -> Decimal:
    """KL(p ‖ q) in bits."""
    total = Decimal(0)
    for v, share in p.items():
        if share:
            if not q.get(v):
                return Decimal("Infinity")
            ratio = share / q[v]
            log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
            total += Decimal(share.numerator) / Decimal(share.denominator) * log
    return total / Decimal(2).ln()


def distance(kind: str, p: dict[str, Fraction], q: dict[str, Fraction], domain: list[str]) -> Any:
    if kind == "equal":
        return sum((abs(p.get(v, F(0)) - q.get(v, F(0))) for v in {*p, *q}), F(0)) / 2
    if kind == "hierarchical":
        return li_hierarchical(p, q)
    if kind in ("ordered", "numeric"):
        known = sorted((v for v in domain if v != MISSING), key=int)
        place = {v: F(at) if kind == "ordered" else F(int(v)) for at, v in enumerate(known)}
        return (along_line if MISSING in domain else plain_line)(p, q, place)
    if kind == "kl":
        return logs(p, q)
    mean = {v: (p.get(v, F(0)) + q.get(v, F(0))) / 2 for v in {*p, *q}}
    return (logs(p, mean) + logs(q, mean)) / 2


def shares(counts: Counter[str]) -> dict[str, Fraction]:
    total = sum(counts.values())
    return {v: F(c, total) for v, c in counts.items() if c}


def at_most(value: Any, limit: Fraction) -> bool:
    if isinstance(value, Fraction):
        return value <= limit
    return value <= Decimal(limit.numerator) / Decimal(limit.denominator) + Decimal("1e-40")


def breaks(
    spec: dict[str, Any], inside: Counter[str], table: Counter[str], domain: list[str]
) -> str:
    """The first promise about one attribute that a class breaks; missing values are values."""
    p, q = shares(inside), shares(table)
    number = lambda text: F(str(text))  # noqa: E731
    counts = sorted(inside.values(), reverse=True)
    if "t" in spec and not at_most(distance(spec["distance"], p, q, domain), number(spec["t"])):
        return "t"
    l = spec.get("l", {})
    l = {"distinct": l} if isinstance(l, int) else l
    if len(p) < max(l.get("distinct", 0), spec.get("p", 0)):
        return "distinct"
    if "entropy" in l:
        h = -sum((x * x.ln() for x in (Decimal(v.numerator) / v.denominator for v in p.values())),
                 Decimal(0))  # fmt: skip
        if h < (Decimal(l["entropy"])).ln() - Decimal("1e-40"):
            return "entropy"
    if "recursive" in l:
        tail = sum(counts[l["recursive"]["l"] - 1 :])
        if not counts[0] < number(l["recursive"]["c"]) * tail:
            return "recursive"
    if "probabilistic" in l and max(p.values()) > 1 / number(l["probabilistic"]):
        return "probabilistic"
    if "alpha" in spec and max(p.values()) > number(spec["alpha"]["max"]):
        return "alpha"
    for kind, beta in spec.get("beta", {}).items():
        for v, share in p.items():
            if v not in q or (share - q[v]) / q[v] > number(beta):
                return "beta"
            gain = (share - q[v]) / q[v]
            log = -(Decimal(q[v].numerator) / q[v].denominator).ln()
            if kind == "enhanced" and Decimal(gain.numerator) / gain.denominator > log + Decimal(
                "1e-40"
            ):
                return "enhanced beta"
    if "delta" in spec:
        base = Decimal(2).ln() if spec["delta"].get("base") == "2" else Decimal(1)
        for v in {*p, *q}:
            if v not in p:
                if spec["delta"].get("absent") != "ignore":
                    return "delta"
                continue
            if v not in q:
                return "delta"
            ratio = p[v] / q[v]
            log = abs((Decimal(ratio.numerator) / ratio.denominator).ln()) / base
            if log >= Decimal(spec["delta"]["max"]) - Decimal("1e-40"):
                return "delta"
    return ""


def broken(case: Any, bound: Any, label: Any) -> list[str]:
    """Every promise that a labelling of the cells breaks, in words."""
    members: dict[int, Rows] = defaultdict(list)
    released, everyone = [], rows_of(bound)
    for at, row in enumerate(everyone):
        if label[at] >= 0:
            members[int(label[at])].append(row)
            released.append(row)
    found = []
    for number, inside in sorted(members.items()):
        if sum(weight for _, weight in inside) < case.policy.get("k", 1):
            found.append(f"class {number}: k")
        for name, spec in case.policy["columns"].items():
            if isinstance(spec, dict) and spec["role"] == "sensitive":
                what = breaks_attribute(name, spec, inside, released, everyone)
                found += [f"class {number}: {what} of {name}"] if what else []
        for joint in case.policy.get("joint", []):
            p, q = (
                shares(count_values(some, joint["columns"])) for some in (inside, released)
            )  # fmt: skip
            if distance("equal", p, q, []) > F(joint["t"]):
                found.append(f"class {number}: joint")
    return found


def count_values(rows: Rows, names: list[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row, weight in rows:
        counts["|".join(row[name] for name in names)] += weight
    return counts


def breaks_attribute(
    name: str, spec: dict[str, Any], inside: Rows, released: Rows, everyone: Rows
) -> str:
    """The first promise about an attribute that a class breaks, whatever missing values are."""
    here, table, domain = (
        count_values(inside, [name]),
        count_values(released, [name]),
        count_values(everyone, [name]),
    )
    found = (breaks(spec, *seen) for seen in guess_missing(spec, here, table, sorted(domain)))
    return next((what for what in found if what), "")


def farthest(spec: dict[str, Any], here: Counter[str], table: Counter[str]) -> Any:
    """How far a class is from the table at most, whatever its missing values are."""
    return max(
        distance(spec["distance"], shares(inside), shares(whole), domain)
        for inside, whole, domain in guess_missing(spec, here, table, sorted(table))
    )


def guess_missing(
    spec: dict[str, Any], here: Counter[str], table: Counter[str], domain: list[str]
) -> Iterator[tuple[Counter[str], Counter[str], list[str]]]:
    """A class, the table and its values as each attacker sees them who takes what is missing for
    one value; as they are where missing values are values."""
    if spec.get("missing") != "any":
        yield here, table, domain
        return
    here, table = here.copy(), table.copy()
    hidden = here.pop(MISSING, 0)
    table.pop(MISSING, None)
    domain = [value for value in domain if value != MISSING]
    for value in domain if hidden else domain[:1]:
        yield here + Counter({value: hidden}), table, domain
