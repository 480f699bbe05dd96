"""The data dictionary of a release: each column, its treatment, and its loss.

It holds no value of the table, so it may lie beside the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tclose.arrays import Floats
from tclose.data.binding import BoundTable
from tclose.data.encode.columns import MISSING
from tclose.data.encode.labels import FORMS, name_form
from tclose.data.io.files import write_text
from tclose.distance.histogram import add_by_group
from tclose.errors import UsageError
from tclose.notebook import Tabular
from tclose.plain import classes_text, escape_controls, json_text, rows_text, share_text
from tclose.policy.columns import HierarchySpec
from tclose.policy.model import Policy
from tclose.recode.suppressed import SuppressedRows
from tclose.utility.loss import LossReport
from tclose.verify.audit import Audit

HEADINGS = ("column", "role", "treatment", "levels", "loss")
SUFFIXES = (".md", ".json")
MARKS = re.compile(r"[\\|\[\]`*]")
"""What begins or ends a cell, a link, a picture, code or emphasis in Markdown."""
AS_IT_IS = "released as it is"
IDENTIFIERS = {
    "drop": "removed",
    "mask": "masked: * in every row",
    "pseudonym": "replaced by a keyed pseudonym",
}
ENDS = {"low": "low end", "high": "high end", "midpoint": "midpoint"}


@dataclass(frozen=True)
class ColumnEntry:
    """One column of a release."""

    column: str
    role: str
    treatment: str
    levels: str = ""
    """Of its hierarchy, and the one that was chosen where whole columns are recoded."""
    loss: float | None = None
    """From 0 (exact) to 1 (nothing left); None where nothing is generalized."""


@dataclass(frozen=True, repr=False)
class DataDictionary(Tabular):
    """The columns of a release: role, treatment, levels and loss of each."""

    rows: int
    classes: int
    columns: tuple[ColumnEntry, ...]

    @property
    def headline(self) -> str:
        """How many columns there are."""
        return f"{len(self.columns)} columns of {self.rows:,} rows"

    def records(self) -> list[dict[str, Any]]:
        """A line for each column."""
        return [asdict(entry) for entry in self.columns]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {"rows": self.rows, "classes": self.classes, "columns": self.records()}

    def to_markdown(self) -> str:
        """The dictionary as a page with one table."""
        lines = [
            "# Data dictionary",
            "",
            f"{rows_text(self.rows)} in {classes_text(self.classes)}. "
            "Loss: from 0 (exact) to 1 (nothing left).",
            "",
            f"| {' | '.join(HEADINGS)} |",
            f"|{'---|' * len(HEADINGS)}",
        ]
        for entry in self.columns:
            loss = "" if entry.loss is None else f"{entry.loss:.4f}"
            cells = (entry.column, entry.role, entry.treatment, entry.levels, loss)
            lines.append(f"| {' | '.join(map(_escape, cells))} |")
        return "\n".join([*lines, ""])

    def save(self, path: str | Path) -> Path:
        """Writes it as Markdown (.md) or JSON (.json)."""
        refuse_dictionary(path)
        if Path(path).suffix.lower() == ".json":
            text = json_text(self.to_json())
        else:
            text = self.to_markdown()
        return write_text(path, text)


def refuse_dictionary(path: str | Path) -> None:
    """Raises if the dictionary's suffix is not one of the supported formats."""
    if Path(path).suffix.lower() not in SUFFIXES:
        hint = f"end it in one of {', '.join(SUFFIXES)}"
        raise UsageError("unknown kind of data dictionary", where=str(path), hint=hint)


def _escape(text: str) -> str:
    """Text for a cell of a table in Markdown; HTML, links and pictures in it stay text."""
    text = MARKS.sub(r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;"))
    return escape_controls(" ".join(text.splitlines()))


def describe_columns(
    audit: Audit,
    loss: LossReport,
    levels: Mapping[str, int] | None,
    leftover: SuppressedRows | None,
) -> DataDictionary:
    """The dictionary of a counted release, from its losses and levels."""
    policy = audit.bound.policy
    entries = [
        *(_describe_column(name, audit, loss, levels, leftover) for name in policy.columns),
        *_describe_added(policy, audit.bound.source.columns),
    ]
    return DataDictionary(audit.rows, audit.classes, tuple(entries))


@dataclass(frozen=True)
class ReleasedValues:
    """The released values of a column, and the share of rows with each."""

    labels: tuple[str, ...]
    shares: Floats
    forms: tuple[str, ...]
    raw: frozenset[str]
    """The values that the table had before, where that is known."""

    @classmethod
    def of(cls, bound: BoundTable, name: str, raw: Iterable[str] = ()) -> ReleasedValues:
        """The released values of a counted column."""
        dictionary, before = bound.cells.dictionaries[name], frozenset(raw)
        rows = add_by_group(bound.cells.rows, bound.cells.codes[name], dictionary.known + 1)
        labels, tree = (*dictionary.labels, MISSING), bound.hierarchies.get(name)
        forms = tuple(name_form(label, before, tree) for label in labels)
        return cls(labels, rows / max(rows.sum(), 1), forms, before)

    def share_of(self, form: str) -> float:
        """The share of the rows whose value has a form."""
        return float(sum(s for s, f in zip(self.shares, self.forms, strict=True) if f == form))

    @property
    def typical(self) -> int:
        """The position of the commonest value; the first of several."""
        return int(np.argmax(self.shares))

    def describe(self) -> str:
        """The forms that values have, the commonest first.

        >>> ReleasedValues(("[1, 5]", "7"), np.array([0.75, 0.25]), ("interval", "exact"),
        ...                frozenset()).describe()
        'intervals 75.0%, exact values 25.0%'
        """
        shares = {form: self.share_of(form) for form in FORMS}
        used = sorted((form for form in FORMS if shares[form]), key=lambda form: -shares[form])
        if len(used) == 1:
            return AS_IT_IS if used[0] == "exact" else FORMS[used[0]]
        return ", ".join(f"{FORMS[form]} {share_text(shares[form])}" for form in used)


def describe_treatment(
    bound: BoundTable,
    name: str,
    values: ReleasedValues | None = None,
    levels: Mapping[str, int] | None = None,
    *,
    with_cleaning: bool = True,
) -> str:
    """The treatment of a column in words; `values` are those of a quasi-identifier, if counted."""
    policy, column = bound.policy, bound.policy.columns[name]
    if column.role in ("identifier", "subject"):
        is_named = column.role == "identifier"
        return IDENTIFIERS[policy.release.identifiers if is_named else "pseudonym"]
    if name not in bound.source.columns:
        return IDENTIFIERS["drop"]
    done = AS_IT_IS
    if column.role == "quasi" and not policy.release.covers_values:
        done = f"replaced by the {policy.release.recoding} of its class"
    elif column.role == "quasi" and levels and name in levels:
        done = policy.name_level(name, levels[name])
    elif column.role == "quasi":
        done = "made coarser" if values is None else values.describe()
    if not column.cleaning_keys:
        return done
    cleaned = column.describe_cleaning() if with_cleaning else "cleaned"
    if done == AS_IT_IS:
        return f"{cleaned}; not generalized"
    return f"{cleaned}; then {done}" if with_cleaning else done


def _describe_column(
    name: str,
    audit: Audit,
    loss: LossReport,
    levels: Mapping[str, int] | None,
    leftover: SuppressedRows | None,
) -> ColumnEntry:
    bound = audit.bound
    role = bound.policy.columns[name].role
    values = None
    if role == "quasi" and not audit.in_parts:
        values = ReleasedValues.of(bound, name)
    treatment = describe_treatment(bound, name, values, levels)
    if role == "quasi":
        levels_text = _describe_levels(bound.policy, name, levels)
        return ColumnEntry(name, role, treatment, levels_text, loss.columns.get(name))
    if (masked := bound.classes.masked.get(name)) is not None:
        count = int(bound.cells.rows[masked.group >= 0].sum())
        treatment += f"; hidden or generalized to a group in {count:,} rows"
    elif role == "sensitive" and leftover is not None:
        if leftover.hidden:
            treatment += f"; hidden in {leftover.hidden:,} rows"
        if leftover.generalized:
            treatment += f"; generalized in {leftover.generalized:,} rows"
    return ColumnEntry(name, role, treatment)


def _describe_levels(policy: Policy, name: str, levels: Mapping[str, int] | None) -> str:
    words = []
    spec = policy.columns[name].hierarchy
    if spec is not None:
        words.append(_describe_hierarchy(spec))
    if levels is not None and name in levels:
        words.append(f"level {levels[name]} in every row (0: unchanged)")
    return "; ".join(words)


def _describe_hierarchy(spec: HierarchySpec) -> str:
    if spec.builtin is not None:
        return f"builtin {spec.builtin}"
    given = getattr(spec, spec.kind)
    if spec.kind in ("file", "prefix", "intervals", "dates"):
        shown = given if isinstance(given, str) else ", ".join(map(str, given))
        return f"{spec.kind} {shown}"
    return spec.kind


def _describe_added(policy: Policy, columns: tuple[str, ...]) -> Iterator[ColumnEntry]:
    for name, (of, end) in policy.added_columns.items():
        if name in columns:
            yield ColumnEntry(
                name, "added", f"{ENDS[end]} of {of}, computed from its released value"
            )
