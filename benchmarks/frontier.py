"""What a curve of twelve points costs beside its most expensive point searched alone: Adult.

    python benchmarks/frontier.py [--adult DIR] [--effort 20] [--methods hybrid,mondrian,optimal]

For each method: the loss at twelve t by `tclose.frontier`, beside the loss and the seconds of a
search of its own for each t. Both get the same effort, which a frontier shares out among its points
and a single search has for itself; both count the table, warm. Prints what it measured.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tclose
from search import occupation
from tclose.search import Budget, method_named, problem_of

LIMITS = [f"0.{at:02}" for at in (6, 10, 14, 18, 20, 22, 26, 30, 34, 38, 42, 46)]


def main() -> None:
    """Measures every method that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = os.environ.get("TCLOSE_ADULT", "../shared/data/adult")
    parser.add_argument("--adult", type=Path, default=Path(usual))
    parser.add_argument("--effort", type=float, default=20)
    parser.add_argument("--methods", default="hybrid,mondrian,optimal")
    given = parser.parse_args()
    table = given.adult / "adult.csv"
    if not table.exists():
        print(f"there is no {table}: name the folder with --adult or TCLOSE_ADULT")
        return
    print("Adult, occupation sensitive by the hierarchical distance, k = 5, twelve t")
    for method in given.methods.split(","):
        compare(table, given.adult, method, given.effort)


def compare(table: Path, adult: Path, method: str, effort: float) -> None:
    """One method's curve beside its points searched one by one."""

    def alone(t: str, work: float) -> Any:
        problem = problem_of(tclose.check(table, occupation(adult, "hierarchical", t)))
        return method_named(method).run(problem, Budget(effort=work, seed=1))

    def together(work: float) -> Any:
        return tclose.frontier(
            table,
            occupation(adult, "hierarchical", "0.2"),
            t=LIMITS,
            methods=method,
            effort=work,
            seed=1,
        )

    together(0.05)
    curve, whole = timed(lambda: together(effort))
    print(f"\n{method}\n{'t':>6}{'curve loss':>12}{'alone loss':>12}{'alone s':>10}")
    most = 0.0
    for t, point in zip(LIMITS, curve.points, strict=True):
        outcome, took = timed(lambda t=t: alone(t, effort))
        most = max(most, took)
        print(f"{t:>6}{point.loss:>12.4f}{outcome.loss:>12.4f}{took:>10.2f}", flush=True)
    print(f"the curve took {whole:.2f} s: {whole / most:.2f} times its most expensive point")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
