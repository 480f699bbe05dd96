"""Policy files: reading them with every problem reported at once, and the schema for editors."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from tclose.distance.numbers import MisuseError, Part
from tclose.distance.registry import DISTANCES
from tclose.errors import PolicyError, Problem, nearest
from tclose.policy.model import ROLES, SYNONYMS, Column, Policy

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
    if isinstance(error := item.get("ctx", {}).get("error"), MisuseError):
        return Problem(where, error.what, error.hint)
    return Problem(where, str(item["msg"]).removeprefix("Value error, "), SCHEMA)


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


def policy_schema() -> dict[str, Any]:
    """The schema, short forms included.

    >>> policy_schema()["title"]
    'Policy'
    """
    schema = Policy.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    parts = schema["$defs"]
    parts["Column"]["properties"]["role"]["enum"] = [*ROLES, *SYNONYMS]
    options = parts["DistanceSpec"]["properties"]
    for part in list_parts(Policy).values():
        if part.short_key:
            whole = parts[part.__name__]
            parts[part.__name__] = {"anyOf": [whole["properties"][part.short_key], whole]}
    named = [kind.name for kind in DISTANCES.values() if not kind.main_option]
    long_forms = []
    for kind in DISTANCES.values():
        if kind.main_option:
            long_forms.append(_object_schema({kind.name: {"type": "string"}}, [kind.name]))
        elif kind.options:
            detail = {key: option for key, option in options.items() if key in kind.options}
            long_forms.append(_object_schema({kind.name: _object_schema(detail)}, [kind.name]))
    names = {"type": "string", "enum": named}
    parts["DistanceSpec"] = {"anyOf": [names, *long_forms, parts["DistanceSpec"]]}
    return schema


def _object_schema(properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def list_parts(model: type[Part]) -> dict[str, type[Part]]:
    """The parts that a part is made of, however deeply, by the keys that hold them."""
    found: dict[str, type[Part]] = {}
    for key, field in model.model_fields.items():
        for part in _parts_in(field.annotation):
            found |= {key: part} | list_parts(part)
    return found


def _parts_in(annotation: object) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in get_args(annotation):
        yield from _parts_in(argument)
