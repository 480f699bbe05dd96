"""ARCHITECTURE.md names every file of every room, and no file that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tclose"
TABLE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("| file |")[2]


def named() -> dict[str, set[str]]:
    """The files that the table names, by room; the first rows are about the top."""
    rooms: dict[str, set[str]] = {".": set()}
    room = "."
    for line in TABLE.splitlines():
        first = line.split("|")[1] if line.count("|") > 2 else ""
        heading = re.match(r" \*\*`(\w+)/`\*\*", first)
        room = heading[1] if heading else room
        rooms.setdefault(room, set()).update(re.findall(r"`([\w/]+\.py)`", first))
    return rooms


ROOMS = sorted(one.parent.name for one in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", [one for one in ROOMS if one not in ("cli", "publish")])
def test_a_room_is_described_file_by_file(room: str) -> None:
    place = SOURCE / room
    there = {str(file.relative_to(place)) for file in place.rglob("*.py")}
    assert named()[room] == {name for name in there if not name.endswith("__init__.py")}


def test_the_top_of_the_house_is_described() -> None:
    there = {file.name for file in SOURCE.glob("*.py")} - {"__main__.py", "version.py"}
    assert named()["."] == there


@pytest.mark.parametrize("room", ["cli", "publish"])
def test_a_room_that_describes_itself_names_its_files(room: str) -> None:
    words = set(re.findall(r"`(\w+)`", (SOURCE / room / "__init__.py").read_text()))
    assert {file.stem for file in (SOURCE / room).glob("*.py")} - {"__init__"} <= words
