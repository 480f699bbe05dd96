"""Prints the least versions that pyproject.toml allows, as constraints for pip.

python tools/constraints.py > constraints.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOR_USERS = ("excel", "statistics", "spark", "postgres", "learn", "sign", "studio")
"""Extras whose packages count; those of the tests and tools may be as new as they like."""
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?>=(?P<least>[\d.]+)")


def list_constraints() -> list[str]:
    """A line `name==version` for each package that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    stated = list(project["dependencies"])
    for extra in FOR_USERS:
        stated += extras.get(extra, [])
    least = {}
    for requirement in stated:
        found = REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name>=version")
        least[found["name"]] = found["least"]
    return [f"{name}=={version}" for name, version in sorted(least.items())]


if __name__ == "__main__":
    print("# Made by tools/constraints.py from pyproject.toml; do not edit.")
    print("\n".join(list_constraints()))
