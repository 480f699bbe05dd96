"""Reads policy files, reports every problem at once, and makes the schema for editors."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from tclose.distance.numbers import MisuseError, Part
from tclose.distance.registry import DISTANCES
from tclose.errors import PolicyError, Problem, nearest
from tclose.plain import AmbiguousJson, escape_controls, parse_json
from tclose.policy.columns import ROLES, SYNONYMS, Column
from tclose.policy.model import Policy
from tclose.small_files import read_small_file

A = TypeVar("A", bound=Part)
KINDS = {
    "tuple_type": 'a list is needed, such as ["…"]',
    "list_type": 'a list is needed, such as ["…"]',
    "dict_type": "a table of keys and values is needed",
    "model_type": "a table of keys and values is needed",
    "string_type": 'a text is needed, in quotes: "…"',
    "bool_type": "true or false is needed",
    "bool_parsing": "true or false is needed",
    "int_type": "a whole number is needed",
    "int_parsing": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "string_too_short": "this is empty",
    "date_from_datetime_parsing": "a day is needed, such as 2026-01-31",
    "date_type": "a day is needed, such as 2026-01-31",
}
"""Pydantic's error types in plain words."""
SCHEMA = "`tclose policy schema` lists every key and its values"


DEEPEST = 30
"""The largest number of nested levels in a policy."""


def load_policy(path: str | Path) -> Policy:
    """Reads and checks a policy file; relative paths in it start from its folder."""
    return policy_from(read_raw(path), Path(path).parent)


def policy_from(raw: Mapping[str, Any], base: str | Path) -> Policy:
    """Makes a policy from plain values; relative paths in it start from `base`."""
    policy, problems = parse_policy(raw)
    if problems or policy is None:
        raise PolicyError(problems)
    return policy.at(base)


def read_raw(path: str | Path) -> dict[str, Any]:
    """Reads a policy file into plain values, with numbers as they were written."""
    place = Path(path)
    parse: Callable[..., Any] = parse_json if place.suffix.lower() == ".json" else tomllib.loads
    try:
        text = read_small_file(place, may_be_pipe=True).decode("utf-8-sig")
        raw = parse(text, parse_float=Decimal)
    except FileNotFoundError:
        what, hint = "there is no such file", _neighbours(place)
    except IsADirectoryError:
        what, hint = "this is a folder, not a policy file", "name the policy file itself"
    except UnicodeDecodeError:
        what, hint = "not UTF-8 text", "save the policy as UTF-8"
    except OSError as error:
        what, hint = f"cannot be read ({error.strerror})", "check who may read it"
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg} (line {error.lineno})"
        hint = "correct that line; a policy may also be TOML"
    except tomllib.TOMLDecodeError as error:
        what = f"not valid TOML: {error}"
        hint = "correct that line, or draft a policy with `tclose init FILE`"
    except AmbiguousJson as error:
        what, hint = f"not valid JSON: {error}", "state each key once, and numbers that are meant"
    except RecursionError:
        what, hint = "nested too deeply", ""
    except ValueError:
        what, hint = "a number has thousands of digits", "write it with fewer"
    else:
        if isinstance(raw, dict) and _is_shallow(raw):
            return raw
        what, hint = "nested too deeply", ""
        if not isinstance(raw, dict):
            what, hint = "a policy is a table of keys", "see `tclose policy schema`"
    raise PolicyError([Problem(str(place), what, hint)])


def _is_shallow(raw: Any) -> bool:
    """Whether values are nested at most DEEPEST levels; dotted keys of TOML nest without limit."""
    level = [raw]
    for _ in range(DEEPEST):
        inside = [each.values() if isinstance(each, dict) else each for each in level]
        level = [value for each in inside for value in each if isinstance(value, dict | list)]
        if not level:
            return True
    return False


def parse_toml(text: str) -> dict[str, Any]:
    """Parses the text of a policy into plain values, with numbers as they were written."""
    return tomllib.loads(text, parse_float=Decimal)


def parse_policy(raw: Mapping[str, Any]) -> tuple[Policy | None, list[Problem]]:
    """Returns the policy and every problem in it; checks on without the parts with problems.

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


def build_part(part: type[A], keys: Mapping[str, Any]) -> A:
    """Makes a part of a policy from its keys; raises PolicyError with every problem in them."""
    try:
        return part.model_validate(_plain(keys))
    except ValidationError as error:
        raise explain_problems(error, part) from None


def explain_problems(error: ValidationError, part: type[Part]) -> PolicyError:
    """Makes the error that tells every problem in the keys of a part, without their values."""
    found = error.errors(include_url=False, include_input=False)
    return PolicyError([_problem(item, part) for item in found])


def write_toml(values: Mapping[str, Any]) -> str:
    """Writes plain values as TOML: tables on the first level only, deeper ones inline.

    >>> print(write_toml({"k": 2, "columns": {"zip code": {"role": "quasi"}}}), end="")
    k = 2
    <BLANKLINE>
    [columns]
    "zip code" = "quasi"
    """
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    lines = [
        f"{write_key(key)} = {write_value(value)}"
        for key, value in values.items()
        if key not in tables and value is not None
    ]
    for key, table in tables.items():
        lines += ["", f"[{write_key(key)}]"] if lines else [f"[{write_key(key)}]"]
        for name, value in table.items():
            if isinstance(value, Mapping) and list(value) == ["role"]:
                value = value["role"]
            if value is not None:
                lines.append(f"{write_key(name)} = {write_value(value)}")
    return "\n".join([*lines, ""])


def write_value(value: object) -> str:
    """A value as TOML writes it, in one line.

    >>> print(write_value({"nulls": ["?", "\\x9b"], "t": "1/5"}))
    {nulls = ["?", "\\u009b"], t = "1/5"}
    """
    if isinstance(value, Mapping):
        given = {key: item for key, item in value.items() if item is not None}
        pairs = (f"{write_key(key)} = {write_value(item)}" for key, item in given.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_value, value))}]"
    # Texts as JSON writes them are texts of TOML, too, but for characters that a screen obeys.
    return escape_controls(json.dumps(value, ensure_ascii=False))


def write_key(name: str) -> str:
    """A name as TOML writes a key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else write_value(name)


def _follows(item: Any, raw: Mapping[str, Any], remaining: Mapping[str, Any]) -> bool:
    """Whether an error only follows from a column that was removed for a problem of its own."""
    given, left = raw.get("columns"), remaining.get("columns")
    if not isinstance(given, Mapping) or not isinstance(left, Mapping):
        return False
    lost = [str(name) for name in given if str(name) not in left]
    if item["loc"] == ("columns",):
        return bool(lost)
    return not item["loc"] and any(repr(name) in item["msg"] for name in lost)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _problem(item: Any, part: type[Part] = Policy) -> Problem:
    """Converts a pydantic error to a Problem in plain words."""
    loc = tuple(part for part in item["loc"] if part != "function-before")
    where = ".".join(str(part) for part in loc) or "policy"
    if item["type"] == "extra_forbidden":
        return Problem(where, "unknown key", nearest(str(loc[-1]), _keys_beside(loc, part)))
    if item["type"] == "missing":
        return Problem(where, "is required", SCHEMA)
    if isinstance(error := item.get("ctx", {}).get("error"), MisuseError):
        return Problem(where, error.what, error.hint)
    what = KINDS.get(item["type"], str(item["msg"]).removeprefix("Value error, "))
    return Problem(where, what, SCHEMA)


def _keys_beside(loc: tuple[Any, ...], whole: type[Part]) -> list[str]:
    """Lists the keys that exist where an unknown one was found in the keys of a part."""
    if len(loc) == 1:
        return list(whole.model_fields)
    if len(loc) == 3 and loc[0] == "columns":
        return list(Column.model_fields)
    holder = next((part for part in reversed(loc[:-1]) if isinstance(part, str)), "")
    part = list_parts(whole).get(holder)
    return [] if part is None else list(part.model_fields)


def _without(raw: dict[str, Any], locations: list[tuple[Any, ...]]) -> dict[str, Any] | None:
    """Removes the column or top-level key of each location; None if nothing can be removed."""
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


def _neighbours(place: Path) -> str:
    """Suggests policy files in the folder of a missing one."""
    folder = place.parent
    if not folder.is_dir():
        return "the folder does not exist either"
    names = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in {".toml", ".json"})
    return nearest(place.name, names) or "`tclose init FILE -o POLICY` drafts one"


def policy_schema() -> dict[str, Any]:
    """Returns the JSON Schema of policies, including short forms.

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
    forms: list[dict[str, Any]] = []
    for kind in DISTANCES.values():
        if kind.main_option:
            forms.append(_object_schema({kind.name: {"type": "string"}}, required=[kind.name]))
        elif kind.options:
            detail = {key: option for key, option in options.items() if key in kind.options}
            forms.append(_object_schema({kind.name: _object_schema(detail)}, required=[kind.name]))
    named = [kind.name for kind in DISTANCES.values() if not kind.main_option]
    names = {"type": "string", "enum": named}
    parts["DistanceSpec"] = {"anyOf": [names, *forms, parts["DistanceSpec"]]}
    return schema


def _object_schema(properties: dict[str, Any], **more: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def list_parts(model: type[Part]) -> dict[str, type[Part]]:
    """Lists the parts within a part, at any depth, by their keys."""
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
