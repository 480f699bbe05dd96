"""How long tclose takes to start, in an environment that has never run it.

    python benchmarks/start.py [--times 5] [--here]

Makes an empty environment, installs this checkout into it and gives it an empty home, so that
nothing can be cached anywhere. Then `tclose anonymize` of the demo's table by the default method,
the first time and again; and the least processor seconds, of so many runs, of `import tclose`,
`tclose --help` and `tclose audit` of a made-up table of 1,000 rows. `--here` measures the
environment that runs this script instead. Aims: the first run no slower than the second but for the
operating system's own caching; 0.3, 0.3 and 1 second.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = "from tclose.sample import write_hospital; write_hospital({!r}, {})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=5, help="how often each command is run")
    parser.add_argument("--here", action="store_true", help="measure this environment")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tclose-start-") as name:
        folder = Path(name)
        python = Path(sys.executable) if chosen.here else install(folder / "environment")
        measure(python, folder, chosen.times)


def install(environment: Path) -> Path:
    """The interpreter of a new environment with this checkout in it."""
    print("installing into an empty environment", flush=True)
    venv.create(environment, with_pip=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", ROOT], check=True)
    return python


def measure(python: Path, folder: Path, times: int) -> None:
    """Prints the processor seconds of each command."""
    tables = {rows: folder / str(rows) for rows in (1_000, 10_000)}
    anonymize, audit = (
        ["-m", "tclose", verb, str(table / "hospital.csv"), "--policy", str(table / "policy.toml")]
        for verb, table in (("anonymize", tables[10_000]), ("audit", tables[1_000]))
    )
    maker = Path(sys.executable)
    for rows, table in tables.items():
        spend(maker, ["-c", TABLE.format(str(table), rows)], None)
    home = folder / "home"
    home.mkdir()
    for turn in ("first", "second"):
        seconds = spend(python, [*anonymize, "-o", str(folder / f"{turn}.csv")], home)
        print(f"{f'anonymize, {turn} run':32}{seconds:>8.2f} s")
    for label, arguments in {
        "python -c pass": ["-c", "pass"],
        "import tclose": ["-c", "import tclose"],
        "tclose --help": ["-m", "tclose", "--help"],
        "tclose audit of 1,000 rows": audit,
    }.items():
        least = min(spend(python, arguments, home) for _ in range(times))
        print(f"{label:32}{least:>8.2f} s", flush=True)


def spend(python: Path, arguments: list[str], home: Path | None) -> float:
    """The processor seconds of a process; the verdict of an audit (exit code 1) is no failure."""
    environment = dict(os.environ)
    if home is not None:
        drop = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "XDG_CACHE_HOME")
        environment = {key: text for key, text in environment.items() if key not in drop}
        environment["HOME"] = str(home)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [python, *arguments], env=environment, cwd=home, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
