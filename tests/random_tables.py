"""Random tables with promises, for every kind of search: those that a method can keep, or any."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from second_opinion import GROUPS, LEAVES, MISSING, breaks, farthest, guess_missing
from tclose.data.binding import BoundTable, bind
from tclose.data.source import ROWS
from tclose.policy.model import Policy
from tclose.search import Method


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


TREES = ["equal", "ordered", "numeric", "hierarchical"]
LINES = ["ordered", "numeric"]
LOGARITHMS = ["kl", "js"]
SHARES = ["0", "0.1", "0.2", "1/3", "0.5", "0.7", "1"]
FACTORS = ["1", "1.5", "2", "3"]
GAINS = ["0.5", "1", "3"]
CHANGES = ["0.5", "1", "2"]
PROMISES: dict[str, list[dict[str, Any]]] = {
    "t": [{"t": t} for t in SHARES],
    "t and l": [{"t": t, "l": l} for t in SHARES for l in (1, 2, 3)],
    "distinct": [{"l": l} for l in (1, 2, 3, 4)],
    "entropy": [{"l": {"entropy": l}} for l in FACTORS],
    "recursive": [
        {"l": {"recursive": {"c": c, "l": l}}} for c in ("1", "2", "3.5") for l in (1, 2, 3)
    ],
    "probabilistic": [{"l": {"probabilistic": l}} for l in FACTORS],
    "alpha": [{"alpha": {"max": share}} for share in ("0.5", "0.75", "1")],
    "p": [{"p": p} for p in (1, 2, 3)],
    "basic": [{"beta": {"basic": gain}} for gain in GAINS],
    "enhanced": [{"beta": {"enhanced": gain}} for gain in GAINS],
    "delta": [{"delta": {"max": d, "base": base}} for d in CHANGES for base in ("2", "e")],
    "ignore": [{"delta": {"max": d, "absent": "ignore"}} for d in CHANGES],
}
"""What may be promised about an attribute, by kind; each with a promise that any table keeps."""
QUASI = [
    ([0, 1, 2, 5, 9, 20], "quasi"),
    (LEAVES, {"role": "quasi", "hierarchy": {"groups": GROUPS}}),
    (["red", "green", "blue", "grey"], "quasi"),
]
CLOSE = ["t", "t and l"]
NOT_MONOTONE = ["ignore"]
NOT_EXACT = ["entropy", "enhanced", "delta", "ignore"]
DIVERSE = [kind for kind in PROMISES if kind not in CLOSE + NOT_MONOTONE]


@dataclass(frozen=True)
class Layout:
    """Which of the values that are drawn for a column stands in which row."""

    cells: list[int]
    """The number of the quasi-identifiers' value in each row."""
    repeats: list[int]
    """The same of the sensitive attributes': blocks of rows may repeat the same values."""
    feasible: bool
    """Whether the whole table keeps the promise as one class."""
    tight: bool = False
    """Whether closeness is promised as tightly as the whole table keeps it."""


def lay_out(chance: Random, feasible: bool) -> Layout:
    """Some rows several times; or, where the whole table keeps the promise, now and then blocks of
    rows of which each is like the table."""
    tight = feasible and chance.random() < 0.15
    if feasible and chance.random() < 0.4:
        block, times = chance.randint(2, 6), chance.randint(2, 8)
        rows = range(block * times)
        return Layout(list(rows), [at % block for at in rows], feasible, tight)
    times = [chance.choice([1, 1, 1, 2, 5]) for _ in range(chance.randint(2, 24))]
    cells = [at for at, copies in enumerate(times) for _ in range(copies)]
    return Layout(cells, cells, feasible, tight)


def fill(chance: Random, cells: list[int], values: list[Any], gaps: bool) -> list[Any]:
    """A column of some values, of which at least one is not missing."""
    pool = [*values, None] if gaps else values
    column = [chance.choice(pool) for _ in range(max(cells) + 1)]
    if all(value is None for value in column):
        column[0] = values[0]
    return [column[at] for at in cells]


def make_quasi(chance: Random, layout: Layout) -> tuple[Any, list[Any]]:
    values, spec = chance.choice(QUASI)
    return spec, fill(chance, layout.cells, values, chance.random() < 0.25)


def make_sensitive(
    chance: Random, layout: Layout, promise: str, distances: list[str], gaps: list[str]
) -> tuple[Any, list[Any]]:
    distance, gap = chance.choice(distances), chance.choice(gaps)
    values: list[Any] = [1, 2, 3, 5, 8] if distance in LINES else LEAVES[: chance.randint(1, 6)]
    if promise == "ignore" and gap == "any":
        gap = "value"  # a policy refuses both together
    column = fill(chance, layout.repeats, values, gap != "none")
    spec: dict[str, Any] = {"role": "sensitive", "distance": distance}
    if distance == "hierarchical":
        spec["hierarchy"] = {"groups": GROUPS}
    if gap != "none":
        spec["missing"] = gap
    if not layout.feasible:
        return spec | chance.choice(PROMISES[promise]), column
    if not (kept := list_kept_by_whole(spec, column, promise)):
        spec["missing"] = "value"  # too much is missing for any promise of this kind
        kept = list_kept_by_whole(spec, column, promise)
    chosen = chance.choice(kept)
    if "t" in chosen and distance in TREES:
        chosen = chosen | {"t": choose_limit(chance, spec, column, chosen["t"], layout.tight)}
    return spec | chosen, column


def list_kept_by_whole(
    spec: dict[str, Any], column: list[Any], promise: str
) -> list[dict[str, Any]]:
    """The promises of a kind that the whole table keeps as one class."""
    whole = count_column(column)
    seen = list(guess_missing(spec, whole, whole, sorted(whole)))
    return [
        more for more in PROMISES[promise] if not any(breaks(spec | more, *one) for one in seen)
    ]


def choose_limit(
    chance: Random, spec: dict[str, Any], column: list[Any], plain: str, tight: bool
) -> str:
    """A plain limit; or the least that the whole table keeps; or what two parts of it attain."""
    whole = count_column(column)
    least = farthest(spec, whole, whole)
    cut = chance.randint(1, len(column) - 1)
    parts = [farthest(spec, count_column(some), whole) for some in (column[:cut], column[cut:])]
    return str(least if tight else chance.choice([plain, plain, max(least, *parts)]))


def count_column(column: list[Any]) -> Counter[str]:
    return Counter(MISSING if value is None else str(value) for value in column)


def make_any(chance: Random) -> Case:
    """A table with any promise; the whole table may break it."""
    count = chance.randint(1, 3)
    asked = [(chance.choice([*PROMISES, "t", "t"]), TREES + LOGARITHMS) for _ in range(count)]
    return make_case(chance, lay_out(chance, feasible=False), asked)


def make_suited(chance: Random, method: Method | None, exact: bool = False) -> Case:
    """A table with a promise that it keeps as one class, and that a method can judge.

    If `exact`, whole numbers decide about the promise, and no logarithm.
    """
    layout = lay_out(chance, feasible=True)
    if method is None or method.close is None:
        barred = NOT_MONOTONE if method and not method.any_requirement else []
        barred = barred + NOT_EXACT if exact else barred
        kinds = [kind for kind in [*PROMISES, "t", "t"] if kind not in barred]
        distances = TREES if exact else TREES + LOGARITHMS
        asked = [(chance.choice(kinds), distances) for _ in range(chance.choice([1, 1, 2, 3]))]
        return make_case(chance, layout, asked)
    close = chance.choice([n for n in range(4) if n in method.close])
    asked = [(chance.choice(CLOSE), LINES if method.lines else TREES) for _ in range(close)]
    joint = not method.lines and chance.random() < 0.25 and close > 0
    if joint:  # a promise of closeness, too
        asked[0] = (chance.choice(DIVERSE), TREES)
    if len(asked) < 1 + joint or chance.random() < 0.25:
        asked.append((chance.choice(DIVERSE), TREES))
    if chance.random() < 0.15:
        asked.append(("t", LOGARITHMS))
    return make_case(chance, layout, asked, joint, gaps=not method.lines)


def make_case(
    chance: Random,
    layout: Layout,
    asked: list[tuple[str, list[str]]],
    joint: bool | None = None,
    gaps: bool = True,
) -> Case:
    """A table with a promise about each sensitive attribute: of what kind, by which distances.

    Two attributes may be promised something jointly (None: now and then), values may be missing.
    """
    columns: dict[str, list[Any]] = {}
    specs: dict[str, Any] = {}
    for at in range(chance.randint(1, 3)):
        specs[f"q{at}"], columns[f"q{at}"] = make_quasi(chance, layout)
    how = ["none", "none", "value", "any"] if gaps else ["none"]
    for at, (promise, distances) in enumerate(asked):
        made = make_sensitive(chance, layout, promise, distances, how)
        specs[f"s{at}"], columns[f"s{at}"] = made
    k = chance.choice([1, 1, 2, 3, 4, 5])
    policy = {"k": min(k, len(layout.cells)) if layout.feasible else k, "columns": specs}
    if joint or (joint is None and len(asked) > 1 and chance.random() < 0.25):
        t = "0" if layout.tight else chance.choice(["0.3", "0.6", "0.9"])
        policy["joint"] = [{"columns": ["s0", "s1"], "t": t}]
    return Case(columns, policy)


def cases() -> st.SearchStrategy[Case]:
    """Tables with any promises; the whole table may break them."""
    return st.randoms(use_true_random=False).map(make_any)


@st.composite
def suited(draw: st.DrawFn, method: Method | None = None, exact: bool = False) -> Case:
    """Tables with promises that can be kept, and that a method can judge.

    Drawn from plain seeds: hypothesis likes to vary what it has tried, and forty draws would be
    eight tables.
    """
    return make_suited(Random(draw(st.integers(0, 2**32 - 1))), method, exact)


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
        if more and len(set(columns[f"s{at}"])) > 1 and draw(st.integers(0, 3)) == 0:
            specs[f"s{at}"]["l"] = 2
    return Case(columns, {"k": draw(st.integers(1, 4)), "columns": specs})


def some_kinds(
    least: int = 1, most: int = 3, among: list[str] = TREES
) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(among), min_size=least, max_size=most)
