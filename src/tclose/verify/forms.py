"""Releases in several tables, counted again from their files: does every group keep the promise?

Nothing that the release says of itself is believed but which file holds what, and that is checked:
every sensitive attribute must stand in one table and in no other, no other file may lie beside
them, Anatomy's tables must agree on the size of every group, and each promise is judged exactly on
the counts of the table that holds the attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tclose.data.binding import bind
from tclose.data.encode.row_counts import count_invalid
from tclose.data.io.fingerprint import file_hash
from tclose.data.io.layout import Form, Layout, LayoutFile
from tclose.data.source import Source
from tclose.errors import DataError, UsageError
from tclose.policy.model import Column, Policy, Search
from tclose.verify.audit import Audit, audit_bound
from tclose.verify.certificate import NOT_HERE, Certificate, Check, json_hash

CERTIFICATE = "certificate.json"


@dataclass(frozen=True)
class Recount:
    """What was counted on the tables of a release."""

    layout: Layout
    audits: Mapping[str, Audit] = field(repr=False)
    """Of each table, what it attains of what is promised about its columns."""
    checks: tuple[Check, ...]
    """Whether the tables fit together; after a certificate was checked, its lines too."""

    @property
    def holds(self) -> bool:
        """Whether every promise holds, and the tables are what they should be."""
        kept = all(audit.holds for audit in self.audits.values())
        return bool(self.audits) and kept and all(one.confirmed is not False for one in self.checks)

    @property
    def rows(self) -> int:
        """How many people the release is about."""
        return max((audit.rows for audit in self.audits.values()), default=0)

    @property
    def groups(self) -> int:
        """How many groups there are; in projections, the fewest classes of any."""
        return min((audit.classes for audit in self.audits.values()), default=0)

    def requirements(self) -> list[dict[str, Any]]:
        """Every verdict as plain values, with the table that it was judged on."""
        return [
            {**verdict.to_json(), "table": file}
            for file, audit in self.audits.items()
            for verdict in audit.requirements
        ]

    def to_json(self) -> dict[str, Any]:
        """The recount as plain values, without any cell value."""
        return {
            "form": self.layout.form,
            "holds": self.holds,
            "rows": self.rows,
            "groups": self.groups,
            "requirements": self.requirements(),
            "checks": [vars(one) for one in self.checks],
        }

    def __str__(self) -> str:
        told = "the promise holds" if self.holds else "THE PROMISE DOES NOT HOLD"
        lines = [f"{self.layout.form}: {self.rows:,} rows in {self.groups:,} groups, {told}"]
        for file, audit in self.audits.items():
            lines += [f"  {file}: {verdict}" for verdict in audit.requirements]
        wrong = [one for one in self.checks if one.confirmed is False]
        return "\n".join([*lines, *(f"  {one.line}: {one.counted}" for one in wrong)])


def refuse_unjudged(policy: Policy, form: Form) -> None:
    """Raises where a promise says something that the tables of a form cannot show."""
    if policy.counting is not None:
        raise UsageError(
            "in several tables every row counts as one, so none may stand for several, have a "
            "weight, or be one of several of a person",
            where=f"columns.{policy.counting[1]}",
            hint="publish one release (`tclose anonymize`), or give the column another role",
        )
    if "cross" in policy.readings and form != "projections":
        raise UsageError(
            "attributes in separate tables have no cross reading",
            where="readings",
            hint='promise readings = ["separate"], or publish projections or a release',
        )
    if policy.k_map is not None or policy.presence is not None:
        raise UsageError(
            "several tables say more about who is in them than one, so nothing about a "
            "population can be promised",
            where="k_map, presence",
            hint="publish one release (`tclose anonymize`)",
        )


def part_policy(policy: Policy, layout: Layout, part: LayoutFile) -> Policy:
    """What is promised about one table: a group's number is all that tells its rows apart.

    Columns that are neither quasi-identifiers nor sensitive are in the first projection only, so
    that they do not tie the projections together. Of groups, closeness to a superset becomes
    closeness to the table, which implies it: a group that mixes quasi-identifiers has no natural
    superset but the table.
    """
    if part.role == "projection":
        others = {*policy.sensitive} - {*part.columns}
        if part != layout.parts[0]:
            others |= {*policy.with_role("insensitive"), *policy.identifiers}
        columns = {name: one for name, one in policy.columns.items() if name not in others}
        joint = tuple(one for one in policy.joint if set(one.columns) <= set(part.columns))
        return policy.model_copy(update={"columns": columns, "joint": joint}).at(policy.base)
    columns = {layout.group: Column(role="quasi")}
    for name, column in policy.columns.items():
        if column.role == "sensitive" and name in part.columns:
            columns[name] = column.model_copy(update={"n": None})
        elif column.role != "sensitive" and part.role != "sensitive":
            kind = "identifier" if column.role == "identifier" else "insensitive"
            columns[name] = Column(role=kind)
    if part.role == "sensitive":
        columns[layout.count] = Column(role="count")
    changed: dict[str, Any] = {
        "columns": columns,
        "joint": tuple(one for one in policy.joint if set(one.columns) <= set(part.columns)),
        "search": Search(),
    }
    return policy.model_copy(update=changed).at(policy.base)


def recount_form(policy: Policy, layout: Layout, sources: Mapping[str, Source]) -> Recount:
    """Counts every table from scratch and judges what the policy promises about its columns."""
    refuse_unjudged(policy, layout.form)
    checks = list(_complete(policy, layout))
    audits: dict[str, Audit] = {}
    for part in layout.parts:
        source = sources.get(part.file)
        if source is None:
            checks.append(Check(part.file, "a table", "is not there", False))
            continue
        rules = part_policy(policy, layout, part)
        found = _columns(rules, part, source)
        checks.append(found)
        if found.confirmed is False:
            continue
        if part.role == "sensitive":
            lost = count_invalid(source, "count", layout.count)
            checks.append(
                Check(f"counts of {part.file}", "whole numbers", f"{lost:,} are not", lost == 0)
            )
            if lost:
                continue
        if any(one.role in ("quasi", "sensitive") for one in rules.columns.values()):
            audits[part.file] = audit_bound(bind(rules, source), measure_all=False)
    checks += _agreeing(layout, audits)
    return Recount(layout, audits, tuple(checks))


def recheck_folder(
    folder: str | Path,
    certificate: Certificate,
    policy: Policy,
    sources: Mapping[str, Source],
) -> Recount:
    """Counts the tables of a folder again, and confirms or refutes its certificate's lines."""
    place, stated = Path(folder), certificate.content
    layout = Layout.from_json(stated.get("form"))
    found = recount_form(policy, layout, sources)
    hashes = stated["hashes"].get("files")
    hashes = hashes if isinstance(hashes, dict) else {}
    present = sorted(one.name for one in place.iterdir())
    expected = sorted([CERTIFICATE, *(part.file for part in layout.parts)])
    extra = sum(name not in expected for name in present)
    lines = [Check("files", f"{len(expected)} files", f"{extra} more", extra == 0)]
    for part in layout.parts:
        now = file_hash(place / part.file) if (place / part.file).is_file() else None
        lines.append(_check(f"sha256 of {part.file}", hashes.get(part.file), now))
    lines += [
        _check("sha256 of the policy", stated["hashes"].get("policy"), json_hash(stated["policy"])),
        _check("rows", stated.get("rows"), found.rows),
        _check("groups", stated.get("classes"), found.groups),
        _check(
            "the promise holds", stated.get("holds"), all(a.holds for a in found.audits.values())
        ),
        *_requirements(stated["requirements"], found.requirements()),
    ]
    if "attacks" in stated:
        lines.append(Check("what the tables tell together", "stated", NOT_HERE, None))
    return Recount(layout, found.audits, (*found.checks, *lines))


def _complete(policy: Policy, layout: Layout) -> Iterator[Check]:
    """Whether every sensitive attribute, and every joint promise, has one table."""
    placed = [name for part in layout.parts for name in part.columns]
    right = sorted(placed) == sorted(policy.sensitive)
    told = f"{len(policy.sensitive)} attributes"
    yield Check("sensitive attributes, each in one table", told, f"{len(placed)} found", right)
    for one in policy.joint:
        inside = any(set(one.columns) <= set(part.columns) for part in layout.parts)
        if layout.form == "slicing":
            inside = any(set(one.columns) <= set(names) for names in layout.sets)
        yield Check(" × ".join(one.columns), "in one table", "yes" if inside else "no", inside)


def _columns(rules: Policy, part: LayoutFile, source: Source) -> Check:
    """Whether a table has the columns that it should have, and no others."""
    gone = rules.identifiers if rules.release.identifiers == "drop" else ()
    wanted = {name for name in rules.columns if name not in gone}
    extra, lacking = set(source.columns) - wanted, wanted - set(source.columns)
    counted = f"{len(lacking)} lacking, {len(extra)} too many"
    return Check(f"columns of {part.file}", str(len(wanted)), counted, not extra and not lacking)


def _agreeing(layout: Layout, audits: Mapping[str, Audit]) -> Iterator[Check]:
    """Whether all tables of Anatomy have the same groups of the same sizes."""
    if layout.form == "projections":
        rows = {audit.rows for audit in audits.values()}
        yield Check("rows of every table", "the same", f"{len(rows)} numbers", len(rows) == 1)
        return
    known = [
        (file, audit.bound.classes, audit.bound.classes.dictionaries[layout.group])
        for file, audit in audits.items()
    ]
    for file, classes, names in known[1:]:
        _, first, labels = known[0]
        same = names.labels == labels.labels and np.array_equal(classes.size, first.size)
        told = "the same" if same else "different"
        yield Check(f"groups of {file} and {known[0][0]}", "the same", told, same)


def _requirements(stated: list[dict[str, Any]], counted: list[dict[str, Any]]) -> Iterator[Check]:
    mine = {_name(one): one for one in counted}
    for one in stated:
        other = mine.pop(_name(one), None)
        yield Check(_name(one), _told(one), "not promised" if other is None else _told(other),
                    one == other)  # fmt: skip
    for name, one in mine.items():
        yield Check(name, "not in the certificate", _told(one), False)


def _name(one: Mapping[str, Any]) -> str:
    keys = ("table", "requirement", "attribute", "distance", "reading")
    return " ".join(str(one[key]) for key in keys if one.get(key))


def _told(one: Mapping[str, Any]) -> str:
    exact = one.get("achieved_exact")
    attained = one.get("achieved") if exact is None else exact
    return f"{one.get('required')} asked, {attained} attained"


def _check(line: str, stated: Any, counted: Any) -> Check:
    return Check(line, str(stated), str(counted), stated == counted and counted is not None)


def missing_folder(folder: str | Path) -> DataError:
    """What is raised where a folder holds no release in several tables."""
    return DataError(
        f"there is no {CERTIFICATE} in this folder",
        where=str(folder),
        hint="was it made by `tclose split`?",
    )
