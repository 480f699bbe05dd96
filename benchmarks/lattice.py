"""How long full-domain searches take on Adult, beside the reference tool; and a huge lattice.

    python benchmarks/lattice.py [--adult DIR] [--arx JAR] [--seconds 10] [--skip-large]
    python benchmarks/lattice.py --against PYTHON    (see against.py)

Prints what it measured, warm and without reading or writing: all 2 160 nodes judged one by one,
the least loss without and with 5 % of the rows left out, and Incognito. With `--arx` a small
driver is compiled against that jar (`javac` and `java` must be there) and the same optimum is
searched for by the reference tool in its own process, warm as well. Its classes are compared with
the whole table, so ours are too in the rows marked `table`; the others compare with the released
rows, as a release must. Then 15 quasi-identifiers with more than 10 000 000 nodes: what is found
in a few seconds, how far from optimal it may be, and the memory that takes.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from against import Job, compare

import tclose
from search import occupation
from tclose.search import Budget, problem_of
from tclose.search.full_domain.incognito import minimal_nodes
from tclose.search.full_domain.optimal import optimal
from tclose.search.full_domain.rollup import Domain
from tclose.search.outcome import Clock

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
CASES = [("equal", "0.2"), ("equal", "0.15"), ("hierarchical", "0.2"), ("hierarchical", "0.15")]
FEW = Fraction(1, 20)

DRIVER = """
import java.io.File;
import java.nio.charset.StandardCharsets;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.HierarchicalDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

public class SideBySide {
    static Hierarchy tree(String folder, String name) throws Exception {
        File file = new File(folder, "adult_hierarchy_" + name + ".csv");
        return Hierarchy.create(file, StandardCharsets.UTF_8, ';');
    }

    public static void main(String[] given) throws Exception {
        String folder = given[0];
        double t = Double.parseDouble(given[2]);
        double left = Double.parseDouble(given[3]);
        double least = Double.MAX_VALUE;
        String found = "";
        for (int run = 0; run < 6; run++) {
            Data data = Data.create(new File(folder, "adult.csv"), StandardCharsets.UTF_8, ';');
            for (int at = 4; at < given.length; at++) {
                data.getDefinition().setAttributeType(given[at], tree(folder, given[at]));
            }
            data.getDefinition().setAttributeType(
                "occupation", AttributeType.SENSITIVE_ATTRIBUTE);
            data.getDefinition().setAttributeType(
                "salary-class", AttributeType.INSENSITIVE_ATTRIBUTE);
            ARXConfiguration config = ARXConfiguration.create();
            config.addPrivacyModel(new KAnonymity(5));
            if (given[1].equals("equal")) {
                config.addPrivacyModel(new EqualDistanceTCloseness("occupation", t));
            } else {
                config.addPrivacyModel(new HierarchicalDistanceTCloseness(
                    "occupation", t, tree(folder, "occupation")));
            }
            config.setSuppressionLimit(left);
            config.setQualityModel(
                Metric.createLossMetric(0.5d, AggregateFunction.ARITHMETIC_MEAN));
            ARXResult result = new ARXAnonymizer().anonymize(data, config);
            least = Math.min(least, result.getTime() / 1000d);
            int[] levels = result.getGlobalOptimum().getTransformation();
            String[] names = result.getGlobalOptimum().getQuasiIdentifyingAttributes();
            StringBuilder text = new StringBuilder();
            for (String name : java.util.Arrays.copyOfRange(given, 4, given.length)) {
                text.append(levels[java.util.Arrays.asList(names).indexOf(name)]);
            }
            found = text.toString();
        }
        System.out.println("measured " + least + " " + found);
    }
}
"""


def main() -> None:
    """Runs every part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", type=Path, default=None)
    parser.add_argument("--arx", type=Path, default=None, help="jar of the reference tool")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--skip-large", action="store_true")
    parser.add_argument("--against", type=Path, help="the interpreter of another revision")
    asked = parser.parse_args()
    adult = asked.adult or Path(os.environ.get("TCLOSE_ADULT", "../shared/data/adult"))
    if asked.against:
        compare(list_jobs(adult), asked.against)
        return
    reason = unusable(asked.arx)
    if (adult / "adult.csv").exists():
        with tempfile.TemporaryDirectory() as folder:
            on_adult(adult, None if reason else driver(asked.arx, Path(folder)))
    else:
        print("The Adult data is not here (--adult DIR or TCLOSE_ADULT); not measured.")
    if reason:
        print(f"\n{reason}")
    if not asked.skip_large:
        huge(asked.seconds)


def list_jobs(adult: Path) -> Iterator[Job]:
    """The searches for the least loss as calls; each ends with the optimum."""
    for distance, t in CASES:
        policy = occupation(adult, distance, t, QUASI)
        for method, share in (("optimal", 0.0), ("optimal", 0.05), ("incognito", 0.0)):
            options = {"method": method, "suppression": share, "seed": 1}
            name = f"{distance} t={t}, {method}" + (", 5 % left out" if share else "")
            yield Job(name, str(adult / "adult.csv"), policy, options)


def unusable(jar: Path | None) -> str:
    """Why the reference tool cannot be run; empty where it can."""
    if jar is None:
        return "The reference tool was not run: name its jar with --arx JAR."
    if not jar.is_file():
        return f"The reference tool was not run: there is no file {jar}."
    missing = [tool for tool in ("javac", "java") if shutil.which(tool) is None]
    return f"The reference tool was not run: {missing[0]} is not installed." if missing else ""


def driver(jar: Path, folder: Path) -> Callable[..., tuple[float, str]]:
    """Compiles the driver; what it returns runs one case: best seconds of six, and the levels."""
    source = folder / "SideBySide.java"
    source.write_text(DRIVER)
    path = os.pathsep.join([str(jar.resolve()), str(folder)])
    subprocess.run(["javac", "-cp", path, "-d", str(folder), str(source)], check=True)

    def run(adult: Path, distance: str, t: str, share: Fraction) -> tuple[float, str]:
        call = ["java", "-cp", path, "SideBySide", str(adult), distance, t, str(float(share))]
        told = subprocess.run([*call, *QUASI], check=True, capture_output=True, text=True).stdout
        line = next(one for one in told.splitlines() if one.startswith("measured"))
        return float(line.split()[1]), line.split()[2]

    return run


def on_adult(adult: Path, other: Callable[..., tuple[float, str]] | None) -> None:
    """Adult, k = 5, occupation sensitive, seven hierarchies."""
    print("Adult, k = 5, occupation sensitive; seconds are the best of five, warm, search only")
    heading = (
        "case",
        "what",
        "s",
        "CPU s",
        "nodes",
        "classes",
        "loss",
        "gap",
        "reference s",
        "ratio",
    )
    print("{:20}{:26}{:>7}{:>7}{:>7}{:>9}{:>8}{:>6}{:>13}{:>7}".format(*heading))
    for distance, t in CASES:
        policy = occupation(adult, distance, t, QUASI)
        problem = problem_of(tclose.check(adult / "adult.csv", policy))
        case = f"{distance} t={t}"
        took, busy, nodes = timed(lambda p=problem: every_node(p))
        print(f"{case:20}{'all nodes, one by one':26}{took:>7.3f}{busy:>7.3f}{nodes:>7,}")
        took, busy, minimal = timed(lambda p=problem: minimal_nodes(p, Budget()))
        what = f"incognito, {len(minimal.nodes)} minimal"
        print(f"{case:20}{what:26}{took:>7.3f}{busy:>7.3f}{minimal.judged:>7,}")
        for share, reference in ((0, "released"), (FEW, "table"), (FEW, "released")):
            budget = Budget(suppression=Fraction(share))
            took, busy, found = timed(
                lambda p=problem, b=budget, r=reference: optimal(p, b, reference=r)
            )
            what = "least loss" + (f", 5 % {reference}" if share else "")
            line = f"{case:20}{what:26}{took:>7.3f}{busy:>7.3f}{'':>7}{found.classes:>9}"
            line += f"{found.loss:>8.4f}{found.gap:>6.0%}"
            if other is not None and (not share or reference == "table"):
                theirs, levels = other(adult, distance, t, Fraction(share))
                same = levels == "".join(map(str, levels_in_order(problem, found.levels)))
                line += f"{theirs:>13.3f}{theirs / took:>7.1f}"
                line += "" if same else f"  other levels: {levels}"
            print(line, flush=True)


def every_node(problem: Any) -> int:
    """Judges all nodes of the lattice, none inferred from another; how many there are."""
    domain = Domain(problem, Clock(Budget()))
    for node in domain.lattice.nodes():
        domain.look(node)
    return domain.looks


def levels_in_order(problem: Any, levels: tuple[int, ...]) -> list[int]:
    named = dict(zip((column.name for column in problem.columns), levels, strict=True))
    return [named[name] for name in QUASI]


def huge(seconds: float) -> None:
    """Fifteen quasi-identifiers with hierarchies of three levels: 14 348 907 nodes."""
    chance = np.random.default_rng(1)
    rows, names = 20_000, [f"q{at}" for at in range(15)]
    kind = chance.integers(0, 4, rows)
    table: dict[str, Any] = {}
    for at, name in enumerate(names):
        drawn = np.where(chance.random(rows) < 0.7, (kind + at) % 9, chance.integers(0, 9, rows))
        table[name] = [f"v{one}" for one in drawn]
    table["ill"] = [f"i{one}" for one in (kind + chance.integers(0, 5, rows)) % 7]
    groups = {f"g{g}": [f"v{g * 3 + at}" for at in range(3)] for g in range(3)}
    columns: dict[str, Any] = {
        name: {"role": "quasi", "hierarchy": {"groups": groups}} for name in names
    }
    columns["ill"] = {"role": "sensitive", "t": 0.25, "distance": "equal"}
    problem = problem_of(tclose.check(pa.table(table), {"k": 5, "columns": columns}))
    print(f"\n15 quasi-identifiers, {3**15:,} nodes, {rows:,} rows; within {seconds:g} s")
    print(f"{'left out':>9}{'s':>8}{'loss':>8}{'bound':>8}{'gap':>6}{'classes':>9}{'peak MB':>9}")
    for share in (Fraction(0), FEW):
        start = time.perf_counter()
        found = optimal(problem, Budget(seconds=seconds, suppression=share))
        took = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{float(share):>9.0%}{took:>8.2f}{found.loss:>8.4f}{found.bound:>8.4f}"
            f"{found.gap:>6.0%}{found.classes:>9,}{peak:>9,.0f}",
            flush=True,
        )


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the fastest of five runs after one that warms up, by the clock and of the
    processor (the same, unless something else is running), and what it found."""
    found = work()
    best, least = float("inf"), float("inf")
    for _ in range(5):
        start, begun = time.perf_counter(), time.process_time()
        found = work()
        best = min(best, time.perf_counter() - start)
        least = min(least, time.process_time() - begun)
    return best, least, found


if __name__ == "__main__":
    main()
