"""How far the default search is from the optimum: tables of up to 40 rows, by integer programming.

    python benchmarks/optimum.py [--rows 10 14 17 24 40] [--kinds numbers few …] [--tables 1]
                                 [--seconds 120] [--effort 1]

A release is a choice of classes that have every row once (set partitioning). Classes that lose
little are found as they are needed (column generation): for the prices of rows that the linear
relaxation gives, the class that is worth most for what it loses. A class lies in a box, a run of
codes of each column; in a box of known loss every value of the sensitive column gives its dearest
rows, so that only the numbers of rows by value are to be chosen, of those that keep the promise.
When no class is worth more than it loses, the relaxation is a bound that no release is below, and
the best choice of whole classes among those found (HiGHS, `scipy.optimize.milp`) is the optimum
where it loses no more. Where it does, and there are at most 20 rows, all sets of rows are listed
that may be in a better choice: those that lose at most the gap more than they are worth. A `<`
marks the least that was found where it is not proved to be the optimum.

Rows stand for themselves here, where the search keeps equal ones together.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import tclose
from tclose.search import Budget, SearchProblem, method_named, problem_of

K = 3
EQUAL = 1e-9
MOST_LISTED = 20
"""Rows of which all sets are looked at."""
AT_ONCE = 400
"""Classes that are added in a round at most."""
KINDS = ("numbers", "few", "ordered", "groups", "skewed")


def main() -> None:
    """Prints a line per table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10, 14, 17, 24, 40])
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--tables", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--effort", type=float, default=1.0)
    asked = parser.parse_args()
    print(f"{'kind':>8}{'rows':>5}{'seed':>5}{'hybrid':>9}{'optimum':>9}{'relaxed':>9}"
          f"{'our bound':>11}{'cpu s':>8}")  # fmt: skip
    for kind, rows, seed in itertools.product(asked.kinds, asked.rows, range(asked.tables)):
        table, policy = draw_table(kind, rows, seed)
        problem = problem_of(tclose.check(table, policy))
        ours = method_named("hybrid").run(problem, Budget(effort=asked.effort, threads=1))
        begun = time.process_time()
        best, bound, exact = Partitioning(problem, ours.label).solve(asked.seconds)
        found = f"{best:.4f}" if exact else f"<{best:.4f}"
        relaxed = "–" if bound < 0 else f"{bound:.4f}"
        line = f"{kind:>8}{rows:>5}{seed:>5}{ours.cost:>9.4f}{found:>9}{relaxed:>9}"
        took = time.process_time() - begun
        print(f"{line}{ours.bound or 0:>11.4f}{took:>8.1f}", flush=True)


def draw_table(kind: str, rows: int, seed: int) -> tuple[pa.Table, dict[str, Any]]:
    """A table whose sensitive value goes with its first column, and what is promised of it."""
    random = np.random.default_rng([rows, seed, KINDS.index(kind)])
    a, b = random.integers(0, 100, rows), random.integers(0, 100, rows)
    value = np.where(random.random(rows) < 0.5, a // 34, random.integers(0, 3, rows))
    sensitive = {"role": "sensitive", "distance": "equal", "t": "0.3"}
    columns: dict[str, Any] = {"a": "quasi", "b": "quasi", "s": sensitive}
    table = {"a": a, "b": b, "s": np.array(list("xyz"))[value]}
    if kind == "few":
        table |= {"a": a // 25, "b": b // 25, "c": random.integers(0, 4, rows)}
        columns["c"] = "quasi"
    elif kind == "ordered":
        table["s"] = np.where(random.random(rows) < 0.5, a // 20, random.integers(0, 5, rows))
        sensitive |= {"distance": "ordered", "t": "0.15"}
    elif kind == "groups":
        tree = {"role": "quasi", "hierarchy": {"intervals": [10, 50]}}
        columns |= {"a": tree, "b": tree}
    elif kind == "skewed":
        table["s"] = np.array(list("xyz"))[random.choice(3, rows, p=[0.75, 0.2, 0.05])]
        sensitive["t"] = "0.15"
    return pa.table(table), {"k": K, "columns": columns}


class Partitioning:
    """Rows in classes that keep the promise, by column generation."""

    def __init__(self, problem: SearchProblem, start: Any) -> None:
        unit = np.repeat(np.arange(problem.n_cells), problem.rows)
        self.problem, self.codes = problem, problem.codes[unit]
        self.n = len(unit)
        field = problem.constraints.fields[0]
        self.value = np.asarray(field.codes)[unit]
        self.values = int(self.value.max()) + 1
        self.counts = self.list_counts()
        first, *rest = [list(self.list_runs(at)) for at in range(len(problem.columns))]
        self.first = first
        boxes = list(itertools.product(*rest))
        self.inside = np.array([np.logical_and.reduce([run[0] for run in box]) for box in boxes])
        self.loss = np.array([sum(run[1] for run in box) for box in boxes])
        self.classes: dict[bytes, float] = {}
        for number in range(int(start.max()) + 1):
            self.add(start[unit] == number)
        self.add(np.ones(self.n, dtype=bool))

    def list_counts(self) -> Any:
        """[choices, values]: all numbers of rows by value that a class may have."""
        whole = np.bincount(self.value, minlength=self.values)
        grid = np.indices(whole + 1).reshape(self.values, -1).T
        size = grid.sum(axis=1)
        (closeness,) = self.problem.constraints.compiled
        metric, below = closeness.metric, []
        for value, node in enumerate(metric.leaf.tolist()):
            below.append(np.zeros(len(metric.parent)))
            while node >= 0:
                below[value][node] = 1
                node = int(metric.parent[node])
        edges = np.array(below)
        length = np.array([float(each) for each in metric.length])
        apart = np.abs(grid @ edges - size[:, None] * (whole @ edges / self.n)) @ length
        limit = float(closeness.threshold) * size * float(metric.diameter)
        return grid[(size >= K) & (apart <= limit + EQUAL)]

    def list_runs(self, at: int) -> Iterator[tuple[Any, float]]:
        """Every run of codes of a column: which rows are in it, and what it loses per row."""
        column, codes = self.problem.columns[at], self.codes[:, at]
        weight = float(self.problem.weights[at])
        seen = np.unique(codes)
        for low, high in itertools.combinations_with_replacement(seen.tolist(), 2):
            lost = float(column.between(np.array([low]), np.array([high]))[0])
            yield (codes >= low) & (codes <= high), weight * lost

    def add(self, rows: Any) -> None:
        """A class with what it loses, which depends on its own ends."""
        low, high = self.codes[rows].min(axis=0), self.codes[rows].max(axis=0)
        lost = sum(
            float(weight) * float(column.between(low[at : at + 1], high[at : at + 1])[0])
            for at, (column, weight) in enumerate(
                zip(self.problem.columns, self.problem.weights, strict=True)
            )
        )
        self.classes[np.packbits(rows).tobytes()] = lost * int(rows.sum())

    def solve(self, seconds: float) -> tuple[float, float, bool]:
        """The least cost that was found, the relaxation (−1 where time was up before), and whether
        the one is proved to be the optimum."""
        end, bound = time.process_time() + seconds, -1.0
        while time.process_time() < end:
            cost, members = self.read()
            found = linprog(cost, A_eq=members, b_eq=np.ones(self.n), bounds=(0, None))
            if not self.price(found.eqlin.marginals, end):
                bound = found.fun
                break
        scale = self.n * len(self.problem.columns)
        best = self.choose_classes(seconds)
        exact = 0 <= best.fun <= bound + 1e-6
        if not exact and bound >= 0 and self.n <= MOST_LISTED:
            self.list_all(found.eqlin.marginals, best.fun - bound)
            best = self.choose_classes(seconds)
            exact = best.status == 0
        return best.fun / scale, bound / scale, exact

    def list_all(self, worth: Any, gap: float) -> None:
        """Adds every class that loses at most so much more than its rows are worth."""
        number = np.arange(1, 2**self.n)
        counts = np.zeros((len(number), self.values), dtype=np.int16)
        low = np.full((len(number), self.codes.shape[1]), np.iinfo(np.int64).max)
        high, value = np.full_like(low, -1), np.zeros(len(number))
        for row in range(self.n):
            has = np.flatnonzero(number >> row & 1)
            counts[has, self.value[row]] += 1
            low[has] = np.minimum(low[has], self.codes[row])
            high[has] = np.maximum(high[has], self.codes[row])
            value[has] += worth[row]
        whole = np.bincount(self.value, minlength=self.values) + 1
        allowed = np.zeros(whole, dtype=bool)
        allowed[tuple(self.counts.T)] = True
        kept = np.flatnonzero(allowed[tuple(counts.T.astype(np.int64))])
        lost = np.zeros(len(kept))
        for at, column in enumerate(self.problem.columns):
            each = column.between(low[kept, at], high[kept, at])
            lost += float(self.problem.weights[at]) * each
        near = lost * counts[kept].sum(axis=1) - value[kept] <= gap + 1e-6
        for one in number[kept[near]].tolist():
            self.add((one >> np.arange(self.n) & 1).astype(bool))

    def choose_classes(self, seconds: float) -> Any:
        """The cheapest of the classes so far that have every row once."""
        cost, members = self.read()
        return milp(cost, integrality=np.ones(len(cost)), bounds=Bounds(0, 1),
                    constraints=LinearConstraint(members, 1, 1),
                    options={"time_limit": seconds})  # fmt: skip

    def read(self) -> tuple[Any, Any]:
        """What every class loses, and [row, class] who is in it."""
        packed = np.array([np.frombuffer(key, dtype=np.uint8) for key in self.classes])
        members = np.unpackbits(packed, axis=1)[:, : self.n].T.astype(float)
        return np.array(list(self.classes.values())), members

    def price(self, worth: Any, end: float) -> int:
        """Adds classes that are worth more than they lose, the best of each box; how many."""
        boxes = []
        for at, (inside, lost) in enumerate(self.first):
            gain = np.maximum(worth - (lost + self.loss)[:, None], 0.0)
            most = (gain * (self.inside & inside)).sum(axis=1)
            some = np.flatnonzero(most > 1e-7)
            boxes += zip(most[some].tolist(), itertools.repeat(at), some.tolist(), strict=False)
        boxes.sort(reverse=True)
        before = len(self.classes)
        for _, at, rest in boxes:
            if len(self.classes) - before >= AT_ONCE or time.process_time() > end:
                return 1
            rows = self.choose(worth, at, rest)
            if rows is not None:
                self.add(rows)
        return len(self.classes) - before

    def choose(self, worth: Any, at: int, rest: int) -> Any:
        """The class within a box that is worth most, if it is worth more than it loses."""
        inside = np.flatnonzero(self.first[at][0] & self.inside[rest])
        gain = worth[inside] - self.first[at][1] - self.loss[rest]
        order = inside[np.argsort(-gain, kind="stable")]
        sums = np.full((self.values, self.n + 1), -np.inf)
        sums[:, 0] = 0.0
        for value in range(self.values):
            own = order[self.value[order] == value]
            dearest = worth[own] - self.first[at][1] - self.loss[rest]
            sums[value, 1 : len(own) + 1] = np.cumsum(dearest)
        total = sums[np.arange(self.values), self.counts].sum(axis=1)
        best = int(total.argmax())
        if total[best] <= 1e-7:
            return None
        rows = np.zeros(self.n, dtype=bool)
        for value, count in enumerate(self.counts[best].tolist()):
            rows[order[self.value[order] == value][:count]] = True
        return rows


if __name__ == "__main__":
    main()
