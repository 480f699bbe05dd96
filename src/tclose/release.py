"""A release: recoded data, its certificate, its loss, and its plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.arrays import Ints
from tclose.data.binding import refuse_empty_texts
from tclose.data.encode.cells import Cells
from tclose.data.engines.postgres.source import refuse_taken
from tclose.data.io.counting import file_hash
from tclose.data.io.files import refuse_overwriting, refuse_unholdable
from tclose.data.io.paths import Address
from tclose.data.io.transaction import write_together
from tclose.data.opening import open_source, write_rows
from tclose.data.source import Source
from tclose.dictionary import DataDictionary, describe_columns
from tclose.errors import InternalError, UsageError
from tclose.notebook import Displayable
from tclose.plain import classes_text, join_lines, rows_text
from tclose.recode.insertion import Applied
from tclose.recode.plan import Plan
from tclose.recode.suppressed import SuppressedRows
from tclose.utility.loss import LossReport
from tclose.verify.audit import Audit, recount
from tclose.verify.certificate import Certificate, SizesRecord

if TYPE_CHECKING:
    from tclose.search import Outcome
    from tclose.search.frontier.curves import Frontier


@dataclass(frozen=True, repr=False)
class Release(Displayable):
    """The result of `anonymize` and `apply`.

    `data` is the caller's own kind of frame (an Arrow table where a file was read and no output
    named; None where the release was written to `path`). Pickled, it lacks the table that it was
    made from, so that it makes no report; an audit of a raw table, pickled, holds that table.
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
    reporter: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    """Makes the report on this release: it knows the table that the release was made from."""

    list_classes: Callable[[], Ints] | None = field(default=None, repr=False, compare=False)
    """Returns the plan's class of each row of the table (−1: left out), which it reads again."""

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not the table that the release was made from, nor the population."""
        return {**vars(self), "reporter": None, "people": None, "list_classes": None}

    @property
    def outside(self) -> int:
        """The rows left out by `apply` because they lie beyond everything that the plan covers."""
        return 0 if self.applied is None else self.applied.outside

    @property
    def classes(self) -> int:
        """How many classes the release has, counted on the release itself."""
        return self.audit.classes

    @property
    def sizes(self) -> SizesRecord:
        """The sizes of the classes."""
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
        """Writes the data and, on request, the certificate and the plan; returns the path.

        The suffix of the path decides the format; an address names a new table in a database. What
        was written is counted again, and certified by its own hash, before it appears.
        """
        if self.data is None:
            raise ValueError(f"this release is already written to {self.path}")
        if plan is not None and self.plan is None:
            raise ValueError("this release was made in fragments and has no plan")
        source = open_source(self.data)
        rows, place = source.stream(), Address.of(path) or Path(str(path))

        def check(written: Source) -> None:
            named = self.certificate.supersets or ()
            policy = self.audit.bound.policy
            audit = recount(policy, written, self.people, lambda bound: named)
            if not audit.holds:
                broken = audit.broken
                raise InternalError(f"the written release does not keep its promise ({broken})")
            certified = self.certificate.of_file(written.digest())
            if certificate is not None:
                certified.save(certificate)
            if self.plan is not None and plan is not None:
                hashes = certified.hashes.output, self.certificate.hashes.output
                self.plan.tie_to(*hashes).save(plan)

        if isinstance(place, Address):
            refuse_taken(place, rows.schema)
        else:
            self._refuse_input(place, source)
            refuse_unholdable(place, rows.schema, lambda: source.n_rows)
            bound = self.audit.bound
            refuse_empty_texts(bound, bound.attributes, place, "a .parquet file")
        files = [path for path in (place, plan, certificate) if isinstance(path, str | Path)]
        with write_together(*files):
            if source.can_store(place):
                source.save(place, check)
            else:
                write_rows(place, rows.schema, rows.batches(), check)
        return place

    def _refuse_input(self, place: Path, source: Source) -> None:
        """Raises where the table that the release was made from would be overwritten."""
        made = None if self.plan is None else self.plan.provenance
        is_input = made is not None and place.is_file() and file_hash(place) == made.input
        refuse_overwriting(place, (*source.files, *([place] if is_input else [])))

    def dictionary(self) -> DataDictionary:
        """The data dictionary for the recipients: each column, its treatment, and its loss.

        It holds no value, and is written as Markdown or JSON by its `save`.
        """
        levels = None if self.plan is None else self.plan.levels
        return describe_columns(self.audit, self.loss, levels, self.leftover)

    def to_pandas(self, *, intervals: bool = True, ordered: bool = True) -> Any:
        """The released rows as a frame of pandas that is ready for analysis.

        Ranges become intervals (where all are open or closed alike and no hierarchy names them),
        else ordered categories; columns whose policy states an order become ordered categories.
        The frame contains no more information than the release, and `verify` accepts it.
        """
        from tclose.data.engines.frames.analysis import make_ready

        data = self.path if self.data is None else self.data
        source = open_source(data)
        table = source.stream().read_table()
        source.close()
        policy = self.audit.bound.policy
        orders = {name: column.order for name, column in policy.columns.items() if column.order}
        plain = [name for name in policy.quasi if policy.hierarchy_of(name) is None]
        ranges = plain if intervals else ()
        return make_ready(table, policy.quasi, ranges, orders, ordered=ordered)

    def report(
        self,
        path: str | Path | None = None,
        *,
        edition: str = "external",
        frontier: Frontier | None = None,
        attacks: bool = True,
        progress: Callable[[str], None] = lambda step: None,
    ) -> Any:
        """Returns the report (a `Document`), and writes it if a path is given.

        The suffix of the path decides the format: a page (.html; .pdf needs Chromium), plain values
        (.json) or plain text (.txt).

        The external edition shows counts only; the internal one also shows values of the worst
        classes and must not be passed on; the users' edition describes for the recipients what was
        done to each column. A `frontier` (of `tclose.frontier`) becomes a section of the report.
        Attacks take a quarter of the search's effort, and try a sample of the rows if that is not
        enough; with `attacks=False` the report says that none was tried.
        """
        if self.reporter is None:
            raise UsageError(
                "there is no report on a release that was made in fragments, or was pickled",
                where="report",
                hint="leave the report out, or allow more cells in one place (--cells)",
            )
        return self.reporter(
            self, path, edition, frontier=frontier, attacks=attacks, progress=progress
        )

    @property
    def headline(self) -> str:
        """Rows, classes and loss, after any fallback that replaced the request."""
        lost = f", {rows_text(self.left_out)} left out" if self.left_out else ""
        instead = self.certificate.fallback
        return (
            f"{'' if instead is None else instead + '; '}"
            f"{rows_text(self.audit.rows)} in {classes_text(self.classes)} "
            f"(smallest {self.sizes.smallest}, mean {self.sizes.mean:.1f}), "
            f"loss {self.loss.overall:.4f}{lost}"
        )

    def __str__(self) -> str:
        verdicts = [f"  {verdict}" for verdict in self.audit.requirements]
        notes = [f"  note: {note}" for note in self.notes]
        if self.certificate.stopped == "clock":
            notes.append("  note: the clock ended the search; another run may find another release")
        warnings = [f"  warning: {warning}" for warning in self.certificate.warnings or ()]
        return join_lines([self.headline, *warnings, *verdicts, *notes])
