"""Writes a Python script that makes a run's release again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclose.studio.project import POLICY, READS, Run

if TYPE_CHECKING:
    from tclose.studio.workbench import Workbench

SCRIPT = """\
\"\"\"{about}

python script.py [TABLE]
\"\"\"

import sys
from pathlib import Path

import tclose

here = Path(__file__).parent
table = sys.argv[1] if len(sys.argv) > 1 else {table}
release = {call}
if release.certificate.hashes.output != "{digest}":
    sys.exit("this is a different release: is it the same table, read with the same settings?")
print(release)
"""
SEARCHES = "Makes this release again: equal tables and policies give equal bytes."
APPLIES = "Makes this release again, by its classes: its search was stopped {how}."


def describe_stop(run: Run) -> str:
    """Describes how a search was stopped, if it would end elsewhere and its plan is known."""
    if not all((run.folder / name).is_file() for name in ("certificate.json", "plan.json")):
        return ""
    stopped = run.certificate.stopped or ""
    return {"cancelled": "by hand", "clock": "by the time limit"}.get(stopped, "")


def script_for(bench: Workbench, run: Run) -> str:
    """Writes a script that makes a run's release again, and reports if another one comes out."""
    place, certificate = bench.locate(run), run.certificate
    named = bench.name_table(place)
    arguments = ", ".join(
        f"{name}={getattr(place.reading, name)!r}"
        for name in READS
        if getattr(place.reading, name) not in (None, ("",))
    )
    lines = [f'output=here / "{run.release.name}"', 'certificate=here / "certificate.json"']
    lines += [f"reading=tclose.Reading({arguments})"] if arguments else []
    stopped = describe_stop(run)
    if not stopped:
        about, lines = SEARCHES, ["table", f'here / "{POLICY}"', *lines, 'plan=here / "plan.json"']
        verb = "anonymize"
    else:
        about, verb = APPLIES.format(how=stopped), "apply"
        plan = 'tclose.Plan.load(here / "plan.json")'
        lines = [plan, "table", f'policy=here / "{POLICY}"', *lines]
    call = "".join(f"\n    {line}," for line in lines)
    is_upload = named != str(place.table)
    return SCRIPT.format(
        about=about, table=f"here / {named!r}" if is_upload else repr(named),
        call=f"tclose.{verb}({call}\n)", digest=certificate.hashes.output,
    )  # fmt: skip
