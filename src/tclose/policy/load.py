"""Reading a policy from TOML or JSON, with every problem in it reported at once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tclose.distance.part import list_parts
from tclose.errors import PolicyError, Problem, nearest
from tclose.policy.column import Column
from tclose.policy.model import Policy

HINTS = {
    "t must lie in [0, 1]": "0 allows no difference from the table, 1 allows any; such as t = 0.2",
    "the hierarchical distance needs a hierarchy": 'add hierarchy = "file.csv", or a builder',
    "no column is a quasi-identifier; nobody could be looked up": (
        'give the columns that others may know the role "quasi"'
    ),
}
BEGINNINGS = {
    "only one column may say what a row counts": 'make the others "insensitive" or "identifier"',
    "a missing value of ": 'say missing = "value" or "forbid" there',
}
SCHEMA = "`tclose policy schema` lists every key and what it takes"


def load_policy(path: str | Path) -> Policy:
    """Reads and checks a policy file; relative paths in it start from its folder."""
    return policy_from(read_raw(path), Path(path).parent)


def policy_from(raw: Mapping[str, Any], base: str | Path) -> Policy:
    """The policy that plain values say; relative paths in it start from `base`."""
    policy, problems = parse_policy(raw)
    if problems or policy is None:
        raise PolicyError(problems)
    return policy.at(base)


def read_raw(path: str | Path) -> dict[str, Any]:
    """The file's content, numbers kept as they were written."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise _unreadable(place, "there is no such file", _neighbours(place)) from None
    except IsADirectoryError:
        hint = "name the policy file itself"
        raise _unreadable(place, "this is a folder, not a policy file", hint) from None
    except UnicodeDecodeError:
        raise _unreadable(place, "not UTF-8 text", "save the policy as UTF-8") from None
    except OSError as error:
        hint = "check who may read it"
        raise _unreadable(place, f"cannot be read ({error.strerror})", hint) from None
    try:
        if place.suffix.lower() == ".json":
            raw = json.loads(text, parse_float=Decimal)
        else:
            raw = tomllib.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg} (line {error.lineno})"
        raise _unreadable(place, what, "mend that line; a policy may also be TOML") from None
    except tomllib.TOMLDecodeError as error:
        hint = "mend that line, or draft a policy with `tclose init FILE`"
        raise _unreadable(place, f"not valid TOML: {error}", hint) from None
    except RecursionError:
        raise _unreadable(place, "nested too deeply", "") from None
    if not isinstance(raw, dict):
        raise _unreadable(place, "a policy is a table of keys", "see `tclose policy schema`")
    return raw


def parse_policy(raw: Mapping[str, Any]) -> tuple[Policy | None, list[Problem]]:
    """The policy, and every problem in it; parts with problems are left out to go on checking.

    >>> policy, problems = parse_policy({"columns": {"zip": "quasi", "age": "kwasi"}, "kk": 3})
    >>> policy.quasi
    ('zip',)
    >>> for problem in problems: print(problem)
    kk: unknown key
      Hint: did you mean 'k'?
    columns.age.role: unknown role
      Hint: did you mean 'quasi'?
    """
    problems: list[Problem] = []
    remaining: dict[str, Any] = _plain(raw)
    for _ in range(8):
        try:
            return Policy.model_validate(remaining), problems
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            fresh = [item for item in found if not _follows(item, raw, remaining)]
            problems += sorted((_problem(item) for item in fresh), key=lambda p: p.where.count("."))
            pruned = _without(remaining, [tuple(item["loc"]) for item in found])
            if pruned is None:
                return None, problems
            remaining = pruned
    return None, problems


def _follows(item: Any, raw: Mapping[str, Any], remaining: Mapping[str, Any]) -> bool:
    """Whether something is wrong only because a column was left out for a problem of its own."""
    given, left = raw.get("columns"), remaining.get("columns")
    if not isinstance(given, Mapping) or not isinstance(left, Mapping):
        return False
    lost = [str(name) for name in given if str(name) not in left]
    if item["loc"] == ("columns",):
        return bool(lost)
    return not item["loc"] and any(repr(name) in item["msg"] for name in lost)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _problem(item: Any) -> Problem:
    """A pydantic error in the words of the house."""
    loc = tuple(part for part in item["loc"] if part != "function-before")
    where = ".".join(str(part) for part in loc) or "policy"
    if item["type"] == "extra_forbidden":
        return Problem(where, "unknown key", nearest(str(loc[-1]), _keys_beside(loc)))
    if item["type"] == "missing":
        return Problem(where, "is required", SCHEMA)
    what = str(item["msg"]).removeprefix("Value error, ")
    for beginning, hint in BEGINNINGS.items():
        if what.startswith(beginning):
            return Problem(where, what, hint)
    for hint in ("did you mean", "known here", "confirm it"):
        if f"; {hint}" in what:
            return Problem(where, *what.split("; ", 1))
    return Problem(where, what, HINTS.get(what, SCHEMA))


def _keys_beside(loc: tuple[Any, ...]) -> list[str]:
    """The keys that are known where an unknown one was found."""
    if len(loc) == 1:
        return list(Policy.model_fields)
    if len(loc) == 3 and loc[0] == "columns":
        return list(Column.model_fields)
    holder = next((part for part in reversed(loc[:-1]) if isinstance(part, str)), "")
    part = list_parts(Policy).get(holder)
    return [] if part is None else list(part.model_fields)


def _without(raw: dict[str, Any], locations: list[tuple[Any, ...]]) -> dict[str, Any] | None:
    """The content less the column or the top-level key that each location lies in."""
    result = {**raw}
    if isinstance(raw.get("columns"), dict):
        result["columns"] = {**raw["columns"]}
    for loc in locations:
        if len(loc) >= 2 and loc[0] == "columns" and isinstance(result.get("columns"), dict):
            result["columns"].pop(loc[1], None)
        elif loc and loc[0] != "columns":
            result.pop(str(loc[0]), None)
        else:
            return None
    return result if result != raw else None


def _unreadable(place: Path, what: str, hint: str) -> PolicyError:
    return PolicyError([Problem(str(place), what, hint)])


def _neighbours(place: Path) -> str:
    """Policy files that lie where one was looked for."""
    folder = place.parent
    if not folder.is_dir():
        return "the folder does not exist either"
    names = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in {".toml", ".json"})
    return nearest(place.name, names) or "`tclose init FILE -o POLICY` drafts one"
