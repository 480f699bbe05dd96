"""What a steward's first day costs: every command on a messy hospital export.

    python benchmarks/first_day.py [--rows 20000 1000000] [--effort 20] [--against PYTHON]

Makes the table of tests/first_day (record numbers, names, dates, codes, costs to the cent, notes)
and prints the processor seconds, of user and system, and the most memory of `init`, `audit`,
`anonymize`, `attack` and of `anonymize` with a report, each a process of its own with three
sensitive columns. `--against` runs the same under the interpreter of an environment in which
another revision is installed, and prints both and their ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from against import make_environment

ROOT = Path(__file__).resolve().parents[1]
POLICY = """
k = 5
[columns]
MRN = "identifier"
patient_name = "identifier"
notes = "identifier"
admitted = "identifier"
dob = { role = "quasi", hierarchy = { dates = ["month", "year", "decade"] } }
zip = { role = "quasi", hierarchy = { prefix = [4, 3, 2, 0] } }
sex = "quasi"
cost = { role = "sensitive", t = 0.3 }
primary_dx = { role = "sensitive", t = 0.4 }
deceased = { role = "sensitive", t = 0.4 }
"""


class Spent(NamedTuple):
    """What a process took."""

    user: float
    system: float
    gigabytes: float

    @property
    def seconds(self) -> float:
        return self.user + self.system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 1_000_000])
    parser.add_argument("--effort", type=float, default=20.0)
    parser.add_argument("--against", type=Path, help="the interpreter of another revision")
    chosen = parser.parse_args()
    print(f"{'rows':>10} {'command':24}{'user s':>9}{'system s':>9}{'GB':>6}", end="")
    print(f"{'other s':>9}{'GB':>6}{'ratio':>7}" if chosen.against else "", flush=True)
    with tempfile.TemporaryDirectory(prefix="tclose-first-day-") as name:
        for rows in chosen.rows:
            folder = Path(name) / str(rows)
            make_table(folder, rows)
            for label, arguments in list_commands(folder, chosen.effort):
                here = spend(Path(sys.executable), arguments, folder, is_other=False)
                line = f"{rows:>10,} {label:24}{here.user:>9.1f}{here.system:>9.1f}"
                line += f"{here.gigabytes:>6.2f}"
                if chosen.against:
                    other = spend(chosen.against, arguments, folder, is_other=True)
                    line += f"{other.seconds:>9.1f}{other.gigabytes:>6.2f}"
                    line += f"{here.seconds / other.seconds:>7.2f}"
                print(line, flush=True)


def make_table(folder: Path, rows: int) -> None:
    """The messy hospital with dates as ISO writes them, which every revision reads."""
    sys.path.insert(0, str(ROOT / "tests" / "first_day"))
    from conftest import make_messy

    folder.mkdir(parents=True)
    table = make_messy(rows)
    day = table["dob"]
    table = table.assign(dob=day.str[6:] + "-" + day.str[:2] + "-" + day.str[3:5])
    table.to_csv(folder / "hospital.csv", index=False)
    (folder / "policy.toml").write_text(POLICY)


def list_commands(folder: Path, effort: float) -> Iterator[tuple[str, list[str]]]:
    """The commands of the day; what they write is overwritten."""
    table, policy, out = "hospital.csv", ["--policy", "policy.toml"], "release.csv"
    work = ["--effort", str(effort)]
    yield "init", ["init", table, "-o", "draft.toml", "--force"]
    yield "audit", ["audit", table, *policy]
    yield "anonymize", ["anonymize", table, *policy, "-o", out, *work]
    yield "attack", ["attack", out, *policy, "--original", table]
    report = ["--report", "report.html"]
    yield "anonymize with report", ["anonymize", table, *policy, "-o", "again.csv", *work, *report]


def spend(python: Path, arguments: list[str], folder: Path, *, is_other: bool) -> Spent:
    """What a command takes; the verdict of an audit (exit code 1) is no failure."""
    for written in ("release.csv", "again.csv", "report.html"):
        if written in arguments and arguments[0] == "anonymize":
            (folder / written).unlink(missing_ok=True)
    said = folder / "said.txt"
    with said.open("wb") as errors:
        process = subprocess.Popen(
            [str(python), "-m", "tclose", *arguments], cwd=folder,
            env=make_environment(is_other=is_other), stdout=subprocess.DEVNULL, stderr=errors,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
    verdicts = (0, 1) if arguments[0] == "audit" else (0,)
    if (code := os.waitstatus_to_exitcode(status)) not in verdicts:
        words = said.read_text(encoding="utf-8", errors="replace")
        sys.exit(f"{words}\n{arguments[0]}: {python} ended with exit code {code}")
    return Spent(used.ru_utime, used.ru_stime, used.ru_maxrss / 1e6)


if __name__ == "__main__":
    main()
