"""A second opinion on releases: dictionaries and fractions, nothing of the package.

`Judge` reads a written file with the csv module or pyarrow, forms classes by comparing texts, and
measures by definition. `Case` is a table with a policy, drawn at random.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

Row = dict[str, Any]

GROUPS = {"lung": ["flu", "cough"], "stomach": ["ulcer", "gastritis"], "heart": ["attack"]}
CHAINS = {leaf: [leaf, group, "*"] for group, leaves in GROUPS.items() for leaf in leaves}
ODD = ["a", "b, c", 'say "d"', "{e", "(missing)", " f", "g*", "é}", "[1, 2]"]


@dataclass(frozen=True)
class Case:
    """A table as rows of plain values, what its columns are, and what is promised."""

    rows: list[Row]
    kinds: dict[str, str]
    """Of each quasi-identifier and sensitive attribute."""
    policy: dict[str, Any]
    chains: dict[str, dict[str, list[str]]]
    """Of each column with a hierarchy: a value and its groups, root last."""

    @property
    def quasi(self) -> list[str]:
        return [name for name in self.kinds if name.startswith("q")]

    def table(self) -> pa.Table:
        return pa.table({name: self._typed(name) for name in self.policy["columns"]})

    def _typed(self, name: str) -> pa.Array:
        values = [row[name] for row in self.rows]
        if self.kinds.get(name) in ("number", "ordered", "numeric"):
            return pa.array([None if v is None else int(v) for v in values], pa.int64())
        if self.kinds.get(name) == "date":
            return pa.array([None if v is None else date.fromisoformat(v) for v in values])
        return pa.array(values, pa.string())

    def write(self, path: Path, delimiter: str = ",") -> Path:
        if path.suffix == ".parquet":
            pq.write_table(self.table(), path)
        elif path.suffix == ".arrow":
            with pa.ipc.new_file(path, self.table().schema) as writer:
                writer.write_table(self.table(), 7)
        else:
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, delimiter=delimiter)
                writer.writerow(self.policy["columns"])
                for row in self.rows:
                    writer.writerow(["" if value is None else value for value in row.values()])
        return path


class Judge:
    """Decides by definition whether rows keep a promise."""

    def read(self, path: Path, delimiter: str = ",") -> list[Row]:
        if path.suffix == ".parquet":
            return _as_text(pq.read_table(path))
        if path.suffix == ".arrow":
            return _as_text(pa.ipc.open_file(path).read_all())
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file, delimiter=delimiter)
            return [{name: text or None for name, text in row.items()} for row in rows]

    def frame(self, data: Any) -> list[Row]:
        """The rows of a pandas, polars or pyarrow frame."""
        if isinstance(data, pa.Table):
            return _as_text(data)
        if hasattr(data, "to_arrow"):
            return _as_text(data.to_arrow())
        return _as_text(pa.Table.from_pandas(data, preserve_index=False))

    def broken(self, case: Case, rows: Sequence[Row], quasi: Sequence[str] | None = None) -> list:
        """Every promise that the rows break, with the class that breaks it."""
        classes: dict[tuple, list[Row]] = defaultdict(list)
        for row in rows:
            key = tuple(row[name] for name in (case.quasi if quasi is None else quasi))
            classes[key].append(row)
        found = []
        for key, members in classes.items():
            if len(members) < case.policy.get("k", 1):
                found.append((key, "k", len(members)))
            for name, column in case.policy["columns"].items():
                if not isinstance(column, dict) or column["role"] != "sensitive":
                    continue
                mine, all_of_them = [r[name] for r in members], [r[name] for r in rows]
                if len(set(mine)) < column.get("l", 1):
                    found.append((key, f"l of {name}", len(set(mine))))
                if "t" in column:
                    far = self.distance(case, name, mine, all_of_them)
                    if far > Fraction(column["t"]):
                        found.append((key, f"t of {name}", far))
        return found

    def distance(self, case: Case, name: str, mine: list, everyone: list) -> Fraction:
        """The earth mover's distance of some values from all."""
        kind = case.kinds[name]
        gap = {value: _share(mine, value) - _share(everyone, value) for value in set(everyone)}
        missing = gap.pop(None, Fraction(0))
        if kind == "equal":
            return sum((abs(one) for one in (*gap.values(), missing)), Fraction(0)) / 2
        if kind == "hierarchical":
            below: dict[str, Fraction] = defaultdict(Fraction)
            for value, one in gap.items():
                for node in case.chains[name][value][:-1]:
                    below[node] += one
            # All chains are equally long, so every edge is as long as any other.
            height = len(next(iter(case.chains[name].values()))) - 1
            moved = sum((abs(one) for one in below.values()), Fraction(0))
            return moved / (2 * height) + abs(missing) / 2
        points = sorted((Fraction(value), one) for value, one in gap.items())
        if kind == "ordered":
            points = [(Fraction(rank), one) for rank, (_, one) in enumerate(points)]
        wide = points[-1][0] - points[0][0] if points else Fraction(0)
        if not wide:  # one value is both ends of its scale: a missing one is 1 away from it
            return abs(missing)
        line = [((at - points[0][0]) / wide, one) for at, one in points]
        line = sorted([*line, (Fraction(1, 2), missing)])
        work, carried = Fraction(0), Fraction(0)
        for (here, one), (there, _) in pairwise(line):
            carried += one
            work += abs(carried) * (there - here)
        return work + abs(missing) / 2

    def covers(self, case: Case, name: str, label: str | None, value: str | None) -> bool:
        """Whether a released value says nothing false about a raw one."""
        if label == value or label == "*":
            return True
        if label is None or (value is None and not label.startswith("{")):
            return False
        if name in case.chains:
            return label in case.chains[name][str(value)]
        if case.kinds[name] in ("number", "date"):
            if label[0] != "[":
                return False
            read = Fraction if case.kinds[name] == "number" else date.fromisoformat
            low, high = (read(end) for end in label[1:-1].split(", "))  # type: ignore[operator]
            return label[-1] == "]" and low <= read(str(value)) <= high
        return label[0] == "{" and label[-1] == "}" and value in self.members(label)

    def members(self, label: str) -> list[str | None]:
        """What a released set names."""
        assert label[0] == "{" and label[-1] == "}"
        inside, found, at = label[1:-1], [], 0
        while at < len(inside):
            if inside[at] == '"':
                text, at = json.JSONDecoder().raw_decode(inside, at)
                found.append(text)
            else:
                stop = inside.find(", ", at)
                stop = len(inside) if stop < 0 else stop
                text, at = inside[at:stop], stop
                found.append(None if text == "(missing)" else text)
            assert inside[at : at + 2] in (", ", "")
            at += 2
        return found


def _share(values: list, value: Any) -> Fraction:
    return Fraction(Counter(values)[value], len(values))


def _as_text(table: pa.Table) -> list[Row]:
    return [
        {
            name: None if value is None or value != value else str(value)
            for name, value in row.items()
        }
        for row in table.to_pylist()
    ]


def _numbers(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(str)


def _chain_by_prefix(value: str) -> list[str]:
    return [value, value[:3] + "**", value[:1] + "****", "*"]


def _chain_by_width(value: str) -> list[str]:
    spans = [(int(value) // wide * wide, wide) for wide in (5, 10)]
    return [value, *(f"[{low}, {low + wide})" for low, wide in spans), "*"]


POSTCODES = [f"{a}{b}{c}0{d}" for a in "45" for b in "67" for c in "67" for d in "57"]
QUASI: dict[str, tuple[st.SearchStrategy[str], Any, Any]] = {
    "number": (_numbers(-9, 60), None, None),
    "date": (st.dates(date(2019, 11, 1), date(2021, 2, 9)).map(str), None, None),
    "text": (st.sampled_from(ODD), None, None),
    "prefix": (st.sampled_from(POSTCODES), {"prefix": [3, 1, 0]}, _chain_by_prefix),
    "intervals": (_numbers(20, 60), {"intervals": [5, 10]}, _chain_by_width),
    "groups": (st.sampled_from(list(CHAINS)), {"groups": GROUPS}, CHAINS.__getitem__),
    "file": (st.sampled_from(list(CHAINS)), "illness.csv", CHAINS.__getitem__),
}
SENSITIVE: dict[str, tuple[st.SearchStrategy[str], dict[str, Any]]] = {
    "equal": (st.sampled_from("uvwx"), {}),
    "ordered": (_numbers(0, 9), {"distance": "ordered"}),
    "numeric": (_numbers(0, 99), {"distance": "numeric"}),
    "hierarchical": (st.sampled_from(list(CHAINS)), {"hierarchy": "illness.csv"}),
}


@st.composite
def cases(draw: Callable[[Any], Any], most: int = 40, feasible: bool = True) -> Case:
    """A random table with a random promise, which the whole table keeps if it is to be feasible."""
    count = draw(st.integers(1, most))
    kinds = {f"q{at}": draw(st.sampled_from(list(QUASI))) for at in range(draw(st.integers(1, 3)))}
    kinds |= {
        f"s{at}": draw(st.sampled_from(list(SENSITIVE))) for at in range(draw(st.integers(1, 3)))
    }
    columns: dict[str, Any] = {"id": "identifier"}
    chains, values = {}, {"id": [f"person {at}" for at in range(count)]}
    for name, kind in kinds.items():
        if name.startswith("q"):
            some, tree, chain = QUASI[kind]
            columns[name] = {"role": "quasi"} | ({} if tree is None else {"hierarchy": tree})
        else:
            some, more = SENSITIVE[kind]
            chain = CHAINS.__getitem__ if kind == "hierarchical" else None
            t = draw(st.sampled_from(["0", "1/10", "1/4", "0.4", "1"]))
            columns[name] = {"role": "sensitive", "t": t, **more}
        if draw(st.booleans()):
            some = st.one_of(some, some, some, st.none())
        values[name] = draw(st.lists(some, min_size=count, max_size=count))
        if kind in ("ordered", "numeric") and set(values[name]) == {None}:
            values[name][0] = "5"  # text that is all missing has no order
        if not name.startswith("q") and draw(st.booleans()):
            different = len(set(values[name])) if feasible else 2
            columns[name]["l"] = draw(st.integers(1, min(2, different)))
        if chain is not None:
            chains[name] = {v: chain(v) for v in values[name] if v is not None}
            if kind == "hierarchical":
                chains[name] = dict(CHAINS)
    columns["note"] = "insensitive"
    odd = st.sampled_from(["x", 'q"uote', "semi;colon, comma", "tab\there", " blank ", "ünï", None])
    values["note"] = draw(st.lists(odd, min_size=count, max_size=count))
    k = draw(st.integers(1, min(5, count) if feasible else 5))
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return Case(rows, kinds, {"k": k, "columns": columns}, chains)


@pytest.fixture(scope="session")
def judge() -> Judge:
    """The second opinion."""
    return Judge()


@pytest.fixture(scope="session")
def some_cases() -> Callable[..., st.SearchStrategy[Case]]:
    """Random tables with random promises."""
    return cases


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the hierarchy that policies name; examples write over each other's files."""
    place = tmp_path_factory.mktemp("releases")
    lines = [";".join(chain) for chain in CHAINS.values()]
    (place / "illness.csv").write_text("\n".join(lines) + "\n")
    return place
