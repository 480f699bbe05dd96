"""Prints what can be counted about the house: how large, how deep, in what words.

    python tools/counts.py                    this checkout
    python tools/counts.py ../before .        two of them, side by side
    python tools/counts.py --list participles the names behind a count

A checkout's own `.venv` runs the walk through `anonymize` where there is one; `--python` names
another interpreter, one for each checkout. What the counts mean:

- source lines: lines of all source files under `src`, templates and declarations included
- files in the largest folder: source files of one folder, without its subfolders
- modules entered: modules of tclose of which a Python function ran during one `anonymize` of 400
  rows of a CSV file by `mondrian`, written to a CSV file, once it is imported; seen by
  `sys.setprofile`, so compiled functions do not count
- changes of room: how often the room changes along the modules, in the order they are entered; a
  room is the first folder under `tclose`
- class names that occur twice: names of classes defined in more than one place
- parameters typed `Any`: parameters whose whole annotation is `Any`
- past participles: functions (not properties) whose first word ends in -ed or is one of the
  irregular participles listed below; `refuse_taken` is not one, `taken_names` is
- `one` as loop variable: targets of `for`, in loops and comprehensions
- files touched for a new requirement: cannot be counted, so it is given with `--touched`
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

SOURCE = {".py", ".pyx", ".pxd", ".pxi", ".h", ".html", ".jinja", ".j2", ".css", ".js", ".toml"}
NOT_PARTICIPLES = set("bed bleed embed exceed feed heed need proceed seed shed speed".split())
IRREGULAR = set(
    "begun bought broken brought built caught chosen dealt drawn driven found given gone grown "
    "held hidden kept known laid left_out lost made met paid said seen sent shown sold sought "
    "spent stood taken taught thought told torn understood woven written".split()
)

WALK = """
import inspect, json, pathlib, sys, tempfile, threading
import pyarrow.csv
import tclose, tclose.sample

home = pathlib.Path(tclose.__file__).parent
anonymize = tclose.anonymize
entered = {}

def notice(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
        if code.co_filename.startswith(str(home)):
            entered.setdefault(code.co_filename)

table = tclose.sample.hospital(rows=400)
columns = dict.fromkeys(table.column_names, "identifier")
columns |= {"sex": "quasi", "birth_date": "quasi"}
columns["postcode"] = {"role": "quasi", "hierarchy": {"prefix": [3, 2, 1, 0]}}
columns["diagnosis"] = {"role": "sensitive", "t": 0.3}
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    pyarrow.csv.write_csv(table, folder / "raw.csv")
    policy = {"k": 5, "columns": columns}
    sys.setprofile(notice)
    threading.setprofile(notice)
    anonymize(
        folder / "raw.csv", policy, method="mondrian", output=folder / "release.csv"
    )
    sys.setprofile(None)
print(json.dumps([str(pathlib.Path(path).relative_to(home)) for path in entered]))
"""


@dataclass
class Counts:
    """What was counted in one checkout, and the names behind each count."""

    lines: int = 0
    folders: Counter[str] = field(default_factory=Counter)
    classes: dict[str, list[str]] = field(default_factory=dict)
    any_parameters: list[str] = field(default_factory=list)
    participles: list[str] = field(default_factory=list)
    ones: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)

    @property
    def duplicates(self) -> list[str]:
        """Class names with the places that define them, where there are several."""
        found = sorted((name, at) for name, at in self.classes.items() if len(at) > 1)
        return [f"{name}: {', '.join(places)}" for name, places in found]

    @property
    def room_changes(self) -> int:
        """How often the room changes along the modules that `anonymize` enters."""
        rooms = [Path(module).parts[0] for module in self.modules]
        return sum(a != b for a, b in pairwise(rooms))


def count_source(checkout: Path) -> Counts:
    """Everything that the files alone tell."""
    counts = Counts()
    for path in sorted(list_sources(checkout / "src")):
        text = path.read_text(encoding="utf-8")
        counts.lines += text.count("\n")
        counts.folders[str(path.parent.relative_to(checkout))] += 1
        if path.suffix == ".py":
            count_names(ast.parse(text), str(path.relative_to(checkout)), counts)
    return counts


def list_sources(folder: Path) -> Iterator[Path]:
    """Source files, without what a build leaves beside them."""
    for path in folder.rglob("*"):
        if path.suffix in SOURCE and "__pycache__" not in path.parts:
            yield path


def count_names(tree: ast.Module, path: str, counts: Counts) -> None:
    """Adds the names of one module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            counts.classes.setdefault(node.name, []).append(f"{path}:{node.lineno}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for parameter in list_parameters(node.args):
                if parameter.annotation and ast.unparse(parameter.annotation) == "Any":
                    counts.any_parameters.append(f"{path}:{parameter.lineno} {parameter.arg}")
            if is_participle(node.name) and not is_property(node):
                counts.participles.append(f"{path}:{node.lineno} {node.name}")
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            names = (target for target in ast.walk(node.target) if isinstance(target, ast.Name))
            counts.ones.extend(f"{path}:{name.lineno}" for name in names if name.id == "one")


def list_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, starred ones included."""
    starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def is_participle(name: str) -> bool:
    """Whether a function's name begins with a past participle instead of a verb."""
    name = name.strip("_")
    first = name.split("_")[0]
    regular = first.endswith("ed") and first not in NOT_PARTICIPLES
    return regular or first in IRREGULAR or name in IRREGULAR


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the function is read as a value."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def walk_anonymize(checkout: Path, python: str) -> list[str]:
    """The modules that one `anonymize` enters, in the order it enters them."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    done = subprocess.run(
        [python, "-c", WALK], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{checkout}: the walk through anonymize failed\n{done.stderr}")
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return modules


def find_python(checkout: Path) -> str:
    """The checkout's own interpreter, or this one."""
    own = checkout / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def list_rows(counts: Counts, touched: str) -> list[tuple[str, str]]:
    """The counts of one checkout with their titles."""
    (folder, files), *_ = counts.folders.most_common(1)
    return [
        ("source lines", f"{counts.lines:,}"),
        ("files in the largest folder", f"{files} ({folder.removeprefix('src/')})"),
        ("modules entered by one anonymize", f"{len(counts.modules)}" if counts.modules else "–"),
        ("changes of room", f"{counts.room_changes}" if counts.modules else "–"),
        ("class names that occur twice", f"{len(counts.duplicates)}"),
        ("parameters typed Any", f"{len(counts.any_parameters):,}"),
        ("functions named by past participles", f"{len(counts.participles)}"),
        ("`one` as loop variable", f"{len(counts.ones)}"),
        ("files touched for a new requirement (by hand)", touched),
    ]


def list_names(counts: Counts, what: str) -> list[str]:
    """The names behind one of the counts."""
    folders = [f"{files:3} {folder}" for folder, files in counts.folders.most_common()]
    return {
        "folders": folders,
        "modules": counts.modules,
        "classes": counts.duplicates,
        "any": counts.any_parameters,
        "participles": counts.participles,
        "one": counts.ones,
    }[what]


def main() -> None:
    """Counts the checkouts named on the command line."""
    here = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="*", type=Path, default=[here])
    parser.add_argument("--python", action="append", default=[], help="one for each checkout")
    parser.add_argument("--touched", action="append", default=[], help="one for each checkout")
    parser.add_argument("--no-walk", action="store_true", help="read the files only")
    names = ["folders", "modules", "classes", "any", "participles", "one"]
    parser.add_argument("--list", choices=names, help="print the names behind a count")
    chosen = parser.parse_args()
    columns = []
    for at, checkout in enumerate(path.resolve() for path in chosen.checkout):
        counts = count_source(checkout)
        if chosen.list == "modules" or not (chosen.no_walk or chosen.list):
            python = chosen.python[at] if at < len(chosen.python) else find_python(checkout)
            counts.modules = walk_anonymize(checkout, python)
        if chosen.list:
            print("\n".join(list_names(counts, chosen.list)))
            continue
        touched = chosen.touched[at] if at < len(chosen.touched) else "not given"
        columns.append(list_rows(counts, touched))
    for rows in zip(*columns, strict=True):
        print(f"{rows[0][0]:48}" + "".join(f"{value:>28}" for _, value in rows))


if __name__ == "__main__":
    main()
