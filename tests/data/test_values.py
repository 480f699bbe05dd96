"""Values in their natural order, and what generalized ones cover."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tclose
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import cover_test, is_label, read_interval
from tclose.data.io.counting import fingerprint
from tclose.distance.histogram import group_codes
from tclose.errors import DataError


def encoded(values: list[Any], kind: Any = None) -> tuple[Dictionary, list[int]]:
    dictionary, codes = Dictionary.encode(pa.chunked_array([pa.array(values, kind)]))
    return dictionary, codes.tolist()


NATURAL = {
    "numbers": ([10, 9, 100], ("9", "10", "100"), "number"),
    "numbers as text": (["10", "9", "100"], ("9", "10", "100"), "number"),
    "decimals as text": (["0.10", "0.09", "1"], ("0.09", "0.10", "1"), "number"),
    "signs": (["-2", "+1", "0"], ("-2", "0", "+1"), "number"),
    "floats": ([1.5, 2.0, -0.5], ("-0.5", "1.5", "2"), "number"),
    "units": (["11k", "3k", "4k"], ("3k", "4k", "11k"), "number"),
    "currencies": (["€9", "€10"], ("€9", "€10"), "number"),
    "a sign before": (["€11", "€3"], ("€3", "€11"), "number"),
    "letters and a space before": (["EUR 11", "EUR 3"], ("EUR 3", "EUR 11"), "number"),
    "codes": (["C50", "C34", "C061"], ("C061", "C34", "C50"), "text"),
    "mixed units": (["1k", "2m"], ("1k", "2m"), "text"),
    "words": (["b", "a", "B"], ("B", "a", "b"), "text"),
    "truth": ([True, False], ("false", "true"), "text"),
    "dates": ([dt.date(2024, 2, 1), dt.date(2023, 12, 31)], ("2023-12-31", "2024-02-01"), "date"),
    "dates as text": (["2024-02-01", "2023-12-31"], ("2023-12-31", "2024-02-01"), "date"),
    "postcodes": (["007", "7"], ("007", "7"), "number"),
    "article numbers": (["1e999999999", "1e5"], None, "text"),
    "nothing": ([None, None], (), "text"),
}


@pytest.mark.parametrize("name", NATURAL)
def test_values_have_a_natural_order(name: str) -> None:
    values, labels, kind = NATURAL[name]
    dictionary, codes = encoded(values, pa.string() if name == "nothing" else None)
    assert dictionary.kind == kind
    assert labels is None or dictionary.labels == labels
    for value, code in zip(values, codes, strict=True):
        if value is None:
            assert code == dictionary.known
        else:
            assert dictionary.values[code].as_py() == value


def test_dates_are_as_far_apart_as_their_days() -> None:
    for values in (["2024-02-01", "2023-12-31"], [dt.date(2024, 2, 1), dt.date(2023, 12, 31)]):
        positions = encoded(values)[0].positions
        assert positions is not None
        assert positions[1] - positions[0] == 32
    hours = encoded([dt.datetime(2024, 1, 1, 6), dt.datetime(2024, 1, 1)])[0].positions
    assert hours is not None
    assert hours[1] - hours[0] == Fraction(1, 4)


def test_what_is_not_a_number_is_missing_among_numbers_and_a_word_among_words() -> None:
    dictionary, codes = encoded([1.5, float("nan"), None, 1.5])
    assert (dictionary.labels, codes, dictionary.has_missing) == (("1.5",), [0, 1, 1, 0], True)
    words, codes = encoded(["nan", None, "a"])
    assert (words.known, words.has_missing, words.kind) == (2, True, "text")
    assert codes[1] == 2


@given(st.lists(st.one_of(st.none(), st.integers(-99, 99)), min_size=1, max_size=20))
def test_codes_stand_for_their_values_and_a_missing_one_comes_last(values: list[Any]) -> None:
    dictionary, codes = encoded(values, pa.int64())
    known = sorted({value for value in values if value is not None})
    assert codes == [len(known) if value is None else known.index(value) for value in values]
    assert dictionary.has_missing == (None in values)
    assert len(dictionary) == len(set(values))
    assert dictionary.positions == [Fraction(value) for value in known]


@given(
    st.lists(
        st.tuples(st.integers(-1, 3), st.integers(0, 2**40), st.integers(0, 2**40)),
        min_size=1, max_size=15,
    )
)  # fmt: skip
def test_grouping_is_that_of_sorted_distinct_tuples(rows: list[tuple[int, int, int]]) -> None:
    """Codes so far apart that their products pass 64 bits are grouped all the same."""
    shifted = [(b, a, c) for a, b, c in rows]
    label, first = group_codes([np.array([row[at] for row in shifted]) for at in range(3)])
    distinct = sorted(set(shifted))
    assert label.tolist() == [distinct.index(row) for row in shifted]
    assert [shifted[at] for at in first] == distinct


COVERS = [
    ("*", ["", "anything", "7"], []),
    ("[25, 37]", ["25", "37", "30.5", "2.6e1"], ["24.99", "37.01", "x", ""]),
    ("[20, 25)", ["20", "24.999"], ["25", "19"]),
    ("(20, 25]", ["25", "20.001"], ["20"]),
    ("[20; 25)", ["20"], ["25"]),
    ("(-∞, 18)", ["-1000000", "17.9"], ["18"]),
    ("[65, ∞)", ["65", "1e9"], ["64"]),
    ("[-5, -1]", ["-5", "-3"], ["0", "-6"]),
    ("[2024-01-01, 2024-02-01)", ["2024-01-31"], ["2024-02-01", "2023-12-31"]),
    ("25-37", ["25", "37"], ["24", "38"]),
    ("≥ 40", ["40"], ["39"]),
    (">=40", ["40", "41"], ["39"]),
    (">40", ["41"], ["40"]),
    ("≤ 40", ["40", "-1"], ["41"]),
    ("<40", ["39"], ["40"]),
    ("{flu, cough}", ["flu", "cough"], ["cold", "flu, cough"]),
    ("476**", ["47677"], ["4767", "476777", "47905"]),
    ("2*", ["2", "23", "299"], ["12"]),
    ("4*6", ["476"], ["46", "4776"]),
    ("a.c*", ["a.c", "a.cd"], ["abc"]),
    ("flu", ["flu"], ["influenza", "Flu"]),
]


@pytest.mark.parametrize(("label", "inside", "outside"), COVERS, ids=[row[0] for row in COVERS])
def test_a_generalized_value_covers_what_it_says(
    label: str, inside: list[str], outside: list[str]
) -> None:
    covers = cover_test(label)
    assert [value for value in inside if not covers(value)] == []
    assert [value for value in outside if covers(value)] == []
    assert label == "*" or covers(label) or "*" in label
    assert is_label(label) == (label != "flu")


@given(
    st.integers(-50, 50), st.integers(-50, 50), st.integers(-50, 50), st.booleans(), st.booleans()
)
def test_intervals_cover_what_lies_between_their_ends(
    low: int, high: int, value: int, with_low: bool, with_high: bool
) -> None:
    label = f"{'[' if with_low else '('}{low}, {high}{']' if with_high else ')'}"
    found = read_interval(label)
    assert found is not None
    above = value >= low if with_low else value > low
    below = value <= high if with_high else value < high
    assert found.covers(str(value)) == (above and below)


def test_a_text_that_looks_like_a_monstrous_number_is_only_a_text() -> None:
    assert not cover_test("[0, 5]")("1e999999999")
    assert cover_test("1e999999999")("1e999999999")


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
@pytest.mark.parametrize("value", ["infinity", "-infinity", "10000-01-01", "0044-03-15 (BC)"])
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_a_date_without_a_place_in_time_is_refused(kind: str, value: str, role: str) -> None:
    connection = duckdb.connect()
    seen = f"SELECT unnest(['2024-05-01', '{value}'])::{kind} AS seen, 'x' AS other"
    other = "sensitive" if role == "quasi" else "quasi"
    with pytest.raises(DataError, match="column 'seen': a date is infinite") as error:
        tclose.audit(connection.sql(seen), {"columns": {"seen": role, "other": other}})
    assert not any(told in str(error.value) for told in ("10000", "0044", "2147483647"))


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_the_first_and_the_last_date_have_a_place(unit: str) -> None:
    ends = [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)]
    for seen in (pa.array(ends, pa.timestamp(unit)), pa.array([e.date() for e in ends])):
        table = pa.table({"seen": seen, "other": ["x", "y"]})
        rules = {"columns": {"seen": "quasi", "other": "sensitive"}}
        assert tclose.audit(table, rules).classes == 2


N = 40
KINDS: dict[str, Callable[[list[int]], pa.Array]] = {
    "texts": lambda codes: pa.array(
        [f"a text that is too long for a view, {code}" for code in codes]
    ),
    "categories": lambda codes: pa.array([f"word {code}" for code in codes]).dictionary_encode(),
    "numbers": lambda codes: pa.array(codes),
    "amounts": lambda codes: pa.array(codes).cast(pa.decimal256(60, 2)),
    "moments": lambda codes: pa.array(codes).cast(pa.timestamp("us")),
    "flags": lambda codes: pa.array([code % 2 == 0 for code in codes]),
}
ENDS = pa.array(range(N + 1), pa.int32())
NESTED: dict[str, Callable[[pa.Array], pa.Array]] = {
    "plain": lambda values: values,
    "list": lambda values: pa.ListArray.from_arrays(ENDS, values),
    "even list": lambda values: pa.FixedSizeListArray.from_arrays(values, 1),
    "structure": lambda values: pa.StructArray.from_arrays([values], ["x"]),
    "map": lambda values: pa.MapArray.from_arrays(ENDS, pa.array(["k"] * N), values),
    "categories": lambda values: pa.DictionaryArray.from_arrays(pa.array(range(N)), values),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("outer", NESTED)
def test_the_hash_of_a_table_tells_every_value_and_no_order(
    kind: str, inner: str, outer: str
) -> None:
    """DuckDB reads other memory, or nothing, for some types within others."""

    def batch(codes: list[int]) -> pa.RecordBatch:
        return pa.record_batch({"c": NESTED[outer](NESTED[inner](KINDS[kind](codes)))})

    codes = [at % 7 for at in range(N)]
    table, other = batch(codes), batch([*codes[:-1], codes[-1] + 1])
    known = fingerprint(table.schema, [table])
    parts = [table.slice(at, 9) for at in range(0, N, 9)]
    assert fingerprint(table.schema, reversed(parts)) == known
    assert fingerprint(other.schema, [other]) != known


def test_many_rows_with_structures_of_structures_are_released() -> None:
    rows = 10_000  # more than are read at a time
    words = pa.array([f"w{at}" for at in range(rows)])
    inner = pa.StructArray.from_arrays([words], ["x"])
    table = pa.table(
        {
            "age": [at % 50 for at in range(rows)],
            "ward": pa.StructArray.from_arrays([inner], ["y"]),
            "ill": ["a", "b"] * (rows // 2),
        }
    )
    columns = {"age": "quasi", "ward": "insensitive", "ill": {"role": "sensitive", "t": 1}}
    release = tclose.anonymize(table, {"k": 2, "columns": columns}, method="mondrian")
    assert sorted(map(str, release.data["ward"].to_pylist())) == sorted(
        map(str, table["ward"].to_pylist())
    )
