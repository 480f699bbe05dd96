"""Polars' lazy frames: counted and rewritten by polars' streaming engine, never collected whole."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from tclose.data.engines.duckdb.relation import collect_cell_table
from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.files.source import Spooling, open_parquet
from tclose.data.io.counting import coarsen_times, connect
from tclose.data.io.files import Scratch
from tclose.data.io.paths import find_files, refuse_ambiguous
from tclose.data.source import BATCH, KEY, NO_LIMIT, ROWS, Change, Rows, Translation
from tclose.errors import DataError

ROW = "__tclose_row__"
UNTOLD = ("Object", "Int128", "UInt128")
"""Types that Arrow has no word for."""
SCANNED = re.compile(r"SCAN \[([^\]]+)\]")
OLD = "pip install 'polars>=1.34'"


@dataclass(frozen=True)
class LazySource(Spooling):
    """A lazy frame of polars. Every look at it runs its query again."""

    rewrites = True

    frame: pl.LazyFrame = field(repr=False)
    kinds: dict[str, Any] = field(repr=False)

    @cached_property
    def n_rows(self) -> int:
        return int(self._run(self.frame.select(pl.len())).item())

    def is_scalar(self, column: str) -> bool:
        kind = self.kinds[column]
        return not kind.is_nested() and kind not in (pl.Binary, pl.Duration)

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        keys = [self._plain(name) for name in columns]
        cells = self.frame.group_by(keys).agg(pl.len().cast(pl.Int64).alias(ROWS))
        if self.max_cells != NO_LIMIT:
            cells = cells.head(self.max_cells + 1)
        found = self._run(cells)
        return None if found.height > self.max_cells else coarsen_times(found.to_arrow())

    def stream(self) -> Rows:
        """All rows, in the order that the query gives, in bounded memory."""
        return _rows(self.frame, self.name)

    def recode(self, translation: Translation) -> pl.LazyFrame:
        """The release as a lazy frame; rows keep the order that the query gives."""
        cells: Any = pl.from_arrow(collect_cell_table(translation))
        keys = [
            self._key(name).cast(cells.schema[KEY.format(at)]).alias(KEY.format(at))
            for at, name in enumerate(translation.keys)
        ]
        rows = self.frame.with_columns(keys).join(
            cells.lazy(), on=[KEY.format(at) for at in range(len(keys))],
            how="inner", nulls_equal=True, maintain_order="left",
        )  # fmt: skip
        if translation.shuffle:
            place = pl.int_range(pl.len()).shuffle(secrets.randbelow(2**63)).alias(ROW)
            rows = rows.with_columns(place).sort(ROW)
        released = rows.select(
            _change_column(change, translation) for change in translation.changes
        )
        return released.with_columns(
            pl.col(change.name).cast(pl.String).cast(self._find_used_categories(change.name))
            for change in translation.changes
            if change.kind in ("same", "hidden") and self.kinds[change.name] == pl.Enum
        )

    def _find_used_categories(self, name: str) -> pl.Enum:
        """The type of a column of categories with those that occur."""
        used = set(self._run(self.frame.select(pl.col(name).unique())).get_column(name))
        return pl.Enum([value for value in self.kinds[name].categories if value in used])

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        return _rows(self.recode(replace(translation, shuffle=False)), self.name).batches()

    def _copy(self, columns: Sequence[str]) -> DuckSource:
        """Some columns in a file of a private folder."""
        scratch = Scratch()
        path = Path(scratch.name) / "table.parquet"
        some = self.frame.select(self._plain(name) for name in dict.fromkeys(columns))
        with _explain_errors(self.name):
            some.sink_parquet(path)
        return replace(open_parquet(find_files(path), connect()), scratch=scratch)

    def _plain(self, name: str) -> pl.Expr:
        """A column with a type that others know as well."""
        column = pl.col(name)
        return column.cast(pl.String) if self.kinds[name] == pl.Null else column

    def _key(self, name: str) -> pl.Expr:
        """A value as the translation has it: NaN is missing, and −0 is 0."""
        column = pl.col(name)
        if not self.kinds[name].is_float():
            return column
        return pl.when(column.is_nan()).then(None).otherwise(column + 0.0)

    def _run(self, query: pl.LazyFrame) -> pl.DataFrame:
        with _explain_errors(self.name):
            return query.collect(engine="streaming")


def open_lazy(frame: pl.LazyFrame) -> LazySource:
    """A lazy frame of polars."""
    if not hasattr(frame, "collect_batches"):
        raise DataError("this polars is too old for lazy frames", where="frame", hint=OLD)
    with _explain_errors("lazy frame"):
        kinds = dict(frame.collect_schema())
    refuse_ambiguous(list(kinds), "lazy frame")
    for name, kind in kinds.items():
        if str(kind) in UNTOLD:
            raise DataError(
                f"the column cannot be read ({kind})",
                where=f"column {name!r}",
                hint="cast it to a type that Arrow has, too",
            )
    return LazySource("lazy frame", tuple(kinds), frame, kinds, files=tuple(_files(frame)))


@contextmanager
def _explain_errors(name: str) -> Iterator[None]:
    """Turns the engine's complaints into words without the values that they may quote."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"the query cannot be run ({type(error).__name__})",
            where=name,
            hint="collect it to see what is wrong with it",
        ) from None


def _rows(frame: pl.LazyFrame, name: str) -> Rows:
    with _explain_errors(name):
        schema = frame.head(0).collect().to_arrow().schema

    def batches() -> Iterator[pa.RecordBatch]:
        with _explain_errors(name):
            parts = frame.collect_batches(chunk_size=BATCH, maintain_order=True, lazy=True)
            for part in parts:
                # Unless it is copied, a structure would keep what another part needs of it.
                yield from part.rechunk().to_arrow().cast(schema).to_batches(BATCH)

    return Rows(schema, batches)


def _change_column(change: Change, translation: Translation) -> pl.Expr:
    """What becomes of a column."""
    column = pl.col(change.name)
    match change.kind:
        case "same":
            return column
        case "text":
            return pl.col(change.at).cast(pl.String).alias(change.name)
        case "hidden":
            return pl.when(pl.col(change.at)).then(None).otherwise(column).alias(change.name)
        case "mask":
            return pl.lit(translation.mask).alias(change.name)

    def pseudonymize(values: pl.Series) -> pl.Series:
        found = pa.chunked_array([values.to_arrow()]).combine_chunks()
        return pl.Series(values.name, translation.pseudonyms(found), pl.String)

    return column.map_batches(pseudonymize, return_dtype=pl.String, is_elementwise=True)


def _files(frame: pl.LazyFrame) -> Iterator[Path]:
    """The files that the query scans, as far as its plan names them."""
    for listed in SCANNED.findall(frame.explain(optimized=False)):
        yield from (Path(path) for path in listed.split(", ") if "://" not in path)
