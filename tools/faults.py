"""Runs of tclose that are killed, starved or disturbed: all files old or all new, no raw row left.

    python tools/faults.py --kills 200 --seed 1         every fault; kills at random moments
    python tools/faults.py --kills 0 --only full,race   some of the other faults alone

Every run is a process of its own. After each, before anything else looks at it: the release, the
certificate, the plan, the report and the dictionary are all those of before or all new; wherever
the release is, its certificate is, and names its hash; no raw value is in the temporary folder.
Then the next run must end well and leave nothing hidden. Ends with 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gzip
import hashlib
import importlib
import json
import os
import pkgutil
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECRET = "SECRET-NAME"
POLICY = """
k = 3
[columns]
name = "identifier"
age = "quasi"
zip = "quasi"
ill = {{ role = "sensitive", {promise} }}
"""
NOBODY = 65534
SKIPPED = ("__main__", "kernels", "spark", "postgres", "ibis")
LATER = "rich.progress rich.table rich.markup jinja2 openpyxl encodings.idna encodings.utf_16"


Look = dict[str, tuple[int, int] | None]


@dataclass(frozen=True)
class Case:
    """A command, the file that it writes, and those that switch with it."""

    name: str
    words: str
    output: str
    beside: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """All that is written."""
        return (self.output, *self.beside)


ANONYMIZE = "anonymize {0} -p p.toml -o {1} --certificate c.json --effort 0.1 --force"
CASES = [
    Case(
        "all files of a release",
        ANONYMIZE.format("t.csv", "r.csv")
        + " --plan plan.json --report report.html --no-attacks --dictionary columns.md",
        "r.csv",
        ("c.json", "plan.json", "report.html", "columns.md"),
    ),
    Case("packed text", ANONYMIZE.format("t.csv.gz", "r.parquet"), "r.parquet", ("c.json",)),
    Case("UTF-16", ANONYMIZE.format("u.csv", "r.csv.gz"), "r.csv.gz", ("c.json",)),
    Case("Excel", ANONYMIZE.format("t.xlsx", "r.xlsx"), "r.xlsx", ("c.json",)),
    Case("a folder", ANONYMIZE.format("parts", "r.arrow"), "r.arrow", ("c.json",)),
    Case("Parquet", ANONYMIZE.format("t.parquet", "r.parquet"), "r.parquet", ("c.json",)),
    Case("fragments", ANONYMIZE.format("t.csv", "r.csv") + " --cells 60", "r.csv", ("c.json",)),
    Case(
        "apply",
        "apply made.json t.csv -o r.csv --certificate c.json --dictionary columns.md --force",
        "r.csv",
        ("c.json", "columns.md"),
    ),
    Case("split", "split t.csv -p s.toml --form anatomy -o out", "out"),
    Case(
        "frontier",
        "frontier t.csv -p p.toml --svg f.svg --report report.html --t 0.3,0.5 "
        "--methods mondrian --effort 0.1 --force",
        "f.svg",
        ("report.html",),
    ),
]


def number_files(at: int, case: Case) -> Case:
    """The same with files of its own."""
    words, names = case.words, [f"{at}-{name}" for name in case.files]
    for name, new in zip(case.files, names, strict=True):
        words = words.replace(f" {name}", f" {new}")
    return Case(case.name, words, names[0], tuple(names[1:]))


CASES = [number_files(at, case) for at, case in enumerate(CASES)]
STARVED = [CASES[0], CASES[1], CASES[3]]
"""The cases that are run with too little of something."""


@dataclass
class Tally:
    """What was seen, and what should not have been."""

    seen: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def expect(self, right: bool, what: str) -> None:
        """Notes what is wrong."""
        if not right:
            self.wrong.append(what)
            print(f"WRONG: {what}", flush=True)


def make_inputs(folder: Path) -> None:
    """A table about 120 people in every form that is read, and the policies."""
    import openpyxl
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = random.Random(5)
    rows = [
        (f"{SECRET} {at}", str(draw.randrange(20, 90)), f"{draw.randrange(400, 460)}",
         draw.choice(["flu", "gout", "asthma", "ulcer"]))
        for at in range(120)
    ]  # fmt: skip
    names = ("name", "age", "zip", "ill")
    text = "".join(",".join(row) + "\n" for row in (names, *rows))
    (folder / "t.csv").write_text(text)
    (folder / "u.csv").write_text(text, encoding="utf-16")
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    book = openpyxl.Workbook()
    for row in (names, *rows):
        book.active.append(row)
    book.save(folder / "t.xlsx")
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(names, map(list, columns), strict=True)))
    pq.write_table(table, folder / "t.parquet")
    (folder / "parts").mkdir()
    for at in range(2):
        pq.write_table(table.slice(60 * at, 60), folder / "parts" / f"{at}.parquet")
    (folder / "p.toml").write_text(POLICY.format(promise="t = 0.5"))
    (folder / "s.toml").write_text(POLICY.format(promise="l = 2").replace("k = 3", "k = 2"))


def load_everything() -> None:
    """Imports whatever a command may import, so that each process begins at once."""
    import tclose

    for room in pkgutil.walk_packages(tclose.__path__, "tclose."):
        if not any(part in room.name for part in SKIPPED):
            importlib.import_module(room.name)
    for (
        name
    ) in "rich.progress rich.table rich.markup jinja2 openpyxl duckdb encodings.idna".split():
        importlib.import_module(name)


class World:
    """A folder with the inputs, a temporary folder, and processes that run commands there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.aside = folder / "work", folder / "aside"
        self.folder.mkdir()
        self.aside.mkdir()
        self.told = folder / "told.txt"
        make_inputs(self.folder)

    def start(self, words: str, before: Callable[[], None] = lambda: None) -> int:
        """A process that runs a command, as a copy of this one; `before` restricts it first."""
        child = os.fork()
        if child:
            return child
        code = 70
        try:
            code = self._run_here(words, before)
        finally:
            os._exit(code)  # whenever the signal comes: nothing else of this process may run twice

    def _run_here(self, words: str, before: Callable[[], None]) -> int:
        code = 70
        try:
            with self.told.open("w") as told:
                os.dup2(told.fileno(), 1)
                os.dup2(told.fileno(), 2)
            os.chdir(self.folder)
            os.environ["TMPDIR"], tempfile.tempdir = str(self.aside), None
            before()
            sys.argv = ["tclose", *words.split()]
            from tclose.cli import main

            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 70
        except BaseException:
            code = 71
        with contextlib.suppress(BaseException):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            atexit._run_exitfuncs()
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        return code

    def run(self, words: str, before: Callable[[], None] = lambda: None) -> int:
        """The exit code of a command."""
        return os.waitstatus_to_exitcode(os.waitpid(self.start(words, before), 0)[1])

    def look(self, case: Case) -> Look:
        """Which file stands at each place: a new one is another."""
        found = {}
        for name in case.files:
            place = self.folder / name
            # The number of a file that was removed may be given to the next.
            about = place.stat() if place.exists() else None
            found[name] = None if about is None else (about.st_ino, about.st_mtime_ns)
        return found

    def clear(self, case: Case) -> None:
        """Removes what a case has written."""
        for name in case.files:
            place = self.folder / name
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)

    def list_hidden(self) -> list[str]:
        """What is hidden in the folder, or left in the temporary one."""
        hidden = [path.name for path in self.folder.iterdir() if path.name.startswith(".")]
        aside = [path for path in self.aside.iterdir() if not _is_probe(path)]
        return hidden + [path.name for path in aside]

    def finds_raw_rows(self) -> bool:
        """Whether a name, which no release shows, stands anywhere but in the inputs."""
        places = [*self.aside.rglob("*"), *self.folder.glob(".*/**/*"), *self.folder.glob("?-*")]
        return any(
            SECRET.encode() in place.read_bytes().replace(b"\0", b"")
            for place in places
            if place.is_file()
        )


def _is_probe(path: Path) -> bool:
    """Whether Python wrote a file to see whether it can, and was killed before it removed it."""
    return path.is_file() and path.read_bytes() in (b"", b"blat")


def judge(world: World, case: Case, before: Look, what: str, tally: Tally) -> str:
    """What a disturbed run has left: "old", "new", or "between" where the next is to finish it."""
    now = world.look(case)
    changed = {name for name in now if now[name] != before[name]}
    release, certificate = world.folder / case.output, world.folder / "".join(case.beside[:1])
    if certificate.suffix == ".json" and release.exists():
        digest = hashlib.sha256(release.read_bytes()).hexdigest()
        named = certificate.exists() and json.loads(certificate.read_text())["hashes"]["output"]
        tally.expect(named == digest, f"{what}: a release without its certificate")
    tally.expect(not world.finds_raw_rows(), f"{what}: raw rows were left")
    if not changed or len(changed) == len(now):
        return "new" if changed else "old"
    journal = world.folder / f".{case.output}.journal"
    decided = journal.exists() and journal.read_bytes().endswith(b'"switch"\n')
    tally.expect(decided, f"{what}: a mixture ({', '.join(sorted(changed))})")
    return "between"


def finish(world: World, case: Case, before: Look, what: str, tally: Tally) -> None:
    """The next run: it ends well, everything is new, and nothing is hidden."""
    if case.output.endswith("out"):
        world.clear(case)
    code = world.run(case.words)
    tally.expect(code == 0, f"{what}: the next run ends with {code}: {world.told.read_text()}")
    now = world.look(case)
    fresh = all(now[name] is not None and now[name] != before[name] for name in now)
    tally.expect(fresh, f"{what}: the next run does not write everything")
    tally.expect(not world.list_hidden(), f"{what}: {world.list_hidden()} is left")
    judge(world, case, before, f"{what}, next run", tally)


def recover(world: World, case: Case, before: Look, what: str, tally: Tally) -> None:
    """What the next run begins with: all is old or all is new, and nothing is hidden."""

    def begin() -> None:
        from tclose.data.io.scratch import sweep
        from tclose.data.io.transaction import refuse_locked

        refuse_locked(world.folder / case.output)
        sweep(world.aside)

    world.run("--version", begin)
    left = judge(world, case, before, f"{what}, recovered", tally)
    tally.expect(left != "between", f"{what}: not finished")
    tally.expect(not world.list_hidden(), f"{what}: {world.list_hidden()} is left")


def kill_runs(world: World, number: int, seconds: float, draw: random.Random, tally: Tally) -> None:
    """Kills runs of every case at random moments, half of them in the last third of the run."""
    lengths, until = {}, time.monotonic() + seconds
    for case in CASES:
        began = time.monotonic()
        code = world.run(case.words)
        tally.expect(code == 0, f"{case.name} ends with {code}: {world.told.read_text()}")
        lengths[case.name] = time.monotonic() - began
        world.clear(case)
    for at in range(number):
        if time.monotonic() > until:
            break
        case = CASES[at % len(CASES)]
        end = signal.SIGKILL if draw.random() < 0.75 else signal.SIGTERM
        fresh = case.output.endswith("out") or draw.random() < 0.3
        if fresh:
            world.clear(case)
        elif None in world.look(case).values():
            world.run(case.words)
        before, share = world.look(case), draw.random()
        moment = lengths[case.name] * (share if draw.random() < 0.5 else 0.66 + 0.44 * share)
        process = world.start(case.words)
        time.sleep(moment)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, end)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        what = f"kill {at} ({case.name}, {end.name} after {moment:.2f} s)"
        left = judge(world, case, before, what, tally)
        tally.seen[f"{end.name}: {left if code else 'done before'}"] += 1
        tally.expect(code in (0, -end, 128 + end), f"{what}: ends with {code}")
        if end == signal.SIGTERM:
            tally.expect(not world.list_hidden(), f"{what}: {world.list_hidden()} is left")
        recover(world, case, before, what, tally)
        if at % 11 == 0:
            finish(world, case, before, what, tally)


def limit(kind: int, amount: int) -> Callable[[], None]:
    """Takes something away from a process."""

    def restrict() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(kind, (amount, amount))

    return restrict


def starve(world: World, name: str, case: Case, restrict: Callable[[], None], tally: Tally) -> None:
    """A run that lacks something: it says so or ends well, and nothing is mixed."""
    before = world.look(case)
    code = world.run(case.words, restrict)
    told = world.told.read_text()
    left = judge(world, case, before, name, tally)
    tally.seen[f"{name.split(' (')[0]}: {left}"] += 1
    tally.expect((code == 0) == (left == "new"), f"{name}: ends with {code}, but all is {left}")
    tally.expect(code != 1, f"{name}: a verdict")
    tally.expect("Traceback" not in told, f"{name}: {told}")
    if code >= 0:
        hidden = [place for place in world.list_hidden() if code == 0 or place.startswith(".")]
        tally.expect(not hidden, f"{name}: {hidden} is left")


def starve_runs(world: World, which: set[str], tally: Tally) -> None:
    """No room for files, no handles, little memory."""
    kinds = {
        "full": (resource.RLIMIT_FSIZE, [0, 200, 2_000, 5_000, 20_000]),
        "handles": (resource.RLIMIT_NOFILE, [4, 8, 12, 16, 20, 28]),
        "memory": (resource.RLIMIT_DATA, [60 << 20, 200 << 20, 400 << 20, 800 << 20]),
    }
    for kind, (number, amounts) in kinds.items():
        for case in STARVED if kind in which else ():
            world.run(case.words)
            for amount in amounts:
                name = f"{kind} ({case.name}, {amount:,})"
                starve(world, name, case, limit(number, amount), tally)
            finish(world, case, world.look(case), f"{kind}, {case.name}", tally)


def fill_disk(world: World, tally: Tally) -> None:
    """A disk of a few kilobytes, where the system lets one be made."""
    disk = world.folder / "disk"
    disk.mkdir()
    for size in (16, 32, 64, 96, 128, 160, 192):
        mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)]
        if subprocess.run(mounting, capture_output=True, check=False).returncode:
            tally.seen["a full disk: cannot be made here"] += 1
            break
        try:
            words = CASES[0].words
            for name in CASES[0].files:
                words = words.replace(f" {name}", f" disk/{name}")
            output, *beside = [f"disk/{name}" for name in CASES[0].files]
            case = Case("disk", words, output, tuple(beside))
            for _ in range(2):
                before = world.look(case)
                code = world.run(case.words)
                now = world.look(case)
                changed = [name for name in now if now[name] != before[name]]
                what = f"a disk of {size} kB"
                tally.expect(len(changed) in (0, len(now)), f"{what}: a mixture")
                tally.expect((code == 0) == bool(changed), f"{what}: ends with {code}")
                hidden = [path.name for path in disk.iterdir() if path.name.startswith(".")]
                tally.expect(not hidden, f"{what}: {hidden} is left")
                tally.seen[f"a full disk: {'new' if changed else 'old'}"] += 1
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    disk.rmdir()


def deny_writing(world: World, tally: Tally) -> None:
    """A folder that a user without rights may not write to."""
    if os.geteuid() != 0:
        tally.seen["read-only: cannot become another user here"] += 1
        return

    def become_nobody() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    for place in (world.folder.parent, *world.folder.parent.parents):
        if place.stat().st_uid == 0 and place != Path("/") and not place.stat().st_mode & 1:
            place.chmod(place.stat().st_mode | 0o011)
    world.aside.chmod(0o777)
    for case in CASES[:2]:
        world.run(case.words)
        starve(world, f"read-only ({case.name})", case, become_nobody, tally)
        for path in world.aside.iterdir():
            tally.expect(False, f"read-only: {path.name} is left")


def change_inputs(world: World, number: int, draw: random.Random, tally: Tally) -> None:
    """A table that grows or is edited while it is read."""
    case, table = CASES[0], world.folder / "t.csv"
    whole, began = table.read_text(), time.monotonic()
    world.run(case.words)
    length = time.monotonic() - began
    for at in range(number):
        before = world.look(case)
        process = world.start(case.words)
        time.sleep(draw.random() * length)
        table.write_text(
            whole + whole.partition("\n")[2] if at % 2 else whole.replace("flu", "gout")
        )
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        what = f"changed input {at}"
        left = judge(world, case, before, what, tally)
        tally.seen[f"changed input: {left}"] += 1
        tally.expect(code in (0, 2), f"{what}: ends with {code}: {world.told.read_text()}")
        tally.expect((code == 0) == (left == "new"), f"{what}: ends with {code}, all is {left}")
        table.write_text(whole)
    finish(world, case, world.look(case), "changed input", tally)


def race(world: World, number: int, draw: random.Random, tally: Tally) -> None:
    """Two processes that write one output."""
    for at in range(number):
        case = CASES[at % 2]
        before = world.look(case)
        first = world.start(case.words)
        time.sleep(draw.random() * 0.3)
        second = world.start(case.words)
        codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in (first, second)]
        what = f"race {at}"
        left = judge(world, case, before, what, tally)
        tally.seen[f"race: {left}, {sorted(codes)}"] += 1
        tally.expect(left == "new", f"{what}: all is {left}")
        tally.expect(sorted(codes) in ([0, 0], [0, 2]), f"{what}: ends with {codes}")
        tally.expect(not world.list_hidden(), f"{what}: {world.list_hidden()} is left")


@contextlib.contextmanager
def make_world() -> Iterator[World]:
    """A world that is gone afterwards (not with each process, as an object's own folder would)."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        yield World(folder)
    finally:
        shutil.rmtree(folder)


FAULTS = ("full", "disk", "handles", "memory", "read-only", "change", "race")


def main() -> int:
    """Disturbs runs as told, prints what was seen, and says whether all was right."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="runs that are killed")
    parser.add_argument("--seconds", type=float, default=7200, help="most time for kills")
    parser.add_argument("--changes", type=int, default=20, help="tables changed, and races")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--only", default=",".join(FAULTS), help="the other faults, of these")
    given = parser.parse_args()
    which, draw, tally = set(given.only.split(",")), random.Random(given.seed), Tally()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    load_everything()
    with make_world() as world:
        made = "anonymize t.csv -p p.toml -o first.csv --plan made.json --effort 0.1"
        tally.expect(world.run(made) == 0, f"the plan: {world.told.read_text()}")
        kill_runs(world, given.kills, given.seconds, draw, tally)
        starve_runs(world, which, tally)
        if "disk" in which:
            fill_disk(world, tally)
        if "read-only" in which:
            deny_writing(world, tally)
        if "change" in which:
            change_inputs(world, given.changes, draw, tally)
        if "race" in which:
            race(world, given.changes, draw, tally)
    for what, number in sorted(tally.seen.items()):
        print(f"{number:5}  {what}")
    print(f"{len(tally.wrong)} wrong")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
