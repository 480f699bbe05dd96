"""Polars' lazy frames: counted and rewritten by polars' streaming engine, never collected whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from tclose.data.engines.duckdb.source import DuckSource
from tclose.data.engines.files.source import Spooling, open_parquet
from tclose.data.engines.frames.release import narrow_kind, write_out_kind
from tclose.data.io.counting import coarsen_times, connect
from tclose.data.io.paths import find_files, refuse_ambiguous
from tclose.data.io.scratch import Scratch
from tclose.data.source import (
    BATCH,
    KEY,
    NO_LIMIT,
    ROWS,
    Change,
    Cleaned,
    Rows,
    Source,
    Translation,
)
from tclose.errors import DataError

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
        return _rows(self.frame, self.name)

    def recode(self, translation: Translation) -> pl.LazyFrame:
        """The release as a lazy frame; rows keep the order that the query gives."""
        cells: Any = pl.from_arrow(translation.cells)
        keys = [
            self._key(name).cast(cells.schema[KEY.format(at)]).alias(KEY.format(at))
            for at, name in enumerate(translation.keys)
        ]
        rows = self.frame.with_columns(keys).join(
            cells.lazy(), on=[KEY.format(at) for at in range(len(keys))],
            how="inner", nulls_equal=True, maintain_order="left",
        )  # fmt: skip
        changes = translation.changes
        released = rows.select(_change_column(change, translation) for change in changes)
        if translation.is_shuffled:
            kinds = released.collect_schema()
            # Categories are hashed by their numbers, which tell the order that they came in.
            row = pl.struct(pl.col(name).cast(write_out_kind(kinds[name])) for name in kinds)
            released = released.sort(row.hash(seed) for seed in (1, 2))
        kept = [change.name for change in changes if change.kind in ("same", "hidden")]
        for name in kept:
            kind = self.kinds[name]
            if "Enum" in repr(kind):  # its type tells all categories
                plain = pl.col(name).cast(write_out_kind(kind))
                seen = plain.unique() if kind == pl.Enum else plain
                some = narrow_kind(kind, self._run(self.frame.select(seen)).get_column(name))
                released = released.with_columns(plain.cast(some))
        return released

    def replace_values(self, cleaned: Cleaned) -> Source:
        made = []
        for name, column in cleaned.items():
            pairs: Any = pl.from_arrow(column.pair("raw", "clean"))
            values = self._key(name).cast(pairs["raw"].dtype)
            made.append(values.replace_strict(pairs["raw"], pairs["clean"]).alias(name))
        frame = self.frame.with_columns(made)
        return replace(self, frame=frame, kinds=dict(frame.collect_schema()))

    def join(self, translation: Translation) -> Iterator[pa.RecordBatch]:
        return _rows(self.recode(replace(translation, is_shuffled=False)), self.name).batches()

    def _copy(self, columns: Sequence[str]) -> DuckSource:
        scratch = Scratch()
        path = scratch.place("table.parquet")
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
            what = f"the column cannot be read ({kind})"
            hint = "cast it to a type that Arrow has, too"
            raise DataError(what, where=f"column {name!r}", hint=hint)
    return LazySource("lazy frame", tuple(kinds), frame, kinds, files=tuple(_files(frame)))


@contextmanager
def _explain_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        what = f"the query cannot be run ({type(error).__name__})"
        hint = "collect it to see what is wrong with it"
        raise DataError(what, where=name, hint=hint) from None


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
    column = pl.col(change.name)
    match change.kind:
        case "same":
            return column
        case "text":
            return pl.col(change.at).alias(change.name)
        case "hidden":
            return pl.when(pl.col(change.at)).then(None).otherwise(column).alias(change.name)
        case "mask":
            return pl.lit(translation.mask).alias(change.name)

    def pseudonymize(values: pl.Series) -> pl.Series:
        found = pa.chunked_array([values.to_arrow()]).combine_chunks()
        return pl.Series(values.name, translation.pseudonyms(change.name, found), pl.String)

    return column.map_batches(pseudonymize, return_dtype=pl.String, is_elementwise=True)


def _files(frame: pl.LazyFrame) -> Iterator[Path]:
    """The files that the query scans, as far as its plan names them."""
    for listed in SCANNED.findall(frame.explain(optimized=False)):
        yield from (Path(path) for path in listed.split(", ") if "://" not in path)
