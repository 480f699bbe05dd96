"""Builders: exact and nested levels, meaningful order, and refusals that count."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.errors import HierarchyError
from tclose.hierarchy.build import cuts, dates, groups, intervals, prefixes, read_number
from tclose.hierarchy.tree import Hierarchy
from tclose.plain import write_number

DECIMALS = st.decimals(-1000, 1000, places=2).map(str)


def levels_of(tree: Hierarchy, label: str) -> list[str]:
    return [tree.generalize(label, level) for level in range(tree.levels)]


def bounds(label: str) -> tuple[Fraction, Fraction]:
    low, high = label.strip("[)").split(", ")
    return Fraction(low), Fraction(high)


@given(
    st.lists(DECIMALS, min_size=1, max_size=20),
    st.sampled_from(["0.1", "0.25", "3"]),
    st.lists(st.integers(2, 5), max_size=3),
    DECIMALS,
)
def test_intervals_hold_their_values_and_nest(
    values: list[str], width: str, factors: list[int], origin: str
) -> None:
    widths = [Fraction(width)]
    for factor in factors:
        widths.append(widths[-1] * factor)
    tree = intervals(values, widths, column="n", origin=origin)
    assert tree.levels == len(widths) + 2
    numbers = [Fraction(value) for value in tree.leaves]
    assert numbers == sorted(numbers) and set(tree.leaves) == set(values)
    for value in tree.leaves:
        low = high = Fraction(value)
        for span, label in zip(widths, levels_of(tree, value)[1:-1], strict=True):
            outer_low, outer_high = bounds(label)
            assert outer_low <= low and high <= outer_high and Fraction(value) < outer_high
            assert outer_high - outer_low == span
            assert ((outer_low - Fraction(origin)) / span).denominator == 1
            low, high = outer_low, outer_high


@given(
    st.lists(st.integers(-50, 150), min_size=1, max_size=30),
    st.integers(-20, 40),
    st.integers(41, 120),
)
def test_beyond_bottom_and_top_there_is_one_interval(
    values: list[int], bottom: int, top: int
) -> None:
    texts, widths = [str(value) for value in values], [5, 10, 40]
    tree = intervals(texts, widths, column="n", bottom=bottom, top=top)
    for value in map(int, tree.leaves):
        for level in range(1, tree.levels - 1):
            label = tree.generalize(str(value), level)
            if value < bottom:
                assert label == f"(-∞, {bottom})"
            elif value >= top:
                assert label == f"[{top}, ∞)"
            elif tree.levels == len(widths) + 2:
                # Where an end makes the intervals of two levels equal, they are one, and the next
                # stands a level lower.
                starts = [(width, value // width * width) for width in widths[level - 1 :]]
                allowed = [(max(low, bottom), min(low + width, top)) for width, low in starts]
                assert bounds(label) in allowed


def test_interval_labels_are_exact_for_decimal_widths() -> None:
    tree = intervals(["0.3", "-0.05", "0.30"], [0.1, "0.2", Decimal("0.6")], column="x")
    assert tree.leaves == ("-0.05", "0.3", "0.30")
    assert levels_of(tree, "0.3") == ["0.3", "[0.3, 0.4)", "[0.2, 0.4)", "[0, 0.6)", "*"]
    assert tree.generalize("-0.05", 1) == "[-0.1, 0)"


def test_numbers_are_ordered_by_size_and_keep_their_text() -> None:
    tree = intervals(["100", "9", "1e1", " 7", "9"], [1000], column="x")
    assert tree.leaves == (" 7", "9", "1e1", "100")


@given(
    st.lists(DECIMALS, min_size=1, max_size=20),
    st.lists(st.integers(-900, 900), min_size=3, max_size=6, unique=True).map(sorted),
)
def test_cuts_put_values_between_their_neighbours(values: list[str], points: list[int]) -> None:
    tree = cuts(values, [points, points[1:], points[1:2]], column="n")
    for value in values:
        inside = Fraction(value)
        low = max((point for point in points if point <= inside), default=None)
        high = min((point for point in points if point > inside), default=None)
        left = "(-∞" if low is None else f"[{low}"
        label = f"{left}, {'∞' if high is None else high})"
        assert tree.labels[tree.parent[tree.index(value)]] == label
        coarse = f"(-∞, {points[1]})" if inside < points[1] else f"[{points[1]}, ∞)"
        chain = levels_of(tree, value)
        assert coarse in chain and chain[-1] == "*"


def test_an_interval_that_outlives_a_level_is_one_node() -> None:
    tree = cuts(["7", "30", "50", "70"], [[18, 40, 65], [18, 65]], column="age")
    assert levels_of(tree, "7") == ["7", "(-∞, 18)", "(-∞, 18)", "*"]
    assert levels_of(tree, "50") == ["50", "[40, 65)", "[18, 65)", "*"]


@given(st.lists(st.text("0123", min_size=1, max_size=6), min_size=1, unique=True))
def test_prefixes_keep_the_first_characters_and_one_length(values: list[str]) -> None:
    tree = prefixes(values, [4, 2], column="zip")
    assert set(tree.leaves) == set(values)
    even = len({len(value) for value in values}) == 1
    for value in values:
        rest = [max(len(value) - k, 0) if even else int(len(value) >= k) for k in (4, 2)]
        masked = (value[:k] + "*" * stars for k, stars in zip((4, 2), rest, strict=True))
        expected = [value, *masked, "*"]
        node, up = tree.index(value), []
        while node >= 0:
            up.append(tree.labels[node])
            node = int(tree.parent[node])
        assert up == list(dict.fromkeys(expected))


@pytest.mark.parametrize("keep", [[3, 2, 0], [3, 2]])
def test_the_root_of_prefixes_is_one_star(keep: list[int]) -> None:
    tree = prefixes(["12345", "99999", "12"], keep, column="zip")
    assert tree.leaves == ("12", "12345", "99999")
    assert levels_of(tree, "12345") == ["12345", "123*", "12*", "*"]
    assert levels_of(tree, "12") == ["12", "12", "12*", "*"]


@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, unique=True), st.integers(1, 4))
def test_values_with_the_same_beginning_meet_below_the_root(values: list[str], keep: int) -> None:
    tree = prefixes(values, [keep], column="code")
    groups: dict[str, set[str]] = {}
    for value in values:
        if len(value) >= keep:
            groups.setdefault(value[:keep], set()).add(tree.generalize(value, 1))
    assert all(len(labels) == 1 for labels in groups.values())


@given(st.lists(st.dates(), min_size=1, max_size=20))
def test_dates_nest_and_are_ordered_by_time(days: list[date]) -> None:
    tree = dates([day.isoformat() for day in days], column="day")
    assert tree.leaves == tuple(sorted({day.isoformat() for day in days}))
    assert tree.levels == 6
    for day in days:
        year = f"{day.year:04d}"
        quarter = f"{year}-Q{1 + (day.month - 1) // 3}"
        decade = f"{year[:3]}0s"
        expected = [day.isoformat(), day.isoformat()[:7], quarter, year, decade, "*"]
        assert levels_of(tree, day.isoformat()) == expected


def test_times_count_on_the_day_they_are_written() -> None:
    values = ["2021-01-01T00:30:00+02:00", "2020-12-31 23:59", "20201231"]
    tree = dates(values, ["day", "year"], column="when")
    assert tree.leaves == ("20201231", "2020-12-31 23:59", "2021-01-01T00:30:00+02:00")
    assert levels_of(tree, values[0])[1:] == ["2021-01-01", "2021", "*"]


def test_days_of_plain_dates_are_the_dates_themselves() -> None:
    tree = dates(["2021-01-01"], ["day", "year"], column="when")
    assert levels_of(tree, "2021-01-01") == ["2021-01-01", "2021", "*"]


def test_a_whole_century_of_days_is_ordered() -> None:
    start = date(1899, 12, 30)
    values = [(start + timedelta(days=i)).isoformat() for i in range(0, 36500, 7)]
    assert dates(reversed(values), column="day").leaves == tuple(values)


def test_groups_may_be_nested_unevenly() -> None:
    tree = groups({"animal": {"pet": ["cat", "dog"], "farm": ["cow"]}, "plant": ["oak"]}, "kind")
    assert tree.leaves == ("cat", "dog", "cow", "oak")
    assert levels_of(tree, "cow") == ["cow", "farm", "animal", "*"]
    assert levels_of(tree, "oak") == ["oak", "plant", "plant", "*"]


def test_a_group_named_like_its_only_member_is_that_member() -> None:
    tree = groups({"oak": ["oak"], "animal": ["cat", "dog"]}, "kind")
    assert tree.labels == ("oak", "cat", "dog", "animal", "*")


Build = Callable[[], Hierarchy]
REFUSED: dict[str, tuple[Build, str]] = {
    "values that are no numbers": (
        lambda: intervals(["1", "secret", "nan", "inf", "1_0", "1e999999999"], [5], column="c"),
        "5 of 6 distinct values cannot be read as a finite number",
    ),
    "cut values that are no numbers": (
        lambda: cuts(["secret", "4"], [[1]], column="c"),
        "1 of 2 distinct values cannot be read as a finite number",
    ),
    "values that are no dates": (
        lambda: dates(["2021-02-30", "secret", "2021", "2021-W01", "2021-01-01"], column="c"),
        "4 of 5 distinct values cannot be read as an ISO date",
    ),
    "no values": (lambda: intervals([], [5], column="c"), "no values"),
    "one text as values": (lambda: prefixes("secret", [1], column="c"), "not a list"),
    "values that are not text": (
        lambda: intervals([1, 2], [5], column="c"),  # type: ignore[list-item]
        "2 of 2 distinct values are not text",
    ),
    "no widths": (lambda: intervals(["1"], [], column="c"), "at least one width"),
    "a width of zero": (lambda: intervals(["1"], [0], column="c"), "level 1: the width is not pos"),
    "a width that is no number": (
        lambda: intervals(["1"], [5, "x"], column="c"),
        "level 2: the width is not a finite number",
    ),
    "a width that is a truth value": (
        lambda: intervals(["1"], [True], column="c"),
        "level 1: the width is not a finite number",
    ),
    "widths that do not nest": (
        lambda: intervals(["1"], [5, 10, 15], column="c"),
        "level 3: the width is not a larger multiple",
    ),
    "widths that do not grow": (
        lambda: intervals(["1"], [5, 5], column="c"),
        "level 2: the width is not a larger multiple",
    ),
    "an origin that is no number": (
        lambda: intervals(["1"], [5], column="c", origin="x"),
        "the origin is not a finite number",
    ),
    "no cuts": (lambda: cuts(["1"], [], column="c"), "at least one level of cuts"),
    "an empty level of cuts": (lambda: cuts(["1"], [[]], column="c"), "level 1: a level of cuts"),
    "cuts without levels": (
        lambda: cuts(["1"], [18, 65], column="c"),  # type: ignore[list-item]
        "level 1: a level of cuts must be a list",
    ),
    "cuts out of order": (lambda: cuts(["1"], [[2, 1]], column="c"), "level 1: the cuts do not gr"),
    "cuts that do not nest": (
        lambda: cuts(["1"], [[1, 2], [3]], column="c"),
        "level 2: the cuts are not some",
    ),
    "the same cuts twice": (
        lambda: cuts(["1"], [[1, 2], [1, 2]], column="c"),
        "level 2: the cuts are not some",
    ),
    "a cut that is no number": (
        lambda: cuts(["1"], [["x"]], column="c"),
        "level 1: a cut is not a finite number",
    ),
    "nothing kept": (lambda: prefixes(["a"], [], column="c"), "at least one number of kept"),
    "a negative number kept": (
        lambda: prefixes(["a"], [2, -1], column="c"),
        "level 2: the number of kept characters is not a whole",
    ),
    "a broken number kept": (
        lambda: prefixes(["a"], [1.5], column="c"),  # type: ignore[list-item]
        "level 1: the number of kept characters is not a whole",
    ),
    "more kept than before": (
        lambda: prefixes(["a"], [2, 3], column="c"),
        "level 2: the number of kept characters does not decrease",
    ),
    "a value that looks masked": (
        lambda: prefixes(["secret", "secre*"], [5], column="c"),
        "1 of 2 values have the same text as a group",
    ),
    "a value that is the root": (
        lambda: prefixes(["secret", "*"], [5], column="c"),
        "1 of 2 values have the same text as a group",
    ),
    "days beside times": (
        lambda: dates(["2021-01-01", "2021-01-01T10:00"], ["day"], column="c"),
        "1 of 2 values have the same text as a group",
    ),
    "an unknown period": (
        lambda: dates(["2021-01-01"], ["month", "yaer"], column="c"),
        "level 2: no such period",
    ),
    "periods out of order": (
        lambda: dates(["2021-01-01"], ["year", "month"], column="c"),
        "level 2: the period is not longer",
    ),
    "one text as periods": (lambda: dates(["2021-01-01"], "year", column="c"), "not a list"),
    "no periods": (lambda: dates(["2021-01-01"], [], column="c"), "at least one period"),
    "no groups": (lambda: groups({}, "c"), "a group is empty (0 groups deep)"),
    "an empty group": (lambda: groups({"g": ["a"], "h": []}, "c"), "a group is empty (1 groups"),
    "one text as a group": (lambda: groups({"g": "secret"}, "c"), "neither a list"),
    "a number as a group": (lambda: groups({"g": 5}, "c"), "neither a list"),  # type: ignore[dict-item]
    "a value in two groups": (
        lambda: groups({"g": ["secret"], "h": ["b", "secret"]}, "c"),
        "the value has a row on line 1 already",
    ),
    "a group named like one of its values": (
        lambda: groups({"secret": ["secret", "b"]}, "c"),
        "1 of 2 values have the same text as a group",
    ),
    "a number within a group": (
        lambda: groups({"g": [5]}, "c"),  # type: ignore[list-item]
        "the label is not text",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_requests_that_make_no_tree_are_refused_without_showing_a_value(case: str) -> None:
    build, what = REFUSED[case]
    with pytest.raises(HierarchyError) as refusal:
        build()
    assert what in str(refusal.value)
    assert "column 'c'" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_a_mistyped_period_is_answered_with_the_nearest() -> None:
    with pytest.raises(HierarchyError, match="did you mean 'year'"):
        dates(["2021-01-01"], ["yaer"], column="c")


@given(st.fractions(max_denominator=2000))
def test_plain_text_of_a_number_is_exact(number: Fraction) -> None:
    assert Fraction(write_number(number)) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-1e9, max_value=1e9))
def test_numbers_are_read_exactly(number: Decimal) -> None:
    assert read_number(str(number)) == read_number(number) == Fraction(number)


def test_numbers_of_absurd_size_are_no_numbers() -> None:
    absurd = ("1e301", "1e-301", 10**301, Fraction(1, 10**301))
    assert [read_number(number) for number in absurd] == [None] * 4
