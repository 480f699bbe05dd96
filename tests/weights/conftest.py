"""A second opinion on tables whose rows do not count as one: fractions, and definitions only."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

Row = Mapping[str, Any]
Values = tuple[str, ...]
GROUPS = {"west": ["a", "b"], "east": ["c", "d"]}
UP = {leaf: group for group, leaves in GROUPS.items() for leaf in leaves}


@dataclass(frozen=True)
class Table:
    """Rows of text, the role of column `c` ("" where there is none), and the quasi-identifiers."""

    rows: Sequence[Row]
    role: str = ""
    quasi: Values = ("q",)

    def classes(self, *more: str) -> dict[tuple[Any, ...], list[Row]]:
        """The rows that look alike."""
        found = defaultdict(list)
        for row in self.rows:
            found[tuple(row[name] for name in (*self.quasi, *more))].append(row)
        return dict(found)

    def size(self, rows: Sequence[Row]) -> int:
        """What k-anonymity counts."""
        if self.role == "count":
            return sum(int(Fraction(row["c"])) for row in rows)
        return len({row["c"] for row in rows}) if self.role == "subject" else len(rows)

    def counts(self, rows: Sequence[Row], *columns: str) -> dict[Values, Fraction]:
        """What a distribution is made from: rows, what they weigh, or the persons with a value."""
        if self.role == "subject":
            seen = {(tuple(row[name] for name in columns), row["c"]) for row in rows}
            return {value: Fraction(n) for value, n in Counter(one for one, _ in seen).items()}
        found: dict[Values, Fraction] = defaultdict(Fraction)
        for row in rows:
            each = Fraction(row["c"]) if self.role in ("count", "weight") else Fraction(1)
            found[tuple(row[name] for name in columns)] += each
        return dict(found)

    def share(self, rows: Sequence[Row], *columns: str) -> dict[Values, Fraction]:
        """What share of a class has a value: of its rows, of its mass, of its persons."""
        counts = self.counts(rows, *columns)
        whole = self.size(rows) if self.role == "subject" else sum(counts.values())
        return {value: count / whole for value, count in counts.items()}

    def distribution(self, rows: Sequence[Row], *columns: str) -> dict[Values, Fraction]:
        """The same so that it adds up to 1, also where persons have several values."""
        counts = self.counts(rows, *columns)
        return {value: count / sum(counts.values()) for value, count in counts.items()}

    # --- what is attained, by definition

    def k(self) -> Fraction:
        """The smallest class."""
        return Fraction(min(self.size(rows) for rows in self.classes().values()))

    def equal(self, *columns: str, known: Values = ()) -> Fraction:
        """The largest variational distance of a class from the table."""
        table = self.distribution(self.rows, *columns)
        return max(
            sum(
                (abs(mine.get(value, Fraction(0)) - share) for value, share in table.items()),
                Fraction(0),
            )
            / 2
            for mine in (self.distribution(rows, *columns) for rows in self._seen(known))
        )

    def ordered(self, column: str) -> Fraction:
        """The largest distance of a class along the order of the values."""
        table = self.distribution(self.rows, column)
        order, worst = sorted(table, key=lambda value: Fraction(value[0])), Fraction(0)
        for rows in self._seen(()):
            mine, ahead, work = self.distribution(rows, column), Fraction(0), Fraction(0)
            for value in order[:-1]:
                ahead += mine.get(value, Fraction(0)) - table[value]
                work += abs(ahead)
            worst = max(worst, work / max(len(order) - 1, 1))
        return worst

    def superset(self, column: str, n: int) -> Fraction | None:
        """The largest distance of a class from the nearest superset of n; None: one has none."""
        found = []
        for key, rows in self.classes().items():
            near = []
            for above in (
                [row for row in self.rows if row["q"] == key[0]],
                [row for row in self.rows if UP[row["q"]] == UP[key[0]]],
                list(self.rows),
            ):
                if self.size(above) >= n:
                    mine = self.distribution(rows, column)
                    theirs = self.distribution(above, column)
                    near.append(
                        sum(
                            (abs(mine.get(value, Fraction(0)) - p) for value, p in theirs.items()),
                            Fraction(0),
                        )
                        / 2
                    )
            if not near:
                return None
            found.append(min(near))
        return max(found)

    def distinct(self, column: str) -> Fraction:
        """The fewest different values."""
        return Fraction(min(len(self.counts(rows, column)) for rows in self._seen(())))

    def commonest(self, column: str) -> Fraction:
        """The largest share of a value."""
        return max(max(self.share(rows, column).values()) for rows in self._seen(()))

    def recursive(self, column: str) -> Fraction | None:
        """The largest count over all others; None: infinite."""
        worst = Fraction(0)
        for rows in self._seen(()):
            first, *others = sorted(self.counts(rows, column).values(), reverse=True)
            if not others:
                return None
            worst = max(worst, first / sum(others))
        return worst

    def gain(self, column: str) -> Fraction:
        """The largest growth of belief in a value."""
        table = self.share(self.rows, column)
        return max(
            share / table[value] - 1
            for rows in self._seen(())
            for value, share in self.share(rows, column).items()
        )

    def change(self, column: str) -> float:
        """The largest change of belief in a value, as a logarithm."""
        table, worst = self.share(self.rows, column), 0.0
        for rows in self._seen(()):
            mine = self.share(rows, column)
            if len(mine) < len(table):
                return math.inf
            worst = max(worst, *(abs(math.log(mine[v] / q)) for v, q in table.items()))
        return worst

    def entropy(self, column: str) -> float:
        """As many equally likely values as the surest class has."""
        return min(
            math.exp(-sum(float(p) * math.log(p) for p in self.distribution(r, column).values()))
            for r in self._seen(())
        )

    def _seen(self, known: Values) -> Iterator[Sequence[Row]]:
        return iter(self.classes(*known).values())

    # --- as the package reads it

    def arrow(self) -> pa.Table:
        """The table, all columns as text."""
        names = list(self.rows[0])
        return pa.table({name: pa.array([row[name] for row in self.rows]) for name in names})

    def policy(self, **promised: Any) -> dict[str, Any]:
        """A policy with these promises about `s`, and others at the top."""
        top = {key: promised.pop(key) for key in ("k", "joint", "readings") if key in promised}
        columns: dict[str, Any] = {
            "q": {"role": "quasi", "hierarchy": {"groups": GROUPS}},
            "s": {"role": "sensitive", "distance": "equal", "accept": "made up", **promised},
            "u": {"role": "sensitive", "accept": "made up"},
        }
        if "r" in self.rows[0]:
            columns["r"] = "quasi"
        if self.role:
            columns["c"] = self.role
        return {"columns": columns, "release": {"rows": "keep"}, **top}

    def repeated(self) -> Table:
        """The same with every row as often as it counts."""
        plain = [
            {name: value for name, value in row.items() if name != "c"}
            for row in self.rows
            for _ in range(int(Fraction(row["c"])))
        ]
        return Table(plain, "", self.quasi)

    def without(self) -> Table:
        """The same without what its rows count."""
        plain = [{k: v for k, v in row.items() if k != "c"} for row in self.rows]
        return Table(plain, "", self.quasi)


COUNTING = {
    "count": st.integers(1, 4).map(str),
    "weight": st.sampled_from(["0.5", "1", "1.25", "2", "3.1", "7", "0.01"]),
    "subject": st.integers(0, 6).map(lambda number: f"p{number:024x}"),
    "many": st.integers(0, 30).map(lambda number: f"p{number}"),
}


@st.composite
def tables(
    draw: st.DrawFn,
    role: str,
    *,
    least: int = 2,
    most: int = 16,
    wide: bool = False,
    many: bool = False,
) -> Table:
    """Few values, so that rows meet; `wide` adds a second quasi-identifier, a number.

    There are few persons, too, unless `many` are asked for.
    """
    row = {
        "q": st.sampled_from("abcd"),
        "s": st.sampled_from("1234"),
        "u": st.sampled_from("xy"),
    }
    if wide:
        row["r"] = st.integers(10, 30).map(str)
    if role:
        row["c"] = COUNTING["many" if many else role]
    rows = draw(st.lists(st.fixed_dictionaries(row), min_size=least, max_size=most))
    return Table(rows, role, ("q", "r") if wide else ("q",))


@pytest.fixture(scope="session")
def weighed() -> Any:
    """Tables, and how to draw them."""
    return SimpleNamespace(Table=Table, tables=tables)
