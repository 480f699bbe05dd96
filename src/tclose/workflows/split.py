"""split: a release in several tables, by Anatomy, slicing or projections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.attacks.composition import Projection, compose_projections
from tclose.attacks.definetti import attack_groups
from tclose.attacks.finding import Finding
from tclose.data.alignment import locate_rows
from tclose.data.binding import BoundTable, refuse_empty_texts
from tclose.data.engines.frames.release import convert_like
from tclose.data.io.counting import file_hash
from tclose.data.io.files import refuse_folder, take_rows, write_folder, write_table
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.data.io.records import FORMS, Form, Layout
from tclose.data.opening import describe_encoding, open_source
from tclose.data.recognize import describe_exposed
from tclose.data.source import Source
from tclose.errors import InternalError, UsageError, nearest
from tclose.notebook import show_progress
from tclose.plain import join_lines
from tclose.recode.forms import group_rows, shuffle_within_groups
from tclose.recode.rewrite import Pseudonyms
from tclose.search import Budget, Progress, method_named, problem_of
from tclose.search.anatomy import IN_TURN, Groups, Sets, form_groups
from tclose.search.feasibility import refuse_infeasible
from tclose.verify.certificate import AttackRecord, Certificate, Origin, ProjectionRecord
from tclose.verify.forms import (
    CAVEATS,
    CERTIFICATE,
    Recount,
    part_policy,
    recount_form,
    refuse_unjudged,
)
from tclose.workflows.anonymize import anonymize
from tclose.workflows.inputs import PolicyLike, budget_of, check
from tclose.workflows.release.layout import choose_sets, choose_suffix, lay_out
from tclose.workflows.release.publish import list_cleaned, nothing_kept, refuse_no_promise
from tclose.workflows.release.task import list_versions, record_trials
from tclose.workflows.verify import open_split_table

Tables = dict[str, pa.Table]
Made = tuple[Tables, tuple[Finding, ...], dict[str, Any]]
"""Tables by their file, what they tell together, and what a certificate says of the search."""
Checked = tuple[Recount, Certificate]


@dataclass(frozen=True)
class Split:
    """A release in several tables.

    `tables` holds them by name, in the caller's own kind of frame (Arrow tables where a file was
    read); it is empty where they were written to `path`.
    """

    form: Form
    tables: Mapping[str, Any] = field(repr=False)
    path: Path | None
    certificate: Certificate = field(repr=False)
    recount: Recount = field(repr=False)
    findings: tuple[Finding, ...] = ()
    """What projections tell together; what a model learned from Anatomy's tables would tell."""
    remarks: tuple[str, ...] = ()
    """What is to be said of the written files."""

    @property
    def holds(self) -> bool:
        """Whether the promise holds on every table; a release that breaks it is never made."""
        return self.recount.holds

    @property
    def sets(self) -> Sets:
        """The columns that are published together."""
        return self.recount.layout.sets

    @property
    def notes(self) -> tuple[str, ...]:
        """What this form of release does not protect, and what its joined tables reveal."""
        found = (finding.sentence for finding in self.findings)
        return (*CAVEATS[self.form], *found, *self.remarks)

    def __str__(self) -> str:
        warnings = [f"  warning: {warning}" for warning in self.certificate.warnings or ()]
        notes = [f"  note: {note}" for note in self.notes]
        return "\n".join([str(self.recount), join_lines([*warnings, *notes])])


@show_progress
def split(
    data: Any,
    policy: PolicyLike,
    *,
    form: str,
    output: str | Path | None = None,
    sets: Sequence[Sequence[str]] | None = None,
    kind: str | None = None,
    method: str | None = None,
    seconds: float | None = None,
    effort: float | None = None,
    seed: int | None = None,
    key: bytes | None = None,
    reading: Reading = AS_FOUND,
    progress: Callable[[Progress], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
    command: str = "",
) -> Split:
    """Publishes a table as several verified tables without links between them.

    `form` is "anatomy" (exact quasi-identifiers, and counts of sensitive values per group),
    "slicing" (tuples of disjoint sets of columns, shuffled within groups) or "projections" (one
    anonymized release per set of sensitive attributes). `sets` lists columns to publish together;
    by default strongly associated columns are. Rows are assigned to groups in turn by their
    sensitive values (`method="in-turn"`), or the groups are the classes of a search. With `output`
    a folder is written; it appears only after its files have been read back and recounted.

    >>> table = pa.table({"age": [21, 22, 23, 44], "ill": ["a", "b", "a", "b"]})
    >>> rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "l": 2}}}
    >>> made = split(table, rules, form="anatomy")
    >>> made.holds, list(made.tables), made.tables["sensitive-ill"].column("count").to_pylist()
    (True, ['quasi', 'sensitive-ill'], [1, 1, 1, 1])
    """
    if form not in FORMS:
        raise UsageError("unknown form of release", where="form", hint=nearest(form, FORMS))
    if output is not None:
        refuse_folder(output)
    bound = check(data, policy, reading=reading)
    suffix = choose_suffix(kind, data)
    _refuse(bound, form, suffix if output is not None else None)
    wishes = bound.policy.search
    budget = budget_of(wishes, seconds, effort, seed, 0, cancelled=cancelled, progress=progress)
    layout = lay_out(bound, form, choose_sets(bound, form, sets), suffix)
    pseudonyms = Pseudonyms() if key is None else Pseudonyms(key)
    if form == "projections":
        given = {"key": pseudonyms.key, "reading": reading}
        tables, findings, how = _project(bound, layout, budget, method, **given)
    else:
        tables, findings, how = _group(bound, layout, budget, method, pseudonyms)
    origin = Origin(
        attacks=tuple(
            AttackRecord.model_validate(found.to_json(), strict=False) for found in findings
        )
        or None,
        seed=budget.seed,
        seconds=budget.seconds,
        effort=budget.effort,
        command=command,
        input_rows=bound.classes.n_rows,
        versions=list_versions(),
        cleaned=list_cleaned(bound.source),
        warnings=describe_exposed(bound.policy, bound.source, exact_quasi=form != "projections")
        or None,
        **how,
    )

    def certify(sources: Mapping[str, Source], files: dict[str, str]) -> Checked:
        found = recount_form(bound.policy, layout, sources)
        bound.source.refuse_edited()
        if not found.holds:
            broken = [check.line for check in found.checks if check.confirmed is False]
            broken += [audit.broken for audit in found.audits.values() if audit.broken]
            listed = ", ".join(broken)
            raise InternalError(f"the written tables do not keep their promise ({listed})")
        return found, found.certify(bound.policy, origin, files)

    def fill(part: Path) -> Checked:
        for file, table in tables.items():
            write_table(part / file, table.schema, table.to_batches())
        sources = {file: open_split_table(part / file) for file in tables}
        found = certify(sources, {file: file_hash(part / file) for file in tables})
        found[1].save(part / CERTIFICATE)
        return found

    frames: dict[str, Any] = {}
    if output is None:
        sources = {file: open_source(table) for file, table in tables.items()}
        digests = {file: source.digest() for file, source in sources.items()}
        recount, certificate = certify(sources, digests)
        frames = {Path(file).stem: convert_like(data, table) for file, table in tables.items()}
    else:
        recount, certificate = write_folder(output, fill)
    bound.source.close()
    path = None if output is None else Path(output)
    remarks = () if path is None else describe_encoding(bound.source, path / f"table{suffix}")
    return Split(form, frames, path, certificate, recount, findings, remarks)


def _group(
    bound: BoundTable, layout: Layout, budget: Budget, method: str | None, pseudonyms: Pseudonyms
) -> Made:
    """The tables of Anatomy or slicing, whose rows are in groups."""
    groups = _find_groups(bound, budget, method)
    if groups.stopped == "cancelled":
        raise nothing_kept()
    made = group_rows(bound, bound.source.stream(), groups.label, pseudonyms, budget.seed)
    tables: Tables = {}
    for part in layout.parts:
        if part.role == "quasi":
            table = made.quasi_table(layout.group)
        elif part.role == "sensitive":
            table = made.sensitive_table(part.columns, layout.group, layout.count)
        else:
            table = made.slice_table(layout.sets, layout.group)
        tables[part.file] = table
    findings: tuple[Finding, ...] = ()
    if layout.form == "anatomy":
        findings = tuple(
            attack_groups(bound, made.cell, made.group - 1, name, made.seed)
            for name in bound.attributes
        )
    tried = record_trials(groups.tried, losses=False)
    how = {"method": groups.method, "stopped": groups.stopped, "tried": tried}
    return tables, findings, how


def _find_groups(bound: BoundTable, budget: Budget, method: str | None) -> Groups:
    """Groups of rows assigned in turn, or the classes of another search."""
    problem = problem_of(bound)
    refuse_infeasible(problem)
    if method in (None, IN_TURN, "dealing"):  # the name that it had before
        return form_groups(problem, budget)
    outcome = method_named(method or "").run(problem, budget)
    label = np.repeat(outcome.label, problem.rows)
    return Groups(label, outcome.method, outcome.stopped, outcome.tried)


def _project(
    bound: BoundTable, layout: Layout, budget: Budget, method: str | None, **given: Any
) -> Made:
    """One anonymized release for every set of sensitive attributes, searched and proved by itself.

    Two things would tie their rows together again and are kept from doing so: the order of the rows
    (each has its own), and columns that are neither quasi-identifiers nor sensitive, which only the
    first has. What they tell together all the same is measured.
    """
    table = bound.source.stream().read_table()
    tables: Tables = {}
    projections, records = [], []
    for at, part in enumerate(layout.parts):
        rules = part_policy(bound.policy, layout, part)
        in_order = rules.release.model_copy(update={"rows": "keep"})
        clean = {name: column.without_cleaning() for name, column in rules.columns.items()}
        release = anonymize(
            table.select([name for name in table.column_names if name in rules.columns]),
            rules.model_copy(update={"release": in_order, "columns": clean}),
            method=method,
            seconds=budget.seconds,
            effort=budget.effort,
            seed=budget.seed,
            suppression=0,
            **given,
            progress=budget.report,
            cancelled=budget.cancelled,
        )
        if release.left_out:
            raise InternalError("a projection left rows out", where=part.file)
        found = release.audit.bound
        label = found.classes.cell_class[locate_rows(found)]
        projections.append(Projection(part.columns, label))
        nobody = np.zeros(len(label), dtype=np.int64)
        order = shuffle_within_groups(release.data, nobody, [budget.seed, at])
        tables[part.file] = take_rows(release.data, order)
        records.append(
            ProjectionRecord(
                file=part.file,
                loss=release.loss.overall,
                classes=release.classes,
                method=release.certificate.method,
                stopped=release.certificate.stopped,
            )
        )
    findings = compose_projections(bound, locate_rows(bound), projections)
    return tables, findings, {"method": "projections", "projections": tuple(records)}


def _refuse(bound: BoundTable, form: Form, suffix: str | None) -> None:
    refuse_no_promise(bound.policy)
    if not bound.attributes:
        what = "no column is sensitive, so there is no link to break"
        raise UsageError(what, where="policy", hint="use `tclose anonymize`")
    refuse_unjudged(bound.policy, form)
    if suffix is not None:
        written = (*bound.classes.quasi, *bound.attributes)
        refuse_empty_texts(bound, written, f"table{suffix}", "parquet (--kind parquet)")
    if bound.policy.release.add:
        hint = "leave it out, or release one table with anonymize"
        raise UsageError("no columns are added to several tables", where="release.add", hint=hint)
    if bound.policy.release.formulas == "quote":
        hint = "write .parquet or .arrow files, which no program takes for formulas"
        what = "formulas are not quoted in several tables"
        raise UsageError(what, where="release.formulas", hint=hint)
