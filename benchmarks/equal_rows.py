"""What dividing rows with equal values among classes saves, on tables with few quasi-identifiers.

    python benchmarks/equal_rows.py [--effort 3] [--seeds 2] [--most 40 20 10 5] [--adult DIR]

Prints, for each table, its cells and what `hybrid` loses with cells as they are and with cells of
at most so many rows. Losses at a stated effort do not depend on the machine.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tclose.recode.division import choose_most_equal, divide_equal_rows

import tclose
from search import make_up
from tclose.data.binding import BoundTable
from tclose.search import Budget, method_named, problem_of

COLUMNS = [
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
    "occupation", "salary-class",
]  # fmt: skip
CASES = [
    (["sex", "race", "marital-status"], "equal", "0.1"),
    (["sex", "race", "education"], "equal", "0.3"),
    (["sex", "race", "marital-status", "workclass", "education"], "equal", "0.2"),
    (["sex", "race", "marital-status", "workclass", "education"], "hierarchical", "0.15"),
    (["age", "sex", "race", "marital-status"], "equal", "0.15"),
    (["age", "sex", "education"], "equal", "0.2"),
]
SHAPES: dict[str, dict[str, Any]] = {
    "five columns of 6 values": dict(rows=5_000, columns=5, values=6, kinds=4, bent=0.3, t="0.1"),
    "three of 8": dict(rows=50_000, columns=3, values=8, kinds=6, bent=0.5, t="0.15"),
    "two of 30": dict(rows=20_000, columns=2, values=30, kinds=5, bent=0.5, t="0.2"),
    "one of 60": dict(rows=3_000, columns=1, values=60, kinds=5, bent=0.6, t="0.2"),
}


def list_tables(adult: Path) -> Iterator[tuple[str, BoundTable]]:
    """Tables of Adult's columns, and made-up ones."""
    for quasi, distance, t in CASES if (adult / "adult.csv").exists() else ():
        yield f"{', '.join(quasi)}; {distance} t = {t}", bind_adult(adult, quasi, distance, t)
    for name, shape in SHAPES.items():
        yield f"made up, {name}; equal t = {shape['t']}", tclose.check(*make_up(**shape))


def bind_adult(adult: Path, quasi: list[str], distance: str, t: str) -> BoundTable:
    """Adult with a few quasi-identifiers and the occupation sensitive."""
    columns: dict[str, Any] = dict.fromkeys(COLUMNS, "insensitive")
    for name in quasi:
        tree = {"role": "quasi", "hierarchy": str(adult / f"adult_hierarchy_{name}.csv")}
        columns[name] = "quasi" if name == "age" else tree
    columns["occupation"] = {"role": "sensitive", "distance": distance, "t": t}
    if distance == "hierarchical":
        columns["occupation"]["hierarchy"] = str(adult / "adult_hierarchy_occupation.csv")
    return tclose.check(adult / "adult.csv", {"k": 5, "columns": columns})


def main() -> None:
    """Measures all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--most", type=int, nargs="*", default=[10])
    parser.add_argument("--adult", type=Path, default=None)
    asked = parser.parse_args()
    adult = asked.adult or Path(os.environ.get("TCLOSE_ADULT", "../shared/data/adult"))
    for name, bound in list_tables(adult):
        rows = bound.cells.rows
        print(f"{name}\n  {rows.sum():,} rows, chosen: at most {choose_most_equal(rows)} in a cell")
        for most in (None, *asked.most):
            table = bound if most is None else divide_equal_rows(bound, most)
            problem, losses = problem_of(table), []
            for seed in range(1, asked.seeds + 1):
                outcome = method_named("hybrid").run(
                    problem, Budget(effort=asked.effort, seed=seed)
                )
                losses.append(f"{outcome.loss:.4f}")
            cells = f"{problem.n_cells:,} cells"
            print(f"  at most {most}: {cells:14} {' '.join(losses)}", flush=True)


if __name__ == "__main__":
    main()
