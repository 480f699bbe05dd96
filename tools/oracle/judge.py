"""Judges small tables by the definitions alone, and compares every verdict of tclose with that.

    python tools/oracle/judge.py --tables 2000 --releases 100 --seed 1
    python tools/oracle/judge.py --tables 1000000 --seconds 7200    (on every core)
    python tools/oracle/judge.py --tables 200 --engine ibis      (or spark)

Thresholds lie exactly at what a table attains (it must hold) or a hair beyond (it must not), so
that any rounding shows. The judgement uses fractions and whole numbers only and shares no code with
the package; logarithms are compared with 60 digits. Exit code 1 where anything was accepted or
refused wrongly, with the seed of the table.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import chain
from typing import Any

HAIR = Fraction(1, 10**9)
TABLES, RELEASES = 200, 4
"""How many a process judges at once."""
GROUPS = {"left": ["a", "b", "c"], "right": ["d", "e"], "alone": ["f"]}
GROUP_OF = {leaf: group for group, leaves in GROUPS.items() for leaf in leaves}
Row = dict[str, str]
METHODS = (
    "hybrid", "mondrian", "mondrian-median", "mondrian-relaxed", "optimal", "incognito", "cover",
    "fragments", "fragments-thesis", "matching", "sabre", "sabre-curve", "mdav", "micro-merge",
    "micro-swap", "micro-t-first", "wang-cluster", "wang-pca", "frequency-deal", "auto",
)  # fmt: skip


# --- the definitions


def count(rows: list[Row], names: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    """How often each tuple of some columns occurs."""
    return Counter(tuple(row[name] for name in names) for row in rows)


def classes_of(rows: list[Row], quasi: tuple[str, ...]) -> list[list[Row]]:
    """The rows with equal quasi-identifiers."""
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in quasi)].append(row)
    return list(found.values())


def share(rows: list[Row], name: str, value: str) -> Fraction:
    """What share of the rows has a value."""
    return Fraction([row[name] for row in rows].count(value), len(rows))


def distance(group: list[Row], table: list[Row], name: str, kind: str) -> Fraction:
    """The earth mover's distance between a class and the table."""
    values = sorted({row[name] for row in table}, key=lambda v: (len(v), v))
    moved = {value: share(group, name, value) - share(table, name, value) for value in values}
    if len(values) == 1:
        return Fraction(0)
    if kind == "equal":
        return sum((abs(each) for each in moved.values()), Fraction(0)) / 2
    if kind == "hierarchical":
        # Li's recursion: what a group cannot settle inside crosses its root.
        inside = defaultdict(list)
        for value, each in moved.items():
            inside[GROUP_OF[value]].append(each)
        work = Fraction(0)
        for each in inside.values():
            above = sum((part for part in each if part > 0), Fraction(0))
            below = -sum((part for part in each if part < 0), Fraction(0))
            work += min(above, below) * Fraction(1, 2)
        extra = [sum(each, Fraction(0)) for each in inside.values()]
        return work + sum((part for part in extra if part > 0), Fraction(0))
    places = [Fraction(at) if kind == "ordered" else Fraction(v) for at, v in enumerate(values)]
    work, carried = Fraction(0), Fraction(0)
    for at, value in enumerate(values[:-1]):
        carried += moved[value]
        work += abs(carried) * (places[at + 1] - places[at])
    return work / (places[-1] - places[0])


def joint_distance(group: list[Row], table: list[Row], names: tuple[str, ...]) -> Fraction:
    """The distance of combinations, any two of which are 1 apart."""
    mine, all_rows = count(group, names), count(table, names)
    parts = (
        abs(Fraction(mine[key], len(group)) - Fraction(n, len(table)))
        for key, n in all_rows.items()
    )
    return sum(parts, Fraction(0)) / 2


def is_entropic(group: list[Row], name: str, least: Fraction) -> bool:
    """H ≥ log l, in whole numbers: n^n ≥ l^n ∏ c^c."""
    n, product = len(group), 1
    for amount in count(group, (name,)).values():
        product *= amount**amount
    return least.denominator**n * n**n >= least.numerator**n * product


def recursive_quotient(group: list[Row], name: str, rank: int) -> Fraction | None:
    """r1 / (r_l + … + r_m); None where there are fewer than l values."""
    amounts = sorted(count(group, (name,)).values(), reverse=True)
    rest = sum(amounts[rank - 1 :])
    return Fraction(amounts[0], rest) if rest else None


@cache
def log_of(number: Fraction) -> Decimal:
    """The natural logarithm, with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return as_decimal(number).ln()


def as_decimal(number: Fraction) -> Decimal:
    """The same with as many digits as are asked for at present."""
    return Decimal(number.numerator) / Decimal(number.denominator)


# --- what a table attains, and a policy just there


@dataclass
class Case:
    """A table, a policy whose thresholds lie at what it attains, and what must come out."""

    rows: list[Row]
    policy: dict[str, Any]
    expected: dict[tuple[str, str | None], bool]
    population: list[Row] = field(default_factory=list)


def make_table(chance: random.Random) -> list[Row]:
    """A few rows of few values."""
    rows = chance.randint(3, 14)
    quasi, letters = chance.choice(["xy", "xyz"]), chance.choice(["ab", "abcd", "abcdef"])
    numbers = chance.choice([["1", "2"], ["1", "2", "7"], ["10", "20", "25", "40"]])
    weights = [chance.randint(1, 4) for _ in numbers]
    return [
        {
            "q": chance.choice(quasi),
            "s": chance.choices(numbers, weights)[0],
            "u": chance.choice(letters),
        }
        for _ in range(rows)
    ]


def make_case(chance: random.Random) -> Case:
    """A table and a policy that states all it attains, or a hair more."""
    rows = make_table(chance)
    groups = classes_of(rows, ("q",))
    expected: dict[tuple[str, str | None], bool] = {}
    policy: dict[str, Any] = {}
    of_s: dict[str, Any] = {"role": "sensitive"}
    of_u: dict[str, Any] = {"role": "sensitive", "hierarchy": {"groups": GROUPS}}

    def state(
        key: tuple[str, str | None], attained: Fraction, *, small_is_bad: bool, whole: bool
    ) -> str:
        """A threshold at what is attained, or a hair beyond."""
        strict = chance.random() < 0.5
        expected[key] = not strict
        step = Fraction(1) if whole else HAIR
        return str(attained + (step if small_is_bad else -step) if strict else attained)

    def bounded(low: Fraction) -> bool:
        return low - HAIR >= 0

    policy["k"] = int(
        state(("k-anonymity", None), Fraction(min(map(len, groups))), small_is_bad=True, whole=True)
    )
    for name, spec, kinds in (
        ("s", of_s, ("equal", "ordered", "numeric")), ("u", of_u, ("equal", "hierarchical")),
    ):  # fmt: skip
        kind = chance.choice(kinds)
        far = max(distance(group, rows, name, kind) for group in groups)
        spec["distance"] = kind
        if bounded(far):
            spec["t"] = state(("t-closeness", name), far, small_is_bad=False, whole=False)
        else:
            spec["t"], expected["t-closeness", name] = "0", True
    values = sorted({row["s"] for row in rows})
    most = max(share(group, "s", value) for group in groups for value in values)
    fewest = Fraction(min(len(count(group, ("s",))) for group in groups))
    key = ("distinct-l-diversity", "s")
    of_s["l"] = {"distinct": int(state(key, fewest, small_is_bad=True, whole=True))}
    key = ("probabilistic-l-diversity", "s")
    of_s["l"]["probabilistic"] = state(key, 1 / most, small_is_bad=True, whole=False)
    least = chance.choice([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(3)])
    of_s["l"]["entropy"] = str(least)
    expected["entropy-l-diversity", "s"] = all(is_entropic(group, "s", least) for group in groups)
    rank = chance.choice([1, 2, 3])
    quotients = [recursive_quotient(group, "s", rank) for group in groups]
    known = [each for each in quotients if each is not None]
    c = max(known, default=Fraction(1)) + chance.choice([Fraction(0), HAIR])
    of_s["l"]["recursive"] = {"c": str(c), "l": rank}
    strictly = all(each is not None and each < c for each in quotients)
    expected["recursive-(c,l)-diversity", "s"] = strictly
    of_s["alpha"] = state(("alpha-k-anonymity", "s"), most, small_is_bad=False, whole=False)
    of_s["p"] = int(state(("p-sensitive-k-anonymity", "s"), fewest, small_is_bad=True, whole=True))
    gains = {
        (at, value): share(group, "s", value) / share(rows, "s", value) - 1
        for at, group in enumerate(groups)
        for value in values
    }
    gain = max(gains.values())
    of_s["beta"] = {}
    if bounded(gain) and gain > 0:
        basic = state(("basic-beta-likeness", "s"), gain, small_is_bad=False, whole=False)
        limit = chance.choice([gain, gain + 1])
        of_s["beta"] = {"basic": basic, "enhanced": str(limit)}
        expected["enhanced-beta-likeness", "s"] = all(
            each <= limit
            and Decimal(each.numerator) / Decimal(each.denominator)
            <= -log_of(share(rows, "s", value))
            for (_, value), each in gains.items()
            if each > 0
        )
    else:
        del of_s["beta"]
    delta = chance.choice([Fraction(1, 2), Fraction(7, 10), Fraction(1), Fraction(2)])
    of_s["delta"] = str(delta)
    limit_of_log = as_decimal(delta)
    expected["delta-disclosure", "s"] = all(
        share(group, "s", value) > 0
        and abs(log_of(share(group, "s", value) / share(rows, "s", value))) < limit_of_log
        for group in groups
        for value in values
    )
    both = max(joint_distance(group, rows, ("s", "u")) for group in groups)
    if bounded(both):
        t = state(("joint-t-closeness", "s × u"), both, small_is_bad=False, whole=False)
        policy["joint"] = [{"columns": ["s", "u"], "t": t, "distance": "equal"}]
    population: list[Row] = []
    if chance.random() < 0.2:
        population = [{"q": row["q"]} for row in rows for _ in range(chance.randint(1, 3))]
        people = {key: sum(row["q"] == key for row in population) for key in {r["q"] for r in rows}}
        fits = Fraction(min(people.values()))
        policy["k_map"] = int(state(("k-map", None), fits, small_is_bad=True, whole=True))
        largest = max(Fraction(len(group), people[group[0]["q"]]) for group in groups)
        most_present = state(("delta-presence", None), largest, small_is_bad=False, whole=False)
        policy["presence"] = {"min": 0, "max": most_present}
    policy["columns"] = {"q": "quasi", "s": of_s, "u": of_u}
    return Case(rows, policy, expected, population)


# --- tclose beside it


def as_table(rows: list[Row]) -> Any:
    """The rows as tclose reads them."""
    import pyarrow as pa

    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def open_engine(name: str) -> Callable[[list[Row]], Any]:
    """What makes a table of an engine from rows, so that the engine itself counts them."""
    if name == "ibis":
        import ibis

        def put(rows: list[Row]) -> Any:
            backend = ibis.sqlite.connect()  # another engine than the one that counts Arrow tables
            names = list(rows[0])
            backend.con.execute(f"CREATE TABLE people ({', '.join(f'{n} TEXT' for n in names)})")
            marks = ", ".join("?" * len(names))
            values = [tuple(row.values()) for row in rows]
            backend.con.executemany(f"INSERT INTO people VALUES ({marks})", values)
            backend.con.commit()
            return backend.table("people")

        return put
    if name == "spark":
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "2")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        return lambda rows: session.createDataFrame(as_table(rows))
    return as_table


def compare_verdicts(case: Case, make: Callable[[list[Row]], Any] = as_table) -> list[str]:
    """What tclose says otherwise."""
    import tclose

    people = as_table(case.population) if case.population else None
    audit = tclose.verify(make(case.rows), case.policy, population=people)
    found = {(each.requirement, each.attribute): each.holds for each in audit.requirements}
    wrong = [
        f"{name} of {of}: {case.expected[name, of]} by definition, not {found.get((name, of))}"
        for name, of in case.expected
        if found.get((name, of)) is not case.expected[name, of]
    ]
    wrong += [f"{key}: not asked for" for key in found if key not in case.expected]
    if audit.holds is not all(case.expected.values()):
        wrong.append(f"the whole promise: {audit.holds} by tclose")
    return wrong


def judge_release(chance: random.Random) -> list[str] | None:
    """What is wrong with a release of a random table; None where tclose finds none."""
    import tclose

    rows = [row for _ in range(3) for row in make_table(chance)]
    k, t, method = (
        chance.randint(2, 4),
        chance.choice(["1/4", "1/3", "1/2"]),
        chance.choice(METHODS),
    )
    kind = chance.choice(["equal", "ordered", "numeric"])
    ill = {"role": "sensitive", "t": t, "distance": kind}
    policy = {"k": k, "columns": {"q": "quasi", "u": "quasi", "s": ill}}
    try:
        release = tclose.anonymize(as_table(rows), policy, method=method, effort=0.05)
    except tclose.UsageError:
        return None
    made = release.data.to_pylist()
    wrong = []
    if sorted(row["s"] for row in made) != sorted(row["s"] for row in rows):
        wrong.append(f"{method}: other sensitive values than before")
    for group in classes_of(made, ("q", "u")):
        if len(group) < k:
            wrong.append(f"{method}: a class of {len(group)}, k = {k}")
        if distance(group, made, "s", kind) > Fraction(t):
            wrong.append(f"{method}: farther than t = {t} by {kind}")
    return wrong


@dataclass(frozen=True)
class Tally:
    """What was judged so far, and what was wrong."""

    tables: int = 0
    verdicts: int = 0
    releases: int = 0
    wrong: tuple[str, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.tables + other.tables,
            self.verdicts + other.verdicts,
            self.releases + other.releases,
            self.wrong + other.wrong,
        )

    def __str__(self) -> str:
        return (
            f"{self.tables:,} tables, {self.verdicts:,} verdicts, "
            f"{self.releases:,} releases; {len(self.wrong):,} wrong"
        )


def judge_tables(seeds: range, engine: str = "arrow") -> Tally:
    """Judges a table for each seed."""
    make, verdicts, wrong = open_engine(engine), 0, []
    for seed in seeds:
        case = make_case(random.Random(seed))
        verdicts += len(case.expected)
        wrong += [f"table {seed}: {line}" for line in compare_verdicts(case, make)]
    return Tally(len(seeds), verdicts, 0, tuple(wrong))


def judge_releases(seeds: range) -> Tally:
    """Makes and judges a release for each seed."""
    found = {seed: judge_release(random.Random(f"release {seed}")) for seed in seeds}
    made = {seed: lines for seed, lines in found.items() if lines is not None}
    lines = tuple(f"release {seed}: {line}" for seed, each in made.items() for line in each)
    return Tally(releases=len(made), wrong=lines)


def split(first: int, count: int, size: int) -> list[range]:
    """So many seeds from the first on, a few at a time."""
    return [range(at, min(at + size, first + count)) for at in range(first, first + count, size)]


def main() -> int:
    """Runs what was asked for; 1 where tclose was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, default=2000, help="tables that are judged")
    parser.add_argument("--releases", type=int, default=0, help="releases that are made and judged")
    parser.add_argument("--seed", type=int, default=1, help="of the first table")
    parser.add_argument("--engine", default="arrow", choices=["arrow", "ibis", "spark"])
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which no more begin")
    parser.add_argument("--every", type=int, default=10_000, help="tables between two lines")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    end, tally = time.monotonic() + asked.seconds, Tally()
    tables = split(asked.seed, asked.tables, TABLES)
    releases = split(asked.seed, asked.releases, RELEASES)
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        if asked.engine != "arrow":  # engines have processes of their own
            results = map(partial(judge_tables, engine=asked.engine), tables)
        else:
            results = pool.imap_unordered(judge_tables, tables)
        for result in chain(results, pool.imap_unordered(judge_releases, releases)):
            shown, tally = tally.tables // asked.every, tally + result
            if result.wrong:
                print("\n".join(result.wrong), flush=True)
            if tally.tables // asked.every > shown:
                print(f"so far: {tally}", flush=True)
            if time.monotonic() > end:
                pool.terminate()
                break
    print(f"{asked.engine}: {tally}")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
