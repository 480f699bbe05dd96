"""A release put where it goes: written (or framed), counted again, certified.

Nothing is believed of what was made: it is read back and counted from scratch, and only what keeps
the promise is certified and moved to its place. What would only come to light after a search is
refused before it (`Targets`).
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.binding import BoundTable, hash_hierarchy, open_source
from tclose.data.encode.cells import Cells
from tclose.data.engines.duckdb.partitioned import shuffle_rows
from tclose.data.engines.frames.release import make_frame
from tclose.data.engines.postgres.source import refuse_taken
from tclose.data.io.files import (
    refuse_overwriting,
    refuse_unholdable,
    refuse_unknown_kind,
    refuse_unwritable,
    tells_gaps_from_texts,
)
from tclose.data.io.paths import Address, Reading
from tclose.data.io.records import json_hash
from tclose.data.recognize import describe_exposed
from tclose.data.source import CellStore, Rows, Source, Translation
from tclose.data.summary import TableSummary
from tclose.errors import UnprovenError, UsageError
from tclose.policy.model import Policy
from tclose.recode import Plan, Pseudonyms, Recoding, Rewriter, SuppressedRows
from tclose.recode.rewrite import list_text_columns, make_schema
from tclose.release import Release, write_rows
from tclose.search.outcome import Outcome
from tclose.utility.loss import LossReport, Quasi
from tclose.verify.audit import Audit, recount
from tclose.verify.certificate import (
    Certificate,
    Hashes,
    LeftOutRecord,
    LossRecord,
    Origin,
    certify,
)
from tclose.version import VERSION

if TYPE_CHECKING:
    from tclose.report.document import Document
    from tclose.search.frontier.curves import Frontier


Checked = tuple[Audit, Certificate]


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

    def refuse(self, bound: BoundTable, rows: Rows, inputs: tuple[Any, ...]) -> None:
        """Raises where the table cannot be released to here, or has nothing to keep."""
        policy = bound.policy
        read = [given for given in inputs if isinstance(given, str | Path)]
        read += [*(policy.base / name for name in policy.files), *bound.source.files]
        for path in self.files:
            refuse_overwriting(path, read)
        if len({path.resolve() for path in self.files}) < len(self.files):
            raise UsageError("two outputs have the same name", where=str(self.files[0]))
        refuse_no_promise(policy)
        if self.output is None:
            return
        schema = make_schema(bound, rows, list_text_columns(bound))
        if isinstance(self.output, Address):
            refuse_taken(self.output, schema)
            return
        refuse_unholdable(self.output, schema, lambda: bound.source.n_rows)
        if bound.source.can_store(self.output):
            bound.source.refuse_taken(self.output)
        refuse_empty_texts(bound, bound.attributes, self.output, "a .parquet file")


def refuse_no_promise(policy: Policy) -> None:
    """Raises where a release would have nothing to keep."""
    if not policy.promises_something:
        raise UsageError(
            "the policy promises nothing, so there is nothing to keep",
            where="policy",
            hint="state k, or t at a sensitive column",
        )
    if policy.unprotected:
        name = policy.unprotected[0]
        raise UsageError(
            f"nothing is promised of {name!r}, which is sensitive",
            where=f"columns.{name}",
            hint="state t there (such as t = 0.2), or say in words why it is meant: "
            'accept = "…", which the certificate repeats',
        )


def refuse_empty_texts(
    bound: BoundTable, columns: Iterable[str], path: str | Path, instead: str
) -> None:
    """An empty text may become a missing value in a file, which is something else to count."""
    if tells_gaps_from_texts(path):
        return
    for name in columns:
        if "" in bound.cells.dictionaries[name].labels:
            raise UsageError(
                "CSV and Excel files cannot tell its empty texts from missing values",
                where=f"column {name!r}",
                hint=f"write {instead}, or make them missing",
            )


@dataclass(frozen=True)
class Job:
    """What a release is made from and where it goes."""

    data: Any
    """What the table was opened from."""
    reading: Reading
    source: Source
    policy: Policy
    targets: Targets
    command: str = ""
    people: Cells | None = None
    """The population that the promise is about, if there is one."""


@dataclass(frozen=True)
class TranslatedRows:
    """The rows of a table whose cells stay with the engine, released by its translation of them."""

    source: Source
    rows: Rows
    how: Translation
    store: CellStore
    """Keeps the translation as long as this is kept."""

    def schema(self) -> pa.Schema:
        """The columns of the release: text where values are recoded, the table's own elsewhere."""
        own, text = self.rows.schema, pa.string()
        return pa.schema(
            [
                own.field(change.name) if change.kind == "same" else pa.field(change.name, text)
                for change in self.how.changes
            ]
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""
        schema = self.schema()
        for batch in self.source.join(self.how):
            yield batch.cast(schema)

    def translation(self) -> Translation:
        """The same for an engine that rewrites its rows by itself."""
        return self.how

    def to_frame(self, data: Any) -> Any:
        """The release in the caller's own kind of frame."""
        table = pa.Table.from_batches(list(self.batches()), self.schema())
        texts = [change.name for change in self.how.changes if change.kind != "same"]
        every = partial(np.arange, table.num_rows, dtype=np.int64)
        return make_frame(data, table, every, texts, (), shuffle=self.how.shuffle)


@dataclass(frozen=True)
class Draft:
    """What is to be released, in one piece or in parts, and what a certificate says about it."""

    rows: Rewriter | TranslatedRows
    n_rows: int
    loss: LossReport
    origin: Origin
    hashes: Hashes
    plan: Plan | None = None
    outcome: Outcome | None = None
    leftover: SuppressedRows | None = None
    original: BoundTable | None = None
    """The table itself, where it is in one place: reports show it beside the release."""


@dataclass(frozen=True)
class Unproven:
    """A release that was counted and is not there: its promise could not be confirmed."""

    reason: str


def draft_recoding(
    bound: BoundTable, recoding: Recoding, plan: Plan, pseudonyms: Pseudonyms, origin: Origin
) -> Draft:
    """A recoding of a table that is in one place, ready to be published."""
    return Draft(
        rows=Rewriter(bound, bound.source.stream(), recoding, pseudonyms),
        n_rows=int(bound.cells.rows[recoding.label >= 0].sum()),
        loss=recoding.loss,
        origin=origin,
        hashes=hash_inputs(bound, bound.source, plan),
        plan=plan,
        original=bound,
    )


def publish(
    job: Job, draft: Draft, stopped: Callable[[], bool] = lambda: False
) -> Release | Unproven:
    """Writes (or frames) the release, counts it again, and certifies what was counted.

    Nothing is left where its promise is not confirmed, or where somebody stopped.
    """

    def check(written: Source) -> Checked:
        audit = recount(job.policy, written, job.people)
        if not audit.holds:
            raise _Discard(f"the written release does not keep its promise ({audit.broken})")
        if (audit.rows if audit.in_parts else audit.bound.cells.n_rows) != draft.n_rows:
            raise _Discard("the written release has not the rows that were released")
        if stopped():
            raise nothing_kept()
        return audit, _certify(job, draft, audit, written.digest())

    try:
        data, (audit, certificate) = _write(job, draft.rows, check, stopped)
    except _Discard as discard:
        return Unproven(str(discard))
    job.source.close()
    original = draft.original
    return Release(
        data=data,
        path=job.targets.output,
        certificate=certificate,
        audit=audit,
        loss=draft.loss,
        plan=draft.plan,
        outcome=draft.outcome,
        left_out=draft.loss.left_out,
        leftover=draft.leftover,
        people=job.people,
        notes=job.source.notes,
        reporter=None if original is None else partial(_report, original, job.reading),
    )


def confirm(published: Release | Unproven) -> Release:
    """The release; raises where it was not proved, which is a bug."""
    if isinstance(published, Unproven):
        raise UnprovenError(published.reason)
    return published


def make_pseudonyms(key: bytes | None) -> Pseudonyms:
    """Pseudonyms under a key, or under one that is drawn and forgotten."""
    return Pseudonyms() if key is None else Pseudonyms(key)


def nothing_kept() -> UsageError:
    """What is raised where a user stopped and wants nothing."""
    return UsageError("stopped; nothing was written", hint="or keep the best found so far")


class _Discard(Exception):  # noqa: N818 - undoes a write; never leaves this module
    pass


def _write(
    job: Job,
    rows: Rewriter | TranslatedRows,
    check: Callable[[Source], Checked],
    stopped: Callable[[], bool],
) -> tuple[Any, Checked]:
    """The release as a frame, unless it is written somewhere, and what `check` found in it."""
    source, reading, output = job.source, job.reading, job.targets.output
    if output is None:
        data = source.recode(rows.translation()) if source.rewrites else rows.to_frame(job.data)
        return data, check(open_source(data, Reading(max_cells=source.max_cells)))
    if source.can_store(output):
        return None, source.store(rows.translation(), output, check)

    def until_stopped() -> Iterator[pa.RecordBatch]:
        for batch in rows.batches():
            if stopped():
                raise nothing_kept()
            yield batch

    batches = until_stopped()
    if job.policy.release.rows == "shuffle":
        batches = shuffle_rows(batches, rows.schema(), reading.memory)
    return None, write_rows(output, rows.schema(), batches, check, source.delimiter, reading)


def _certify(job: Job, draft: Draft, audit: Audit, output_hash: str) -> Certificate:
    """The certificate of what has this hash; it and the plan are written where asked."""
    warnings = describe_exposed(job.policy, job.source) or None
    origin = draft.origin.model_copy(update={"command": job.command, "warnings": warnings})
    certificate = certify(audit, job.policy.to_json(), origin, draft.hashes).of_file(output_hash)
    certificate.save(job.targets.certificate)
    if draft.plan is not None:
        draft.plan.save(job.targets.plan)
    return certificate


def _report(
    original: BoundTable,
    reading: Reading,
    release: Release,
    path: str | Path | None,
    edition: str,
    frontier: Frontier | None,
) -> Document:
    from tclose.workflows.report import release_report  # a release is made without it

    return release_report(release, original, reading, path, edition=edition, frontier=frontier)


# --- what a certificate says about how a release came about: no raw value among it


def describe_recoding(bound: BoundTable, recoding: Recoding) -> dict[str, Any]:
    """What was read, left out and lost by a recoding, and by what versions."""
    gone = recoding.label < 0
    rows = int(bound.cells.rows[gone].sum())
    parts = count_by_part(bound, recoding.quasi, gone)
    left_out = LeftOutRecord(rows=rows, parts=parts)
    return describe_loss(bound.classes.n_rows, recoding.loss, left_out)


def describe_loss(input_rows: int, loss: LossReport, left_out: LeftOutRecord) -> dict[str, Any]:
    """What was read, left out and lost, and by what versions."""
    return {
        "input_rows": input_rows,
        "left_out": left_out,
        "loss": LossRecord(measure="iyengar", overall=loss.overall, columns=loss.columns),
        "versions": list_versions(),
    }


def hash_inputs(
    table: BoundTable | TableSummary, source: Source, plan: Plan | None = None
) -> Hashes:
    """The hashes of everything that a release was made from."""
    attributes = {name: attribute.hierarchy for name, attribute in table.attributes.items()}
    trees = {**table.hierarchies, **{name: tree for name, tree in attributes.items() if tree}}
    return Hashes(
        input=source.digest(),
        policy=json_hash(table.policy.to_json()),
        hierarchies={name: hash_hierarchy(tree) for name, tree in sorted(trees.items())},
        plan=None if plan is None else json_hash(plan.to_json()),
    )


def list_versions() -> dict[str, str]:
    """The versions of everything that counted and wrote."""
    return {
        "tclose": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
    }


def count_by_part(
    bound: BoundTable, quasi: Quasi, some: NDArray[np.bool_]
) -> dict[str, dict[str, int]]:
    """From which coarse parts of each quasi-identifier the rows of some cells are."""
    rows = bound.cells.rows[some].tolist()
    found: dict[str, dict[str, int]] = {}
    for at, column in enumerate(quasi.columns):
        counts: dict[str, int] = {}
        code = quasi.codes[some, at]
        parts = column.coarse(np.maximum(code, 0))
        for part, is_known, number in zip(parts, code >= 0, rows, strict=True):
            name = part if is_known else "unknown"
            counts[name] = counts.get(name, 0) + number
        found[column.name] = dict(sorted(counts.items()))
    return found
