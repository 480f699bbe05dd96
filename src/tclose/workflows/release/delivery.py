"""A release put where it goes: framed, stored by its engine, or written; counted before it appears.

Nothing is believed of what was made: it is read back and counted from scratch, and only what keeps
the promise is certified and moved to its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from tclose.data.engines.duckdb.release import shuffle_rows
from tclose.data.engines.postgres.release import fill_new_table
from tclose.data.io.files import delimiter_for, write_checked_table
from tclose.data.io.paths import Address
from tclose.data.io.reading import Reading
from tclose.data.open import open_source
from tclose.data.source import Source
from tclose.data.translation import Translation
from tclose.errors import UsageError
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate


class ReleasedRows(Protocol):
    """The rows of a release, as whoever writes them needs them."""

    def schema(self) -> pa.Schema:
        """The columns of the release."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""
        ...

    def translation(self) -> Translation:
        """The same for an engine that rewrites its rows by itself."""
        ...

    def framed(self, data: Any) -> Any:
        """The release in the caller's own kind of frame."""
        ...


class Delivered(NamedTuple):
    """A release that was counted: its data unless it was written, its audit and certificate."""

    data: Any
    audit: Audit
    certificate: Certificate


@dataclass(frozen=True)
class Unproven:
    """A release that was counted and is not there: its promise could not be confirmed."""

    reason: str


class _Discard(Exception):  # noqa: N818 - undoes a write; never leaves this module
    def __init__(self, unproven: Unproven) -> None:
        super().__init__(unproven.reason)
        self.unproven = unproven


@dataclass(frozen=True)
class Delivery:
    """Where a release goes, and who counts and certifies it."""

    data: Any
    """What the table was opened from."""
    source: Source
    reading: Reading
    output: Path | Address | None
    shuffle: bool
    recount: Callable[[Source], Audit | Unproven]
    certify: Callable[[Audit, str], Certificate]
    """Certifies what was counted and has this hash; writes what lies beside the release."""
    stopped: Callable[[], bool] = lambda: False

    def put(self, rows: ReleasedRows) -> Delivered | Unproven:
        """Puts the release in its place; leaves nothing where it is not proved."""
        try:
            delivered = self._put(rows)
        except _Discard as discard:
            return discard.unproven
        self.source.close()
        return delivered

    def _put(self, rows: ReleasedRows) -> Delivered:
        if self.output is None:
            if self.source.rewrites:
                data = self.source.recode(rows.translation())
            else:
                data = rows.framed(self.data)
            found = self._check(open_source(data, Reading(max_cells=self.source.max_cells)))
            return found._replace(data=data)
        if self.source.can_store(self.output):
            return self.source.store(rows.translation(), self.output, self._check)
        return self._write(rows, self.output)

    def _check(self, written: Source) -> Delivered:
        audit = self.recount(written)
        if isinstance(audit, Unproven):
            raise _Discard(audit)
        if self.stopped():
            raise nothing_kept()
        return Delivered(None, audit, self.certify(audit, written.digest()))

    def _write(self, rows: ReleasedRows, output: Path | Address) -> Delivered:
        """Writes the release beside its target, has it counted, then moves it there."""
        batches = self._until_stopped(rows.batches())
        if self.shuffle:
            batches = shuffle_rows(batches, rows.schema(), self.reading.memory)
        if isinstance(output, Address):
            return fill_new_table(output, rows.schema(), batches, self._check)
        delimiter = delimiter_for(output, self.source.delimiter)
        memory, most = self.reading.memory, self.reading.max_cells
        reading = Reading(delimiter=delimiter, memory=memory, max_cells=most)
        return write_checked_table(
            output,
            rows.schema(),
            batches,
            lambda part: self._check(open_source(part, reading)),
            delimiter=delimiter,
        )

    def _until_stopped(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if self.stopped():
                raise nothing_kept()
            yield batch


def nothing_kept() -> UsageError:
    """What is raised where a user stopped and wants nothing."""
    return UsageError("stopped; nothing was written", hint="or keep the best found so far")
