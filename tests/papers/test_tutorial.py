"""A Tutorial on Computing t-Closeness (Dosselmann, Sadeqi, Hamilton, 2025).

Its sums, its flows, and what becomes of its fourth section when numbers stand in their order.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

import tclose

F = Fraction


@pytest.fixture
def incidents() -> pa.Table:
    """Table 2: fourteen homes in four zones."""
    return pa.table(
        {
            "zone": ["2C"] * 3 + ["4F"] * 4 + ["9A"] * 2 + ["3B"] * 5,
            "incident": [
                *["power outage"] * 3,
                *("theft", "fire", "fatal accident", "fire"),
                *("sidewalk repair", "power outage"),
                *("pest control", "power outage", "sidewalk repair", "tree replanting"),
                "sidewalk repair",
            ],
        }
    )


@pytest.fixture
def four_numbers() -> pa.Table:
    """Section 2.1: {14, 88} as a class of {14, 27, 88, 101}."""
    return pa.table({"group": list("xxyy"), "number": [14, 88, 27, 101]})


def steps(moves: Any) -> list[tuple[str, str, Fraction, Fraction]]:
    return [(move.source, move.target, move.mass, move.cost) for move in moves]


# --- Section 1: k and l of the incidents ------------------------------------------------------


def test_incidents_are_2_anonymous_and_1_diverse(incidents: pa.Table) -> None:
    rules: dict[str, Any] = {"k": 2, "columns": {"zone": "quasi", "incident": "sensitive"}}
    audit = tclose.audit(incidents, rules)
    (diversity,) = [v for v in audit.measured if v.requirement == "distinct-l-diversity"]
    assert (audit.k, audit.holds, diversity.achieved_exact) == (2, True, 1)
    assert diversity.measurement.value.tolist() == [1, 4, 3, 2]  # 2C, 3B, 4F, 9A


# --- Section 2: the definition -----------------------------------------------------------------


def test_fourteen_and_eighty_eight_are_a_sixth_away_by_two_moves(four_numbers: pa.Table) -> None:
    told = tclose.explain(four_numbers, quasi="group", sensitive="number", class_number=1)
    assert told.exact == F(1, 6)
    assert steps(told.moves) == [
        ("14", "27", F(1, 4), F(1, 12)),
        ("88", "101", F(1, 4), F(1, 12)),
    ]


def test_incident_distances_are_the_printed_ones(incidents: pa.Table, distances: Any) -> None:
    rules = {"columns": {"zone": "quasi", "incident": {"role": "sensitive", "distance": "equal"}}}
    found = distances(incidents, rules, "incident")
    assert found == {("2C",): F(9, 14), ("4F",): F(5, 7), ("9A",): F(3, 7), ("3B",): F(31, 70)}
    printed = {("2C",): 0.6429, ("4F",): 0.7143, ("9A",): 0.4286, ("3B",): 0.4429}
    assert {zone: round(float(value), 4) for zone, value in found.items()} == printed


# --- Section 3: the salaries of Li 2007 --------------------------------------------------------


def test_eight_actions_carry_the_first_salary_class_to_the_table(table_4: pa.Table) -> None:
    told = tclose.explain(table_4, quasi=["zip", "age"], sensitive="salary", class_number=1)
    masses = [F(ninths, 9) for ninths in (2, 4, 6, 5, 4, 3, 2, 1)]  # A1 … A8
    assert steps(told.actions) == [
        (f"{at}K", f"{at + 1}K", mass, mass / 8) for at, mass in enumerate(masses, start=3)
    ]
    assert sum(action.cost for action in told.actions) == told.exact == F(3, 8)


def test_six_moves_carry_the_first_salary_class_to_the_table(table_4: pa.Table) -> None:
    told = tclose.explain(table_4, quasi=["zip", "age"], sensitive="salary", class_number=1)
    ends = [(1, 4), (1, 5), (2, 6), (2, 7), (3, 8), (3, 9)]  # B1 … B6
    assert steps(told.moves) == [
        (f"{i + 2}K", f"{j + 2}K", F(1, 9), F(1, 9) * F(j - i, 8)) for i, j in ends
    ]
    assert sum(move.cost for move in told.moves) == told.exact == F(3, 8)


@pytest.mark.parametrize(
    ("label", "printed", "cost"),
    [
        # Equations (15) and (16): pairs of ranks between which a ninth is moved.
        ("4790*", [(4, 1), (4, 2), (4, 3), (6, 4), (6, 5), (9, 7), (9, 8)], F(1, 6)),
        ("476**", [(5, 1), (5, 2), (5, 3), (7, 4), (7, 5), (7, 6), (8, 7), (8, 9)], F(17, 72)),
    ],
)
def test_the_other_two_salary_flows_cost_what_is_printed(
    table_4: pa.Table, label: str, printed: list[tuple[int, int]], cost: Fraction
) -> None:
    number = {"476**": 2, "4790*": 3}[label]
    told = tclose.explain(table_4, quasi=["zip", "age"], sensitive="salary", class_number=number)
    assert told.label["zip"] == label
    assert sum((F(abs(i - j), 72) for i, j in printed), F(0)) == told.exact == cost


# --- Section 4: merit points -------------------------------------------------------------------


def merit_rules(order: list[int] | None = None) -> dict[str, Any]:
    merit: dict[str, Any] = {"role": "sensitive", "distance": "ordered"}
    if order is not None:
        merit["order"] = order
    return {"columns": {"project": "quasi", "merit": merit}}


def test_merit_points_in_the_order_of_their_values(merit_points: pa.Table, distances: Any) -> None:
    found = distances(merit_points, merit_rules(), "merit")
    assert found == {
        ("E**",): F(8, 45),
        ("U**",): F(4, 15),
        ("G**",): F(1, 20),
        ("R**",): F(7, 30),
    }
    rounded = [round(float(found[(name,)]), 4) for name in ("E**", "U**", "G**", "R**")]
    assert rounded == [0.1778, 0.2667, 0.05, 0.2333]


def test_merit_points_in_the_order_of_their_frequency_are_the_printed_ones(
    merit_points: pa.Table, distances: Any
) -> None:
    found = distances(merit_points, merit_rules([3, 4, 1, 2]), "merit")
    assert found == {
        ("E**",): F(1, 3),
        ("U**",): F(1, 3),
        ("G**",): F(1, 12),
        ("R**",): F(1, 6),
    }
    rounded = [round(float(found[(name,)]), 4) for name in ("E**", "U**", "G**", "R**")]
    assert rounded == [0.3333, 0.3333, 0.0833, 0.1667]


def test_three_moves_in_the_order_of_frequency_cost_a_third(merit_points: pa.Table) -> None:
    told = tclose.explain(
        merit_points, merit_rules([3, 4, 1, 2]), class_number=1, attribute="merit"
    )
    assert told.label == {"project": "E**"}
    assert sorted(steps(told.moves), key=lambda step: step[2]) == [
        ("4", "3", F(1, 30), F(1, 90)),  # C1
        ("1", "3", F(4, 30), F(8, 90)),  # C2
        ("2", "3", F(7, 30), F(7, 30)),  # C3
    ]
    assert told.exact == F(1, 3)


def test_rising_and_falling_frequency_give_the_same_distances(
    merit_points: pa.Table, distances: Any
) -> None:
    falling = distances(merit_points, merit_rules([3, 4, 1, 2]), "merit")
    rising = distances(merit_points, merit_rules([2, 1, 4, 3]), "merit")
    assert falling == rising


def test_numbers_are_more_than_labels_because_their_order_changes_the_distance(
    four_numbers: pa.Table,
) -> None:
    found = set()
    for order in permutations([14, 27, 88, 101]):
        rules = {
            "columns": {
                "group": "quasi",
                "number": {"role": "sensitive", "distance": "ordered", "order": list(order)},
            }
        }
        found.add(tclose.explain(four_numbers, rules, class_number=1).exact)
    assert found == {F(1, 6), F(1, 3)}


def test_merit_points_are_scaled_by_four_values_not_by_ten_rows(merit_points: pa.Table) -> None:
    told = tclose.explain(
        merit_points, merit_rules([3, 4, 1, 2]), class_number=1, attribute="merit"
    )
    summed = sum(action.mass for action in told.actions)
    assert len(told.shares) == 4 and merit_points.num_rows == 10
    assert told.exact == summed / 3 != summed / 9


# --- Section 5: diseases by equal distance -----------------------------------------------------


def test_every_disease_class_is_four_ninths_away_by_equal_distance(
    table_4: pa.Table, distances: Any
) -> None:
    rules = {
        "columns": {
            "zip": "quasi",
            "age": "quasi",
            "salary": "insensitive",
            "disease": {"role": "sensitive", "distance": "equal"},
        }
    }
    assert set(distances(table_4, rules, "disease").values()) == {F(4, 9)}


# --- Section 6: one pass -----------------------------------------------------------------------


def one_pass(p: list[Fraction], q: list[Fraction]) -> tuple[Fraction, int]:
    """Algorithm 1, and how many terms it adds."""
    total = running = F(0)
    for mine, theirs in zip(p, q, strict=True):
        running += mine - theirs
        total += abs(running)
    return total / (len(p) - 1), len(p)


def by_definition(p: list[Fraction], q: list[Fraction]) -> tuple[Fraction, int]:
    """Equation (2) term by term, and how many terms it adds."""
    total, terms = F(0), 0
    for i in range(1, len(p) + 1):
        total += abs(sum((p[j] - q[j] for j in range(i)), F(0)))
        terms += i
    return total / (len(p) - 1), terms


def test_one_pass_equals_the_definition_which_adds_quadratically_many_terms(
    table_4: pa.Table,
) -> None:
    told = tclose.explain(table_4, quasi=["zip", "age"], sensitive="salary", class_number=2)
    p = [share.in_class for share in told.shares]
    q = [share.in_table for share in told.shares]
    assert one_pass(p, q) == (told.exact, 9)
    assert by_definition(p, q) == (told.exact, 9 * 10 // 2)
