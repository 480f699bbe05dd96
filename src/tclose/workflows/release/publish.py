"""A release put where it goes: written (or framed), counted again from scratch, certified."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.binding import (
    BoundTable,
    open_source,
    write_by_engine,
    write_rows,
)
from tclose.data.formulas import find_formulas, is_text_file, quote_formulas, unquote_formulas
from tclose.data.io.order import shuffle_rows
from tclose.data.io.paths import Reading, suffix_of
from tclose.data.io.records import SupersetRecord
from tclose.data.io.transaction import find_part, switch_now, write_together
from tclose.data.recognize import sample_columns
from tclose.data.source import Source
from tclose.errors import InternalError, TcloseError, UsageError
from tclose.recode import Plan
from tclose.release import Release
from tclose.verify.audit import Audit, recount
from tclose.verify.caveats import find_caveats
from tclose.verify.certificate import (
    Certificate,
    Origin,
    certify,
)
from tclose.verify.supersets import number_supersets
from tclose.workflows.release.draft import Draft, Job, complete_origin

if TYPE_CHECKING:
    from tclose.report.document import Document

Checked = tuple[Audit, Certificate]


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
        with write_together(files[0] if files else None):
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
    said = () if original is None else tuple(find_caveats(original))
    job.source.close()
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
    certificate = certify(audit, job.policy.to_json(), origin, draft.hashes)
    certificate = certificate.of_file(written.digest())
    certificate.save(job.targets.certificate)
    if draft.plan is not None:
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
        if pa.types.is_string(sample.type) or pa.types.is_large_string(sample.type):
            texts[name] = sample.to_pylist()
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
