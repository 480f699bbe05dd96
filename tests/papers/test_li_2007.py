"""t-Closeness: Privacy Beyond k-Anonymity and l-Diversity (Li, Li, Venkatasubramanian, 2007).

Every number that the paper works out, from the tables it prints.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tclose
from tclose.distance.emd import EarthMover
from tclose.distance.ground import hierarchical, ordinal
from tclose.distance.histogram import Histogram
from tclose.hierarchy import build
from tclose.hierarchy.tree import Hierarchy

F = Fraction


def verdict(
    audit: tclose.Audit, requirement: str, attribute: str, distance: str | None = None
) -> tclose.Verdict:
    """The one verdict with these words, among promises and measurements, classes as released."""
    found = [
        item
        for item in (*audit.requirements, *audit.measured)
        if item.requirement == requirement
        and item.attribute == attribute
        and item.reading == "separate"
        and distance in (None, item.distance)
    ]
    assert len(found) == 1
    return found[0]


# --- Section 2: k-anonymity and the homogeneity attack ---------------------------------------


@pytest.fixture
def table_2() -> pa.Table:
    return pa.table(
        {
            "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
            "age": ["2*"] * 3 + ["≥ 40"] * 3 + ["3*"] * 3,
            "disease": [
                *["Heart Disease"] * 3,
                *("Flu", "Heart Disease", "Cancer"),
                *("Heart Disease", "Cancer", "Cancer"),
            ],
        }
    )


def test_table_2_is_3_anonymous_and_gives_bob_away(table_2: pa.Table) -> None:
    audit = tclose.audit(table_2, quasi=["zip", "age"], sensitive="disease")
    assert (audit.k, audit.classes) == (3, 3)
    assert verdict(audit, "distinct-l-diversity", "disease").achieved_exact == 1
    assert verdict(audit, "alpha-k-anonymity", "disease").achieved_exact == 1
    bob = tclose.explain(table_2, quasi=["zip", "age"], sensitive="disease", class_number=1)
    assert bob.label == {"zip": "476**", "age": "2*"}
    assert {share.value: share.in_class for share in bob.shares}["Heart Disease"] == 1


def test_carl_most_likely_has_cancer_once_heart_disease_is_ruled_out(table_2: pa.Table) -> None:
    carl = tclose.explain(table_2, quasi=["zip", "age"], sensitive="disease", class_number=2)
    assert carl.label == {"zip": "476**", "age": "3*"}
    left = {s.value: s.in_class for s in carl.shares if s.value != "Heart Disease" and s.rows}
    assert left == {"Cancer": F(2, 3)}


def test_a_3_anonymous_table_still_answers_some_query_with_a_single_row(table_2: pa.Table) -> None:
    assert tclose.audit(table_2, quasi=["zip", "age"], sensitive="disease").k == 3
    assert table_2.column("disease").to_pylist().count("Flu") == 1


# --- Section 3: limits of l-diversity ---------------------------------------------------------

NEGATIVES, POSITIVES = 9_900, 100
VIRUS = {"even": (50, 50), "mostly positive": (49, 1), "mostly negative": (1, 49)}


@pytest.fixture
def virus() -> pa.Table:
    """Example 2: 10 000 people, 1 % positive; the rest of the negatives form a class by itself."""
    rest = NEGATIVES - sum(negative for _, negative in VIRUS.values())
    assert sum(positive for positive, _ in VIRUS.values()) == POSITIVES
    counts = {**VIRUS, "only negative": (0, rest)}
    return pa.table(
        {
            "group": [name for name, (p, n) in counts.items() for _ in range(p + n)],
            "test": [
                result for p, n in counts.values() for result in ["positive"] * p + ["negative"] * n
            ],
        }
    )


def by_group(table: pa.Table, requirement: str, distance: str | None = None) -> dict[str, float]:
    """What each group of the virus table attains, its groups named."""
    audit = tclose.audit(table, quasi="group", sensitive="test")
    value = verdict(audit, requirement, "test", distance).measurement.value
    names = sorted(set(table.column("group").to_pylist()))
    return dict(zip(names, value.tolist(), strict=True))


def belief(table: pa.Table, group: str) -> tuple[Fraction, Fraction]:
    """How sure an observer is that somebody of a group, and somebody at all, is positive."""
    number = 1 + sorted(set(table.column("group").to_pylist())).index(group)
    told = tclose.explain(table, quasi="group", sensitive="test", class_number=number)
    (share,) = [share for share in told.shares if share.value == "positive"]
    return share.in_class, share.in_table


def test_the_skewness_attack_raises_a_belief_of_one_percent_to_a_half(virus: pa.Table) -> None:
    assert belief(virus, "even") == (F(1, 2), F(1, 100))
    assert by_group(virus, "basic-beta-likeness")["even"] == pytest.approx(49)


def test_forty_nine_to_one_raises_the_belief_to_ninety_eight_percent(virus: pa.Table) -> None:
    assert belief(virus, "mostly positive") == (F(98, 100), F(1, 100))
    assert by_group(virus, "basic-beta-likeness")["mostly positive"] == pytest.approx(97)


@pytest.mark.parametrize("group", ["even", "mostly positive", "mostly negative"])
def test_skewed_classes_are_distinct_2_diverse(virus: pa.Table, group: str) -> None:
    assert by_group(virus, "distinct-l-diversity")[group] == 2


def test_an_even_class_has_entropy_2_exactly_and_any_recursive_c_above_1(virus: pa.Table) -> None:
    asked = {"entropy": 2, "recursive": {"c": "1.000001", "l": 2}}
    rules = {"columns": {"group": "quasi", "test": {"role": "sensitive", "l": asked}}}
    audit = tclose.audit(virus, rules)
    even = sorted(set(virus.column("group").to_pylist())).index("even")
    assert not verdict(audit, "entropy-l-diversity", "test").measurement.fails[even]
    assert not verdict(audit, "recursive-(c,l)-diversity", "test").measurement.fails[even]


def test_forty_nine_to_one_has_more_entropy_than_the_table(virus: pa.Table) -> None:
    whole = virus.set_column(0, "group", pa.array(["everybody"] * virus.num_rows))
    table = by_group(whole, "entropy-l-diversity")["everybody"]
    skewed = by_group(virus, "entropy-l-diversity")["mostly positive"]
    assert skewed > table
    assert table == pytest.approx(exp(-0.01 * log(0.01) - 0.99 * log(0.99)))
    assert skewed == pytest.approx(exp(-0.02 * log(0.02) - 0.98 * log(0.98)))


@pytest.mark.parametrize(
    "kind",
    [
        "distinct-l-diversity",
        "entropy-l-diversity",
        "recursive-(c,l)-diversity",
        "probabilistic-l-diversity",
    ],
)
def test_no_l_diversity_tells_49_to_1_from_1_to_49(virus: pa.Table, kind: str) -> None:
    value = by_group(virus, kind)
    assert value["mostly positive"] == value["mostly negative"]


def test_t_closeness_tells_49_to_1_from_1_to_49(virus: pa.Table) -> None:
    value = by_group(virus, "t-closeness", "equal")
    assert value["even"] == pytest.approx(0.49)
    assert value["mostly positive"] == pytest.approx(0.97)
    assert value["mostly negative"] == pytest.approx(0.01)


def test_a_class_of_negatives_only_needs_no_diversity(virus: pa.Table) -> None:
    assert by_group(virus, "distinct-l-diversity")["only negative"] == 1
    assert by_group(virus, "t-closeness", "equal")["only negative"] == pytest.approx(0.01)
    assert belief(virus, "only negative") == (F(0), F(1, 100))


def test_one_percent_positive_allows_at_most_100_classes_of_distinct_2() -> None:
    each = pa.table(
        {
            "group": [group for group in range(100) for _ in range(100)],
            "test": [row == 0 for _ in range(100) for row in range(100)],
        }
    )
    audit = tclose.audit(each, quasi="group", sensitive="test")
    assert audit.classes == POSITIVES
    assert verdict(audit, "distinct-l-diversity", "test").achieved_exact == 2
    assert verdict(audit, "t-closeness", "test", "equal").achieved_exact == 0


def test_table_4_is_3_diverse_by_count_and_by_entropy(
    table_4: pa.Table, patients: dict[str, Any]
) -> None:
    for column in ("salary", "disease"):
        patients["columns"][column]["l"] = {"distinct": 3, "entropy": 3}
    assert tclose.verify(table_4, patients).holds


# --- Section 5: worked distances --------------------------------------------------------------


def test_salary_classes_of_table_4(table_4: pa.Table, patients: Any, distances: Any) -> None:
    assert distances(table_4, patients, "salary") == {
        ("476**", "2*"): F(3, 8),
        ("4790*", "≥ 40"): F(1, 6),
        ("476**", "3*"): F(17, 72),
    }


def test_salary_classes_of_table_5(table_5: pa.Table, patients: Any, distances: Any) -> None:
    assert distances(table_5, patients, "salary") == {
        ("4767*", "≤ 40"): F(1, 6),
        ("4790*", "≥ 40"): F(1, 6),
        ("4760*", "≤ 40"): F(1, 12),
    }


def test_table_5_keeps_a_sixth_for_salary_and_not_a_hair_less(
    table_5: pa.Table, patients: dict[str, Any]
) -> None:
    salary = patients["columns"]["salary"]
    for t, holds in [("1/6", True), ("0.167", True), ("0.16666666666666666", False)]:
        salary["t"] = t
        assert tclose.verify(table_5, patients).holds is holds


@pytest.mark.parametrize("distance", ["equal", "kl"])
def test_distances_without_meaning_cannot_tell_low_salaries_from_spread_ones(
    table_4: pa.Table, distance: str
) -> None:
    audit = tclose.audit(table_4, quasi=["zip", "age"], sensitive="salary")
    value = verdict(audit, "t-closeness", "salary", distance).measurement.value
    assert value[0] == value[1] == value[2]


def test_the_flow_of_footnote_4_costs_three_eighths(table_4: pa.Table) -> None:
    flow = {(5, 11), (5, 10), (5, 9), (4, 8), (4, 7), (4, 6), (3, 5), (3, 4)}
    ground = ordinal(9)
    cost = sum((F(1, 9) * ground.between(a - 3, b - 3) for a, b in flow), F(0))
    after = {v: (F(1, 3) if v < 6 else F(0)) for v in range(3, 12)}
    for source, target in flow:
        after[source] -= F(1, 9)
        after[target] += F(1, 9)
    told = tclose.explain(table_4, quasi=["zip", "age"], sensitive="salary", class_number=1)
    assert set(after.values()) == {F(1, 9)}
    assert cost == told.exact == sum(move.cost for move in told.moves) == F(3, 8)


def tree_of(groups: dict[str, Any]) -> Hierarchy:
    return build.groups(groups, "disease")


def hung(tree: Hierarchy, names: list[str]) -> EarthMover:
    """The hierarchical distance between these leaves."""
    leaves = [tree.index(name) for name in names]
    return EarthMover(hierarchical(tree.parent.tolist(), tree.height.tolist(), leaves))


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("flu", "bronchitis", F(1, 3)),
        ("flu", "pulmonary embolism", F(2, 3)),
        ("flu", "stomach cancer", F(1)),
        ("gastric ulcer", "gastritis", F(1, 3)),
        ("gastric ulcer", "colitis", F(2, 3)),
        ("gastric ulcer", "flu", F(1)),
    ],
)
def test_ground_distances_of_figure_1(
    diseases: dict[str, Any], one: str, other: str, apart: Fraction
) -> None:
    assert hung(tree_of(diseases), [one, other]).metric.between(0, 1) == apart


SIX = ["gastric ulcer", "gastritis", "stomach cancer", "flu", "bronchitis", "pneumonia"]


def counted(names: list[str]) -> list[int]:
    return [names.count(name) for name in SIX]


@pytest.mark.parametrize(
    ("members", "printed"),
    [
        (["gastric ulcer", "gastritis", "stomach cancer"], F(1, 2)),
        (["gastric ulcer", "stomach cancer", "pneumonia"], F(5, 18)),
        (["gastritis", "flu", "bronchitis"], F(5, 18)),
        (["gastritis", "bronchitis", "stomach cancer"], F(5, 18)),
    ],
)
def test_the_printed_disease_distances_follow_from_a_uniform_reference(
    diseases: dict[str, Any], members: list[str], printed: Fraction
) -> None:
    uniform = np.ones(len(SIX), dtype=np.int64)
    classes = Histogram.from_dense([counted(members)])
    assert hung(tree_of(diseases), SIX).of(classes, uniform).exact(0) == printed


def test_disease_classes_of_table_4_against_the_true_table(
    table_4: pa.Table, patients: Any, distances: Any
) -> None:
    assert distances(table_4, patients, "disease") == {
        ("476**", "2*"): F(4, 9),
        ("4790*", "≥ 40"): F(8, 27),
        ("476**", "3*"): F(8, 27),
    }


def test_disease_classes_of_table_5_against_the_true_table(
    table_5: pa.Table, patients: Any, distances: Any
) -> None:
    assert distances(table_5, patients, "disease") == {
        ("4767*", "≤ 40"): F(7, 27),
        ("4790*", "≥ 40"): F(8, 27),
        ("4760*", "≤ 40"): F(5, 27),
    }


def test_table_5_does_not_keep_the_0278_printed_under_it(
    table_5: pa.Table, patients: dict[str, Any]
) -> None:
    disease = patients["columns"]["disease"]
    for t, holds in [("0.278", False), ("5/18", False), ("8/27", True), ("0.297", True)]:
        disease["t"] = t
        assert tclose.verify(table_5, patients).holds is holds


def recursion(tree: Hierarchy, extra: dict[str, Fraction], *, literal: bool) -> Fraction:
    """Section 5.2, with Child(N) read as all leaves below N (literal) or as the direct children."""

    def total(node: int) -> Fraction:
        below = tree.leaves_below(node).tolist()
        return sum((extra.get(tree.labels[leaf], F(0)) for leaf in below), F(0))

    cost = F(0)
    for node in range(tree.leaf_count, len(tree.labels)):
        members = tree.leaves_below(node) if literal else tree.children(node)
        shares = [total(int(member)) for member in members]
        out = sum((share for share in shares if share > 0), F(0))
        into = -sum((share for share in shares if share < 0), F(0))
        cost += F(int(tree.height[node]), int(tree.height[tree.root])) * min(out, into)
    return cost


@pytest.mark.parametrize(
    ("members", "right", "literal"),
    [
        (["gastric ulcer", "gastritis", "stomach cancer"], F(4, 9), F(4, 9)),
        (["gastritis", "flu", "bronchitis"], F(8, 27), F(2, 3)),
        (["bronchitis", "pneumonia", "stomach cancer"], F(8, 27), F(2, 3)),
        (["gastric ulcer", "stomach cancer", "pneumonia"], F(7, 27), F(1)),
        (["gastritis", "bronchitis", "stomach cancer"], F(5, 27), F(5, 9)),
    ],
)
def test_the_recursion_is_right_over_direct_children_and_wrong_over_leaves(
    diseases: dict[str, Any],
    table_4: pa.Table,
    members: list[str],
    right: Fraction,
    literal: Fraction,
) -> None:
    tree, whole = tree_of(diseases), table_4.column("disease").to_pylist()
    extra = {name: F(members.count(name), 3) - F(whole.count(name), 9) for name in SIX}
    classes = Histogram.from_dense([counted(members)])
    kernel = hung(tree, SIX).of(classes, np.array(counted(whole))).exact(0)
    assert recursion(tree, extra, literal=False) == kernel == right
    assert recursion(tree, extra, literal=True) == literal


# --- Section 4: facts about the distance --------------------------------------------------------


def test_merging_two_classes_of_table_4_never_goes_farther_than_their_mean(
    table_4: pa.Table, patients: dict[str, Any], distances: Any
) -> None:
    merged = table_4.drop(["age"])  # the two classes of 476** become one
    patients["columns"].pop("age")
    after = distances(merged, patients, "salary")[("476**",)]
    assert after is not None
    assert after == F(1, 12) <= (3 * F(3, 8) + 3 * F(17, 72)) / 6


# --- Section 8: what the earth mover's distance does not see ------------------------------------


def two_groups(inside: tuple[int, int], outside: tuple[int, int]) -> pa.Table:
    counts = {"inside": inside, "outside": outside}
    return pa.table(
        {
            "group": [name for name, pair in counts.items() for _ in range(sum(pair))],
            "test": [v for a, b in counts.values() for v in ["yes"] * a + ["no"] * b],
        }
    )


@pytest.mark.parametrize(
    ("inside", "outside", "gain", "kl", "js"),
    [
        ((11, 89), (0, 1000), F(10), 0.2438, 0.0371),
        ((5, 5), (5, 10), F(1, 4), 0.0294, 0.0073),
    ],
)
def test_equal_emd_hides_a_tenfold_and_a_quarter_gain_that_divergences_tell_apart(
    inside: tuple[int, int], outside: tuple[int, int], gain: Fraction, kl: float, js: float
) -> None:
    table = two_groups(inside, outside)
    audit = tclose.audit(table, quasi="group", sensitive="test")

    def of_inside(requirement: str, distance: str | None = None) -> float:
        return float(verdict(audit, requirement, "test", distance).measurement.value[0])

    told = tclose.explain(table, quasi="group", sensitive="test", class_number=1)
    assert told.exact == F(1, 10)
    assert of_inside("basic-beta-likeness") == pytest.approx(float(gain))
    assert of_inside("t-closeness", "kl") == pytest.approx(kl, abs=5e-5)
    assert of_inside("t-closeness", "js") == pytest.approx(js, abs=5e-5)
