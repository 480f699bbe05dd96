"""Every measure of utility against loops over rows, on tiny tables."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.errors import DataError
from tclose.search.registry import METHODS

pytestmark = pytest.mark.slow

QUASI = ("age", "town", "hue")
SEEDS = st.integers(0, 10**6)
FEW = settings(max_examples=15)
FOR_TWO_ATTRIBUTES = {"matching"}
NOTHING_LEFT = {"age": ["*"], "town": ["*"], "hue": ["*"]}


def suppressed(case: Any) -> pa.Table:
    """All quasi-identifiers released as `*`."""
    rows = len(case.rows)
    columns = {name: star * rows for name, star in NOTHING_LEFT.items()}
    return pa.table({**columns, "ill": [row["ill"] for row in case.rows]})


@FEW
@given(SEEDS, st.booleans())
def test_losses_are_those_of_a_loop_over_rows(
    tiny: Any, measured: Any, seed: int, left_out: bool
) -> None:
    case = tiny(seed, left_out=left_out)
    result = measured(case)
    for name, penalty in (("loss", False), ("ncp", True)):
        rows = range(len(case.rows))
        for column in QUASI:
            expected = sum(case.loss(at, column, penalty=penalty) for at in rows) / len(case.rows)
            assert result[name].columns[column] == pytest.approx(expected)
        assert result[name].overall == pytest.approx(sum(result[name].columns.values()) / 3)


@FEW
@given(SEEDS)
def test_entropy_counts_the_bits_of_every_row(tiny: Any, measured: Any, seed: int) -> None:
    case = tiny(seed)
    result = measured(case)
    assert result.row_by_row
    lost = whole = 0.0
    for column in QUASI:
        bits = sum(case.bits(at, column) for at in range(len(case.rows)))
        most = sum(
            -math.log2(case.count(column, [row[column]]) / len(case.rows)) for row in case.rows
        )
        assert result["entropy"].columns[column] == pytest.approx(bits / most, abs=1e-9)
        lost, whole = lost + bits, whole + most
    assert result["entropy"].overall == pytest.approx(lost / whole, abs=1e-9)


@FEW
@given(SEEDS)
def test_entropy_of_rows_that_cannot_be_linked_is_what_is_expected(
    tiny: Any, measured: Any, judged: Any, seed: int
) -> None:
    case = tiny(seed, left_out=True)
    result = measured(case)
    if not judged(len(case.kept) < len(case.rows) and not result.row_by_row, least=0.2):
        return
    for column in QUASI:
        bits = most = 0.0
        for at in range(len(case.rows)):
            inside = case.covered(at, column)
            counts = [case.count(column, [value]) for value in inside]
            bits -= sum(c / sum(counts) * math.log2(c / sum(counts)) for c in counts)
            mine = case.count(column, [case.rows[at][column]])
            most -= math.log2(mine / len(case.rows))
        assert result["entropy"].columns[column] == pytest.approx(bits / most, abs=1e-9)


@FEW
@given(SEEDS)
def test_rows_whose_values_leave_no_choice_are_linked_by_them(
    tiny: Any, policy: Any, judged: Any, seed: int
) -> None:
    case = tiny(seed)
    turned = case.release.take(list(reversed(range(len(case.rows)))))
    rows = {"original": case.original, "policy": policy, "queries": 0}
    kept, result = (tclose.measure(release=each, **rows) for each in (case.release, turned))
    if judged(result.row_by_row, least=0.1):
        assert result["entropy"].columns == pytest.approx(kept["entropy"].columns)
        assert result["squares"].columns == pytest.approx(kept["squares"].columns)


@FEW
@given(SEEDS)
def test_squares_are_distances_from_the_mean_of_the_class(
    tiny: Any, measured: Any, seed: int
) -> None:
    case = tiny(seed)
    ages = [row["age"] for row in case.rows]
    mean = sum(ages) / len(ages)
    together: dict[tuple[str, ...], list[int]] = {}
    for at, age in enumerate(ages):
        together.setdefault(case.key(at), []).append(age)
    within = sum((a - sum(some) / len(some)) ** 2 for some in together.values() for a in some)
    whole = sum((age - mean) ** 2 for age in ages)
    found = measured(case)["squares"]
    assert found.columns == pytest.approx({"age": within / whole}, abs=1e-9)


@FEW
@given(SEEDS, st.booleans())
def test_the_rebuilt_table_spreads_rows_evenly_over_their_boxes(
    tiny: Any, measured: Any, seed: int, left_out: bool
) -> None:
    case = tiny(seed, left_out=left_out)
    cells = Counter((row["age"], row["town"], row["hue"], row["ill"]) for row in case.rows)
    illnesses = {row["ill"] for row in case.rows}
    rebuilt = dict.fromkeys(cells, 0.0)
    for at, row in enumerate(case.rows):
        covered = [case.covered(at, column) for column in QUASI]
        volume = math.prod(len(some) for some in covered)
        out = case.label[at] is None
        for cell in cells:
            inside = all(value in some for value, some in zip(cell[:3], covered, strict=True))
            if inside and (out or cell[3] == row["ill"]):
                rebuilt[cell] += 1 / volume / (len(illnesses) if out else 1)
    rows = len(case.rows)
    bits = sum(count / rows * math.log2(count / rebuilt[cell]) for cell, count in cells.items())
    assert measured(case)["reconstruction"].overall == pytest.approx(bits, abs=1e-9)


@FEW
@given(SEEDS, st.booleans())
def test_sizes_count_pairs_of_rows(tiny: Any, measured: Any, seed: int, left_out: bool) -> None:
    case = tiny(seed, left_out=left_out)
    result, rows = measured(case), len(case.rows)
    keys = [case.key(at) for at in case.kept]
    alike = sum(a == b for a in keys for b in keys) + rows * (rows - len(keys))
    assert result["discernibility"].overall == alike >= rows
    mean = len(keys) / len(set(keys))
    assert result["average-class-size"].overall == pytest.approx(mean)
    assert result["average-class-size"].numbers["c_avg"] == pytest.approx(mean / 2)


@FEW
@given(SEEDS)
def test_a_release_that_changes_nothing_loses_nothing(tiny: Any, policy: Any, seed: int) -> None:
    case = tiny(seed)
    result = tclose.measure(
        original=case.original, release=case.original, policy=policy, queries=50
    )
    for name in ("loss", "ncp", "entropy", "squares", "reconstruction", "query-error"):
        assert result[name].overall == pytest.approx(0.0, abs=1e-9), name
    assert result["query-error"].numbers["mean"] == pytest.approx(0.0, abs=1e-9)


@FEW
@given(SEEDS)
def test_a_release_of_stars_loses_everything(tiny: Any, policy: Any, seed: int) -> None:
    case = tiny(seed)
    result = tclose.measure(
        original=case.original, release=suppressed(case), policy=policy, queries=0
    )
    for name in ("loss", "ncp", "entropy", "squares"):
        assert result[name].overall == pytest.approx(1.0), name
        assert list(result[name].columns.values()) == pytest.approx(
            [1.0] * len(result[name].columns)
        )
    assert result["discernibility"].overall == len(case.rows) ** 2


@FEW
@given(SEEDS)
def test_the_loss_is_the_sum_over_classes(tiny: Any, policy: Any, seed: int) -> None:
    case = tiny(seed)
    result = tclose.measure(original=case.original, release=case.release, policy=policy, queries=0)
    total = 0.0
    for key in case.classes():
        some = [at for at in case.kept if case.key(at) == key]
        total += len(some) * sum(case.loss(some[0], column, penalty=False) for column in QUASI)
    assert result["loss"].overall == pytest.approx(total / 3 / len(case.rows))


def test_shuffled_rows_are_measured_by_what_they_cover(tiny: Any, policy: Any) -> None:
    case = tiny(7)
    turned = case.release.take(list(reversed(range(len(case.rows)))))
    kept = tclose.measure(original=case.original, release=case.release, policy=policy, queries=0)
    result = tclose.measure(original=case.original, release=turned, policy=policy, queries=0)
    assert kept.row_by_row and not result.row_by_row
    for name in ("loss", "ncp", "reconstruction", "discernibility"):
        assert result[name].overall == pytest.approx(kept[name].overall)
    assert "could not be linked" in result["entropy"].note


def test_a_key_links_rows_in_any_order_and_number(tiny: Any, policy: Any) -> None:
    case = tiny(7)
    number = [str(at) for at in range(len(case.rows))]
    original = case.original.append_column("row", [number])
    release = case.release.append_column("row", [number])
    rules = {**policy, "columns": {**policy["columns"], "row": "insensitive"}}
    turned = release.take(list(reversed(range(len(case.rows)))))
    plain = tclose.measure(original=original, release=release, policy=rules, queries=0)
    keyed = tclose.measure(original=original, release=turned, policy=rules, queries=0, key="row")
    assert keyed.row_by_row
    assert keyed["entropy"].overall == pytest.approx(plain["entropy"].overall)
    fewer = tclose.measure(
        original=original, release=turned.slice(2), policy=rules, queries=0, key="row"
    )
    assert fewer.row_by_row and fewer.left_out == 2


def test_keys_that_do_not_belong_together_are_refused(tiny: Any, policy: Any) -> None:
    case = tiny(7)
    number = [str(at) for at in range(len(case.rows))]
    original = case.original.append_column("row", [number])
    release = case.release.append_column("row", [number[::-1]])
    rules = {**policy, "columns": {**policy["columns"], "row": "insensitive"}}
    with pytest.raises(DataError, match="do not belong together"):
        tclose.measure(original=original, release=release, policy=rules, key="row")
    twice = case.release.append_column("row", [["x"] * len(case.rows)])
    with pytest.raises(DataError, match="does not tell rows apart"):
        tclose.measure(original=original, release=twice, policy=rules, key="row")


def test_a_release_with_more_rows_than_its_original_is_refused(tiny: Any, policy: Any) -> None:
    case = tiny(7)
    twice = pa.concat_tables([case.release, case.release])
    with pytest.raises(DataError, match="is it a release of this table"):
        tclose.measure(original=case.original, release=twice, policy=policy)


def test_central_values_are_measured_by_their_squares() -> None:
    original = pa.table({"age": [20, 30, 40, 60], "ill": ["a", "b", "a", "b"]})
    release = pa.table({"age": ["25", "25", "50", "50"], "ill": ["a", "b", "a", "b"]})
    rules = {
        "columns": {"age": "quasi", "ill": "sensitive"},
        "release": {"recoding": "mean"},
    }
    result = tclose.measure(original=original, release=release, policy=rules, queries=20)
    assert result.row_by_row
    assert result["squares"].overall == pytest.approx(250 / 875)
    for name in ("loss", "ncp", "entropy", "reconstruction"):
        assert result[name].overall is None and "central" in result[name].note


def test_rows_that_no_class_covers_make_the_rebuilt_table_infinitely_far() -> None:
    original = pa.table({"age": [20, 30, 40], "ill": ["a", "b", "a"]})
    release = pa.table({"age": ["[20, 30]"] * 3, "ill": ["a", "b", "a"]})
    rules = {"columns": {"age": "quasi", "ill": "sensitive"}}
    found = tclose.measure(original=original, release=release, policy=rules, queries=0)[
        "reconstruction"
    ]
    assert found.overall == math.inf and found.to_json()["overall"] is None
    assert "1 row lies in no class" in found.note


def test_missing_values_count_as_in_the_loss_of_a_release() -> None:
    original = pa.table({"age": [20, None, 40, None], "ill": ["a", "b", "a", "b"]})
    rules = {"columns": {"age": "quasi", "ill": "sensitive"}}
    release = pa.table({"age": ["*", "*", "40", None], "ill": ["a", "b", "a", "b"]})
    result = tclose.measure(original=original, release=release, policy=rules, queries=0)
    assert result.row_by_row
    assert result["loss"].overall == pytest.approx(0.5)


@pytest.mark.parametrize("method", sorted(METHODS.keys() - FOR_TWO_ATTRIBUTES))
def test_anonymize_and_measure_agree_on_the_loss(policy: Any, tiny: Any, method: str) -> None:
    case = tiny(11)
    order = sorted({row["ill"] for row in case.rows})
    ill = {"role": "sensitive", "t": 0.6, "distance": "ordered", "order": order}
    rules = {**policy, "columns": {**policy["columns"], "ill": ill}}
    release = tclose.anonymize(case.original, rules, method=method, effort=0.1)
    result = tclose.measure(original=case.original, release=release, policy=policy, queries=0)
    assert result["loss"].overall == pytest.approx(release.loss.overall)
    assert result["loss"].columns == pytest.approx(release.loss.columns)
    assert result["discernibility"].overall == release.sizes.discernibility


def test_nothing_in_the_result_is_a_value_of_the_table(tiny: Any, measured: Any) -> None:
    told = str(measured(tiny(3), queries=10).to_json())
    assert not any(value in told for value in ("ulcer", "asthma", "blue", "green"))


def test_sensitive_values_that_the_policy_hides_do_not_unlink_rows() -> None:
    original = pa.table({"age": [20, 30, 40, 60], "ill": ["a", "b", "a", "b"]})
    release = pa.table({"age": ["[20, 30]"] * 2 + ["[40, 60]"] * 2, "ill": ["a", "b", None, "b"]})
    rules: dict[str, Any] = {"columns": {"age": "quasi", "ill": "sensitive"}}
    assert not tclose.measure(
        original=original, release=release, policy=rules, queries=0
    ).row_by_row
    hidden = {**rules, "release": {"leftover": "hide"}}
    assert tclose.measure(original=original, release=release, policy=hidden, queries=0).row_by_row


def test_generalized_postcodes_are_no_numbers() -> None:
    original = pa.table({"zip": ["10115", "10117", "80331", "80333"], "ill": ["a", "b", "a", "b"]})
    release = pa.table({"zip": ["1011*"] * 2 + ["8033*"] * 2, "ill": ["a", "b", "a", "b"]})
    columns = {"zip": {"role": "quasi", "hierarchy": {"prefix": [4, 0]}}, "ill": "sensitive"}
    result = tclose.measure(
        original=original, release=release, policy={"columns": columns}, queries=0
    )
    assert result["squares"].overall is None and "no quasi-identifier" in result["squares"].note
    assert result["loss"].overall == pytest.approx(1 / 3)
    assert result["entropy"].overall == pytest.approx(1 / 2)


def test_a_missing_value_that_stays_missing_loses_nothing_in_a_hierarchy() -> None:
    """It has no leaf below it, and counted as −1 of the leaves but one."""
    dates = {"role": "quasi", "hierarchy": {"dates": ["month", "year"]}}
    policy = {"k": 2, "columns": {"died": dates, "ill": {"role": "sensitive", "t": 1}}}
    died = [None] * 8 + ["2020-01-03", "2020-01-09", "2021-05-02", "2021-05-04"]
    table = pa.table({"died": died, "ill": ["a", "b"] * 6})
    release = tclose.anonymize(table, policy, method="mondrian")
    result = tclose.measure(original=table, release=release, policy=policy, queries=0)
    assert result["loss"].overall == pytest.approx(release.loss.overall)
    assert result["loss"].columns["died"] == pytest.approx(4 / 12 * 1 / 3)
