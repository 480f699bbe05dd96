"""How far the default search is from the optimum: tables of up to 40 rows, by integer programming.

    python benchmarks/optimum.py [--rows 10 14 17 40] [--tables 2] [--seconds 60] [--effort 1]

Up to 17 rows every set of rows that may be a class is a column, and the cheapest that have each row
once are chosen (set partitioning). Beyond, a partition into at most C classes is a matrix of zeros
and ones; the ends of a class in a column are variables, a row loses the width of its class (a
constraint that counts only where it is in it), and closeness by the equal distance is linear in the
counts: Σ |n(v) − p(v)·size| ≤ 2t·size. HiGHS (`scipy.optimize.milp`) proves the optimum, or in the
time given a bound below which nothing is.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

import tclose
from tclose.search import Budget, SearchProblem, method_named, problem_of

K, T = 3, 0.3
MOST_LISTED = 17


def main() -> None:
    """Prints a line per table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10, 14, 17, 40])
    parser.add_argument("--tables", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--effort", type=float, default=1.0)
    asked = parser.parse_args()
    print(f"{'rows':>5}{'seed':>5}{'hybrid':>9}{'HiGHS':>9}{'proved':>9}{'our bound':>11}")
    for rows in asked.rows:
        for seed in range(asked.tables):
            table = draw_table(rows, seed)
            policy = {"k": K, "columns": {"a": "quasi", "b": "quasi",
                      "s": {"role": "sensitive", "distance": "equal", "t": str(T)}}}  # fmt: skip
            problem = problem_of(tclose.check(table, policy))
            ours = method_named("hybrid").run(problem, Budget(effort=asked.effort))
            best, bound = solve(problem, asked.seconds)
            found = "–" if best is None else f"{best:.4f}"
            line = f"{rows:>5}{seed:>5}{ours.cost:>9.4f}{found:>9}{bound:>9.4f}"
            print(f"{line}{ours.bound or 0:>11.4f}", flush=True)


def draw_table(rows: int, seed: int) -> pa.Table:
    """Two numbers and a sensitive value that goes with the first of them."""
    random = np.random.default_rng([rows, seed])
    a = random.integers(0, 100, rows)
    kind = np.where(random.random(rows) < 0.5, a // 34, random.integers(0, 3, rows))
    return pa.table({"a": a, "b": random.integers(0, 100, rows), "s": np.array(list("xyz"))[kind]})


def solve(problem: SearchProblem, seconds: float) -> tuple[float | None, float]:
    """The least cost that was found, and the greatest that is proved to be a lower bound."""
    options = {"time_limit": seconds}
    if problem.n_cells <= MOST_LISTED:
        cost, members = list_classes(problem)
        once = LinearConstraint(members, 1.0, 1.0)
        found = milp(cost, integrality=np.ones(len(cost)), bounds=Bounds(0.0, 1.0),
                     constraints=once, options=options)  # fmt: skip
    else:
        model = Model(problem)
        found = milp(
            model.objective, integrality=model.integral, bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(model.matrix(), -np.inf, np.array(model.limits)),
            options=options,
        )  # fmt: skip
    scale = problem.n_rows * len(problem.columns)
    bound = found.mip_dual_bound if found.mip_dual_bound is not None else 0.0
    return (None if found.fun is None else found.fun / scale), max(bound, 0.0) / scale


def place_cells(problem: SearchProblem) -> Any:
    """[column, cell]: where in its column each cell lies, from 0 to 1."""
    return np.stack([
        (column.place[codes] - column.place[0]) / (float(column.place[-1] - column.place[0]) or 1)
        for column, codes in zip(problem.columns, problem.codes.T, strict=True)
    ])  # fmt: skip


def list_classes(problem: SearchProblem) -> tuple[Any, Any]:
    """Every set of cells that keeps the promise and is not two that do, which would lose no more:
    what it loses, and [cell, set] who is in it."""
    place, value = place_cells(problem), problem.constraints.fields[0].codes
    share = np.bincount(value, problem.rows) / problem.n_rows
    low, high = np.full((1, len(place)), 2.0), np.full((1, len(place)), -1.0)
    count = np.zeros((1, len(share)))
    for cell in range(problem.n_cells):  # all sets without the cell, then all with it
        low = np.concatenate([low, np.minimum(low, place[:, cell])])
        high = np.concatenate([high, np.maximum(high, place[:, cell])])
        more = np.eye(len(share))[value[cell]] * problem.rows[cell]
        count = np.concatenate([count, count + more])
    size = count.sum(axis=1)
    apart = np.abs(count - size[:, None] * share).sum(axis=1)
    keeps = (size >= K) & (apart <= 2 * T * size + 1e-9)
    kept = np.array([one for one in np.flatnonzero(keeps).tolist() if not is_union(one, keeps)])
    cost = size[kept] * (high - low)[kept].sum(axis=1)
    return cost, (kept[None] >> np.arange(problem.n_cells)[:, None] & 1).astype(float)


def is_union(some: int, keeps: Any) -> bool:
    """Whether a set, whose bits are its cells, is two sets that keep the promise."""
    parts = np.zeros(1, dtype=np.int64)
    for bit in range(some.bit_length()):
        if some >> bit & 1:
            parts = np.concatenate([parts, parts | 1 << bit])
    return bool((keeps[parts] & keeps[some ^ parts]).any())


class Model:
    """Variables, all from 0 to 1, and inequalities Σ a·x ≤ b."""

    def __init__(self, problem: SearchProblem) -> None:
        self.limits: list[float] = []
        self.size = 0
        self.entries: list[tuple[int, int, float]] = []
        cells, weight = problem.n_cells, problem.rows
        place = place_cells(problem)
        value = problem.constraints.fields[0].codes
        share = np.bincount(value, weight) / problem.n_rows
        classes = problem.n_rows // K
        member, used = self.add(cells, classes), self.add(classes)
        low, high = self.add(classes, len(place)), self.add(classes, len(place))
        lost, apart = self.add(cells, len(place)), self.add(classes, len(share))
        self.integral = np.zeros(self.size)
        self.integral[member.ravel()] = 1
        self.objective = np.zeros(self.size)
        self.objective[lost] = weight[:, None]
        n = problem.n_rows
        for i in range(cells):
            self.limit([(each, 1.0) for each in member[i]], 1.0)
            self.limit([(each, -1.0) for each in member[i]], -1.0)
        for c in range(classes):
            for i in range(cells):
                self.limit([(member[i, c], 1.0), (used[c], -1.0)], 0.0)
                if c > i:  # a class is numbered by its first cell: no partition is there twice
                    self.limit([(member[i, c], 1.0)], 0.0)
                elif c > 0:
                    before = [(member[h, c - 1], -1.0) for h in range(i)]
                    self.limit([(member[i, c], 1.0), *before], 0.0)
                for j in range(len(place)):
                    here, inside = place[j, i], member[i, c]
                    self.limit([(low[c, j], 1.0), (inside, 1.0 - here)], 1.0)
                    self.limit([(high[c, j], -1.0), (inside, here)], 0.0)
                    width = [(high[c, j], 1.0), (low[c, j], -1.0), (lost[i, j], -1.0)]
                    self.limit([*width, (inside, 1.0)], 1.0)
            self.limit(
                [(used[c], float(K)), *((member[i, c], -weight[i]) for i in range(cells))], 0.0
            )
            for v in range(len(share)):
                excess = weight * ((value == v) - share[v]) / n
                for sign in (1.0, -1.0):
                    terms = [(member[i, c], sign * excess[i]) for i in range(cells)]
                    self.limit([*terms, (apart[c, v], -1.0)], 0.0)
            size = [(member[i, c], -2 * T * weight[i] / n) for i in range(cells)]
            self.limit([*((each, 1.0) for each in apart[c]), *size], 1e-9)

    def add(self, *shape: int) -> Any:
        """New variables, by their numbers."""
        count = int(np.prod(shape))
        numbers = np.arange(self.size, self.size + count).reshape(shape)
        self.size += count
        return numbers

    def limit(self, terms: list[tuple[int, float]], most: float) -> None:
        """One inequality."""
        self.entries += [(len(self.limits), at, factor) for at, factor in terms]
        self.limits.append(most)

    def matrix(self) -> Any:
        """The left sides of all inequalities."""
        row, column, factor = zip(*self.entries, strict=True)
        return coo_array((factor, (row, column)), shape=(len(self.limits), self.size)).tocsc()


if __name__ == "__main__":
    main()
