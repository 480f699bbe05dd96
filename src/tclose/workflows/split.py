"""A release in several tables: Anatomy, slicing, or projections (`projected`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.attacks import Finding
from tclose.attacks.definetti import attack_groups
from tclose.data import AS_FOUND, BoundTable, Reading, Source, open_source, write_table
from tclose.data.engines.frames.release import convert_like
from tclose.data.io.counting import file_hash
from tclose.data.io.files import refuse_folder, write_folder
from tclose.data.io.paths import find_files
from tclose.data.io.records import FORMS, Form, Layout
from tclose.errors import UnprovenError, UsageError, nearest
from tclose.recode.forms import Grouped, grouped_rows
from tclose.search import Budget, Progress, method_named, problem_of
from tclose.search.anatomy.association import Sets
from tclose.search.anatomy.dealing import Groups, deal_groups
from tclose.verify import Certificate
from tclose.verify.certificate import Origin
from tclose.verify.forms import (
    CAVEATS,
    CERTIFICATE,
    Recount,
    recount_form,
    refuse_unjudged,
)
from tclose.workflows.anonymize import refuse_infeasible
from tclose.workflows.budget import budget_of
from tclose.workflows.forms.column_sets import layout_of, sets_of
from tclose.workflows.forms.projections import project
from tclose.workflows.inputs import PolicyLike, check
from tclose.workflows.release.delivery import nothing_kept
from tclose.workflows.release.origin import describe_split, hash_inputs, record_trials
from tclose.workflows.release.publish import make_pseudonyms
from tclose.workflows.release.targets import refuse_empty_texts, refuse_no_promise
from tclose.workflows.verify import open_part

KINDS = ("csv", "parquet", "arrow")


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
        """What this form does not protect, and what its tables tell together."""
        return (*CAVEATS[self.form], *(one.sentence for one in self.findings))

    def __str__(self) -> str:
        return "\n".join([str(self.recount), *(f"  note: {note}" for note in self.notes)])


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
    """Publishes a table as several, so that links are broken in place of values.

    `form` is "anatomy" (exact quasi-identifiers beside counts of sensitive values per group),
    "slicing" (the tuples of disjoint sets of columns, shuffled within groups) or "projections"
    (one anonymized release per set of sensitive attributes). `sets` names columns to be published
    together; without, those that go together are. Groups come from dealing, which ignores the
    quasi-identifiers, or are the classes of a search (`method`). With `output` a folder is written
    that appears whole or not at all, after it has been read back and recounted.

    >>> table = pa.table({"age": [21, 22, 23, 44], "ill": ["a", "b", "a", "b"]})
    >>> rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "l": 2}}}
    >>> made = split(table, rules, form="anatomy")
    >>> made.holds, list(made.tables), made.tables["sensitive-ill"].column("count").to_pylist()
    (True, ['quasi', 'sensitive-ill'], [1, 1, 1, 1])
    """
    chosen = _form(form)
    if output is not None:
        refuse_folder(output)
    bound = check(data, policy, reading=reading)
    suffix = _suffix(kind, data)
    _refuse(bound, chosen, suffix if output is not None else None)
    asked = bound.policy.search
    budget = budget_of(asked, seconds, effort, seed, 0, cancelled=cancelled, progress=progress)
    layout = layout_of(bound, chosen, sets_of(bound, chosen, sets), suffix)
    findings: tuple[Finding, ...] = ()
    if chosen == "projections":
        tables, findings, projections = project(
            bound, data, layout, budget, method, reading, make_pseudonyms(key), cancelled
        )
        origin = describe_split(
            bound, budget, findings, command, method="projections", projections=projections
        )
    else:
        groups = _groups(bound, budget, method)
        if groups.stopped == "cancelled":
            raise nothing_kept()
        pseudonyms = make_pseudonyms(key)
        made = grouped_rows(bound, bound.source.stream(), groups.label, pseudonyms, budget.seed)
        tables = dict(_tables(made, layout))
        findings = tuple(_learned(made)) if chosen == "anatomy" else ()
        origin = describe_split(
            bound,
            budget,
            findings,
            command,
            method=groups.method,
            stopped=groups.stopped,
            tried=record_trials(groups.tried, losses=False),
        )
    made_split = _publish(_Made(data, bound, layout, tables, origin, findings), output)
    bound.source.close()
    return made_split


@dataclass(frozen=True)
class _Made:
    """Everything about a release but whether it holds."""

    data: Any
    bound: BoundTable
    layout: Layout
    tables: dict[str, pa.Table]
    origin: Origin
    findings: tuple[Finding, ...]

    def certify(
        self, sources: Mapping[str, Source], files: dict[str, str]
    ) -> tuple[Recount, Certificate]:
        """The recount of the tables and its certificate; raises where the promise is broken."""
        found = recount_form(self.bound.policy, self.layout, sources)
        if not found.holds:
            broken = [one.line for one in found.checks if one.confirmed is False]
            broken += [
                verdict.title
                for audit in found.audits.values()
                for verdict in audit.requirements
                if not verdict.holds
            ]
            raise UnprovenError(
                f"the written tables do not keep their promise ({', '.join(broken)})"
            )
        hashes = hash_inputs(self.bound, self.bound.source).model_copy(update={"files": files})
        return found, found.certify(self.bound.policy.to_json(), self.origin, hashes)


def _publish(made: _Made, output: str | Path | None) -> Split:
    """Writes the tables into a new folder, or frames them, once they are counted and certified."""
    form = made.layout.form
    if output is None:
        sources = {file: open_source(table) for file, table in made.tables.items()}
        hashes = {file: source.digest() for file, source in sources.items()}
        recount, certificate = made.certify(sources, hashes)
        tables = {
            Path(file).stem: convert_like(made.data, table) for file, table in made.tables.items()
        }
        return Split(form, tables, None, certificate, recount, made.findings)

    def fill(part: Path) -> tuple[Recount, Certificate]:
        for file, table in made.tables.items():
            write_table(part / file, table.schema, table.to_batches())
        sources = {file: open_part(part / file) for file in made.tables}
        hashes = {file: file_hash(part / file) for file in made.tables}
        recount, certificate = made.certify(sources, hashes)
        certificate.save(part / CERTIFICATE)
        return recount, certificate

    recount, certificate = write_folder(output, fill)
    return Split(form, {}, Path(output), certificate, recount, made.findings)


def _groups(bound: BoundTable, budget: Budget, method: str | None) -> Groups:
    """Groups by dealing, or the classes of another search."""
    problem = problem_of(bound)
    refuse_infeasible(problem)
    if method in (None, "dealing"):
        return deal_groups(problem, budget)
    outcome = method_named(method or "").run(problem, budget)
    label = np.repeat(outcome.label, problem.weight)
    return Groups(label, outcome.method, outcome.stopped, outcome.tried)


def _learned(made: Grouped) -> Iterator[Finding]:
    for name in made.bound.attributes:
        yield attack_groups(made.bound, made.cell, made.group - 1, name, made.seed)


def _tables(made: Grouped, layout: Layout) -> Iterator[tuple[str, pa.Table]]:
    for part in layout.parts:
        if part.role == "quasi":
            yield part.file, made.quasi_table(layout.group)
        elif part.role == "sensitive":
            yield part.file, made.sensitive_table(part.columns, layout.group, layout.count)
        else:
            yield part.file, made.sliced_table(layout.sets, layout.group)


def _refuse(bound: BoundTable, form: Form, suffix: str | None) -> None:
    refuse_no_promise(bound.policy)
    if not bound.attributes:
        raise UsageError(
            "no column is sensitive, so there is no link to break",
            where="policy",
            hint="use `tclose anonymize`",
        )
    refuse_unjudged(bound.policy, form)
    if suffix is not None:
        written = (*bound.classes.quasi, *bound.attributes)
        refuse_empty_texts(bound, written, f"table{suffix}", "parquet (--kind parquet)")


def _suffix(kind: str | None, data: Any) -> str:
    """How the files are written: as asked, or like the file that was read."""
    if kind is None:
        kind = find_files(Path(data)).kind if isinstance(data, str | Path) else "text"
        return f".{kind}" if kind in KINDS else ".csv"
    if kind not in KINDS:
        raise UsageError(f"tables are written as {', '.join(KINDS)}", where="--kind")
    return f".{kind}"


def _form(form: str) -> Form:
    for known in FORMS:
        if form == known:
            return known
    raise UsageError("unknown form of release", where="form", hint=nearest(form, FORMS))
