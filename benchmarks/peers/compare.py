"""Searches under promises that others published results for, and writes both into the page.

    python benchmarks/peers/compare.py --adult FOLDER [--effort 20] [--only-page | --only-python]

Adult is searched under the configurations of P4's evaluation (published.json says where ARX's
numbers are from), those of closeness also with k = 5. Python peers are installed from PyPI, each
into an environment of its own under build/peers, and run on the same table (run_peer.py); their
classes are judged and measured here. What comes out is kept in results.json, and
docs/explanation/peers.md is written anew from it. `--only-page` measures nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PUBLISHED, RESULTS = HERE / "published.json", HERE / "results.json"
PAGE = ROOT / "docs" / "explanation" / "peers.md"
COLUMNS = "sex age race marital-status education native-country workclass occupation salary-class"
SENSITIVE = "education"
BEGIN, END = "<!-- {} -->", "<!-- end of {} -->"
PEERS = ("anonypyx", "anjana", "pycanon")
FIVE = "{}, and k = 5"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--adult", type=Path, default=os.environ.get("TCLOSE_ADULT"))
    parser.add_argument("--effort", type=float, default=20.0)
    parser.add_argument("--only-page", action="store_true", help="measure nothing")
    parser.add_argument("--only-python", action="store_true", help="measure the Python peers")
    parser.add_argument("--environments", type=Path, default=ROOT / "build" / "peers")
    chosen = parser.parse_args()
    if not chosen.only_page:
        if chosen.adult is None:
            parser.error("where is Adult? Name its folder with --adult")
        adult = Path(chosen.adult).resolve()
        if not chosen.only_python:
            search_published(adult, chosen.effort)
        for name in PEERS:
            run_peer(name, adult, chosen.environments.resolve())
        run_ourselves(adult, chosen.effort)
    write_page()


def read_results() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else {}


def record(name: str, found: dict[str, Any]) -> None:
    results = {**read_results(), name: found}
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(name, found, flush=True)


def make_policy(adult: Path, configuration: dict[str, Any]) -> dict[str, Any]:
    """The configuration as a policy: every other column with its hierarchy, and nothing more."""
    columns: dict[str, Any] = {
        name: {"role": "quasi", "hierarchy": str(adult / f"adult_hierarchy_{name}.csv")}
        for name in COLUMNS.split()
    }
    promised = {key: configuration[key] for key in ("l", "t") if key in configuration}
    if promised:
        columns[SENSITIVE] = {"role": "sensitive", "distance": "equal", **promised}
    policy = {"columns": columns}
    return policy | ({"k": configuration["k"]} if "k" in configuration else {})


def search(adult: Path, configuration: dict[str, Any], effort: float) -> dict[str, Any]:
    """What tclose finds under a configuration."""
    import tclose

    begun = time.process_time()
    policy = make_policy(adult, configuration)
    release = tclose.anonymize(adult / "adult.csv", policy, effort=effort)
    return {
        "granularity": round(1 - release.loss.overall, 4),
        "seconds": round(time.process_time() - begun, 1),
        "classes": release.classes,
        "holds": release.holds,
        "rows": release.audit.rows,
        "effort": effort,
    }


def search_published(adult: Path, effort: float) -> None:
    for configuration in json.loads(PUBLISHED.read_text(encoding="utf-8"))["configurations"]:
        name = configuration["name"]
        record(name, search(adult, configuration, effort))
        if "t" in configuration:
            record(FIVE.format(name), search(adult, {**configuration, "k": 5}, effort))


def install(name: str, environments: Path) -> Path:
    """An environment with a peer; its interpreter."""
    place = environments / name
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        command = "-m pip --quiet --disable-pip-version-check install".split()
        subprocess.run([python, *command, name], check=True)
    return python


def run_peer(name: str, adult: Path, environments: Path) -> None:
    """Runs a peer in its environment, and judges its classes by the promise."""
    python = install(name, environments)
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "answer.json"
        subprocess.run([python, HERE / "run_peer.py", name, adult, told], check=True)
        answer = json.loads(told.read_text(encoding="utf-8"))
    found = {"version": answer["version"], "seconds": round(answer["seconds"], 1)}
    if "label" in answer:
        found |= judge_classes(adult, answer["label"])
    else:
        found |= {"k": answer["k"], "t": round(answer["t"], 6)}
    record(name, found)


def judge_classes(adult: Path, label: list[int]) -> dict[str, Any]:
    """Counts classes from scratch: the least of them, the farthest from the table, and the
    granularity where each is released by the narrowest groups that cover it, or by sets."""
    from tclose.hierarchy import arx

    with (adult / "adult.csv").open(encoding="utf-8", newline="") as file:
        sample = file.read(4096)
        file.seek(0)
        table = list(csv.DictReader(file, delimiter=csv.Sniffer().sniff(sample).delimiter))
    rows: dict[int, list[dict[str, str]]] = defaultdict(list)
    for row, number in zip(table, label, strict=True):
        if number >= 0:
            rows[number].append(row)
    everybody = Counter(row[SENSITIVE] for members in rows.values() for row in members)
    whole = everybody.total()
    farthest = Fraction(0)
    for members in rows.values():
        here = Counter(row[SENSITIVE] for row in members)
        off = sum(
            (abs(Fraction(here[v], len(members)) - Fraction(everybody[v], whole))
             for v in everybody), Fraction(0),
        )  # fmt: skip
        farthest = max(farthest, off / 2)
    names = [name for name in COLUMNS.split() if name != SENSITIVE]
    lost = sets = float((len(table) - whole) * len(names))
    for name in names:
        tree = arx.read(adult / f"adult_hierarchy_{name}.csv", name)
        domain = len({row[name] for row in table})
        for members in rows.values():
            values = {row[name] for row in members}
            top = tree.lca_of_labels(sorted(values))
            below = int(tree.size_below[tree.find([top])[0]])
            lost += len(members) * (below - 1) / max(tree.leaf_count - 1, 1)
            sets += len(members) * (len(values) - 1) / max(domain - 1, 1)
    return {
        "classes": len(rows),
        "rows": whole,
        "k": min(map(len, rows.values())),
        "t": round(float(farthest), 6),
        "granularity": round(1 - lost / len(table) / len(names), 4),
        "sets": round(1 - sets / len(table) / len(names), 4),
    }


def run_ourselves(adult: Path, effort: float) -> None:
    """The same audit as pyCANON's, and the same release as the others', judged alike."""
    import tclose

    policy = make_policy(adult, {"k": 5, "t": "0.2"})
    begun = time.process_time()
    audit = tclose.audit(adult / "adult.csv", policy)
    seconds = round(time.process_time() - begun, 1)
    (closeness,) = [each for each in audit.requirements if each.attribute == SENSITIVE]
    farthest = round(float(closeness.achieved), 6)
    record("audit", {"k": audit.k, "t": farthest, "seconds": seconds})
    begun = time.process_time()
    kept = {**policy, "release": {"rows": "keep"}}
    release = tclose.anonymize(adult / "adult.csv", kept, effort=effort)
    seconds = round(time.process_time() - begun, 1)
    quasi = [name for name in release.data.column_names if name != SENSITIVE]
    number: dict[Any, int] = {}
    label = [
        number.setdefault(values, len(number))
        for values in zip(*(release.data.column(name).to_pylist() for name in quasi), strict=True)
    ]
    record("release", {"seconds": seconds, **judge_classes(adult, label)})


def tabulate_published(results: dict[str, Any]) -> str:
    lines = [
        "| promise | ARX, local | ARX, columns | tclose | and k = 5 | classes "
        "| ARX, s | tclose, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for configuration in json.loads(PUBLISHED.read_text(encoding="utf-8"))["configurations"]:
        ours = results.get(configuration["name"])
        if ours is None:
            continue
        five = results.get(FIVE.format(configuration["name"]), {}).get("granularity")
        local, whole = configuration["local"], configuration["global"]
        lines.append(
            f"| {configuration['name']} | {local['granularity']:.3f} | {whole['granularity']:.3f} "
            f"| {ours['granularity']:.3f} | {'' if five is None else f'{five:.3f}'} "
            f"| {ours['classes']:,} | {local['seconds']:.1f} | {ours['seconds']:.0f} |"
        )
    return "\n".join(lines)


def tabulate_python(results: dict[str, Any]) -> str:
    lines = [
        "| tool | classes | smallest | farthest | granularity | as sets | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, key in (("anonypyx", "anonypyx"), ("ANJANA", "anjana"), ("tclose", "release")):
        if key in results:
            found = results[key]
            told = f"{name} {found.get('version', '')}".strip()
            lines.append(
                f"| {told} | {found['classes']:,} | {found['k']:,} rows | {found['t']:.4f} "
                f"| {found['granularity']:.3f} | {found['sets']:.3f} | {found['seconds']:.0f} |"
            )
    return "\n".join(lines)


def tabulate_audits(results: dict[str, Any]) -> str:
    lines = ["| tool | k | t | CPU s |", "|---|---|---|---|"]
    for name, key in (("pyCANON", "pycanon"), ("tclose", "audit")):
        if key in results:
            found = results[key]
            told = f"{name} {found.get('version', '')}".strip()
            lines.append(f"| {told} | {found['k']} | {found['t']:.6f} | {found['seconds']:.1f} |")
    return "\n".join(lines)


TABLES = {
    "published": tabulate_published, "python": tabulate_python, "audits": tabulate_audits,
}  # fmt: skip


def fill(text: str, results: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    for name, tabulate in TABLES.items():
        head, _, rest = text.partition(BEGIN.format(name))
        _, _, tail = rest.partition(END.format(name))
        text = f"{head}{BEGIN.format(name)}\n{tabulate(results)}\n{END.format(name)}{tail}"
    return text


def write_page() -> None:
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_results()), encoding="utf-8")


if __name__ == "__main__":
    main()
