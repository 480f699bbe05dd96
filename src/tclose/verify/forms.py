"""Releases in several tables, counted again from their files: does every group keep the promise?

Nothing that the release says of itself is believed but which file holds what, and that is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tclose.data.binding import bind
from tclose.data.encode.cells import count_invalid
from tclose.data.io.counting import file_hash
from tclose.data.io.records import Form, Layout, LayoutFile
from tclose.data.source import Source
from tclose.errors import DataError, UsageError
from tclose.plain import join_lines
from tclose.policy.columns import Column
from tclose.policy.model import Policy, SearchSettings
from tclose.verify.audit import Audit, audit_bound
from tclose.verify.certificate import Certificate, Hashes, Origin, SizesRecord, read_context
from tclose.verify.recheck import (
    UNCOUNTED,
    Check,
    compare,
    compare_policies,
    compare_requirements,
    compare_sizes,
    list_uncounted,
)
from tclose.verify.verdict import RequirementRecord

CERTIFICATE = "certificate.json"
ONE_RELEASE = "publish one release (`tclose anonymize`)"
CAVEATS: dict[Form, tuple[str, ...]] = {
    "anatomy": (
        "The quasi-identifiers are exact: who is in the table, and in which group, is public.",
        "Someone who learns from the release how quasi-identifiers are associated with sensitive "
        "values may guess better than the groups allow; this is measured below, not promised.",
    ),
    "slicing": (
        "All quasi-identifiers are exact, so it is often visible who is in the table.",
        "Tuples of one set are unchanged; only links between sets are broken.",
    ),
    "projections": (
        "Each projection keeps the promise by itself; what all of them reveal together is "
        "measured below, not promised.",
    ),
}
"""What a form does not protect; told with every release."""

ADDED: dict[Form, int] = {"anatomy": 2, "slicing": 1, "projections": 0}
"""How many columns each form adds, for groups and counts."""


@dataclass(frozen=True)
class Recount:
    """The recount of all tables of a release in several tables."""

    layout: Layout
    audits: Mapping[str, Audit] = field(repr=False)
    """Of each table, what it attains of what is promised about its columns."""
    checks: tuple[Check, ...]
    """Whether the tables fit together; after a certificate was checked, its lines too."""

    @property
    def holds(self) -> bool:
        """Whether every promise holds and the tables have the right form."""
        kept = all(audit.holds is not False for audit in self.audits.values())
        fitting = all(check.confirmed is not False for check in self.checks)
        return bool(self.audits) and kept and fitting

    @property
    def rows(self) -> int:
        """How many people the release is about."""
        return max((audit.rows for audit in self.audits.values()), default=0)

    @property
    def groups(self) -> int:
        """How many groups there are; in projections, the fewest classes of any."""
        return min((audit.classes for audit in self.audits.values()), default=0)

    def count_sizes(self) -> SizesRecord:
        """The sizes of the classes of the first table."""
        first = next(iter(self.audits.values()))
        return SizesRecord.of(first, first.rows)

    def requirements(self) -> tuple[RequirementRecord, ...]:
        """Every verdict as it is written down, with the table that it was judged on."""
        return tuple(
            verdict.record(file)
            for file, audit in self.audits.items()
            for verdict in audit.requirements
        )

    def certify(self, policy: Policy, origin: Origin, files: dict[str, str]) -> Certificate:
        """The certificate of the tables, of their origin and the hashes of their files."""
        stated = policy.to_json()
        sizes = self.count_sizes()
        return Certificate(
            form=self.layout,
            holds=self.holds,
            rows=self.rows,
            classes=self.groups,
            k=sizes.smallest,
            requirements=self.requirements(),
            policy=stated,
            hashes=Hashes.of(policy, files=files),
            context=read_context(stated),
            sizes=sizes,
            notes=CAVEATS[self.layout.form],
            **dict(origin),
        )

    def to_json(self) -> dict[str, Any]:
        """The recount as plain values, without any cell value."""
        return {
            "form": self.layout.form,
            "holds": self.holds,
            "rows": self.rows,
            "groups": self.groups,
            "requirements": [record.to_json() for record in self.requirements()],
            "checks": [vars(check) for check in self.checks],
        }

    def __str__(self) -> str:
        verdict = "the promise holds" if self.holds else "THE PROMISE DOES NOT HOLD"
        lines = [f"{self.layout.form}: {self.rows:,} rows in {self.groups:,} groups, {verdict}"]
        for file, audit in self.audits.items():
            lines += [f"  {file}: {judged}" for judged in audit.requirements]
        wrong = [check for check in self.checks if check.confirmed is False]
        lines += [f"  {check.line}: {check.counted}" for check in wrong]
        return join_lines(lines)


def refuse_unjudged(policy: Policy, form: Form) -> None:
    """Raises where a promise says something that the tables of a form cannot show."""
    if policy.counting is not None:
        raise UsageError(
            "in several tables every row counts as one, so none may stand for several, have a "
            "weight, or be one of several of a person",
            where=f"columns.{policy.counting[1]}",
            hint=f"{ONE_RELEASE}, or give the column another role",
        )
    if "knows_others" in policy.adversaries and form != "projections":
        raise UsageError(
            "attributes in separate tables have no cross reading",
            where="readings",
            hint='promise readings = ["separate"], or publish projections or a release',
        )
    refused = {kind.key: kind.in_several_tables for kind in policy.stated if kind.in_several_tables}
    if policy.release.suppresses_cells:
        what = "single cells are suppressed in one release, not in several tables"
        refused["release.recoding"] = what
    if policy.search.masking != "none":
        what = "sensitive values are masked in one release, not in several tables"
        refused["search.masking"] = what
    if policy.search.target is not None:
        what = "columns are weighed by a target in one release, not in several tables"
        refused["search.target"] = what
    for where, what in refused.items():
        raise UsageError(what, where=where, hint=f"{ONE_RELEASE}, or leave it out")


def part_policy(policy: Policy, layout: Layout, part: LayoutFile) -> Policy:
    """The policy for one table of several, whose only quasi-identifier is the group number.

    Columns that are neither quasi-identifiers nor sensitive are in the first projection only, so
    that they do not tie the projections together. Of groups, closeness to a superset becomes
    closeness to the table, which implies it: a group that mixes quasi-identifiers has no natural
    superset but the table.
    """
    changed: dict[str, Any] = {
        "joint": tuple(each for each in policy.joint if set(each.columns) <= set(part.columns))
    }
    if part.role == "projection":
        others = {*policy.sensitive} - {*part.columns}
        if part != layout.parts[0]:
            others |= {*policy.with_role("insensitive"), *policy.identifiers}
        columns = {name: each for name, each in policy.columns.items() if name not in others}
    else:
        columns = {layout.group: Column(role="quasi")}
        for name, column in policy.columns.items():
            if column.role == "sensitive" and name in part.columns:
                columns[name] = column.model_copy(update={"n": None})
            elif column.role != "sensitive" and part.role != "sensitive":
                kind = "identifier" if column.role == "identifier" else "insensitive"
                columns[name] = Column(role=kind)
        if part.role == "sensitive":
            columns[layout.count] = Column(role="count")
        changed["search"] = SearchSettings()
    return policy.model_copy(update={**changed, "columns": columns})


def recount_form(policy: Policy, layout: Layout, sources: Mapping[str, Source]) -> Recount:
    """Recounts every table from scratch and judges what the policy promises of its columns.

    A table must have the columns that it should have, and no others.
    """
    refuse_unjudged(policy, layout.form)
    checks = list(_complete(policy, layout))
    audits: dict[str, Audit] = {}
    for part in layout.parts:
        source = sources.get(part.file)
        if source is None:
            checks.append(Check(part.file, "a table", "is not there", False))
            continue
        rules = part_policy(policy, layout, part)
        gone = rules.identifiers if rules.release.identifiers == "drop" else ()
        wanted = {name for name in rules.columns if name not in gone}
        extra, lacking = set(source.columns) - wanted, wanted - set(source.columns)
        counted = f"{len(lacking)} lacking, {len(extra)} too many"
        fits = not extra and not lacking
        checks.append(Check(f"columns of {part.file}", str(len(wanted)), counted, fits))
        if fits and part.role == "sensitive":
            lost = count_invalid(source, "count", layout.count)
            fits, counted = lost == 0, f"{lost:,} are not"
            checks.append(Check(f"counts of {part.file}", "whole numbers", counted, fits))
        if not fits:
            continue
        if any(each.role in ("quasi", "sensitive") for each in rules.columns.values()):
            audits[part.file] = audit_bound(bind(rules, source), measure_all=False)
    checks += _agreeing(layout, audits)
    return Recount(layout, audits, tuple(checks))


def recheck_folder(
    place: Path,
    certificate: Certificate,
    layout: Layout,
    policy: Policy,
    sources: Mapping[str, Source],
) -> Recount:
    """Counts the tables of a folder again, and confirms or refutes its certificate's lines."""
    found = recount_form(policy, layout, sources)
    hashes = certificate.hashes.files or {}
    expected = {CERTIFICATE, *(part.file for part in layout.parts)}
    extra = sum(file.name not in expected for file in place.iterdir())
    lines = [Check("files", f"{len(expected)} files", f"{extra} more", extra == 0)]
    for part in layout.parts:
        now = file_hash(place / part.file) if (place / part.file).is_file() else None
        lines.append(compare(f"sha256 of {part.file}", hashes.get(part.file), now))
    holds = all(audit.holds is not False for audit in found.audits.values())
    lines += [
        *compare_policies(certificate, policy),
        compare("rows", certificate.rows, found.rows),
        compare("groups", certificate.classes, found.groups),
        *([] if not found.audits else _compare_sizes(certificate, found)),
        compare("the promise holds", certificate.holds, holds),
        *compare_requirements(certificate.requirements, found.requirements()),
    ]
    notes = CAVEATS[layout.form]
    lines.append(Check("notes", "of the form", "of the form", certificate.notes in (None, notes)))
    lines += list_uncounted(certificate, policy, found.rows)
    return Recount(layout, found.audits, (*found.checks, *lines))


def _compare_sizes(certificate: Certificate, found: Recount) -> Iterator[Check]:
    """The sizes of the first table's classes, which a certificate of several tables states."""
    sizes = found.count_sizes()
    yield compare("smallest class", certificate.k, sizes.smallest)
    yield from compare_sizes(certificate, sizes)


def _complete(policy: Policy, layout: Layout) -> Iterator[Check]:
    """Whether every sensitive attribute, and every joint promise, has one table."""
    placed = [name for part in layout.parts for name in part.columns]
    right = sorted(placed) == sorted(policy.sensitive)
    stated = f"{len(policy.sensitive)} attributes"
    yield Check("sensitive attributes, each in one table", stated, f"{len(placed)} found", right)
    yield _check_sets(policy, layout)
    added, wanted = bool(layout.group) + bool(layout.count), ADDED[layout.form]
    yield Check("columns added", str(added), str(wanted), added == wanted)
    tables = layout.sets if layout.form == "slicing" else [part.columns for part in layout.parts]
    for joint in policy.joint:
        inside = any(set(joint.columns) <= set(names) for names in tables)
        yield Check(" × ".join(joint.columns), "in one table", "yes" if inside else "no", inside)


def _check_sets(policy: Policy, layout: Layout) -> Check:
    """Whether the sets of columns are those of the tables; a sliced table does not show its own."""
    names = sorted(name for names in layout.sets for name in names)
    if layout.form == "slicing":
        wanted = sorted((*policy.with_role("quasi"), *policy.sensitive))
        confirmed = None if names == wanted else False
        return Check("sets of columns", f"{len(layout.sets)}", UNCOUNTED, confirmed)
    tables = [part.columns for part in layout.parts if part.columns]
    same = sorted(layout.sets) == sorted(tables)
    return Check("sets of columns", f"{len(layout.sets)}", f"{len(tables)} tables", same)


def _agreeing(layout: Layout, audits: Mapping[str, Audit]) -> Iterator[Check]:
    """Whether all tables have as many rows, or (Anatomy) the same groups of the same sizes."""
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
        counted = "the same" if same else "different"
        yield Check(f"groups of {file} and {known[0][0]}", "the same", counted, same)


def load_split_certificate(folder: Path) -> tuple[Certificate, Layout]:
    """The certificate of a release in several tables, and which file holds what of it."""
    hint = "was it made by `tclose split`?"
    if not (folder / CERTIFICATE).is_file():
        raise DataError(f"there is no {CERTIFICATE} in this folder", where=str(folder), hint=hint)
    certificate = Certificate.load(folder / CERTIFICATE)
    if certificate.form is None:
        what = "the certificate does not say which files the release is made of"
        raise UsageError(what, where="certificate", hint=hint)
    return certificate, certificate.form
