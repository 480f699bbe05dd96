"""What the default search promises beyond what every method promises."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tclose
from tclose.kernels.base.random import RandomStream
from tclose.kernels.partition.state import PartitionState
from tclose.kernels.partition.swaps import CellSwaps
from tclose.kernels.splitting.partitioner import Partitioner
from tclose.kernels.splitting.split import NodeWorkspace
from tclose.search import Budget, Progress, method_named, outcome, problem_of
from tclose.search.local_search import hybrid as module
from tclose.search.merging import merge_failing
from tclose.search.problem import number_classes

KINDS = ["flu", "cold", "ulcer"]


def made(tables: Any, rows: int = 300, odd: int = 0, sensitive: int = 1, k: int = 30) -> Any:
    """Rows at random, and some that are like no other."""
    random = np.random.default_rng(5)
    columns: dict[str, list[Any]] = {
        "age": [*random.integers(20, 60, rows).tolist(), *[110] * odd],
        "job": [*random.choice(list("abcd"), rows).tolist(), *"zyxw"[:odd]],
    }
    policy: dict[str, Any] = {"k": k, "columns": {"age": "quasi", "job": "quasi"}}
    for at in range(sensitive):
        columns[f"s{at}"] = random.choice(KINDS, rows + odd).tolist()
        policy["columns"][f"s{at}"] = {"role": "sensitive", "t": "0.25", "distance": "equal"}
    return problem_of(tables.Case(columns, policy).bound())


def test_rows_are_left_out_where_that_lowers_the_loss(tables: Any) -> None:
    problem, hybrid = made(tables, rows=600, odd=2), method_named("hybrid")
    kept = hybrid.run(problem, Budget(effort=0.1))
    left = hybrid.run(problem, Budget(effort=0.1, suppression=Fraction(1, 50)))
    assert left.loss < kept.loss
    assert 0 < problem.rows[left.label < 0].sum() <= problem.n_rows // 50


def test_nothing_is_left_out_where_that_would_raise_the_loss(tables: Any) -> None:
    even = made(tables, k=2)
    outcome = method_named("hybrid").run(even, Budget(effort=0.2, suppression=Fraction(1, 2)))
    assert (outcome.label >= 0).all()


@pytest.mark.parametrize("sensitive", [1, 2, 3])
def test_the_default_budget_is_reproducible(tables: Any, sensitive: int) -> None:
    """No clock is asked how the work is shared out: equal seeds, equal classes."""
    problem, hybrid = made(tables, sensitive=sensitive, k=5), method_named("hybrid")
    budget = Budget(effort=0.1)
    one, two = hybrid.run(problem, budget), hybrid.run(problem, budget)
    assert one.label.tolist() == two.label.tolist() and one.stopped == "budget"
    few = [hybrid.run(problem, Budget(effort=0.02, seed=seed)).label.tolist() for seed in (1, 2)]
    assert few[0] != few[1]


NUMBERS = ([20, 22, 24, 60], [21, 50, 55, 62])
SETS = (["an", "as", "bw", "zn"], ["zs", "yn", "ys", "aw"])


@pytest.mark.parametrize("halves", [NUMBERS, SETS])
def test_cells_that_hold_a_border_together_leave_together(tables: Any, halves: Any) -> None:
    """Everything is held by two cells, so that none can leave by itself; 60 and 21 may change
    places, and z and a."""
    values = [value for value in sorted(halves[0] + halves[1]) for _ in KINDS[:2]]
    columns = {"first": values, "ill": KINDS[:2] * 8}
    if halves is SETS:
        columns |= {"first": [v[0] for v in values], "second": [v[1] for v in values]}
    roles = dict.fromkeys(columns, "quasi")
    roles["ill"] = {"role": "sensitive", "t": "0.25", "distance": "equal"}
    case = tables.Case(columns, {"k": 4, "columns": roles})
    problem = problem_of(case.bound())
    label = np.array([int(value in halves[1]) for value in values])
    found = {}
    for members in (False, True):
        table = problem.make_coded_table()
        state = PartitionState(table, label, histograms=True, code_cells=True, members=members)
        saved, _ = CellSwaps(state, RandomStream(1, 2)).improve(500, 20)
        after = number_classes(state.label)
        gained = problem.cost(label) - problem.cost(after)
        assert saved == pytest.approx(gained * problem.n_rows * len(problem.columns), abs=1e-9)
        assert not problem.find_failing(after).any()
        found[members] = saved
    assert found[False] == 0.0 < found[True]


def test_a_class_that_can_spare_a_cell_fills_the_place_of_another(tables: Any) -> None:
    """40 goes to 41 and 42, and 2 leaves 3 and 4 for its place: no class could do with fewer."""
    values, label = [1, 40, 2, 3, 4, 41, 42], np.array([0, 0, 1, 1, 1, 2, 2])
    columns = {"number": values, "ill": KINDS[:1] * 7}
    roles = {"number": "quasi", "ill": "sensitive"}
    problem = problem_of(tables.Case(columns, {"k": 2, "columns": roles}).bound())
    label = label[np.argsort(values)]
    state = PartitionState(
        problem.make_coded_table(), label, histograms=True, code_cells=True, members=True
    )
    saved, _ = CellSwaps(state, RandomStream(1, 2)).improve(100, 20)
    by_value = dict(zip(sorted(values), number_classes(state.label).tolist(), strict=True))
    assert by_value == {1: 0, 2: 0, 3: 1, 4: 1, 40: 2, 41: 2, 42: 2} and saved > 0


@pytest.mark.parametrize(
    ("classes", "reach", "best"),
    [
        # one class is dissolved: each of its cells goes to another
        ([[2, 51], [1, 3], [50, 52]], 20, [[1, 2, 3], [50, 51, 52]]),
        # one is gathered from cells that two can spare
        ([[1, 2, 50], [3, 4, 51]], 20, [[1, 2], [3, 4], [50, 51]]),
        # two cells change places that are no neighbours by their sensitive values
        ([[1, 51], [2, 50]], 1, [[1, 2], [50, 51]]),
    ],
)
def test_small_classes_go_and_come_and_their_cells_change_places(
    tables: Any, classes: list[list[int]], reach: int, best: list[list[int]]
) -> None:
    """k = 2. Moves and exchanges alone leave the number of classes as it is."""
    number = {value: at for at, members in enumerate(classes) for value in members}
    values = sorted(number)
    columns = {"number": values, "ill": [f"ill {value}" for value in values]}
    roles: dict[str, Any] = {"number": "quasi"}
    roles["ill"] = {"role": "sensitive", "t": "0.9", "distance": "equal"}
    problem = problem_of(tables.Case(columns, {"k": 2, "columns": roles}).bound())
    label = np.array([number[value] for value in values])
    state = PartitionState(
        problem.make_coded_table(), label, histograms=True, code_cells=True, members=True
    )
    saved, _ = CellSwaps(state, RandomStream(1, 2)).improve(300, reach)
    after = number_classes(state.label)
    found = [np.array(values)[after == c].tolist() for c in range(after.max() + 1)]
    assert sorted(found) == best and state.count_failing() == 0
    assert saved == pytest.approx((problem.cost(label) - problem.cost(after)) * problem.n_rows)


def test_a_few_cells_that_change_sides_bring_halves_near_enough(tables: Any) -> None:
    """Each kind of illness has numbers of its own, and its cells have up to four rows. Sharing all
    kinds out evenly, with a cell's rounding, leads to no more than 68 classes in 30 passes."""
    random, count = np.random.default_rng(5), 24
    kinds = np.sort(random.integers(0, 4, count))
    rows = random.integers(1, 5, count)
    columns = {
        "number": np.repeat(np.arange(count), rows).tolist(),
        "ill": [f"kind {kind}" for kind in np.repeat(kinds, rows)],
    }
    roles: dict[str, Any] = {"number": "quasi"}
    roles["ill"] = {"role": "sensitive", "t": "0.15", "distance": "equal"}
    problem = problem_of(tables.Case(columns, {"k": 2, "columns": roles}).bound())
    table, classes = problem.make_coded_table(), 0
    for stream in range(30):
        partitioner = Partitioner(NodeWorkspace(table), RandomStream(stream, 1))
        partitioner.begin_all()
        while partitioner.n_waiting > 0:
            partitioner.split_some(10**6, tries=4, plainly=False, tightness=0.0)
        label = partitioner.labels()
        assert not problem.find_failing(label).any()
        classes += label.max() + 1
    assert classes >= 80


@pytest.mark.parametrize("seed", range(12))
def test_what_swaps_say_they_save_is_saved_and_the_promise_kept(tables: Any, seed: int) -> None:
    """Also where cells of a border return, with what had filled their places."""
    random = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {
        "number": random.integers(0, 12, 90).tolist(),
        "letter": random.choice(list("abcdef"), 90).tolist(),
        "ill": random.choice(KINDS[:3], 90).tolist(),
    }
    roles: dict[str, Any] = {"number": "quasi", "letter": "quasi"}
    roles["ill"] = {"role": "sensitive", "t": "0.4", "distance": "equal"}
    problem = problem_of(tables.Case(columns, {"k": 3, "columns": roles}).bound())
    label = np.arange(problem.n_cells) % 7
    table = problem.make_coded_table()
    merged = merge_failing(label, np.arange(problem.n_cells), table).label
    state = PartitionState(table, merged, histograms=True, code_cells=True, members=True)
    swaps, before = CellSwaps(state, RandomStream(seed, 2)), problem.cost(number_classes(merged))
    for _ in range(5):
        saved, _ = swaps.improve(200, 20)
        after = problem.cost(number_classes(state.label))
        gained = (before - after) * problem.n_rows * len(problem.columns)
        assert saved == pytest.approx(gained, abs=1e-9) and state.count_failing() == 0
        before = after


@pytest.mark.parametrize("suppression", [Fraction(0), Fraction(1, 50)])
def test_any_number_of_threads_finds_the_same_classes(
    tables: Any, monkeypatch: pytest.MonkeyPatch, suppression: Fraction
) -> None:
    """Regions are what a round divides, not what threads take: those come as they may."""
    monkeypatch.setattr(module, "REGION", 60)
    monkeypatch.setattr(module, "PIECE", 150)
    problem, hybrid = made(tables, rows=800, odd=2, k=5), method_named("hybrid")
    budget = Budget(effort=0.15, suppression=suppression)
    found = [hybrid.run(problem, replace(budget, threads=threads)) for threads in (1, 2, 64)]
    assert len({outcome.label.tobytes() for outcome in found}) == 1
    assert len({tuple(trial.loss for trial in outcome.tried) for outcome in found}) == 1
    rounds = [trial for trial in found[0].tried if trial.step == "destroy and repair, swaps"]
    assert len(rounds) > 1


def test_a_round_divides_whole_classes_and_leaves_nothing_out(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REGION", 50)
    problem = made(tables, rows=500, k=3)
    label = np.arange(problem.n_cells) % 60
    label[::17] = -1
    regions = module.divide_classes(label, problem, np.random.default_rng(3))
    assert sorted(np.concatenate(regions).tolist()) == list(range(problem.n_cells))
    assert 4 <= len(regions) <= 8
    held = [set(label[cells].tolist()) - {-1} for cells in regions]
    assert sum(map(len, held)) == 60 and set().union(*held) == set(range(60))
    again = module.divide_classes(label, problem, np.random.default_rng(4))
    assert [each.tolist() for each in again] != [each.tolist() for each in regions]


def test_the_default_effort_grows_with_the_table_and_is_said_before(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said only where it is more than usual, and no other limit was asked for."""
    monkeypatch.setattr(outcome, "EFFORT", 0.03)
    monkeypatch.setattr(outcome, "LEAST_EFFORT", 0.01)
    monkeypatch.setattr(outcome, "USUAL_CELLS", 10)
    random = np.random.default_rng(1)
    table = pd.DataFrame({"age": random.integers(0, 99, 200), "ill": random.choice(KINDS, 200)})
    roles = {"age": "quasi", "ill": {"role": "sensitive", "t": "0.4"}}
    for asked, effort in (({}, 0.2), ({"effort": 0.06}, 0.06), ({"method": "mondrian"}, None)):
        said: list[Progress] = []
        policy = {"k": 3, "columns": roles}
        release = tclose.anonymize(table, policy, progress=said.append, **asked)
        notes = [each for each in said if "ordinary core" in each.note]
        assert len(notes) == (not asked)
        assert release.certificate.effort == effort


def test_more_effort_never_stops_sooner(tables: Any) -> None:
    problem, hybrid = made(tables, k=5), method_named("hybrid")
    few = hybrid.run(problem, Budget(effort=0.02))
    more = hybrid.run(problem, Budget(effort=0.2))
    assert more.loss <= few.loss


def test_the_first_temperature_is_lower_where_there_is_little_effort_per_cell(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the root of the effort per cell that is left, up to where that is ample."""
    problem, begin, warmths = made(tables, k=5), module.LocalSearch._divide, []

    def divide(self: Any, *args: Any, warmth: float) -> Any:
        warmths.append(warmth)
        return begin(self, *args, warmth=warmth)

    monkeypatch.setattr(module.LocalSearch, "_divide", divide)
    for effort in (0.04, 0.4):
        monkeypatch.setattr(module, "AMPLE", 0.1 / problem.n_cells)
        search = module.LocalSearch(problem, outcome.Clock(Budget(effort=effort)))
        search.improve()
    assert warmths[0] == pytest.approx(module.WARMTH * 0.4**0.5)
    assert max(warmths) == module.WARMTH and warmths[-1] < module.WARMTH


@pytest.mark.parametrize("sensitive", [1, 2, 3])
def test_fragments_are_runs_along_their_order(tables: Any, sensitive: int) -> None:
    """A grid of quantiles, or single values: coarser with every bit less, and always a run of the
    order, so that the cells of a stratum lie side by side; equal tuples share a fragment."""
    arrays = made(tables, sensitive=sensitive).make_coded_table().arrays
    for curve, rank in enumerate(arrays.order_rank):
        along = np.argsort(rank)
        grid, tied = arrays.order_fragment[curve][along], arrays.order_tie[curve][along]
        for coarse in range(int(grid.max()).bit_length() + 1):
            assert (np.diff(grid >> coarse) >= 0).all()
        assert (np.diff(grid)[np.diff(tied) == 0] == 0).all()
    expected = 1 if sensitive == 1 else 2 * sensitive
    assert len(arrays.order_rank) == expected


def test_the_clock_may_end_it(tables: Any) -> None:
    outcome = method_named("hybrid").run(made(tables, k=5), Budget(seconds=0.2))
    assert outcome.stopped == "clock"


def test_what_strict_cuts_found_keeps_equal_rows_together_and_says_so(tables: Any) -> None:
    """Every age mirrors the table, so strict cuts lose nothing and nothing is tried after them."""
    columns = {"age": [age for age in range(6) for _ in KINDS], "ill": KINDS * 6}
    roles = {"age": "quasi", "ill": {"role": "sensitive", "t": "0.1", "distance": "equal"}}
    problem = problem_of(tables.Case(columns, {"k": 3, "columns": roles}).bound())
    strict = method_named("hybrid").run(problem, Budget(effort=0.2))
    assert strict.loss == 0.0 and not strict.uses_sensitive
    assert strict.cuts is not None
    assert strict.cuts.classify(problem.codes).tolist() == strict.label.tolist()


def test_what_hybrid_cuts_found_depends_on_sensitive_values_and_says_so(tables: Any) -> None:
    """The young have one illness, the old another: no strict cut keeps the promise."""
    columns = {"age": list(range(12)) * 3, "ill": (["flu"] * 6 + ["cold"] * 6) * 3}
    roles = {"age": "quasi", "ill": {"role": "sensitive", "t": "0.1", "distance": "equal"}}
    problem = problem_of(tables.Case(columns, {"k": 3, "columns": roles}).bound())
    assert method_named("mondrian").run(problem, Budget(effort=0.2)).classes == 1
    dealt = method_named("hybrid").run(problem, Budget(effort=0.2))
    assert dealt.classes > 1 and dealt.uses_sensitive and dealt.cuts is None
