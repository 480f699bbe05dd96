"""The same jobs under two interpreters in turn: this tclose beside another revision's.

    python benchmarks/search.py --against ../other/.venv/bin/python

`search.py`, `lattice.py`, `scale.py` and `first_day.py` take `--against PYTHON`, the interpreter of
an environment in which another revision is installed, and then measure only this. Every job is a
call of `tclose.anonymize` or `tclose.audit` in a process of its own, first under this interpreter,
then under the other, and so on; in each process it is run once to warm up and then measured, a
short one again until two seconds have gone. Shown are the least processor seconds per unit (of
effort, or the whole job) and the loss, and the ratio of both: below 1 this revision is the better
one.

A unit of effort is not the same amount of work in every revision. So `search.py` gives searches the
same processor time instead (`compare_at_equal_time`): the other revision at its effort, medians
over seeds; what this one loses within no more processor time; and the least processor time in which
it loses no more, as far as tried.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

HEADING = f"{'job':44}{'CPU s':>9}{'other':>9}{'ratio':>7}{'loss':>9}{'other':>9}{'ratio':>7}"

EQUAL_HEADING = (
    f"{'case':34}{'other: CPU s':>14}{'loss':>8}{'here, CPU s':>13}{'loss':>8}{'ratio':>7}"
    f"{'CPU s to its loss':>19}{'ratio':>7}"
)
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)
"""Of the other revision's processor seconds: the efforts that are tried here."""
WARMING = 0.1
"""The effort of the run that only warms up."""
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
    efforts: tuple[float, ...] = ()
    """Those of a search that is measured once with each of them."""


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


def compare_at_equal_time(jobs: Iterable[Job], other: Path, seeds: Sequence[int]) -> None:
    """Searches under both interpreters, in about the same processor time, a line for each."""
    print(f"medians over seeds {list(seeds)}, here and under {other}\n{EQUAL_HEADING}", flush=True)
    for job in jobs:
        ((seconds, loss),) = _take_medians(other, job, seeds, is_other=True)
        here = replace(job, efforts=tuple(share * seconds for share in SHARES))
        tried = _take_medians(Path(sys.executable), here, seeds, is_other=False)
        used, found = max((run for run in tried if run[0] <= seconds), default=(math.nan, math.nan))
        reached = min((run[0] for run in tried if run[1] <= loss), default=math.nan)
        print(
            f"{job.name:34}{seconds:>14.2f}{loss:>8.4f}{used:>13.2f}{found:>8.4f}"
            f"{found / loss:>7.3f}{reached:>19.2f}{reached / seconds:>7.2f}",
            flush=True,
        )


def _take_medians(
    python: Path, job: Job, seeds: Sequence[int], *, is_other: bool
) -> list[tuple[float, float]]:
    """By effort: the medians over some seeds of processor seconds and of losses."""
    seeded = [replace(job, options=job.options | {"seed": seed}) for seed in seeds]
    runs = [_measure_under(python, each, is_other=is_other)["runs"] for each in seeded]
    return [
        (statistics.median(run[0] for run in same), statistics.median(run[1] for run in same))
        for same in zip(*runs, strict=True)
    ]


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

        def call(**more: float) -> tuple[float, float]:
            options = job.options | more
            if job.verb == "anonymize":
                options["output"] = str(Path(folder) / f"release{job.suffix}")
            start = time.process_time()
            result = getattr(tclose, job.verb)(job.data, job.policy, **options)
            seconds = time.process_time() - start
            return seconds, result.loss.overall if hasattr(result, "loss") else math.nan

        call(**({"effort": WARMING} if job.efforts else {}))
        runs = [call(effort=effort) for effort in job.efforts] or [call()]
        while not job.efforts and sum(seconds for seconds, _ in runs) < ENOUGH:
            runs.append(call())
    where = str(Path(tclose.__file__).resolve())
    return {"seconds": min(runs)[0], "loss": runs[0][1], "runs": runs, "where": where}


if __name__ == "__main__":
    if sys.argv[1:] == ["--job"]:
        print(json.dumps(_run(Job(**json.load(sys.stdin)))))
    else:
        print("Run search.py, lattice.py, scale.py or first_day.py with --against PYTHON.")
