"""What analysts feel of a release: counts, a model's accuracy and associations, beside the loss.

    python benchmarks/analysts.py [--effort 4] [--rows 8000] [--adult DIR] [--methods auto mondrian]

Adult (occupation by the equal and the hierarchical distance, t = 0.2) and a made-up table, each
released by local recoding (`auto`), strict cuts (`mondrian`) and whole columns (`optimal`) under
the same promise, without and with a target (`search.target`). Measured by `tclose.measure`: the
median relative error of 1 000 random counts; accuracy and AUC of a gradient-boosted model that
learned from the released versions of two thirds of the rows and is tested on the other third as
they were (numbers by the middle of their interval, all else by indicators that a group or a set
shares out evenly); and how much Cramér's V of all pairs of columns changed, as a share of what it
was. Beside them the same model from raw rows, and the majority.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tclose
from search import make_up, occupation

UNASKED = ["ncp", "entropy", "squares", "reconstruction", "discernibility"]
Case = tuple[str, Any, dict[str, Any], str]


def main() -> None:
    """Prints a table per case, as it stands in measured.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=4.0)
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--adult", type=Path, default=None)
    parser.add_argument("--methods", nargs="+", default=["auto", "mondrian", "optimal"])
    parser.add_argument("--cases", nargs="*", default=[], help="words of which a case has one")
    asked = parser.parse_args()
    adult = asked.adult or Path(os.environ.get("TCLOSE_ADULT", "../shared/data/adult"))
    for name, table, policy, target in list_cases(adult, asked.rows):
        if asked.cases and not any(word in name for word in asked.cases):
            continue
        print(f"\n{name}; to be learned: {target}", flush=True)
        print("| method | loss | classes | error of counts | accuracy | AUC | V changed | "
              "V with the target changed |")  # fmt: skip
        print("|---|---|---|---|---|---|---|---|", flush=True)
        raw: dict[str, float] = {}
        for method in asked.methods:
            for aim in (None, target):
                release, found = judge(table, policy, target, method, aim, asked.effort)
                learned = raw = dict(found["learning"].numbers)
                kept = found["associations"]
                words = f"`{method}`" + (", target" if aim else "")
                print(
                    f"| {words} | {release.loss.overall:.3f} | {release.classes:,} | "
                    f"{found['query-error'].overall:.3f} | "
                    f"{learned['boosted, release: accuracy']:.4f} | "
                    f"{learned['boosted, release: AUC']:.4f} | {kept.overall:.3f} | "
                    f"{kept.numbers['with the target']:.3f} |",
                    flush=True,
                )
        print(f"| raw rows | 0 | | 0 | {raw['boosted, raw: accuracy']:.4f} | "
              f"{raw['boosted, raw: AUC']:.4f} | 0 | 0 |")  # fmt: skip
        print(f"| the majority | 1 | | | {raw['majority']:.4f} | 0.5 | 1 | 1 |", flush=True)


def judge(
    table: Any, policy: dict[str, Any], target: str, method: str, aim: str | None, effort: float
) -> tuple[tclose.Release, tclose.Utility]:
    """A release by a method, and what it is still good for."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "release.parquet"
        release = tclose.anonymize(
            table, policy, method=method, effort=effort, target=aim, output=output
        )
        found = tclose.measure(
            original=table, release=release, target=target, without=UNASKED, effort=100.0
        )
    return release, found


def list_cases(adult: Path, rows: int) -> Iterator[Case]:
    """Tables with their policies, and what is to be learned from them."""
    if (adult / "adult.csv").exists():
        for distance in ("equal", "hierarchical"):
            policy = occupation(adult, distance, "0.2")
            name = f"Adult, occupation, {distance} t = 0.2, k = 5"
            yield name, adult / "adult.csv", policy, "salary-class"
    else:
        print("The Adult data is not here (--adult DIR or TCLOSE_ADULT).")
    table, policy = make_up(rows=rows, columns=6, values=40, kinds=8, bent=0.3, t="0.25")
    random = np.random.default_rng(7)
    score = table["q0"].to_numpy() + 0.5 * table["q1"].to_numpy() + random.normal(0, 8, rows)
    bought = np.where(score > np.quantile(score, 0.7), "yes", "no")
    columns = {**policy["columns"], "bought": "insensitive"}
    name = f"made up, {rows:,} rows, six numbers, eight values, equal t = 0.25, k = 5"
    yield (
        name,
        table.append_column("bought", pa.array(bought)),
        policy | {"columns": columns},
        "bought",
    )


if __name__ == "__main__":
    main()
