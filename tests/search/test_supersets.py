"""Full-domain generalizations that are (n, t)-close, against every superset tried by hand."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose.errors import UsageError
from tclose.search import Budget, method_named, problem_of
from tclose.search.full_domain.incognito import minimal_nodes

GROUPS = {"left": ["a", "b"], "right": ["c", "d"]}
GROUP = {leaf: name for name, leaves in GROUPS.items() for leaf in leaves}
quick = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def group_of(row: tuple[str, ...], levels: tuple[int, ...]) -> tuple[str, ...]:
    shown = []
    for value, level in zip(row, levels, strict=True):
        shown.append(value if level == 0 else GROUP[value] if level == 1 else "*")
    return tuple(shown)


def apart(one: Counter[str], other: Counter[str]) -> Fraction:
    a, b = one.total(), other.total()
    return sum((abs(Fraction(one[v], a) - Fraction(other[v], b)) for v in other), Fraction(0)) / 2


def holds(rows: list[tuple[str, ...]], levels: tuple[int, ...], n: int, t: Fraction) -> bool:
    classes: dict[Any, list[tuple[str, ...]]] = {}
    for row in rows:
        classes.setdefault(group_of(row[:2], levels), []).append(row)
    for members in classes.values():
        mine = Counter(row[2] for row in members)
        close = False
        for up in product(*(range(level, 3) for level in levels)):
            place = group_of(members[0][:2], up)
            around = Counter(row[2] for row in rows if group_of(row[:2], up) == place)
            close = close or (around.total() >= n and apart(mine, around) <= t)
        if not close:
            return False
    return True


@pytest.mark.slow
@quick
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from("xyz")),
        min_size=2, max_size=14,
    ),
    n=st.integers(1, 8),
    t=st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1, 3)]),
)  # fmt: skip
def test_all_minimal_nodes_and_the_best(
    rows: list[tuple[str, ...]], n: int, t: Fraction, tables: Any
) -> None:
    columns = dict(zip(["p", "q", "ill"], map(list, zip(*rows, strict=True)), strict=True))
    tree = {"role": "quasi", "hierarchy": {"groups": GROUPS}}
    ill = {"role": "sensitive", "t": str(t), "n": n, "distance": "equal"}
    policy = {"columns": {"p": tree, "q": tree, "ill": ill}}
    problem = problem_of(tables.Case(columns, policy).bound())
    good = [node for node in product(range(3), repeat=2) if holds(rows, node, n, t)]
    least = [
        node for node in good
        if not any(o != node and o[0] <= node[0] and o[1] <= node[1] for o in good)
    ]  # fmt: skip
    if not good:
        assert n > len(rows)
        with pytest.raises(UsageError):
            method_named("optimal").run(problem, Budget())
        return
    assert list(minimal_nodes(problem, Budget()).nodes) == sorted(least)
    best = method_named("optimal").run(problem, Budget())
    assert best.levels in good and best.gap == 0
