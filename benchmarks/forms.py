"""Random counts answered from Anatomy's tables beside a generalized release of the same promise.

    python benchmarks/forms.py [--adult DIR] [--t 0.2] [--queries 300]

Adult is skipped where it is not there. Anatomy answers with the rows that match exactly
and their groups' shares of sensitive values; the release with classes spread evenly over what they
cover. Errors and their ratio are what to look at; nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

import tclose
from tclose.search import Budget, problem_of
from tclose.search.anatomy import form_groups
from tclose.utility.pair import pair_of
from tclose.utility.queries import LEAST, count_actual, draw_workload, estimate_counts

QUASI = ("sex", "age", "race", "marital-status", "native-country", "workclass", "education")


def main() -> None:
    """Reads the options and measures, if there is anything to measure on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path, default=None)
    parser.add_argument("--t", default="0.2")
    parser.add_argument("--queries", type=int, default=300)
    asked = parser.parse_args()
    adult = asked.adult or Path(os.environ.get("TCLOSE_ADULT", "../shared/data/adult"))
    if not (adult / "adult.csv").exists():
        print("The Adult data is not here (--adult DIR or TCLOSE_ADULT); not measured.")
        return
    measure(adult, asked.t, asked.queries)


def measure(folder: Path, t: str, queries: int) -> None:
    """Prints groups, classes, seconds and errors side by side."""
    columns: dict[str, object] = {name: "quasi" for name in QUASI}
    columns |= {"occupation": {"role": "sensitive", "t": t}, "salary-class": "insensitive"}
    rules = {"k": 5, "columns": columns}
    file = folder / "adult.csv"
    bound = tclose.check(file, rules)
    problem = problem_of(bound)
    form_groups(problem, Budget(effort=0.01))
    start = time.perf_counter()
    groups = form_groups(problem, Budget())
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    release = tclose.anonymize(file, rules, effort=5)
    searching = time.perf_counter() - start
    pair = pair_of(bound, release.audit.bound)
    print(f"occupation, equal, t = {t}, k = 5: {problem.n_rows:,} rows, {queries} queries")
    print(f"  anatomy        {groups.count:>6,} groups,  {seconds:.1f} s")
    print(f"  generalization {release.classes:>6,} classes, {searching:.1f} s (effort 5)")
    row = np.repeat(np.arange(problem.n_cells), problem.rows)
    place = pair.covering.places(bound.cells)[row]
    code = bound.classes.cell_codes["occupation"][row]
    held = np.zeros((groups.count, bound.attributes["occupation"].values + 1))
    np.add.at(held, (groups.label, code + 1), 1.0)
    upto = np.cumsum(held / held.sum(axis=1, keepdims=True), axis=1)
    for columns_asked in (1, 3, 5):
        work = draw_workload(pair, queries, 0.1, columns_asked, 1)
        actual, release_says = count_actual(pair, work), estimate_counts(pair, work)
        anatomy_says = np.zeros(queries)
        for at in range(queries):
            inside = ((place >= work.low[at]) & (place < work.high[at])).all(axis=1)
            low, high = work.part[at]
            anatomy_says[at] = (upto[:, high] - upto[:, low])[groups.label[inside]].sum()
        least = np.maximum(actual, LEAST * problem.n_rows)
        one, two = (np.median(abs(x - actual) / least) for x in (anatomy_says, release_says))
        print(
            f"  {columns_asked} columns: median relative error {one:.1%} (anatomy), "
            f"{two:.1%} (generalization), ratio {two / one:.1f}"
        )


if __name__ == "__main__":
    main()
