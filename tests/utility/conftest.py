"""Tiny tables with releases of them, made and measured by loops over rows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import tclose

Row = dict[str, Any]
CHAINS = {"ann": "north", "bob": "north", "cid": "south", "dee": "south", "eve": "west"}
POLICY = {
    "k": 2,
    "columns": {
        "age": "quasi",
        "town": {
            "role": "quasi",
            "hierarchy": {
                "groups": {"north": ["ann", "bob"], "south": ["cid", "dee"], "west": ["eve"]}
            },
        },
        "hue": "quasi",
        "ill": {"role": "sensitive", "accept": "made up"},
    },
}
QUASI = ("age", "town", "hue")


@dataclass(frozen=True)
class Tiny:
    """A table of a few rows, the class of each row (None: left out), and its release."""

    rows: list[Row]
    label: list[int | None]

    @property
    def kept(self) -> list[int]:
        return [at for at, number in enumerate(self.label) if number is not None]

    @property
    def original(self) -> pa.Table:
        return table(self.rows)

    def members(self, at: int) -> list[Row]:
        number = self.label[at]
        return [row for row, one in zip(self.rows, self.label, strict=True) if one == number]

    def covered(self, at: int, column: str) -> list[Any]:
        """The original's values that the released value of a row covers."""
        domain = self.domain(column)
        if self.label[at] is None:
            return domain
        inside = [row[column] for row in self.members(at)]
        if column == "age":
            return [value for value in domain if min(inside) <= value <= max(inside)]
        if column == "hue":
            return [value for value in domain if value in inside]
        groups = {CHAINS[value] for value in inside}
        if len(set(inside)) == 1:
            return inside[:1]
        return [value for value in domain if len(groups) > 1 or CHAINS[value] in groups]

    def domain(self, column: str) -> list[Any]:
        return sorted({row[column] for row in self.rows})

    def count(self, column: str, values: list[Any]) -> int:
        return sum(row[column] in values for row in self.rows)

    def released_row(self, at: int) -> Row:
        inside = self.members(at)
        ages, towns = {row["age"] for row in inside}, {row["town"] for row in inside}
        hues = sorted({row["hue"] for row in inside})
        groups = {CHAINS[town] for town in towns}
        town = next(iter(towns)) if len(towns) == 1 else next(iter(groups))
        return {
            "age": f"[{min(ages)}, {max(ages)}]" if len(ages) > 1 else str(min(ages)),
            "town": town if len(groups) == 1 else "*",
            "hue": "{" + ", ".join(hues) + "}" if len(hues) > 1 else hues[0],
            "ill": self.rows[at]["ill"],
        }

    @property
    def release(self) -> pa.Table:
        return table([self.released_row(at) for at in self.kept])

    def classes(self) -> set[tuple[str, ...]]:
        """The classes as a reader sees them: equally released rows are one."""
        return {self.key(at) for at in self.kept}

    def key(self, at: int) -> tuple[str, ...]:
        row = self.released_row(at)
        return tuple(row[name] for name in QUASI)

    def loss(self, at: int, column: str, *, penalty: bool) -> float:
        """What one row loses in one column, by definition."""
        if self.label[at] is None:
            return 1.0
        inside = {row[column] for row in self.members(at)}
        if len(inside) == 1:
            return 0.0
        domain = self.domain(column)
        if column == "age":
            return (max(inside) - min(inside)) / (domain[-1] - domain[0])
        if column == "hue":
            return len(inside) / len(domain)
        groups = {CHAINS[value] for value in inside}
        leaves = len(CHAINS) if len(groups) > 1 else list(CHAINS.values()).count(groups.pop())
        return leaves / len(CHAINS) if penalty else (leaves - 1) / (len(CHAINS) - 1)

    def bits(self, at: int, column: str) -> float:
        """−log₂ of the share that a row's value has among those that its released value covers."""
        mine = self.count(column, [self.rows[at][column]])
        return -math.log2(mine / self.count(column, self.covered(at, column)))


def table(rows: list[Row]) -> pa.Table:
    return pa.table({name: [row[name] for row in rows] for name in (*QUASI, "ill")})


def made(seed: int, *, left_out: bool = False) -> Tiny:
    """A random table of 6 to 30 rows in up to 6 classes."""
    rng = random.Random(seed)
    rows = [
        {
            "age": rng.choice([20, 21, 30, 42, 60]),
            "town": rng.choice(list(CHAINS)),
            "hue": rng.choice(["red", "green", "blue"]),
            "ill": rng.choice(["flu", "ulcer", "asthma"]),
        }
        for _ in range(rng.randint(6, 30))
    ]
    # Every domain has at least two values, so that shares of it are defined.
    rows[0] |= {"age": 20, "town": "ann", "hue": "red"}
    rows[1] |= {"age": 60, "town": "eve", "hue": "blue"}
    number = rng.randint(1, 6)
    label: list[int | None] = [rng.randrange(number) for _ in rows]
    if left_out:
        label = [one if at == 0 or rng.random() < 0.8 else None for at, one in enumerate(label)]
    return Tiny(rows, label)


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Tiny]:
    """Makes a random table with a release from a seed."""
    return made


@pytest.fixture(scope="session")
def measured() -> Callable[..., tclose.Utility]:
    """Measures a tiny release."""

    def measure(case: Tiny, **asked: Any) -> tclose.Utility:
        return tclose.measure(
            original=case.original, release=case.release, policy=POLICY, **{"queries": 0, **asked}
        )

    return measure


@pytest.fixture(scope="session")
def policy() -> dict[str, Any]:
    """The policy of the tiny tables."""
    return POLICY
