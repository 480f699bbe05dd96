"""A made-up folder like that of the Adult table, and its lattice by brute force.

Nothing here shares a line with the package: nodes are enumerated, classes are Counters, entropy is
compared as powers of whole numbers, distances are Fractions.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

QUASI = ("age", "workclass", "education", "native-country", "marital-status", "race", "sex")
HEADER = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
TREES = {
    "age": [(str(20 + at), f"g{at // 2}", "*") for at in range(6)],
    "workclass": [("paid", "*"), ("unpaid", "*")],
    "education": [("b", "low", "*"), ("c", "low", "*"), ("d", "high", "*"), ("e", "high", "*")],
    "native-country": [("here", "*"), ("there", "*")],
    "marital-status": [("m", "*"), ("n", "*")],
    "race": [("r1", "*"), ("r2", "*")],
    "sex": [("f", "*"), ("m", "*")],
    "occupation": [
        *((f"a{at}", "hand", "*") for at in range(3)),
        *((f"b{at}", "head", "*") for at in range(2)),
        ("c0", "heart", "*"),
    ],
    "salary-class": [("high", "*"), ("low", "*")],
}
GROUP = {leaf: group for leaf, group, _ in TREES["occupation"]}
Holds = Callable[[Counter[str], Counter[str]], bool]
Node = tuple[int, ...]


@dataclass(frozen=True)
class Counted:
    """A minimal table: classes, Σ size², rows in classes of one group, in those of few values."""

    classes: int
    squares: int
    exposed: int
    exposable: int


@dataclass(frozen=True)
class Made:
    """The folder and its rows."""

    folder: Path
    rows: tuple[dict[str, str], ...]

    def minimal(self, holds: Holds, size: int = len(QUASI)) -> dict[Node, Counted]:
        """All minimal nodes over the first quasi-identifiers, levels in their order."""
        names = QUASI[:size]
        chains = {name: {chain[0]: chain for chain in TREES[name]} for name in names}
        every = itertools.product(*(range(len(TREES[name][0])) for name in names))
        table = Counter(row["occupation"] for row in self.rows)
        holding = {}
        for node in every:
            classes: dict[tuple[str, ...], Counter[str]] = {}
            for row in self.rows:
                key = tuple(
                    chains[name][row[name]][level] for name, level in zip(names, node, strict=True)
                )
                classes.setdefault(key, Counter())[row["occupation"]] += 1
            if all(holds(one, table) for one in classes.values()):
                holding[node] = list(classes.values())
        return {
            node: _counted(classes)
            for node, classes in holding.items()
            if not any(finer != node and _below(finer, node) for finer in holding)
        }


def _below(one: Node, other: Node) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _counted(classes: list[Counter[str]]) -> Counted:
    sizes = [one.total() for one in classes]
    exposed = sum(one.total() for one in classes if len({GROUP[value] for value in one}) == 1)
    exposable = sum(one.total() for one in classes if len(one) <= 3)
    return Counted(len(classes), sum(size * size for size in sizes), exposed, exposable)


def anonymous(k: int) -> Holds:
    return lambda one, table: one.total() >= k


def entropic(l: int) -> Holds:
    """Σ −p log p ≥ log l, with both sides raised: nⁿ ≥ lⁿ · Π cᶜ."""

    def holds(one: Counter[str], table: Counter[str]) -> bool:
        n = one.total()
        return n**n >= l**n * math.prod(count**count for count in one.values())

    return holds


def recursive(c: int, l: int) -> Holds:
    def holds(one: Counter[str], table: Counter[str]) -> bool:
        counts = sorted(one.values(), reverse=True)
        return counts[0] < c * sum(counts[l - 1 :])

    return holds


def close(k: int, t: Fraction) -> Holds:
    """Half a step within a group, a whole one between groups: a quarter per edge and unit."""

    def holds(one: Counter[str], table: Counter[str]) -> bool:
        off = {v: Fraction(one[v], one.total()) - Fraction(table[v], table.total()) for v in table}
        by_group: Counter[str] = Counter()
        for value, difference in off.items():
            by_group[GROUP[value]] += difference  # type: ignore[assignment]
        work = sum(abs(d) for d in off.values()) + sum(abs(d) for d in by_group.values())
        return one.total() >= k and work / 4 <= t

    return holds


def measure(kind: str, parameter: int) -> Holds:
    """The five measures by their names."""
    return {
        "k-anonymity": anonymous(parameter),
        "entropy l-diversity": entropic(parameter),
        "recursive (4, l)-diversity": recursive(4, parameter),
        "k-anonymity, t = 0.2": close(parameter, Fraction(1, 5)),
        "k-anonymity, t = 0.15": close(parameter, Fraction(3, 20)),
    }[kind]


@pytest.fixture(scope="session")
def by_force() -> Callable[[str, int], Holds]:
    return measure


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three hundred people whose occupation leans on their education and age."""
    folder = tmp_path_factory.mktemp("adult")
    chance = random.Random(3)
    works = list(GROUP)
    rows = []
    for _ in range(300):
        row = {name: chance.choice(TREES[name])[0] for name in (*HEADER, "salary-class")}
        row["race"] = chance.choices(("r1", "r2"), (12, 1))[0]
        lean = works[:3] if row["education"] in "bc" and int(row["age"]) < 23 else works
        row["occupation"] = chance.choice(lean if chance.random() < 0.9 else works)
        rows.append(row)
    names = (*HEADER, "occupation", "salary-class")
    lines = [";".join(names), *(";".join(row[name] for name in names) for row in rows)]
    (folder / "adult.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, chains in TREES.items():
        text = "".join(";".join(chain) + "\n" for chain in chains)
        (folder / f"adult_hierarchy_{name}.csv").write_text(text, encoding="utf-8")
    return Made(folder, tuple(rows))
