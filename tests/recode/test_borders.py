"""Ends of intervals that are nobody's value: `borders` widens them to multiples of a step."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tclose

STEP = 5


def table(seed: int, rows: int = 60) -> pa.Table:
    draw = Random(seed)
    return pa.table(
        {
            "age": [draw.randrange(20, 90) for _ in range(rows)],
            "cost": [draw.randrange(0, 400) / 4 for _ in range(rows)],
            "ill": [draw.choice(["flu", "gout", "asthma"]) for _ in range(rows)],
        }
    )


def rules(**more: Any) -> dict[str, Any]:
    columns = {
        "age": {"role": "quasi", "borders": STEP},
        "cost": {"role": "quasi", "borders": "0.5"},
        "ill": {"role": "sensitive", "t": "1/2"},
    }
    return {"k": 3, "columns": columns, "release": {"rows": "keep"}, **more}


def read(label: str) -> tuple[Fraction, Fraction]:
    low, high = label.strip("[]").split(", ")
    return Fraction(low), Fraction(high)


METHODS = ["hybrid", "mondrian", "mdav", "fragments", "optimal"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_ends_are_multiples_cover_their_rows_and_the_loss_says_so(method: str, seed: int) -> None:
    data = table(seed)
    release = tclose.anonymize(data, rules(), method=method, effort=0.05)
    assert release.left_out == 0 and release.audit.holds
    for name, step in (("age", Fraction(STEP)), ("cost", Fraction(1, 2))):
        raw = [Fraction(value) for value in data.column(name).to_pylist()]
        widths = []
        for value, label in zip(raw, release.data.column(name).to_pylist(), strict=True):
            if label == "*":
                widths.append(Fraction(1))
                continue
            low, high = read(label)
            assert low % step == 0 == high % step and low <= value <= high and low < high
            widths.append(min(Fraction(1), (high - low) / (max(raw) - min(raw))))
        stated = release.certificate.loss
        assert stated is not None
        assert stated.columns[name] == pytest.approx(float(sum(widths) / len(widths)))


def test_ends_are_as_near_as_multiples_can_be() -> None:
    """Each end is that of the class it was widened from: the same table without borders."""
    data, plain = table(3), rules()
    plain["columns"] = {**plain["columns"], "age": "quasi", "cost": "quasi"}
    narrow = tclose.anonymize(data, plain, method="mondrian", effort=0).data
    wide = tclose.anonymize(data, rules(), method="mondrian", effort=0).data
    pairs = zip(narrow.column("age").to_pylist(), wide.column("age").to_pylist(), strict=True)
    for before, after in pairs:
        low, high = read(before) if before.startswith("[") else (Fraction(before),) * 2
        below = floor(low / STEP) * STEP
        assert read(after) == (below, max(ceil(high / STEP) * STEP, below + STEP))


def test_a_table_in_fragments_is_widened_too(tmp_path: Path) -> None:
    output = tmp_path / "r.parquet"
    reading = tclose.Reading(max_cells=20)
    made = tclose.anonymize(
        table(4, 200), rules(), method="mondrian", output=output, reading=reading
    )
    assert made.audit.holds
    found = tclose.audit(output, rules())
    labels = found.bound.cells.dictionaries["age"].labels
    assert labels and all(end % STEP == 0 for label in labels for end in read(label))


@pytest.mark.parametrize(
    "column",
    [
        {"role": "sensitive", "t": 1, "borders": 5},
        {"role": "quasi", "borders": 0},
        {"role": "quasi", "borders": 5, "max_width": 10},
        {"role": "quasi", "borders": 5, "hierarchy": {"intervals": [5]}},
    ],
)
def test_where_there_is_nothing_to_widen_it_is_refused(column: dict[str, Any]) -> None:
    more = rules()["columns"] | {"age": column}
    with pytest.raises(tclose.PolicyError):
        tclose.audit(table(1), rules(columns=more))


def test_only_plain_numbers_can_be_widened_and_no_plan_of_them_applied() -> None:
    words = table(1).set_column(0, "age", pa.array(["a", "b"] * 30))
    with pytest.raises(tclose.PolicyError, match="plain numbers"):
        tclose.anonymize(words, rules(), effort=0)
    with pytest.raises(tclose.PolicyError, match="no borders"):
        tclose.anonymize(table(1), rules(release={"recoding": "mean"}), effort=0)
    plan = tclose.anonymize(table(1), rules(), method="mondrian", effort=0).plan
    with pytest.raises(tclose.UsageError, match="where new values belong"):
        tclose.apply(plan, table(2))
