"""Runs one Python peer on Adult, in an environment that has it: python run_peer.py NAME ADULT OUT

Writes what it found: for each row the class that it is released in (−1: left out), or what an audit
says; and the processor seconds of the call alone.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

SENSITIVE, K, T = "education", 5, 0.2


def read(adult: Path) -> tuple[pd.DataFrame, list[str]]:
    table = pd.read_csv(adult / "adult.csv", sep=None, engine="python", dtype=str)
    names = sorted(path.stem.removeprefix("adult_hierarchy_") for path in adult.glob("*_hier*.csv"))
    return table[names], [name for name in names if name != SENSITIVE]


def run_anonypyx(table: pd.DataFrame, quasi: list[str], adult: Path) -> dict[str, Any]:
    import anonypyx

    frame = table.astype("category")
    asked = anonypyx.Anonymiser(
        frame, k=K, t=T, algorithm="Mondrian", feature_columns=quasi, sensitive_column=SENSITIVE,
        closeness_metric="earth mover's distance",
    )  # fmt: skip
    begun = time.process_time()
    parts = asked.algorithm.partition(asked.parameters)
    seconds = time.process_time() - begun
    label = pd.Series(-1, index=frame.index)
    for at, part in enumerate(parts):
        label.loc[list(part)] = at
    return {"seconds": seconds, "label": label.tolist()}


def run_anjana(table: pd.DataFrame, quasi: list[str], adult: Path) -> dict[str, Any]:
    from anjana.anonymity import t_closeness

    trees = {}
    for name in quasi:
        levels = pd.read_csv(adult / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
        trees[name] = {level: levels[level].to_numpy() for level in levels}
    begun = time.process_time()
    found = t_closeness(table.copy(), [], quasi, SENSITIVE, K, T, 0, trees)
    seconds = time.process_time() - begun
    label = pd.Series(-1, index=table.index)
    label.loc[found.index] = found.groupby(quasi, sort=False).ngroup()
    return {"seconds": seconds, "label": label.tolist()}


def run_pycanon(table: pd.DataFrame, quasi: list[str], adult: Path) -> dict[str, Any]:
    from pycanon import anonymity

    begun = time.process_time()
    k = anonymity.k_anonymity(table, quasi)
    t = anonymity.t_closeness(table, quasi, [SENSITIVE])
    return {"seconds": time.process_time() - begun, "k": int(k), "t": float(t)}


if __name__ == "__main__":
    name, folder, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    frame, columns = read(folder)
    answer = {"anonypyx": run_anonypyx, "anjana": run_anjana, "pycanon": run_pycanon}[name](
        frame, columns, folder
    )
    target.write_text(json.dumps({"version": version(name), **answer}), encoding="utf-8")
