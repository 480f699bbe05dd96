"""A release: recoded data, the certificate of its promise, what it lost, and the plan behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from tclose.data.binding import open_source
from tclose.data.encode.cells import Cells
from tclose.data.engines.postgres.source import fill_new_table, refuse_taken
from tclose.data.io.files import delimiter_for, refuse_unholdable, write_checked_table
from tclose.data.io.paths import AS_FOUND, Address, Reading
from tclose.data.source import Source
from tclose.errors import UnprovenError, UsageError
from tclose.recode import Plan, SuppressedRows
from tclose.recode.plan import Way
from tclose.utility.loss import LossReport
from tclose.verify.audit import Audit, recount
from tclose.verify.certificate import Certificate, SizesRecord

if TYPE_CHECKING:
    from tclose.search import Outcome
    from tclose.search.frontier.curves import Frontier

T = TypeVar("T")


@dataclass(frozen=True)
class Applied:
    """How new rows found their classes in a plan, and how many rows and classes that concerned."""

    way: Way
    outside: int
    """Rows with values beyond everything that the plan covers."""
    held_back: int
    """Rows that have a class but would break the promise there."""
    widened: int
    """Classes that are released as more than the plan says, so that they cover their rows."""
    changed: tuple[str, ...] = ()
    """The columns whose hierarchy is not the one that the plan was made with."""


@dataclass(frozen=True)
class Release:
    """What `anonymize` and `apply` return.

    `data` is the caller's own kind of frame (an Arrow table where a file was read and no output
    named; None where the release was written to `path`).
    """

    data: Any = field(repr=False)
    path: Path | Address | None
    certificate: Certificate = field(repr=False)
    audit: Audit = field(repr=False)
    loss: LossReport
    plan: Plan | None = field(repr=False)
    """None where the table was too large for one place: its classes are with its engine."""
    outcome: Outcome | None = field(repr=False)
    left_out: int
    applied: Applied | None = None
    """What `apply` did; None where a search made the release."""
    leftover: SuppressedRows | None = None
    """What became of the rows that the search left out, where the policy says more than drop."""
    notes: tuple[str, ...] = ()
    """What was noticed when the table was read."""
    people: Cells | None = field(default=None, repr=False)
    """The population that the promise is about, if there is one."""
    reporter: Callable[[Release, str | Path | None, str, Frontier | None], Any] | None = field(
        default=None, repr=False, compare=False
    )
    """Makes the report on this release: it knows the table that the release was made from."""

    @property
    def outside(self) -> int:
        """Of the rows left out by `apply`: those beyond everything that the plan covers."""
        return 0 if self.applied is None else self.applied.outside

    @property
    def classes(self) -> int:
        """How many classes the release has, counted on the release itself."""
        return self.audit.classes

    @property
    def sizes(self) -> SizesRecord:
        """What the sizes of the classes say."""
        assert self.certificate.sizes is not None
        return self.certificate.sizes

    @property
    def holds(self) -> bool:
        """Whether the promise holds; a release that does not keep it is never made."""
        return self.audit.holds is True

    def save(
        self,
        path: str | Path | Address,
        *,
        certificate: str | Path | None = None,
        plan: str | Path | None = None,
    ) -> Path | Address:
        """Writes the data and, if asked, the certificate and the plan beside it.

        The suffix says what is written; an address is that of a new table in a database. What was
        written is counted again, and certified by its own hash, before it appears.
        """
        if self.data is None:
            raise ValueError(f"this release is already written to {self.path}")
        if plan is not None and self.plan is None:
            raise ValueError("this release was made in fragments and has no plan")
        source = open_source(self.data)
        rows, place = source.stream(), Address.of(path) or Path(str(path))

        def check(written: Source) -> None:
            audit = recount(self.audit.bound.policy, written, self.people)
            if not audit.holds:
                raise UnprovenError(
                    f"the written release does not keep its promise ({audit.broken})"
                )
            self.certificate.of_file(written.digest()).save(certificate)
            if self.plan is not None:
                self.plan.save(plan)

        if isinstance(place, Address):
            refuse_taken(place, rows.schema)
        else:
            refuse_unholdable(place, rows.schema, lambda: source.n_rows)
            if source.can_store(place):
                source.save(place, check)
                return place
        write_rows(place, rows.schema, rows.batches(), check)
        return place

    def report(
        self,
        path: str | Path | None = None,
        *,
        edition: str = "external",
        frontier: Frontier | None = None,
    ) -> Any:
        """The report for people (`tclose.report.document`), also written where a path is given.

        The suffix says what is written: a page (.html), plain values (.json) or plain text (.txt).

        The external edition tells counts only; the internal one also shows values of the worst
        classes, and is not to be passed on. A frontier (`tclose.frontier`) becomes a section of it.
        """
        if self.reporter is None:
            raise UsageError(
                "there is no report on a release that was made in fragments",
                where="report",
                hint="leave the report out, or allow more cells in one place (--cells)",
            )
        return self.reporter(self, path, edition, frontier)

    def __str__(self) -> str:
        lost = f", {self.left_out:,} rows left out" if self.left_out else ""
        head = (
            f"{self.audit.rows:,} rows in {self.classes:,} classes "
            f"(smallest {self.sizes.smallest}, mean {self.sizes.mean:.1f}), "
            f"loss {self.loss.overall:.4f}{lost}"
        )
        verdicts = [f"  {verdict}" for verdict in self.audit.requirements]
        notes = [f"  note: {note}" for note in self.notes]
        if self.certificate.stopped == "clock":
            notes.append("  note: the clock ended the search; another run may find another release")
        warnings = [f"  warning: {warning}" for warning in self.certificate.warnings or ()]
        return "\n".join([head, *warnings, *verdicts, *notes])


def write_rows(
    output: Path | Address,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    check: Callable[[Source], T],
    delimiter: str = ",",
    reading: Reading = AS_FOUND,
) -> T:
    """Writes a new table or file, whole or not at all, and returns what `check` found in it.

    It is read back as the table that it was made from was read; where `check` raises, nothing is
    left.
    """
    if isinstance(output, Address):
        return fill_new_table(output, schema, batches, check)
    mark = delimiter_for(output, delimiter)
    opened = Reading(delimiter=mark, memory=reading.memory, max_cells=reading.max_cells)
    return write_checked_table(
        output, schema, batches, lambda part: check(open_source(part, opened)), delimiter=mark
    )
