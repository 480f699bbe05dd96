"""`release.recoding = "suppress-cells"`: single cells become stars, as few as can be, and both
readings of a star are recounted."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app
from tclose.errors import PolicyError, UsageError
from tclose.search import registry

QUASI = ("age", "sex", "zip")
Row = tuple[Any, ...]


@pytest.fixture(autouse=True)
def search_with_little_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few rows are searched through at once; by default no search is begun for that."""
    monkeypatch.setattr(registry, "TINY_BUDGET", 0.1)


def make_rows(seed: int, count: int) -> list[Row]:
    chance = random.Random(seed)
    domains = ([20, 30, 40], ["f", "m"], ["a", "b", "c"], ["flu", "gout"])
    return [tuple(chance.choice(values) for values in domains) for _ in range(count)]


def make_table(rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate((*QUASI, "ill"))})


def make_policy(k: int, t: str | None, **search: Any) -> dict[str, Any]:
    ill = {"role": "sensitive"} | ({} if t is None else {"t": t})
    columns: dict[str, Any] = {**dict.fromkeys(QUASI, "quasi"), "ill": ill}
    return {
        "k": k, "columns": columns, "release": {"recoding": "suppress-cells"},
        "search": {"effort": 0.1, **search},
    }  # fmt: skip


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for at in range(len(rest)):
            yield [*rest[:at], [items[0], *rest[at]], *rest[at + 1 :]]


def count_stars(rows: Sequence[Row], weights: Sequence[int]) -> int:
    """What the stars of one class cost."""
    return sum(
        weight * len(rows) * (len({row[at] for row in rows}) > 1)
        for at, weight in enumerate(weights)
    )


def apart(rows: Sequence[Row], table: Sequence[Row]) -> Fraction:
    mine, whole = Counter(row[3] for row in rows), Counter(row[3] for row in table)
    gaps = (abs(Fraction(mine[v], len(rows)) - Fraction(whole[v], len(table))) for v in whole)
    return sum(gaps, Fraction(0)) / 2


def read_classes(release: pa.Table) -> dict[Row, list[Row]]:
    found: dict[Row, list[Row]] = {}
    for row in release.to_pylist():
        values = tuple(row.values())
        found.setdefault(values[:3], []).append(values)
    return found


@pytest.mark.parametrize("weights", [(1, 1, 1), (9, 1, 1), (1, 1, 9)])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(at, marks=pytest.mark.slow) for at in (1, 2, 3))]
)
def test_no_partition_has_cheaper_stars(seed: int, weights: tuple[int, int, int]) -> None:
    rows, t = make_rows(seed, 8), Fraction(1, 3)

    @functools.cache
    def price(part: tuple[int, ...]) -> float:
        """What the stars of a class cost; without end if it breaks the promise."""
        members = [rows[at] for at in part]
        kept = len(part) >= 2 and apart(members, rows) <= t
        return count_stars(members, weights) if kept else math.inf

    least = min(sum(price(tuple(part)) for part in parts) for parts in partitions([*range(8)]))
    policy = make_policy(2, str(t), weights=dict(zip(QUASI, weights, strict=True)))
    release = tclose.anonymize(make_table(rows), policy)
    stars = sum(
        weight * (row[name] == "*")
        for row in release.data.to_pylist()
        for name, weight in zip(QUASI, weights, strict=True)
    )
    assert stars == least


@pytest.mark.parametrize("seed", [0, *(pytest.param(at, marks=pytest.mark.slow) for at in (1, 2))])
def test_every_cell_is_its_value_or_a_star_and_both_readings_hold(seed: int) -> None:
    rows = make_rows(seed, 60)
    release = tclose.anonymize(make_table(rows), make_policy(3, "0.3"))
    values = {name: {str(row[at]) for row in rows} | {"*"} for at, name in enumerate(QUASI)}
    for row in release.data.to_pylist():
        assert all(row[name] in values[name] for name in QUASI)
    classes = read_classes(release.data)
    assert all(len(part) >= 3 for part in classes.values())
    assert all(apart(part, rows) <= Fraction("0.3") for part in classes.values())
    views, matched = [], set()
    for key, part in classes.items():
        if "*" in key:
            continue
        fits = [
            other
            for other in classes
            if "*" in other and all(a in (b, "*") for a, b in zip(other, key, strict=True))
        ]
        matched.update(fits)
        views += [part, part + [row for other in fits for row in classes[other]]]
    views += [part for key, part in classes.items() if "*" in key and key not in matched]
    audit = tclose.verify(release)
    found = {(each.requirement, each.reading): each.achieved_exact for each in audit.requirements}
    assert audit.holds and len(found) == 4 and matched
    assert found["k-anonymity", "stars as any value"] == min(map(len, views))
    assert found["t-closeness", "stars as any value"] == max(apart(view, rows) for view in views)


def test_a_star_that_may_be_any_value_can_break_what_holds_otherwise() -> None:
    """Persons 1 and 2, and 2 and 3: half of each have a; of all three, two thirds do."""
    rows = [("x", 1, "a"), ("x", 2, "b"), ("*", 2, "b"), ("*", 3, "a")]
    table = pa.table({
        "zip": [row[0] for row in rows],
        "who": [f"p{row[1]:024x}" for row in rows],
        "ill": [row[2] for row in rows],
    })  # fmt: skip
    policy: dict[str, Any] = {
        "columns": {"zip": "quasi", "who": "subject", "ill": {"role": "sensitive", "alpha": 0.5}}
    }
    assert tclose.verify(table, policy).holds
    audit = tclose.verify(table, policy | {"release": {"recoding": "suppress-cells"}})
    assert audit.holds is False
    assert [each.reading for each in audit.requirements if not each.holds] == ["stars as any value"]


def test_a_planted_star_is_refuted(tmp_path: Path) -> None:
    source, policy = tmp_path / "table.csv", tmp_path / "policy.toml"
    csv.write_csv(make_table(make_rows(5, 40)), source)
    rules = tclose.Policy.build(**make_policy(3, "0.3"))
    policy.write_text(rules.to_toml(), encoding="utf-8")
    release, certificate = tmp_path / "release.csv", tmp_path / "release.json"
    words = ["anonymize", source, "--policy", policy, "-o", release, "--certificate", certificate]
    made = CliRunner().invoke(app, list(map(str, words)))
    assert made.exit_code == 0, made.stderr
    check = ["verify", release, "--certificate", certificate, "--policy", policy]
    assert CliRunner().invoke(app, list(map(str, check))).exit_code == 0
    lines = release.read_text(encoding="utf-8").splitlines()
    at = next(at for at, line in enumerate(lines[1:], 1) if "*" not in line)
    lines[at] = ",".join(["*", "*", *lines[at].split(",")[2:]])
    release.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert CliRunner().invoke(app, list(map(str, check))).exit_code == 1


def test_new_rows_are_released_by_the_same_stars() -> None:
    rows = make_rows(7, 60)
    release = tclose.anonymize(make_table(rows), make_policy(3, "0.4"))
    again = tclose.apply(release.plan, make_table(rows))
    assert sorted(map(str, again.data.to_pylist())) == sorted(map(str, release.data.to_pylist()))


def test_a_column_that_must_stay_has_no_star() -> None:
    rows = make_rows(11, 60)
    policy = make_policy(3, "0.5")
    policy["columns"]["age"] = {"role": "quasi", "exact": True}
    release = tclose.anonymize(make_table(rows), policy)
    assert "*" not in release.data.column("age").to_pylist()


@pytest.mark.parametrize(
    ("column", "says"),
    [({"max_width": 10}, "as it is or not at all"), ({"hierarchy": {"prefix": [1]}, "max_level": 1},
     "as it is or not at all")],
)  # fmt: skip
def test_limits_between_a_value_and_its_star_are_refused(column: Any, says: str) -> None:
    policy = make_policy(3, "0.5")
    policy["columns"]["age"] = {"role": "quasi", **column}
    with pytest.raises(PolicyError, match=says):
        tclose.anonymize(make_table(make_rows(1, 20)), policy)


def test_the_method_of_that_name_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="recoding"):
        tclose.anonymize(
            make_table(make_rows(1, 20)), make_policy(2, "0.5"), method="suppress-cells"
        )


def test_a_table_in_parts_is_refused() -> None:
    with pytest.raises(UsageError, match="one piece"):
        tclose.anonymize(
            make_table(make_rows(1, 60)), make_policy(3, "0.5"), reading=tclose.Reading(max_cells=5)
        )
