"""A release put where it goes: written (or framed), counted again from scratch, certified.

What would only come to light then is refused before a search (`Targets`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.binding import BoundTable, refuse_empty_texts
from tclose.data.encode.cells import Cells
from tclose.data.engines.postgres.source import refuse_taken
from tclose.data.formulas import find_formulas, is_text_file, quote_formulas, unquote_formulas
from tclose.data.io.files import (
    refuse_overwriting,
    refuse_unholdable,
    refuse_unknown_kind,
    refuse_unwritable,
)
from tclose.data.io.order import shuffle_rows
from tclose.data.io.paths import Address, Reading, suffix_of
from tclose.data.io.records import SupersetRecord
from tclose.data.io.transaction import find_part, switch_now, write_together
from tclose.data.opening import describe_encoding, open_source, write_by_engine, write_rows
from tclose.data.recognize import describe_exposed, describe_repeated_people, sample_columns
from tclose.data.source import Source, write_out
from tclose.errors import InternalError, TcloseError, UsageError
from tclose.policy.model import Policy
from tclose.recode.plan import Plan
from tclose.recode.rewrite import Pseudonyms, Rewriter
from tclose.release import Release
from tclose.verify.audit import Audit, recount
from tclose.verify.caveats import find_caveats_of_values
from tclose.verify.certificate import Certificate, CleanedRecord, Origin, certify
from tclose.verify.supersets import number_supersets
from tclose.workflows.release.task import Draft

if TYPE_CHECKING:
    from tclose.report.document import Document

Checked = tuple[Audit, Certificate]
ORDER_KEPT = (
    'rows are in the order of the table (rows = "keep"): someone who knows this order, for '
    "example of a table sorted by name, sees which row is whose"
)


@dataclass(frozen=True)
class Targets:
    """Where a release, its certificate and its plan are written, if anywhere."""

    output: Path | Address | None = None
    certificate: Path | None = None
    plan: Path | None = None

    @classmethod
    def parse(cls, output: str | Path | Address | None, *beside: str | Path | None) -> Targets:
        """Where to write; refused at once, not after the search, where nothing can be written."""
        paths = [None if path is None else Path(path) for path in beside]
        place: Path | Address | None = Address.of(output)
        if isinstance(place, Address):
            refuse_taken(place)
        elif output is not None:
            refuse_unknown_kind(str(output))
            place = Path(str(output))
        targets = cls(place, *paths)
        for path in targets.files:
            refuse_unwritable(path)
        return targets

    @property
    def files(self) -> list[Path]:
        """The files that are to be written."""
        places = (self.output, self.certificate, self.plan)
        return [place for place in places if isinstance(place, Path)]

    def leave_rows_to(self, source: Source) -> bool:
        """Whether the table's engine rewrites the rows itself, by their values."""
        return source.rewrites if self.output is None else source.can_store(self.output)

    def refuse(self, bound: BoundTable, inputs: tuple[Any, ...]) -> None:
        """Raises where the table cannot be released to here, or has nothing to keep."""
        policy = bound.policy
        read = [given for given in inputs if isinstance(given, str | Path)]
        read += [*(policy.base / name for name in policy.files), *bound.source.files]
        for path in self.files:
            refuse_overwriting(path, read)
        if len({path.resolve() for path in self.files}) < len(self.files):
            raise UsageError("two outputs have the same name", where=str(self.files[0]))
        refuse_no_promise(policy)
        refuse_added(bound, self)
        if self.output is None:
            return
        schema = bound.make_schema(bound.source.stream(), bound.text_columns)
        if isinstance(self.output, Address):
            refuse_taken(self.output, schema)
            return
        refuse_unholdable(self.output, schema, lambda: bound.source.n_rows)
        if bound.source.can_store(self.output):
            if policy.release.formulas == "quote" and is_text_file(self.output):
                hint = "name a .parquet folder, or a file that is written without the engine"
                raise UsageError(
                    "an engine that writes the release itself does not quote formulas",
                    where="release.formulas",
                    hint=hint,
                )
            bound.source.refuse_taken(self.output)
        refuse_empty_texts(bound, bound.attributes, self.output, "a .parquet file")


@dataclass(frozen=True)
class Job:
    """The input of a release and the places where its files go."""

    data: Any
    """What the table was opened from."""
    reading: Reading
    source: Source
    policy: Policy
    targets: Targets
    command: str = ""
    people: Cells | None = None
    """The population that the promise is about, if there is one."""
    key: bytes | None = None
    """The steward's own key, if there is one."""
    begin: Callable[[str], None] = lambda phase: None
    """Told what is done after the search: "writing", then "recounting"."""
    notes: tuple[str, ...] = ()
    """What was foreseen before the search."""

    @cached_property
    def pseudonyms(self) -> Pseudonyms:
        """Pseudonyms under the steward's key, or under one that is drawn and forgotten."""
        return Pseudonyms() if self.key is None else Pseudonyms(self.key)


@dataclass(frozen=True)
class Unproven:
    """A release whose promise a recount did not confirm once it was written: nothing is left."""

    reason: str


class _NotKept(TcloseError):  # noqa: N818
    """Raised while a release is counted, so that whatever writes it removes it."""


def publish(
    job: Job, draft: Draft, stopped: Callable[[], bool] = lambda: False
) -> Release | Unproven:
    """Writes (or frames) the release, recounts it, and certifies what was counted.

    Nothing is left where its promise is not confirmed, or somebody stopped.
    """
    job.begin("writing")
    files = job.targets.files
    try:
        # A table that its engine keeps is there by now: what belongs to it follows at once.
        with write_together(*files):
            try:
                check = partial(_recount, job, draft, complete_origin(job, draft), stopped)
                data, (audit, certificate) = _write(job, draft, check, stopped)
            except Exception:
                job.source.refuse_edited()  # then that is the reason, whatever came of it
                raise
            if job.targets.output is None or find_part(job.targets.output) is None:
                switch_now()
    except _NotKept as refused:
        return Unproven(refused.what)
    original = draft.original
    said: tuple[str, ...] = ()
    if original is not None:  # of values those of the raw table, of counting the release's own
        of_labels = set(find_caveats_of_values(audit.bound))
        counted = (note for note in audit.caveats if note not in of_labels)
        said = (*find_caveats_of_values(original), *counted)
    job.source.close()
    said = (*describe_encoding(job.source, job.targets.output), *said)
    return Release(
        data=data,
        path=job.targets.output,
        certificate=certificate,
        audit=audit,
        loss=draft.loss,
        plan=None if draft.plan is None else draft.plan.tie_to(certificate.hashes.output),
        outcome=draft.outcome,
        left_out=draft.loss.left_out,
        leftover=draft.leftover,
        people=job.people,
        notes=(*draft.notes, *job.notes, *job.source.notes, *said),
        reporter=None if original is None else partial(_report, original, job.reading),
        list_classes=draft.rows.list_classes if isinstance(draft.rows, Rewriter) else None,
    )


def _recount(
    job: Job, draft: Draft, origin: Origin, stopped: Callable[[], bool], written: Source
) -> Checked:
    """Counts the written rows from scratch, and certifies them if the promise holds."""
    job.begin("recounting")
    counted = unquote_formulas(written, job.policy)
    audit = recount(job.policy, counted, job.people, partial(_name_supersets, draft.plan))
    if audit.supersets and not audit.holds:
        # What a plan names need not hold of other rows than its own; hierarchies show more.
        audit = recount(job.policy, counted, job.people)
    job.source.refuse_edited()
    if not audit.holds:
        raise _NotKept(f"the written release does not keep its promise ({audit.broken})")
    if (audit.rows if audit.in_parts else audit.bound.cells.n_rows) != draft.n_rows:
        raise _NotKept("the written release has not the rows that were released")
    if stopped():
        raise nothing_kept()
    warnings = (*(origin.warnings or ()), *_find_formulas(job, audit)) or None
    origin = origin.model_copy(update={"warnings": warnings})
    certificate = certify(audit, job.policy, origin, written.digest())
    if job.targets.certificate is not None:
        certificate.save(job.targets.certificate)
    if draft.plan is not None and job.targets.plan is not None:
        draft.plan.tie_to(certificate.hashes.output).save(job.targets.plan)
    return audit, certificate


def _find_formulas(job: Job, audit: Audit) -> tuple[str, ...]:
    """Warnings about texts that spreadsheet programs read as formulas, unless the policy quotes
    them.

    Columns that nobody counted are looked at in the table's first rows.
    """
    output = job.targets.output
    if job.policy.release.formulas == "quote" or not is_text_file(output):
        return ()
    counted = {} if audit.in_parts else audit.bound.cells.dictionaries
    texts: dict[str, Any] = {name: words.labels for name, words in counted.items()}
    roles = {name: column.role for name, column in job.policy.columns.items()}
    rest = [
        name
        for name in job.source.columns
        if name not in texts and roles.get(name) != "identifier" and job.source.is_scalar(name)
    ]
    for name, sample in (sample_columns(job.source, rest) if rest else {}).items():
        values = write_out(sample)
        if values.type == pa.large_string():
            texts[name] = values.to_pylist()
    return find_formulas(texts, output)


def _name_supersets(plan: Plan | None, written: BoundTable) -> Sequence[SupersetRecord]:
    """The supersets of a plan in the numbers of the classes that were written."""
    if plan is None or not plan.supersets:
        return ()
    columns = {released.column: released.values for released in plan.columns}
    return number_supersets(written, columns, plan.supersets)


def confirm(published: Release | Unproven) -> Release:
    """The release; raises where it was not proved, which is a bug."""
    if isinstance(published, Unproven):
        raise InternalError(published.reason)
    return published


def nothing_kept() -> UsageError:
    """The error raised when a user stops a search and does not want its best release."""
    return UsageError("stopped; nothing was written", hint="or keep the best found so far")


def _write(
    job: Job, draft: Draft, check: Callable[[Source], Checked], stopped: Callable[[], bool]
) -> tuple[Any, Checked]:
    """The release as a frame, unless it is written somewhere, and what `check` found in it."""
    rows, source, reading, output = draft.rows, job.source, job.reading, job.targets.output
    if output is None:
        data = source.recode(rows.translation()) if source.rewrites else rows.to_frame(job.data)
        return data, check(open_source(data, Reading(max_cells=source.max_cells)))
    if source.can_store(output):
        return None, source.store(rows.translation(), output, check)
    if isinstance(output, Path) and suffix_of(output) == ".parquet" and rows.is_translatable:
        translation = rows.translation()
        if source.can_write(translation):
            return None, write_by_engine(source, translation, output, check, reading)

    def until_stopped() -> Iterator[pa.RecordBatch]:
        for batch in rows.batches():
            if stopped():
                raise nothing_kept()
            yield batch

    batches = until_stopped()
    if job.policy.release.rows == "shuffle":
        batches = shuffle_rows(batches, rows.schema(), reading.memory)
    if job.policy.release.formulas == "quote" and is_text_file(output):
        batches = quote_formulas(batches)
    return None, write_rows(output, rows.schema(), batches, check, source.delimiter, reading)


def _report(
    original: BoundTable,
    reading: Reading,
    release: Release,
    path: str | Path | None,
    edition: str,
    **more: Any,
) -> Document:
    from tclose.workflows.report import release_report  # a release is made without it

    data = release.path if release.data is None else release.data
    policy, people = release.audit.bound.policy, release.people
    return release_report(
        original, reading, data, release.certificate, path, edition, policy=policy, people=people,
        **more,
    )  # fmt: skip


def complete_origin(job: Job, draft: Draft) -> Origin:
    """Adds the warnings, the order of rows and the cleaning of the input to a draft's origin."""
    order = job.policy.release.rows
    kept = (ORDER_KEPT,) if order == "keep" else ()
    cells = None if draft.original is None else draft.original.cells
    known = {
        "command": job.command,
        "warnings": (
            *kept,
            *describe_repeated_people(job.policy, job.source),
            *describe_exposed(job.policy, job.source, cells),
        )
        or None,
        "row_order": order,
        "cleaned": list_cleaned(job.source),
    }
    return draft.origin.model_copy(update=known)


def list_cleaned(source: Source) -> dict[str, CleanedRecord] | None:
    """The columns that were cleaned before counting, and how; None if there are none."""
    found = {name: CleanedRecord(**column.describe()) for name, column in source.cleaned.items()}
    return found or None


def refuse_no_promise(policy: Policy) -> None:
    """Raises where a release would have nothing to keep."""
    if not policy.promises_something:
        what = "the policy promises nothing, so there is nothing to keep"
        raise UsageError(what, where="policy", hint="state k, or t at a sensitive column")
    if policy.unprotected:
        name = policy.unprotected[0]
        raise UsageError(
            f"nothing is promised of {name!r}, which is sensitive",
            where=f"columns.{name}",
            hint="give it a t (such as t = 0.2), or say why it may be released without a promise: "
            'accept = "…", which the certificate repeats',
        )


def refuse_added(bound: BoundTable, targets: Targets) -> None:
    """Raises where the columns that `release.add` asks for cannot be added."""
    added, source = bound.policy.added_columns, bound.source
    taken = [name for name in added if name in source.columns]
    if taken:
        hint = "rename that column, or leave release.add out"
        what = f"the table has a column {taken[0]!r} already"
        raise UsageError(what, where="release.add", hint=hint)
    if added and targets.leave_rows_to(source):
        raise UsageError(
            "columns can be added to frames in memory and to files, not where an engine rewrites "
            "its own table",
            where="release.add",
            hint="name a file as the output, or leave release.add out",
        )
