"""Searches under promises that others published results for, and writes both into the page.

    python benchmarks/peers/compare.py --adult FOLDER [--effort 20] [--only-page]

Adult is searched under the configurations of P4's evaluation (published.json says where ARX's
numbers are from); what comes out is kept in results.json, and docs/explanation/peers.md is written
anew from it. `--only-page` measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PUBLISHED, RESULTS = HERE / "published.json", HERE / "results.json"
PAGE = ROOT / "docs" / "explanation" / "peers.md"
COLUMNS = "sex age race marital-status education native-country workclass occupation salary-class"
SENSITIVE = "education"
BEGIN, END = "<!-- numbers -->", "<!-- end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--adult", type=Path, default=os.environ.get("TCLOSE_ADULT"))
    parser.add_argument("--effort", type=float, default=20.0)
    parser.add_argument("--only-page", action="store_true")
    chosen = parser.parse_args()
    if not chosen.only_page:
        if chosen.adult is None:
            parser.error("where is Adult? Name its folder with --adult")
        search_published(Path(chosen.adult), chosen.effort)
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


def search_published(adult: Path, effort: float) -> None:
    import tclose

    for configuration in json.loads(PUBLISHED.read_text(encoding="utf-8"))["configurations"]:
        begun = time.process_time()
        policy = make_policy(adult.resolve(), configuration)
        release = tclose.anonymize(adult / "adult.csv", policy, effort=effort)
        found = {
            "granularity": round(1 - release.loss.overall, 4),
            "seconds": round(time.process_time() - begun, 1),
            "classes": release.classes,
            "holds": release.holds,
            "rows": release.audit.rows,
            "effort": effort,
        }
        record(configuration["name"], found)


def tabulate_published(results: dict[str, Any]) -> str:
    lines = [
        "| promise | ARX, local | ARX, columns | tclose | classes | ARX, s | tclose, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for configuration in json.loads(PUBLISHED.read_text(encoding="utf-8"))["configurations"]:
        ours = results.get(configuration["name"])
        if ours is None:
            continue
        local, whole = configuration["local"], configuration["global"]
        lines.append(
            f"| {configuration['name']} | {local['granularity']:.3f} | {whole['granularity']:.3f} "
            f"| {ours['granularity']:.3f} | {ours['classes']:,} | {local['seconds']:.1f} "
            f"| {ours['seconds']:.0f} |"
        )
    return "\n".join(lines)


def fill(text: str, results: dict[str, Any]) -> str:
    """The page with its table made anew."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tabulate_published(results)}\n{END}{tail}"


def write_page() -> None:
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read_results()), encoding="utf-8")


if __name__ == "__main__":
    main()
