"""What the searches lose and how long they take: Adult, side by side, and growth with the rows.

    python benchmarks/search.py [--seconds 20] [--rows 10000000] [--skip-large] [--adult DIR]
    python benchmarks/search.py --curves FOLDER [--efforts 1 4] [--seeds 5] [--cases equal made]
    python benchmarks/search.py --against PYTHON [--seconds 20] [--seeds 5]    (see against.py)

Prints what it measured. Losses are Iyengar's, averaged over rows and quasi-identifiers, a row left
out counting 1; each is one run of one seed. The column `to beat` is quoted, not measured: what the
reference tool loses for one attribute, what an earlier prototype lost for several. Seconds depend
on the machine; ratios are what can be compared.

`--curves` measures losses against processor seconds instead: for each case of Adult, and for
made-up tables of other shapes, the median and the spread over seeds at several efforts, printed as
a table and drawn as one picture per case, with the reference tool where it was quoted. Beside the
efforts that are given, a quarter of the default and the default are measured, and for each case it
is said whether three statements hold: there is a release within 0.2 s of search, the reference's
loss is beaten within a second, and a quarter of the default effort comes within 5 % of all of it.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from against import Job, compare, compare_at_equal_time

import tclose
from tclose.search import Budget, method_named, problem_of
from tclose.search.outcome import choose_effort

TREES = ["workclass", "education", "native-country", "marital-status", "race", "sex"]
REFERENCE = {
    ("equal", "0.2"): 0.458,
    ("equal", "0.15"): 0.537,
    ("hierarchical", "0.2"): 0.302,
    ("hierarchical", "0.15"): 0.433,
}
"""Losses quoted for the field's reference tool, rows left out included; not measured here."""
SHAPES: dict[str, dict[str, Any]] = {
    "few values": dict(rows=5_000, columns=5, values=6, kinds=4, bent=0.3, t="0.1"),
    "many values": dict(rows=5_000, columns=4, values=2_000, kinds=60, bent=0.2, t="0.4"),
    "correlated": dict(rows=5_000, columns=6, values=50, kinds=10, bent=0.6, t="0.2"),
    "15 columns": dict(rows=5_000, columns=15, values=20, kinds=8, bent=0.3, t="0.2"),
    "3 columns": dict(rows=20_000, columns=3, values=100, kinds=12, bent=0.4, t="0.15"),
}
"""Made-up tables of other shapes than Adult."""
SETS = ["workclass", "marital-status", "occupation", "race", "sex", "native-country"]


def main() -> None:
    """Runs every part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--skip-large", action="store_true")
    parser.add_argument("--adult", type=Path, default=None)
    parser.add_argument("--curves", type=Path, help="a folder for pictures of loss against seconds")
    parser.add_argument("--efforts", type=float, nargs="*", default=[0.2, 0.6])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cases", nargs="*", default=[], help="words of which a case has one")
    parser.add_argument("--against", type=Path, help="the interpreter of another revision")
    asked = parser.parse_args()
    adult = asked.adult or Path(os.environ.get("TCLOSE_ADULT", "../shared/data/adult"))
    if not (adult / "adult.csv").exists():
        print("The Adult data is not here (--adult DIR or TCLOSE_ADULT); nothing measured.")
        return
    if asked.against:
        with complete_rows(adult) as table:
            cuts, searches = (
                [job for job in jobs if any(word in job.name for word in asked.cases or [""])]
                for jobs in list_jobs(adult, table, asked.seconds)
            )
            compare_at_equal_time(searches, asked.against, range(1, asked.seeds + 1))
            compare(cuts, asked.against)
        return
    if asked.curves:
        draw_curves(adult, asked.curves, asked.efforts, range(1, asked.seeds + 1), asked.cases)
        return
    one_attribute(adult, asked.seconds)
    several_attributes(adult, asked.seconds)
    if not asked.skip_large:
        growth(adult, asked.rows)


def list_jobs(adult: Path, complete: Path, effort: float) -> tuple[list[Job], list[Job]]:
    """The cases below as calls: by Mondrian, and by hybrid with an amount of work."""
    cases = [(f"{d} t={t}", adult / "adult.csv", occupation(adult, d, t)) for d, t in REFERENCE]
    limits = [*([t, t] for t in ("0.05", "0.10", "0.15", "0.20")), ["0.1", "0.1", "0.3"]]
    cases += [(" ".join(ts), complete, two_or_three(ts)) for ts in limits]
    cuts = {"method": "mondrian", "seed": 1}
    return (
        [Job(f"{case}, mondrian", str(table), policy, cuts) for case, table, policy in cases],
        [
            Job(f"{case}, hybrid", str(table), policy, {"method": "hybrid"}, efforts=(effort,))
            for case, table, policy in cases
        ],
    )


def list_problems(adult: Path) -> Iterator[tuple[str, Callable[[], Any], float | None]]:
    """Each case by its name, how its problem is made, and what the reference tool loses."""

    def check(table: Any, policy: dict[str, Any]) -> Any:
        return problem_of(tclose.check(table, policy))

    for (distance, t), quoted in REFERENCE.items():
        policy = occupation(adult, distance, t)
        yield f"{distance} t={t}", partial(check, adult / "adult.csv", policy), quoted

    def several(t: str) -> Any:
        with complete_rows(adult) as table:
            return check(table, two_or_three([t, t]))

    for t in ("0.05", "0.10", "0.15", "0.20"):
        yield f"hours x education t={t}", partial(several, t), None
    for name, shape in SHAPES.items():
        yield f"made-up, {name}", partial(lambda shape: check(*make_up(**shape)), shape), None


def make_up(
    rows: int, columns: int, values: int, kinds: int, bent: float, t: str
) -> tuple[pa.Table, dict[str, Any]]:
    """A table whose sensitive value goes with its quasi-identifiers as much as `bent` says."""
    random = np.random.default_rng([rows, columns, values, kinds])
    common = random.normal(size=rows)
    table, roles = {}, {}
    for at in range(columns):
        own = random.normal(size=rows)
        rank = np.argsort(np.argsort(bent * common + (1.0 - bent) * own)) / rows
        table[f"q{at}"], roles[f"q{at}"] = (rank**2 * values).astype(int), "quasi"
    mixed = bent * common + (1.0 - bent) * random.normal(size=rows)
    kind = np.minimum(np.argsort(np.argsort(mixed)) / rows * kinds, kinds - 1).astype(int)
    table["s"] = np.array([f"value {one}" for one in range(kinds)])[kind]
    sensitive = {"s": {"role": "sensitive", "distance": "equal", "t": t}}
    return pa.table(table), {"k": 5, "columns": roles | sensitive}


def draw_curves(
    adult: Path, folder: Path, efforts: Sequence[float], seeds: Sequence[int], words: Sequence[str]
) -> None:
    """Loss against processor seconds, by `mondrian` and `hybrid`, with the spread over seeds. One
    thread works, so that seconds are those of one core."""
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{'case':26}{'method':10}{'effort':>7}{'median':>9}{'least':>9}{'most':>9}{'cpu s':>8}")
    for case, make, quoted in list_problems(adult):
        if words and not any(word in case for word in words):
            continue
        problem, points = make(), []
        default = choose_effort(problem.n_cells)
        measured = sorted({*efforts, default / 4, default})
        for method, effort in [("mondrian", 1.0), *(("hybrid", effort) for effort in measured)]:
            losses, spent = [], []
            for seed in seeds if method == "hybrid" else seeds[:1]:
                begun = time.process_time()
                budget = Budget(effort=effort, seed=seed, threads=1)
                losses.append(method_named(method).run(problem, budget).loss)
                spent.append(time.process_time() - begun)
            point = (float(np.median(spent)), sorted(losses))
            points.append((method, *point))
            low, high = min(losses), max(losses)
            print(
                f"{case:26}{method:10}{effort:>7g}{np.median(losses):>9.4f}{low:>9.4f}{high:>9.4f}"
                f"{point[0]:>8.2f}",
                flush=True,
            )
        if quoted is not None:
            print(f"{case:26}{'reference':10}{'':>7}{quoted:>9.4f}   (quoted)")
        for statement in judge_curve(points, measured.index(default / 4), quoted):
            print(f"{case:26}{statement}")
        name = "".join(letter if letter.isalnum() else "-" for letter in case)
        (folder / f"{name}.svg").write_text(draw_curve(case, points, quoted))


def judge_curve(
    points: Sequence[tuple[str, float, list[float]]], quarter: int, quoted: float | None
) -> Iterator[str]:
    """Whether the search is good soon, in three statements; strict cuts are its first release."""
    (_, first, _), *curve = points

    def say(statement: str, *, met: bool) -> str:
        return f"{'met:' if met else 'missed:':8}{statement}"

    yield say(f"the first release within 0.2 s ({first:.2f})", met=first <= 0.2)
    medians = [(seconds, float(np.median(losses))) for _, seconds, losses in curve]
    if quoted is not None:
        early = [loss for seconds, loss in medians if seconds <= 1.0]
        found = f"{min(early):.4f}" if early else "nothing measured"
        met = bool(early) and min(early) < quoted
        yield say(f"below the reference's {quoted:.4f} within 1 s ({found})", met=met)
    over = medians[quarter][1] / max(medians[-1][1], 1e-9) - 1.0
    yield say(f"within 5 % of the end at a quarter of the effort ({over:.1%})", met=over <= 0.05)


def draw_curve(
    case: str, points: Sequence[tuple[str, float, list[float]]], quoted: float | None
) -> str:
    """One picture: medians joined, a bar from the least to the greatest loss of all seeds."""
    wide, high, edge = 480, 300, 50
    most = 1.05 * max([quoted or 0.0, *(losses[-1] for _, _, losses in points)])
    last = max(seconds for _, seconds, _ in points)

    def x(seconds: float) -> float:
        share = math.log10(max(seconds, 0.01) / 0.01) / math.log10(max(last, 0.1) / 0.01)
        return edge + share * (wide - 2 * edge)

    def y(loss: float) -> float:
        return high - edge - loss / most * (high - 2 * edge)

    parts = [f'<text x="{edge}" y="20">{case}: loss against processor seconds</text>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<text x="5" y="{y(share * most):.0f}">{share * most:.3f}</text>')
    for seconds in (0.01, 0.1, 1.0, 10.0, 100.0):
        if seconds <= max(last, 0.1):
            parts.append(f'<text x="{x(seconds):.0f}" y="{high - 25}">{seconds:g}</text>')
    if quoted is not None:
        at = f'y1="{y(quoted):.1f}" y2="{y(quoted):.1f}"'
        parts.append(f'<line x1="{edge}" x2="{wide - edge}" {at} stroke-dasharray="4"/>')
        parts.append(f'<text x="{edge + 4}" y="{y(quoted) - 4:.1f}">reference (quoted)</text>')
    for method, seconds, losses in points:
        here, median = x(seconds), y(float(np.median(losses)))
        span = f'y1="{y(losses[0]):.1f}" y2="{y(losses[-1]):.1f}"'
        parts.append(f'<line x1="{here:.1f}" x2="{here:.1f}" {span}/>')
        parts.append(f'<circle cx="{here:.1f}" cy="{median:.1f}" r="3"/>')
        if method == "mondrian":
            parts.append(f'<text x="{here + 6:.1f}" y="{median + 4:.1f}">mondrian</text>')
    line = " ".join(
        f"{x(s):.1f},{y(float(np.median(l))):.1f}" for m, s, l in points if m == "hybrid"
    )
    parts.append(f'<polyline points="{line}" fill="none"/>')
    style = 'font-family="sans-serif" font-size="11" stroke="none"'
    body = "".join(part.replace("<text", f"<text {style}") for part in parts)
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} stroke="black">{body}</svg>\n'


def one_attribute(adult: Path, seconds: float) -> None:
    """Adult, k = 5, occupation sensitive, seven quasi-identifiers."""
    print("\nAdult, occupation sensitive, k = 5")
    print(
        f"{'case':22}{'method':12}{'left out':>9}{'loss':>8}{'classes':>9}{'s':>8}{'to beat':>10}"
    )
    for (distance, t), reference in REFERENCE.items():
        problem = problem_of(tclose.check(adult / "adult.csv", occupation(adult, distance, t)))
        for method, limit, share in (
            ("mondrian", seconds, 0),
            ("hybrid", 0.4, 0),
            ("hybrid", seconds, 0),
            ("hybrid", seconds, Fraction(1, 5)),
        ):
            report(f"{distance} t={t}", method, problem, limit, Fraction(share), reference)


def several_attributes(adult: Path, seconds: float) -> None:
    """Adult with two and three sensitive attributes, sets for categories."""
    print("\nAdult, hours and education (and occupation) sensitive, k = 5, sets for categories")
    print(
        f"{'case':22}{'method':12}{'left out':>9}{'loss':>8}{'classes':>9}{'s':>8}{'to beat':>10}"
    )
    with complete_rows(adult) as table:
        for t, reference in (("0.05", 0.289), ("0.10", 0.093), ("0.15", 0.054), ("0.20", 0.037)):
            problem = problem_of(tclose.check(table, two_or_three([t, t])))
            for method in ("mondrian", "hybrid"):
                report(f"2 attributes t={t}", method, problem, seconds, Fraction(0), reference)
        problem = problem_of(tclose.check(table, two_or_three(["0.1", "0.1", "0.3"])))
        for method in ("mondrian", "hybrid"):
            report("3: .1, .1, .3", method, problem, seconds, Fraction(0), 0.159)


def report(
    case: str, method: str, problem: Any, seconds: float, share: Fraction, reference: float
) -> None:
    """Runs one search twice (the first compiles) and prints what it found."""

    def run(limit: float) -> Any:
        budget = Budget(seconds=limit, seed=1, suppression=share)
        return method_named(method).run(problem, budget)

    run(0.05)
    start = time.perf_counter()
    outcome = run(seconds)
    took = time.perf_counter() - start
    out = int(problem.rows[outcome.label < 0].sum()) / int(problem.rows.sum())
    classes = int(outcome.label.max()) + 1
    print(
        f"{case:22}{method:12}{out:>9.1%}{outcome.loss:>8.4f}{classes:>9,}{took:>8.3f}{reference:>10}",
        flush=True,
    )


def growth(adult: Path, most: int) -> None:
    """Parquet to Parquet by Mondrian against DuckDB's own copy with one GROUP BY in between."""
    print("\nAdult-like rows, Parquet to Parquet by Mondrian (hierarchical t = 0.2, k = 5)")
    print(f"{'rows':>12}{'DuckDB s':>10}{'tclose s':>10}{'ratio':>7}")
    seen: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        rows = 100_000
        while rows <= most:
            table = Path(folder) / "table.parquet"
            many(adult, rows, table)
            bare = timed(lambda table=table: copy_and_group(table))
            policy = occupation(adult, "hierarchical", "0.2")
            output = Path(folder) / "release.parquet"
            mine = timed(
                lambda table=table, policy=policy, output=output: tclose.anonymize(
                    table, policy, output=output, method="mondrian", seconds=600
                )
            )
            seen.append((rows, mine))
            print(f"{rows:>12,}{bare:>10.2f}{mine:>10.2f}{mine / bare:>7.2f}", flush=True)
            rows *= 10
    if len(seen) > 1:
        (few, fast), (lots, slow) = seen[0], seen[-1]
        print(f"growth exponent {math.log(slow / fast) / math.log(lots / few):.2f} (1 is linear)")


def occupation(adult: Path, distance: str, t: str, trees: Sequence[str] = TREES) -> dict[str, Any]:
    """The policy of the one-attribute cases; age, too, may be one of those with a hierarchy."""

    def tree(name: str) -> str:
        return str((adult / f"adult_hierarchy_{name}.csv").resolve())

    columns: dict[str, Any] = {name: {"role": "quasi", "hierarchy": tree(name)} for name in trees}
    columns.setdefault("age", "quasi")
    columns["salary-class"] = "insensitive"
    columns["occupation"] = {
        "role": "sensitive",
        "hierarchy": tree("occupation"),
        "distance": distance,
        "t": t,
    }
    return {"k": 5, "columns": columns}


def two_or_three(limits: list[str]) -> dict[str, Any]:
    """The policy of the cases with several sensitive attributes."""
    columns: dict[str, Any] = {name: "quasi" for name in ["age", *SETS]}
    columns |= {
        name: "insensitive" for name in ("relationship", "capital-gain", "capital-loss", "income")
    }
    for name, t in zip(("hours-per-week", "education-num", "occupation"), limits, strict=False):
        distance = "equal" if name == "occupation" else "ordered"
        columns[name] = {"role": "sensitive", "distance": distance, "t": t}
    return {"k": 5, "columns": columns}


@contextmanager
def complete_rows(adult: Path) -> Iterator[Path]:
    """The rows of the full table without a missing value, as a file."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "complete.csv"
        lines = (adult / "adult-full.csv").read_text().splitlines()
        target.write_text("\n".join(line for line in lines if "?" not in line) + "\n")
        yield target


def many(adult: Path, rows: int, target: Path) -> None:
    """Rows drawn from Adult with their ages shaken, deterministic."""
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE a AS SELECT row_number() OVER () r, * FROM "
        f"read_csv('{adult / 'adult.csv'}', delim = ';')"
    )
    connection.execute(
        f"COPY (SELECT sex, greatest(17, least(90, age + (hash(i) % 7)::INT - 3)) AS age, race, "
        '"marital-status", education, "native-country", workclass, occupation, "salary-class" '
        f"FROM range({rows}) t(i) JOIN a ON a.r = 1 + (hash(i * 7 + 1) % 30162)) "
        f"TO '{target}' (FORMAT parquet)"
    )


def copy_and_group(table: Path) -> None:
    """What DuckDB needs for the same bytes: one GROUP BY of the columns, one copy."""
    connection = duckdb.connect()
    columns = ", ".join(f'"{name}"' for name in ["age", *TREES, "occupation"])
    connection.execute(
        f"CREATE TEMP TABLE g AS SELECT {columns}, count(*) FROM '{table}' GROUP BY ALL"
    )
    connection.execute(f"COPY (FROM '{table}') TO '{table}.copy' (FORMAT parquet)")


def timed(work: Callable[[], Any]) -> float:
    """Seconds of the faster of two runs."""
    best = math.inf
    for _ in range(2):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
