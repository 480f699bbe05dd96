"""(n, t)-closeness against an enumeration of every broader version of every class."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.data.binding import bind
from tclose.data.opening import open_source
from tclose.policy.load import policy_from
from tclose.report.document import Paragraph, Table
from tclose.report.summaries import summarize_audit
from tclose.requirements import state_requirements
from tclose.requirements.closeness.supersets import Supersets

# One tree of two levels and one that is unbalanced: z stands alone below the root.
SEX = {"m": ["m", "person", "person"], "f": ["f", "person", "person"]}
CITY = {
    "x1": ["x1", "x", "*"],
    "x2": ["x2", "x", "*"],
    "y1": ["y1", "y", "*"],
    "z": ["z", "z", "*"],
}


def write_trees(folder: Any) -> None:
    (folder / "sex.csv").write_text("m,person\nf,person\n")
    (folder / "city.csv").write_text("x1,x,*\nx2,x,*\ny1,y,*\nz,*\n")


def enumerated(brute: Any, rows: Any, levels: Any, n: int, distance: Any) -> list[Any]:
    """For every class, its distance from the nearest of its supersets with n rows or more."""
    values = []
    for key in sorted({row[:2] for row in rows}):
        mine = Counter(row[2] for row in rows if row[:2] == key)
        best = math.inf
        for vector in itertools.product(*(range(len(next(iter(t.values())))) for t in levels)):

            def broad(part: Any, vector: Any = vector) -> Any:
                return tuple(t[v][at] for t, v, at in zip(levels, part, vector, strict=True))

            around = Counter(row[2] for row in rows if broad(row[:2]) == broad(key))
            if around.total() >= n:
                # Over the values of the whole table: the order of an absent value still counts.
                whole = {value: around[value] for value in {row[2] for row in rows}}
                best = min(best, distance(brute, mine, whole))
        values.append(best)
    return values


def variational(brute: Any, mine: Any, whole: Any) -> Fraction:
    scene = brute.Scene(mine, whole)
    return sum((abs(scene.p(v) - scene.q(v)) for v in whole), Fraction(0)) / 2


def by_rank(brute: Any, mine: Any, whole: Any) -> Fraction:
    scene = brute.Scene(mine, whole)
    order = sorted(whole)
    sums = [
        abs(sum((scene.p(v) - scene.q(v) for v in order[: at + 1]), Fraction(0)))
        for at in range(len(order) - 1)
    ]
    return sum(sums, Fraction(0)) / max(len(order) - 1, 1)


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data(), n=st.integers(1, 14), by=st.sampled_from(["equal", "ordered"]))
def test_the_nearest_superset_is_found_among_all(
    brute: Any, tmp_path_factory: Any, data: Any, n: int, by: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    write_trees(folder)
    rows = data.draw(brute.rows_of(quasi=("mf", ["x1", "x2", "y1", "z"]), most=12))
    t = data.draw(brute.limits(Fraction(0), Fraction(1)))
    rules = {
        "columns": {
            "sex": {"role": "quasi", "hierarchy": "sex.csv"},
            "city": {"role": "quasi", "hierarchy": "city.csv"},
            "s": {"role": "sensitive", "distance": by, "t": str(t), "n": n},
        }
    }
    checked = tclose.Policy.model_validate(rules).at(folder)
    verdict = tclose.verify(brute.as_table(rows, ["sex", "city", "s"]), checked).requirements[0]
    distance = variational if by == "equal" else by_rank
    values = enumerated(brute, rows, (SEX, CITY), n, distance)
    fails = [value > t for value in values]
    assert verdict.measurement.fails.tolist() == fails
    assert verdict.holds == (not any(fails))
    assert verdict.achieved == pytest.approx(float(max(values)))
    if max(values) < math.inf:
        assert verdict.achieved_exact == max(values)
        assert verdict.worst_class == values.index(max(values)) + 1


def table(brute: Any) -> Any:
    rows = [("m", "x1", "1")] * 3 + [("m", "x2", "2")] * 3 + [("f", "y1", "1")] * 6
    return brute.as_table(rows, ["sex", "city", "s"])


def test_without_a_hierarchy_a_failure_is_not_decided(brute: Any) -> None:
    rules = {
        "columns": {
            "sex": "quasi",
            "city": "quasi",
            "s": {"role": "sensitive", "distance": "equal", "t": "1/10", "n": 4},
        }
    }
    audit = tclose.verify(table(brute), rules)
    verdict = audit.requirements[0]
    assert verdict.holds is None
    assert not audit.holds
    assert audit.is_undecided and "NOT PROVED" in str(audit) and "DOES NOT HOLD" not in str(audit)
    said = " ".join(part.text for part in summarize_audit(audit) if isinstance(part, Paragraph))
    assert "is NOT proved" in said and "does NOT hold" not in said
    tables = {part.caption: part for part in summarize_audit(audit) if isinstance(part, Table)}
    assert all(row[-1].endswith("(not decided)") for row in tables["Worst classes"].rows)
    assert "'sex', 'city'" in verdict.note
    assert verdict.failing_classes == 2
    # Where every class finds a superset all the same, the promise holds and nothing is in doubt.
    rules["columns"]["s"]["t"] = "3/4"  # type: ignore[index]
    assert tclose.verify(table(brute), rules).requirements[0].holds is True


def test_a_superset_larger_than_the_table_is_out_of_the_question(brute: Any) -> None:
    rules = {
        "columns": {
            "sex": "quasi",
            "city": "quasi",
            "s": {"role": "sensitive", "distance": "equal", "t": 1, "n": 13},
        }
    }
    verdict = tclose.verify(table(brute), rules).requirements[0]
    assert verdict.holds is False
    assert math.isinf(verdict.achieved)


def test_n_of_the_whole_table_is_t_closeness_and_n_of_one_promises_nothing(brute: Any) -> None:
    def achieved(**more: Any) -> Any:
        column = {"role": "sensitive", "distance": "equal", "t": 0, **more}
        rules = {"columns": {"sex": "quasi", "city": "quasi", "s": column}}
        return tclose.verify(table(brute), rules).requirements[0].achieved_exact

    assert achieved(n=12) == achieved() == Fraction(3, 4)
    assert achieved(n=1) == 0


def test_classes_that_name_no_superset_fail() -> None:
    table = pa.table({"age": [1, 2] * 10, "ill": ["flu", "cough"] * 10})
    columns = {"age": "quasi", "ill": {"role": "sensitive", "t": 0.1, "n": 5}}
    bound = bind(policy_from({"columns": columns}, "."), open_source(table))
    (closeness,) = state_requirements(bound)
    nothing = Supersets(np.full(2, -1), ())
    measured = closeness.name_supersets({"ill": nothing}).measure(bound.classes)
    assert measured.fails.all() and math.isinf(measured.achieved)
    assert "2 classes name no superset" in measured.note
