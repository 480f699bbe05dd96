"""Where a release goes, and everything that would otherwise only come to light after the search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.data import BoundTable
from tclose.data.engines.postgres.release import refuse_taken
from tclose.data.io.files import (
    refuse_overwriting,
    refuse_unholdable,
    refuse_unknown_kind,
    refuse_unwritable,
    tells_gaps_from_texts,
)
from tclose.data.io.paths import Address
from tclose.data.source import Rows
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.recode.rewrite import released_schema, renamed_columns


@dataclass(frozen=True)
class Targets:
    """Where a release, its certificate and its plan are written, if anywhere."""

    output: Path | Address | None = None
    certificate: Path | None = None
    plan: Path | None = None

    @classmethod
    def named(cls, output: str | Path | Address | None, *beside: str | Path | None) -> Targets:
        """Where to write; refused at once, not after the search, where nothing can be written."""
        address = Address.of(output)
        paths = [None if path is None else Path(path) for path in beside]
        if address is not None:
            refuse_taken(address)
            targets = cls(address, *paths)
        elif output is not None:
            targets = cls(Path(str(output)), *paths)
            refuse_unknown_kind(str(output))
        else:
            targets = cls(None, *paths)
        for path in targets.given:
            refuse_unwritable(path)
        return targets

    @property
    def given(self) -> list[Path]:
        """The files that are to be written."""
        places = (self.output, self.certificate, self.plan)
        return [place for place in places if isinstance(place, Path)]

    def refuse(self, bound: BoundTable, rows: Rows, inputs: tuple[Any, ...]) -> None:
        """Raises where the table cannot be released to here."""
        self._refuse_overwriting(bound.policy, inputs, bound.source.files)
        refuse_no_promise(bound.policy)
        if self.output is not None:
            schema = released_schema(bound, rows, renamed_columns(bound))
            if isinstance(self.output, Address):
                refuse_taken(self.output, schema)
                return
            refuse_unholdable(self.output, schema, lambda: bound.source.n_rows)
            if bound.source.can_store(self.output):
                bound.source.refuse_taken(self.output)
            refuse_empty_texts(bound, bound.attributes, self.output, "a .parquet file")

    def _refuse_overwriting(
        self, policy: Policy, inputs: tuple[Any, ...], files: tuple[Path, ...]
    ) -> None:
        read = [one for one in inputs if isinstance(one, str | Path)]
        read += [*(policy.base / one for one in policy.files), *files]
        for path in self.given:
            refuse_overwriting(path, read)
        if len({path.resolve() for path in self.given}) < len(self.given):
            raise UsageError("two outputs have the same name", where=str(self.given[0]))


def refuse_no_promise(policy: Policy) -> None:
    """Raises where a release would have nothing to keep."""
    if not policy.promises_something:
        raise UsageError(
            "the policy promises nothing, so there is nothing to keep",
            where="policy",
            hint="state k, or t at a sensitive column",
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
