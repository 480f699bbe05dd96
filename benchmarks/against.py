"""The same jobs under two interpreters in turn: this tclose beside another revision's.

    python benchmarks/search.py --against ../other/.venv/bin/python

`search.py`, `lattice.py`, `scale.py` and `first_day.py` take `--against PYTHON`, the interpreter of
an environment in which another revision is installed, and then measure only this. Every job is a
call of `tclose.anonymize` or `tclose.audit` in a process of its own, first under this interpreter,
then under the other, and so on; in each process it is run once to warm up and then measured, a
short one again until two seconds have gone. Shown are the least processor seconds per unit (of
effort, or the whole job) and the loss, and the ratio of both: below 1 this revision is the better
one.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HEADING = f"{'job':44}{'CPU s':>9}{'other':>9}{'ratio':>7}{'loss':>9}{'other':>9}{'ratio':>7}"

ENOUGH = 2.0
"""Seconds after which a job is not measured again in the same process."""


@dataclass(frozen=True)
class Job:
    """A call that every revision understands: verb, file, policy, options; and its units."""

    name: str
    data: str
    policy: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    verb: str = "anonymize"
    suffix: str = ".csv"
    units: float = 1.0


def compare(jobs: Iterable[Job], other: Path, times: int = 3) -> None:
    """Runs every job so many times under both interpreters, in turn, and prints a line for each."""
    print(f"processor seconds per unit and loss, here and under {other}\n{HEADING}", flush=True)
    for job in jobs:
        found: list[list[dict[str, Any]]] = [[], []]
        for _ in range(times):
            for at, python in enumerate((Path(sys.executable), other)):
                found[at].append(_measure_under(python, job, is_other=at == 1))
        if found[0][0]["where"] == found[1][0]["where"]:
            sys.exit(f"{other} imports the same tclose as this interpreter: nothing to compare")
        seconds = [min(run["seconds"] for run in runs) / job.units for runs in found]
        losses = [runs[0]["loss"] for runs in found]
        print(
            f"{job.name:44}{seconds[0]:>9.3f}{seconds[1]:>9.3f}{seconds[0] / seconds[1]:>7.2f}"
            f"{losses[0]:>9.4f}{losses[1]:>9.4f}"
            f"{losses[0] / losses[1] if losses[1] else math.nan:>7.3f}",
            flush=True,
        )


def _measure_under(python: Path, job: Job, *, is_other: bool) -> dict[str, Any]:
    """What one process measured."""
    done = subprocess.run(
        [str(python), __file__, "--job"], input=json.dumps(asdict(job)),
        env=make_environment(is_other=is_other), stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{job.name}: {python} ended with status {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def make_environment(*, is_other: bool) -> dict[str, str]:
    """What a process is started in: a path to this revision's modules is not for the other."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    if is_other:
        environment.pop("PYTHONPATH", None)
    return environment


def _run(job: Job) -> dict[str, Any]:
    """The job, warm: processor seconds of all threads, the loss, and where tclose stands."""
    import tclose

    with tempfile.TemporaryDirectory(prefix="tclose-against-") as folder:
        options = dict(job.options)
        measured: list[float] = []
        while len(measured) < 2 or sum(measured[1:]) < ENOUGH:
            if job.verb == "anonymize":
                options["output"] = str(Path(folder) / f"{len(measured)}{job.suffix}")
            start = time.process_time()
            result = getattr(tclose, job.verb)(job.data, job.policy, **options)
            measured.append(time.process_time() - start)
    loss = result.loss.overall if hasattr(result, "loss") else math.nan
    where = str(Path(tclose.__file__).resolve())
    return {"seconds": min(measured[1:]), "loss": loss, "where": where}


if __name__ == "__main__":
    if sys.argv[1:] == ["--job"]:
        print(json.dumps(_run(Job(**json.load(sys.stdin)))))
    else:
        print("Run search.py, lattice.py, scale.py or first_day.py with --against PYTHON.")
