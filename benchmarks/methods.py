"""Every method side by side: two, three and four sensitive attributes of mixed kinds.

    python benchmarks/methods.py [--effort 2] [--rows 10000] [--adult DIR] [--only mdav,hybrid]
                                 [--large 1000000]

For Adult (skipped where it is not there) and for the made-up hospital, with individual limits,
every method that can judge the promise gets the same effort. Printed as it goes: loss (Iyengar's,
averaged over rows and quasi-identifiers), classes, the mean and the worst class's share of its
limits (EMD over t, the worst attribute; above 1 the promise would be broken), and processor
seconds, compiling left out. Each is one run of one seed. Every outcome is judged again by the
requirements themselves, and compared with one class of everything; the script stops if either
fails. At last `auto` with the default budget has to do with a large hospital, from CSV to a
verified CSV (`--large 0` leaves that out): seconds by the clock, and the most memory of the
process."""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tclose
from tclose.sample.folder import HOSPITAL_POLICY, write_hospital
from tclose.search import METHODS, Budget, Outcome, SearchProblem, method_named, problem_of

TREES = ["workclass", "education", "native-country", "marital-status", "race", "sex"]
ADULT_LIMITS = [
    {"occupation": "0.3", "age": "0.1"},
    {"occupation": "0.1", "age": "0.03"},
    {"occupation": "0.3", "age": "0.1", "education": "0.25"},
    {"occupation": "0.3", "age": "0.1", "education": "0.25", "race": "0.15"},
]
HOSPITAL_LIMITS = [
    {"diagnosis": "0.3", "length_of_stay": "0.1"},
    {"diagnosis": "0.15", "length_of_stay": "0.04"},
    {"diagnosis": "0.3", "length_of_stay": "0.1", "ethnicity": "0.25"},
    {"diagnosis": "0.3", "length_of_stay": "0.1", "ethnicity": "0.25", "sex": "0.15"},
]
KINDS = {
    "occupation": "hierarchical", "age": "ordered", "education": "equal", "race": "equal",
    "diagnosis": "hierarchical", "length_of_stay": "ordered", "ethnicity": "equal",
    "sex": "equal",
}  # fmt: skip
NO_PART = {"auto", "nt-mondrian"}
"""Of the methods: the portfolio comes last; where no n is promised nt-mondrian is mondrian."""


@dataclass(frozen=True)
class Case:
    """A promise to be kept by every method."""

    title: str
    limits: dict[str, str]
    problem: SearchProblem


def main() -> None:
    """Runs every method on every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=2.0)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--adult", type=Path, default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--large", type=int, default=1_000_000)
    asked = parser.parse_args()
    adult = asked.adult or Path(os.environ.get("TCLOSE_ADULT", "../shared/data/adult"))
    names = asked.only.split(",") if asked.only else [*sorted(set(METHODS) - NO_PART), "auto"]
    with tempfile.TemporaryDirectory() as folder:
        for case in (*adult_cases(adult), *hospital_cases(Path(folder), asked.rows)):
            print(f"\n{case.title}, effort {asked.effort:g}")
            told = ", ".join(f"{name} ({KINDS[name]}) {t}" for name, t in case.limits.items())
            print(f"{told}; k = 5, {case.problem.n_rows:,} rows in {case.problem.n_cells:,} cells")
            print("| method | loss | classes | mean EMD/t | worst EMD/t | seconds |")
            print("|---|---|---|---|---|---|", flush=True)
            for name in names:
                if not method_named(name).cannot(case.problem):
                    print(measured(name, case, asked.effort), flush=True)
        if asked.large:
            large(Path(folder), asked.large)


def measured(name: str, case: Case, effort: float) -> str:
    """One method on one case, checked, as a row of the table."""
    method = method_named(name)
    method.run(case.problem, Budget(effort=0.01))
    start = time.process_time()
    outcome = method.run(case.problem, Budget(effort=effort))
    seconds = time.process_time() - start
    check(name, outcome, case.problem)
    used = shares_used(case.problem, outcome)
    shown = f"auto → {outcome.method}" if name == "auto" else name
    return (
        f"| {shown} | {outcome.loss:.4f} | {outcome.classes:,} | {used.mean():.3f} "
        f"| {used.max():.3f} | {seconds:.1f} |"
    )


def check(name: str, outcome: Outcome, problem: SearchProblem) -> None:
    """Stops where a promise is broken, or one class of everything would have lost less."""
    if problem.find_failing(outcome.label).any():
        raise SystemExit(f"{name} broke the promise")
    whole = problem.loss(np.zeros(problem.n_cells, dtype=np.int64)).overall
    if outcome.levels is None and outcome.loss > whole + 1e-12:
        raise SystemExit(f"{name} lost more than one class of everything")


def shares_used(problem: SearchProblem, outcome: Outcome) -> NDArray[np.float64]:
    """For each class, EMD over t of its worst attribute."""
    worst = np.zeros(outcome.classes)
    for requirement in problem.constraints.requirements:
        if requirement.name == "t-closeness":
            measured = problem.measure(requirement, outcome.label)
            worst = np.maximum(worst, measured.value / float(requirement.limit))
    return worst


def adult_cases(adult: Path) -> Iterator[Case]:
    """Adult with two, three and four sensitive attributes, hierarchies for the rest."""
    if not (adult / "adult.csv").exists():
        print("The Adult data is not here (--adult DIR or TCLOSE_ADULT); not measured.")
        return
    for limits in ADULT_LIMITS:
        columns: dict[str, Any] = {"age": "quasi", "salary-class": "insensitive"}
        for name in [*TREES, "occupation"]:
            tree = str((adult / f"adult_hierarchy_{name}.csv").resolve())
            columns[name] = {"role": "quasi", "hierarchy": tree}
        policy = {"k": 5, "columns": columns | promised(limits, columns)}
        problem = problem_of(tclose.check(adult / "adult.csv", policy))
        yield Case(f"Adult, {len(limits)} sensitive attributes", limits, problem)


def hospital_cases(folder: Path, rows: int) -> Iterator[Case]:
    """The made-up hospital with two, three and four sensitive attributes."""
    table, _, tree = write_hospital(folder, rows)
    for limits in HOSPITAL_LIMITS:
        columns: dict[str, Any] = tomllib.loads(HOSPITAL_POLICY)["columns"]
        columns["diagnosis"]["hierarchy"] = str(tree)
        policy = {"k": 5, "columns": columns | promised(limits, columns)}
        problem = problem_of(tclose.check(table, policy))
        yield Case(f"Made-up hospital, {len(limits)} sensitive attributes", limits, problem)


def large(folder: Path, rows: int) -> None:
    """Three sensitive attributes of a large hospital through `auto`, files included."""
    table, _, tree = write_hospital(folder, rows)
    policy: dict[str, Any] = tomllib.loads(HOSPITAL_POLICY)
    policy["columns"]["diagnosis"]["hierarchy"] = str(tree)
    policy["columns"] |= promised({"ethnicity": "0.2"}, policy["columns"])
    start = time.perf_counter()
    made = tclose.anonymize(table, policy, output=folder / "release.csv")
    seconds = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"\nMade-up hospital of {rows:,} rows, 3 sensitive attributes, auto, default budget")
    print(
        f"loss {made.loss.overall:.4f}, {made.classes:,} classes by "
        f"{made.certificate.method}, {seconds:.1f} s by the clock, {most:.1f} GB"
    )


def promised(limits: dict[str, str], columns: dict[str, Any]) -> dict[str, Any]:
    """The sensitive columns of a policy."""
    found: dict[str, Any] = {}
    for name, t in limits.items():
        found[name] = {"role": "sensitive", "distance": KINDS[name], "t": t}
        if KINDS[name] == "hierarchical":
            found[name]["hierarchy"] = columns[name]["hierarchy"]
    return found


if __name__ == "__main__":
    main()
