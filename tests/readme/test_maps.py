"""Every room's docstring is a map of it: all of its files are named there, and nothing else is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2] / "src" / "tclose"
ROOMS = sorted(path.parent for path in HOUSE.glob("*/**/__init__.py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(HOUSE)))
def test_a_room_names_its_files(room: Path) -> None:
    told = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    files = {path.stem for path in room.glob("*.py")} - {"__init__"}
    rooms = {path.parent.name for path in room.glob("*/__init__.py")}
    assert files | rooms <= set(re.findall(r"`(\w+)`", told))
    listed = re.findall(r"^- ((?:`\w+`,?\s+)+)", told, flags=re.MULTILINE)
    assert {name for names in listed for name in re.findall(r"\w+", names)} <= files | rooms
