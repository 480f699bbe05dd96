"""The part of the page Values on how the values of a column are read and cleaned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from tclose.errors import TcloseError, UsageError
from tclose.policy.cleaning import Cleaning, ColumnCleaning
from tclose.policy.columns import Column
from tclose.policy.load import build_part
from tclose.studio.jobs import describe_problem
from tclose.studio.project import Raw
from tclose.studio.table import ColumnCounts, show_value
from tclose.studio.visit import Visit

BECOMES = " = "
"""Separates a spelling from the value to put in its place."""
MOST_FREQUENT = 6


def write_fields(column: Raw) -> dict[str, str]:
    """Writes a column's cleaning as the texts of its form.

    >>> fields = write_fields({"nulls": ["?", -9], "clean": {"trim": True, "replace": {"f": "w"}}})
    >>> fields["nulls"], fields["trim"], fields["replace"], fields["round"]
    ('?\\n-9', 'yes', 'f = w', '')
    """
    clean = column.get("clean") or {}
    replaced = clean.get("replace") or {}
    fields = {
        "nulls": _write_lines(column.get("nulls")),
        "date_format": _write_lines(column.get("date_format")),
        "trim": "yes" if clean.get("trim") else "",
        "unreadable": "yes" if column.get("unreadable") else "",
        "replace": "\n".join(f"{old}{BECOMES}{new}" for old, new in replaced.items()),
    }
    plain = {key: column.get(key) for key in ("decimal", "age_on")}
    plain |= {key: clean.get(key) for key in ("case", "round", "bottom", "top")}
    return fields | {key: "" if value is None else str(value) for key, value in plain.items()}


def _write_lines(value: object) -> str:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return "\n".join(map(str, values))


def list_fields(visit: Visit, column: Raw) -> dict[str, str]:
    """Lists the texts of the form: those that were sent and refused, or else the policy's."""
    fields = write_fields(column)
    if visit.text("what") != "cleaning":
        return fields
    return {key: visit.text(key) for key in fields}


def read_fields(visit: Visit, column: Raw) -> Raw:
    """Reads the form's changes to a column's cleaning; a key without a value is to be removed."""
    shown = write_fields(column)
    sent = {key: "\n".join(visit.text(key).splitlines()) for key in shown}
    changes: Raw = {
        "nulls": _list_lines(sent["nulls"]),
        "date_format": _list_lines(sent["date_format"]),
        "decimal": sent["decimal"] or None,
        "age_on": sent["age_on"] or None,
        "unreadable": "missing" if sent["unreadable"] else None,
        "clean": _read_clean(sent, shown, column.get("clean") or {}),
    }
    for key in ("nulls", "date_format"):
        if sent[key] == shown[key].strip():
            changes[key] = column.get(key)  # as the policy writes it, with spaces around marks
    return changes


def _list_lines(text: str) -> list[str] | None:
    return [line.strip() for line in text.splitlines() if line.strip()] or None


def _read_clean(
    sent: Mapping[str, str], shown: Mapping[str, str], clean: Mapping[str, Any]
) -> Raw | None:
    replace: object = clean.get("replace")
    if sent["replace"] != shown["replace"].strip():
        replace = _read_replacements(sent["replace"])
    found: Raw = {
        "trim": True if sent["trim"] else None,
        "case": sent["case"] or None,
        "replace": replace or None,
        **{key: sent[key] or None for key in ("round", "bottom", "top")},
    }
    assert {*found} == {*Cleaning.model_fields}
    return {key: value for key, value in found.items() if value is not None} or None


def _read_replacements(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        old, mark, new = line.partition("=")
        if not mark:
            what = f"line {number} has no ="
            raise UsageError(what, where="replace", hint="write spelling = value, such as f = w")
        if old.strip() in found:
            what = f"line {number} has a spelling for the second time"
            raise UsageError(what, where="replace", hint="write each spelling once")
        found[old.strip()] = new.strip()
    return found


def _try_changes(visit: Visit, name: str, column: Raw) -> tuple[Raw, ColumnCounts]:
    """Reads the changes and counts the column with them; raises what the policy or the values
    do not allow."""
    changes = read_fields(visit, column)
    kept = {key: value for key, value in column.items() if key not in changes}
    merged = kept | {key: value for key, value in changes.items() if value is not None}
    merged["role"] = str(merged["role"]).rstrip("?")
    build_part(Column, json.loads(json.dumps(merged)))
    return changes, visit.bench.count_column(name, merged)


def preview_cleaning(visit: Visit) -> Response:
    """Shows the values that the form would leave, counted on the table; nothing is changed."""
    name = visit.text("column")
    try:
        column = _find_column(visit, name)
        _, counts = _try_changes(visit, name, column)
        shown = describe_counts(counts)
    except TcloseError as error:
        shown = {"refused": describe_problem(error)}
    return visit.page("fragments/cleaned.html", **shown)


def describe_counts(counts: ColumnCounts) -> dict[str, Any]:
    """Describes the values of a column: their number, those missing, the most frequent."""
    frequent = [(show_value(value), rows) for value, rows in counts.ranked[:MOST_FREQUENT]]
    n_missing = int(counts.rows[-1])
    return {"n_values": len(counts.labels), "n_missing": n_missing, "frequent": frequent}


def change_cleaning(visit: Visit) -> str:
    """Applies the form to a column, if the policy and all values allow it."""
    bench, name = visit.bench, visit.text("column")
    changes, _ = _try_changes(visit, name, _find_column(visit, name))

    def edit(raw: Raw) -> None:
        column = raw["columns"][name]
        for key in ColumnCleaning.model_fields:
            column.pop(key, None)
        column |= {key: value for key, value in changes.items() if value is not None}

    bench.project.change(edit, visit.text("revision"))
    return f"/values?column={quote(name)}"


def _find_column(visit: Visit, name: str) -> Raw:
    column = visit.bench.project.columns.get(name)
    if column is None:
        raise UsageError("this column does not exist", where="column")
    return column
