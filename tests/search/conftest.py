"""Random tables with promises, and a judge that shares nothing with the package.

The judge counts with dictionaries and compares fractions; logarithms are computed with 60 digits.
Hierarchical distances follow Li's own recursion, not the sum over edges that the package uses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise, product
from math import log2
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from scipy.optimize import linprog

from tclose.data import BoundTable, bind
from tclose.data.source import ROWS
from tclose.policy.model import Policy
from tclose.search import Budget, Outcome, infeasible, method_named, problem_of

getcontext().prec = 60
F = Fraction
MISSING = "(missing)"

GROUPS = {"left": ["a", "b", "c"], "right": ["d", "e"], "alone": ["f"]}
LEAVES = [leaf for leaves in GROUPS.values() for leaf in leaves]
GROUP_OF = {leaf: group for group, leaves in GROUPS.items() for leaf in leaves}


@dataclass(frozen=True)
class Case:
    """A table and its policy, as plain values."""

    columns: dict[str, list[Any]]
    policy: dict[str, Any]

    def bound(self) -> BoundTable:
        return bind(Policy.model_validate(self.policy), Counted(self.columns))  # type: ignore


class Counted:
    """A source that counts in plain Python: hundreds of small tables are not worth an engine."""

    name = "made-up table"
    notes = ()

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.table = columns
        self.columns = tuple(columns)

    def is_scalar(self, name: str) -> bool:
        return name in self.table

    def group_within_limit(self, names: list[str]) -> pa.Table:
        rows = Counter(zip(*(self.table[name] for name in names), strict=True))
        columns = list(zip(*rows, strict=True))
        found = {name: pa.array(column) for name, column in zip(names, columns, strict=True)}
        return pa.table({**found, ROWS: pa.array(list(rows.values()), pa.int64())})


# ------------------------------------------------------------------------------------- strategies


@st.composite
def quasi(draw: st.DrawFn, rows: int) -> tuple[Any, list[Any]]:
    kind = draw(st.sampled_from(["number", "tree", "set"]))
    gap = [None] if draw(st.integers(0, 3)) == 0 else []
    if kind == "number":
        values: list[Any] = [0, 1, 2, 5, 9, 20]
        spec: Any = "quasi"
    elif kind == "tree":
        values, spec = LEAVES, {"role": "quasi", "hierarchy": {"groups": GROUPS}}
    else:
        values, spec = ["red", "green", "blue", "grey"], "quasi"
    column = draw(st.lists(st.sampled_from(values + gap), min_size=rows, max_size=rows))
    if all(value is None for value in column):
        column[0] = values[0]
    return spec, column


@st.composite
def sensitive(draw: st.DrawFn, rows: int, promise: str) -> tuple[Any, list[Any]]:
    distance = draw(st.sampled_from(["equal", "ordered", "numeric", "hierarchical", "kl", "js"]))
    ordered = distance in ("ordered", "numeric")
    values: list[Any] = [1, 2, 3, 5, 8] if ordered else LEAVES[: draw(st.integers(1, 6))]
    gap = draw(st.sampled_from(["none", "none", "value", "any"]))
    if promise == "ignore" and gap == "any":
        gap = "value"  # a policy refuses both together
    pool = values + ([None] if gap != "none" else [])
    column = draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
    if all(value is None for value in column):
        column[0] = values[0]
    spec: dict[str, Any] = {"role": "sensitive", "distance": distance}
    if distance == "hierarchical":
        spec["hierarchy"] = {"groups": GROUPS}
    if gap != "none":
        spec["missing"] = gap
    share = st.sampled_from(["0", "0.1", "0.2", "1/3", "0.5", "0.7", "1"])
    extra: dict[str, Any] = {
        "t": {"t": draw(share)},
        "distinct": {"l": draw(st.integers(1, 4))},
        "entropy": {"l": {"entropy": draw(st.sampled_from(["1", "1.5", "2", "3"]))}},
        "recursive": {
            "l": {"recursive": {"c": draw(st.sampled_from(["1", "2", "3.5"])),
                                "l": draw(st.integers(1, 3))}}
        },
        "probabilistic": {"l": {"probabilistic": draw(st.sampled_from(["1", "1.5", "2", "3"]))}},
        "alpha": {"alpha": {"max": draw(st.sampled_from(["0.5", "0.75", "1"]))}},
        "p": {"p": draw(st.integers(1, 3))},
        "basic": {"beta": {"basic": draw(st.sampled_from(["0.5", "1", "3"]))}},
        "enhanced": {"beta": {"enhanced": draw(st.sampled_from(["0.5", "1", "3"]))}},
        "delta": {"delta": {"max": draw(st.sampled_from(["0.5", "1", "2"])),
                            "base": draw(st.sampled_from(["2", "e"]))}},
        "ignore": {"delta": {"max": draw(st.sampled_from(["0.5", "1", "2"])),
                             "absent": "ignore"}},
        "t and l": {"t": draw(share), "l": draw(st.integers(1, 3))},
    }  # fmt: skip
    return {**spec, **extra[promise]}, column


PROMISES = [
    "t", "t", "t", "distinct", "entropy", "recursive", "probabilistic", "alpha", "p", "basic",
    "enhanced", "delta", "ignore", "t and l",
]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> Case:
    distinct = draw(st.integers(2, 24))
    copies = draw(st.lists(st.sampled_from([1, 1, 1, 2, 5]), min_size=distinct, max_size=distinct))
    columns: dict[str, list[Any]] = {}
    specs: dict[str, Any] = {}
    for at in range(draw(st.integers(1, 3))):
        specs[f"q{at}"], columns[f"q{at}"] = draw(quasi(distinct))
    for at in range(draw(st.integers(1, 3))):
        promise = draw(st.sampled_from(PROMISES))
        specs[f"s{at}"], columns[f"s{at}"] = draw(sensitive(distinct, promise))
    policy: dict[str, Any] = {"k": draw(st.integers(1, 5)), "columns": specs}
    names = [name for name in specs if name.startswith("s")]
    if len(names) > 1 and draw(st.integers(0, 3)) == 0:
        joint = {"columns": names[:2], "t": draw(st.sampled_from(["0.3", "0.6", "0.9"]))}
        policy["joint"] = [joint]
    spread = [at for at, times in enumerate(copies) for _ in range(times)]
    return Case({name: [column[at] for at in spread] for name, column in columns.items()}, policy)


CLOSE = ["ordered", "numeric", "equal", "hierarchical"]


@st.composite
def close_tables(
    draw: st.DrawFn, kinds: list[str], rows: tuple[int, int] = (6, 50), more: bool = False
) -> Case:
    """Tables with a promise of closeness for each of some kinds, and many ties among their values.

    With `more`, now and then values are missing or a promise of diversity comes on top.
    """
    size = draw(st.integers(*rows))

    def column(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    columns = {"age": column([20, 21, 30, 35, 60]), "town": column(["x", "y", "z"])}
    specs: dict[str, Any] = {"age": "quasi", "town": "quasi"}
    for at, kind in enumerate(kinds):
        values: list[Any] = [1, 2, 3, 5, 8] if kind in ("ordered", "numeric") else LEAVES
        gap = more and draw(st.integers(0, 2)) == 0
        columns[f"s{at}"] = column([*values, None] if gap else values)
        columns[f"s{at}"][0] = columns[f"s{at}"][0] or values[0]
        t = draw(st.sampled_from(["0.05", "0.1", "0.2", "1/3", "0.5"]))
        specs[f"s{at}"] = {"role": "sensitive", "distance": kind, "t": t}
        if kind == "hierarchical":
            specs[f"s{at}"]["hierarchy"] = {"groups": GROUPS}
        if more and draw(st.integers(0, 3)) == 0:
            specs[f"s{at}"]["l"] = 2
    return Case(columns, {"k": draw(st.integers(1, 4)), "columns": specs})


def some_kinds(
    least: int = 1, most: int = 3, among: list[str] = CLOSE
) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(among), min_size=least, max_size=most)


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


def rows_of(bound: BoundTable) -> list[tuple[dict[str, str], int]]:
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


def broken(case: Case, bound: BoundTable, label: Any) -> list[str]:
    """Every promise that a labelling of the cells breaks, in words."""
    members: dict[int, list[tuple[dict[str, str], int]]] = defaultdict(list)
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
                what = _attribute(name, spec, inside, released, everyone)
                found += [f"class {number}: {what} of {name}"] if what else []
        for joint in case.policy.get("joint", []):
            p, q = (
                shares(_counted(some, joint["columns"])) for some in (inside, released)
            )  # fmt: skip
            if distance("equal", p, q, []) > F(joint["t"]):
                found.append(f"class {number}: joint")
    return found


def _counted(rows: list[tuple[dict[str, str], int]], names: list[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row, weight in rows:
        counts["|".join(row[name] for name in names)] += weight
    return counts


def _attribute(
    name: str,
    spec: dict[str, Any],
    inside: list[tuple[dict[str, str], int]],
    released: list[tuple[dict[str, str], int]],
    everyone: list[tuple[dict[str, str], int]],
) -> str:
    here, table = _counted(inside, [name]), _counted(released, [name])
    domain = sorted(_counted(everyone, [name]))
    if spec.get("missing") != "any":
        return breaks(spec, here, table, domain)
    hidden = here.pop(MISSING, 0)
    table.pop(MISSING, None)
    domain = [value for value in domain if value != MISSING]
    if not hidden:
        return breaks(spec, here, table, domain)
    for value in domain:
        if what := breaks(spec, here + Counter({value: hidden}), table, domain):
            return what
    return ""


def kept(case: Case, name: str) -> Outcome:
    """What a method that suits a case comes to, after it was judged; leaves no row out."""
    bound = case.bound()
    problem = problem_of(bound)
    assert method_named(name).cannot(problem) == ()
    assume(not infeasible(problem))
    outcome = method_named(name).run(problem, Budget(effort=0.02))
    assert broken(case, bound, outcome.label) == []
    assert outcome.uses_sensitive is (outcome.classes > 1) and (outcome.label >= 0).all()
    return outcome


# --------------------------------------------------------------- every node of a lattice, by hand


@dataclass(frozen=True)
class Node:
    """What comes of one level vector: a class (or −1) for each cell, and sizes."""

    levels: tuple[int, ...]
    label: list[int]
    kept: list[int]
    left: int


def level_count(spec: Any) -> int:
    return 3 if isinstance(spec, dict) else 2


def recoded(spec: Any, value: str, level: int) -> str:
    if level == level_count(spec) - 1:
        return "*"
    return value if level == 0 or value == MISSING else GROUP_OF[value]


def node_of(
    case: Case, bound: BoundTable, levels: tuple[int, ...], room: Fraction, reference: str
) -> Node | None:
    """Lets failing classes leave until none fails; None where too many rows or all leave."""
    specs = {n: s for n, s in case.policy["columns"].items() if n.startswith("q")}
    rows = rows_of(bound)
    key = [
        tuple(recoded(s, row[n], lv) for (n, s), lv in zip(specs.items(), levels, strict=True))
        for row, _ in rows
    ]
    groups = sorted(set(key))
    gone: set[Any] = set()
    while True:
        alive = {group: at for at, group in enumerate(g for g in groups if g not in gone)}
        label = [alive.get(one, -1) for one in key]
        shown = [len(alive) if one < 0 else one for one in label]  # the reference "table"
        told = broken(case, bound, shown if reference == "table" else label)
        failing = {int(text.split()[1].rstrip(":")) for text in told} - {len(alive)}
        gone |= {group for group, at in alive.items() if at in failing}
        if not failing or reference == "table":
            break
    alive = {group: at for at, group in enumerate(g for g in groups if g not in gone)}
    label = [alive.get(one, -1) for one in key]
    kept = [0] * len(alive)
    for one, (_, weight) in zip(label, rows, strict=True):
        if one >= 0:
            kept[one] += weight
    left = sum(weight for _, weight in rows) - sum(kept)
    if not kept or left > room * sum(weight for _, weight in rows):
        return None
    return Node(levels, label, kept, left)


def lattice_of(case: Case) -> list[tuple[int, ...]]:
    specs = [s for n, s in case.policy["columns"].items() if n.startswith("q")]
    return list(product(*(range(level_count(spec)) for spec in specs)))


def generalization_loss(
    case: Case, bound: BoundTable, node: Node, measure: str, weights: Any
) -> Any:
    """A node's loss: an exact fraction, but for the entropy."""
    rows = rows_of(bound)
    total = sum(weight for _, weight in rows)
    if measure == "discernibility":
        return F(sum(size * size for size in node.kept) + total * node.left)
    if measure == "class-size":
        return F(total - node.left, len(node.kept))
    specs = {n: s for n, s in case.policy["columns"].items() if n.startswith("q")}
    share = {name: F(weights.get(name, 1)) for name in specs}
    lost: Any = F(0)
    for (name, spec), level in zip(specs.items(), node.levels, strict=True):
        part = share[name] / sum(share.values())
        column = [
            _row_loss(rows, name, spec, row[name], level if one >= 0 else None, measure) * weight
            for one, (row, weight) in zip(node.label, rows, strict=True)
        ]
        whole = total
        if measure == "entropy":
            top = level_count(spec) - 1
            whole = sum(_row_loss(rows, name, spec, r[name], top, measure) * w for r, w in rows)
            lost = float(lost) + float(part) * (sum(column) / whole if whole else 0.0)
        else:
            lost += part * sum(column, F(0)) / whole
    return lost


def _row_loss(rows: Any, name: str, spec: Any, value: str, level: int | None, measure: str) -> Any:
    top = level_count(spec) - 1
    if measure == "entropy":
        level = top if level is None else level
        mine = recoded(spec, value, level)
        inside = sum(w for row, w in rows if recoded(spec, row[name], level) == mine)
        return log2(inside / sum(w for row, w in rows if row[name] == value))
    if level is None:
        return F(1)
    if measure == "precision":
        return F(level, top)
    if level == top:
        return F(1)
    if level == 0 or value == MISSING:
        return F(0)
    return F(len(GROUPS[GROUP_OF[value]]) - 1, len(LEAVES) - 1)


@pytest.fixture(scope="session")
def lattices() -> Any:
    """Full-domain generalizations, node by node."""
    return SimpleNamespace(every=lattice_of, node=node_of, loss=generalization_loss)


@pytest.fixture(scope="session")
def brute() -> Any:
    """The independent judge."""
    return SimpleNamespace(
        broken=broken, rows_of=rows_of, distance=distance, breaks=breaks, kept=kept
    )


@pytest.fixture(scope="session")
def programs() -> Any:
    """Earth mover's distances by linear programs over distances made from scratch."""
    return SimpleNamespace(ground=ground, transport=transport)


@pytest.fixture(scope="session")
def tables() -> Any:
    """Strategies for random tables."""
    return SimpleNamespace(
        cases=cases, close=close_tables, kinds=some_kinds, Case=Case, problem_of=problem_of
    )
