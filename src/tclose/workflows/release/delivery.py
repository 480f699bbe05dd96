"""A release put where it goes: framed, stored by its engine, or written; counted before it appears.

Nothing is believed of what was made: it is read back, counted from scratch and certified, and only
then moved to its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from tclose.data import Reading, Source, open_source, write_table
from tclose.data.engines.duckdb.release import shuffle_rows
from tclose.data.engines.postgres.release import placed
from tclose.data.io.address import Address
from tclose.data.io.files import delimiter_for
from tclose.data.translation import Translation
from tclose.errors import UsageError
from tclose.verify import Audit, Certificate


class Made(Protocol):
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
class Delivery:
    """Where a release goes, and who counts and certifies it."""

    data: Any
    """What the table was opened from."""
    source: Source
    reading: Reading
    output: Path | Address | None
    shuffle: bool
    recount: Callable[[Source], Audit]
    certify: Callable[[Audit, str], Certificate]
    """Certifies what was counted and has this hash; writes what lies beside the release."""
    stopped: Callable[[], bool] = lambda: False

    def put(self, made: Made) -> Delivered:
        """Puts the release in its place, or raises and leaves nothing."""
        placed = self._put(made)
        self.source.close()
        return placed

    def _put(self, made: Made) -> Delivered:
        if self.output is None:
            rewrites = self.source.rewrites
            data = self.source.recode(made.translation()) if rewrites else made.framed(self.data)
            return self._counted(open_source(data, Reading(max_cells=self.source.max_cells)), data)
        found: list[Delivered] = []
        if self.source.can_store(self.output):
            self.source.store(
                made.translation(), self.output, lambda source: found.append(self._counted(source))
            )
        else:
            self._write(made, self.output, found)
        return found[0]

    def _counted(self, source: Source, data: Any = None) -> Delivered:
        audit = self.recount(source)
        if self.stopped():
            raise dropped()
        return Delivered(data, audit, self.certify(audit, source.digest()))

    def _write(self, made: Made, output: Path | Address, found: list[Delivered]) -> None:
        """Writes the release beside its target, has it counted, then moves it there."""

        def watched() -> Iterator[pa.RecordBatch]:
            for batch in made.batches():
                if self.stopped():
                    raise dropped()
                yield batch

        rows = watched()
        if self.shuffle:
            rows = shuffle_rows(rows, made.schema(), self.reading.memory)
        if isinstance(output, Address):
            placed(output, made.schema(), rows, lambda source: found.append(self._counted(source)))
            return
        delimiter = delimiter_for(output, self.source.delimiter)
        how = Reading(
            delimiter=delimiter, memory=self.reading.memory, max_cells=self.reading.max_cells
        )
        write_table(
            output,
            made.schema(),
            rows,
            delimiter=delimiter,
            check=lambda part: found.append(self._counted(open_source(part, how))),
        )


def dropped() -> UsageError:
    """What is raised where a user stopped and wants nothing."""
    return UsageError("stopped; nothing was written", hint="or keep the best found so far")
