"""Where a release goes; what would only come to light after a search is refused before it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.data.binding import BoundTable, refuse_empty_texts
from tclose.data.engines.postgres.source import refuse_taken
from tclose.data.formulas import is_text_file
from tclose.data.io.files import (
    refuse_overwriting,
    refuse_unholdable,
    refuse_unknown_kind,
    refuse_unwritable,
)
from tclose.data.io.paths import Address
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.recode.rewrite import list_text_columns, make_schema


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
        refuse_added(bound, self.output)
        if self.output is None:
            return
        schema = make_schema(bound, bound.source.stream(), list_text_columns(bound))
        if isinstance(self.output, Address):
            refuse_taken(self.output, schema)
            return
        refuse_unholdable(self.output, schema, lambda: bound.source.n_rows)
        if bound.source.can_store(self.output):
            if policy.release.formulas == "quote" and is_text_file(self.output):
                hint = "name a .parquet folder, or a file that is written without the engine"
                raise UsageError("engines quote no formulas", where="release.formulas", hint=hint)
            bound.source.refuse_taken(self.output)
        refuse_empty_texts(bound, bound.attributes, self.output, "a .parquet file")


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
            hint="state t there (such as t = 0.2), or say in words why it is meant: "
            'accept = "…", which the certificate repeats',
        )


def refuse_added(bound: BoundTable, output: Path | Address | None) -> None:
    """Raises where the columns that `release.add` asks for cannot be added."""
    added, source = bound.policy.added_columns, bound.source
    taken = [name for name in added if name in source.columns]
    if taken:
        hint = "rename that column, or leave release.add out"
        what = f"the table has a column {taken[0]!r} already"
        raise UsageError(what, where="release.add", hint=hint)
    stays = source.rewrites if output is None else source.can_store(output)
    if added and stays:
        raise UsageError(
            "columns can be added to frames in memory and to files, not where an engine rewrites "
            "its own table",
            where="release.add",
            hint="name a file as the output, or leave release.add out",
        )
